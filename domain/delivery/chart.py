"""Which step of a delivery may follow which (S4 §6): the chart, its table, the phases."""

from typing import Literal, get_args

from statemachine import State

from domain.chart import Chart, Table

Phase = Literal["planning", "architecture", "design", "implementation", "validation", "review", "packaging"]
PHASES: tuple[Phase, ...] = get_args(Phase)
PhaseStatus = Literal["pending", "running", "completed", "failed", "skipped"]
Status = Literal["pending", "running", "success", "failed", "cancelled"]


class DeliveryChart(Chart):
    """planning → architecture → design → (implementation → validation → review)* → packaging → success.

    A delivery that ran out of budget rests in `exhausted`, from where a person may extend it (K-46).
    """

    planning = State(initial=True)
    architecture = State()
    design = State()
    implementation = State()
    validation = State()
    review = State()
    under_review = State()
    packaging = State()
    success = State(final=True)
    failed = State(final=True)
    exhausted = State()
    cancelled = State(final=True)

    complete = (
        planning.to(architecture)
        | architecture.to(design)
        | design.to(implementation)
        | implementation.to(validation)
        | validation.to(review)
        | review.to(packaging)
        | under_review.to(packaging)
        | packaging.to(success)
    )
    hold = review.to(under_review)
    send_back = validation.to(implementation) | review.to(implementation) | under_review.to(implementation)
    fail = (
        planning.to(failed)
        | architecture.to(failed)
        | design.to(failed)
        | implementation.to(failed)
        | validation.to(failed)
        | review.to(failed)
        | packaging.to(failed)
    )
    exhaust = (
        planning.to(exhausted)
        | architecture.to(exhausted)
        | design.to(exhausted)
        | implementation.to(exhausted)
        | validation.to(exhausted)
        | review.to(exhausted)
        | under_review.to(exhausted)
        | packaging.to(exhausted)
    )
    extend = (
        exhausted.to(planning, cond="resumes_planning")
        | exhausted.to(architecture, cond="resumes_architecture")
        | exhausted.to(design, cond="resumes_design")
        | exhausted.to(implementation, cond="resumes_implementation")
        | exhausted.to(validation, cond="resumes_validation")
        | exhausted.to(review, cond="resumes_review")
        | exhausted.to(packaging, cond="resumes_packaging")
        | planning.to(planning)
        | architecture.to(architecture)
        | design.to(design)
        | implementation.to(implementation)
        | validation.to(validation)
        | review.to(review)
        | under_review.to(under_review)
        | packaging.to(packaging)
    )
    cancel = (
        planning.to(cancelled)
        | architecture.to(cancelled)
        | design.to(cancelled)
        | implementation.to(cancelled)
        | validation.to(cancelled)
        | review.to(cancelled)
        | under_review.to(cancelled)
        | packaging.to(cancelled)
    )


TABLE = Table(DeliveryChart)


def status(state: str) -> Status:
    """The seed's word for a state of the chart (S4 §3.1)."""
    match state:
        case "success" | "failed" | "cancelled":
            return state
        case "exhausted":
            return "failed"
        case _:
            return "running"
