"""The state of a delivery, folded from its events."""

from dataclasses import dataclass, field
from typing import Any

from domain.checks.test_files import changed_tests
from domain.delivery.chart import MADE_BY, MATERIAL, PHASES, PLACES, Phase, PhaseStatus, Status, status
from domain.delivery.validation import BaselineCommand, Preparation, flaky_words, red, weaker_words
from domain.session import waits
from domain.session.children import ReviewSettings
from domain.session.revisions import to_judge, to_write
from domain.session.state import Session
from domain.session.validation import ValidationStep
from domain.session.workspace import EVERYTHING, PathScope, ReviewedDiff, touched
from domain.values.base import Text
from domain.values.budget import Budget, BudgetStatus, Reason
from domain.values.sentences import Sentence


@dataclass(frozen=True, slots=True)
class Resume:
    """The place where an exhausted delivery resumes."""

    phase: Phase
    iteration: int


@dataclass(frozen=True, slots=True)
class ScopeRequest:
    """Changes outside the scope that wait for a person since `at` (milliseconds)."""

    request_id: str
    paths: tuple[str, ...]
    at: int


@dataclass(kw_only=True)
class Delivery(Session):
    """The state of a delivery (S4 §4.1)."""

    takes_comments = True

    policy: str
    task: str
    file_paths: tuple[str, ...]
    steps: tuple[ValidationStep, ...]
    max_attempts: int | None
    repository: bool
    review: ReviewSettings | None = None
    budget: Budget
    way: tuple[Phase, ...] = PHASES
    """The phases that it goes through."""
    phase: Phase = "planning"
    phases: dict[Phase, PhaseStatus] = field(default_factory=lambda: dict.fromkeys(PHASES, "pending"))
    iteration: int = 0
    artifacts: int = 0
    artifact_refs: dict[Phase, str] = field(default_factory=dict)
    contents: dict[Phase, Text] = field(default_factory=dict)
    patch: Text | None = None
    feedback: Text = field(default_factory=Text)
    validation_summary: str = ""
    deadline_moved: int = 0
    """When something moved the deadline last, or up to when what moved it lasts (milliseconds)."""
    held_since: int | None = None
    """Since when the budget's clock stands still for what a validation does besides its own run (milliseconds)."""
    fork_held_since: int | None = None
    """Since when it waits, as a fork, for a person to continue it (milliseconds)."""
    score: int | None = None
    goals: tuple[str, ...] = ()
    history: tuple[str, ...] = ()
    resume: Resume | None = None
    stopped_at: int | None = None
    exhausted_by: Reason | None = None
    final_summary: Sentence | str | None = None
    code: str | None = None
    """Why it stopped, as a short code."""
    no_progress_limit: int = 0
    stuck: tuple[int, int] = (0, 0)
    """The last iteration without progress, and how many there were in a row."""
    verdict: tuple[int, str] = (0, "")
    """The last iteration that was rejected, and its failures or issues."""
    author: str = ""
    """The agent who wrote the work of this iteration."""
    preparation: Preparation = field(default_factory=Preparation)
    baseline: tuple[BaselineCommand, ...] = ()
    validation_env: dict[str, str] = field(default_factory=dict)
    planned: tuple[str, ...] = ()
    """The files that the plan names."""
    written: tuple[str, ...] = ()
    """The files that the developer changed in this iteration."""
    starts_with: ReviewedDiff | None = None
    """The person's uncommitted changes that it began with."""
    scope: PathScope = EVERYTHING
    scope_request: ScopeRequest | None = None
    scope_requests: int = 0
    scope_allowed: tuple[str, ...] = ()
    """Paths outside the scope that a person has allowed."""

    @property
    def status(self) -> Status:
        return status(self.state)

    @property
    def ended(self) -> bool:
        return self.status != "running"

    @property
    def wait(self) -> waits.Need | None:
        match self.state:
            case "exhausted":
                return waits.budget(self.exhausted_by or ("no_progress" if self.code == "no_progress" else ""))
            case "failed":
                return waits.failed(self.code)
            case "awaiting_scope" if self.scope_request is not None:
                return waits.scope()
            case _:
                return None

    def guard(self, name: str) -> bool:
        """The chart's guards: `resumes_<phase>`, `failed_<phase>`, whether a turn `waits` for its next attempt, and
        whether the delivery `has_implemented` anything."""
        if name == "has_implemented":
            return self.iteration > 0
        if name == "waits":
            return self.waits
        if self.failed_turn is not None and name == f"failed_{self.failed_turn.phase}":
            return True
        return self.resume is not None and name == f"resumes_{self.resume.phase}"

    @property
    def passing(self) -> frozenset[str]:
        """The phases that it goes without."""
        return frozenset(PHASES).difference(self.way)

    @property
    def delivers_nothing(self) -> bool:
        """True if there is nothing to hand over. Under the first rules, that was packaged like anything else."""
        return self.unchanged and self.policy != "delivery@1"

    @property
    def next_artifact(self) -> str:
        """The id of the next artifact."""
        return f"{self.id}.a{self.artifacts + 1}"

    @property
    def gate(self) -> int:
        """The iteration whose budget is checked: the running one, or the one that could not begin."""
        return self.resume.iteration if self.resume else self.iteration

    @property
    def touched(self) -> tuple[str, ...]:
        """The paths that differ from the base. If there are more than the list holds, those of this iteration are
        included."""
        more = self.written if self.changes is not None and self.changes.more_files else ()
        return (*touched(self.changes), *more)

    @property
    def still_since(self) -> int | None:
        """Since when the clock stands still until an answer, a validation or a person lets it run again."""
        return self.asking_since or self.held_since or self.fork_held_since

    def budget_time(self, at: int) -> int:
        """Up to when the budget has run. Its clock is paused while the delivery is stopped, while an agent waits for
        permission or a fork to be continued, and while a provider imposes a wait, which counts as paused as soon as it
        begins. It starts after the baseline."""
        if self.state == "preparing":
            return self.budget.started_at
        if self.stopped_at is not None:
            return self.stopped_at
        if self.scope_request is not None:
            return self.scope_request.at
        if self.still_since is not None:
            return self.still_since
        return max((at, *(turn.provider_wait or at for turn in self.outstanding.values())))

    def counted(self, since: int, until: int) -> tuple[int, int]:
        """Returns the part of that time for which the clock has run and is not made up for yet."""
        waits = (turn.provider_wait or 0 for turn in self.outstanding.values())
        return max((since, self.budget.started_at, self.deadline_moved, *waits)), min(until, self.budget_time(until))

    def stopped_for(self, at: int) -> int:
        """The time for which the clock has been paused; for an exhausted delivery that waits, at the latest since its
        deadline."""
        if self.stopped_at is None:
            return 0
        return at - min(self.stopped_at, self.budget.deadline_at + 1)

    def snapshot(self, at: int) -> BudgetStatus:
        """The budget now."""
        return self.budget.snapshot(iteration=self.gate, at=self.budget_time(at), reason=self.exhausted_by)

    def figures(self, at: int, iteration: int | None = None) -> dict[str, Any]:
        """The iteration and the budget as S4's events record them, for the running iteration or the given one."""
        gate = self.gate if iteration is None else iteration
        return {
            "iteration": self.iteration if iteration is None else iteration,
            "elapsed_ms": self.budget.elapsed(self.budget_time(at)),
            "remaining_iterations": self.budget.limits.remaining(gate),
            "reason": self.exhausted_by,
        }


# -- prompts ----------------------------------------------------------------------------------------------------------


def context(delivery: Delivery, phase: Phase) -> dict[str, str | Text]:
    """The values of the placeholders in the phase's prompt; empty for a phase without an agent. What a phase would have
    made that the delivery goes without has no place in it."""
    places = tuple(name for name in PLACES.get(phase, ()) if MADE_BY.get(name, phase) in (*delivery.way, phase))
    words = {
        "task": delivery.task,
        "files": _bullets(delivery.file_paths),
        "max_iterations": str(delivery.budget.limits.max_iterations),
        "iteration": str(delivery.iteration),
        "goals": _bullets(delivery.goals),
        "history": "\n".join(delivery.history),
        "validation": _validation(delivery, phase),
    }
    values: dict[str, str | Text] = {name: text for name, text in words.items() if name in places}
    values |= {name: delivery.contents.get(made, Text()) for name, made in MATERIAL.items() if name in places}
    if "feedback" in places:
        values["feedback"] = delivery.feedback
    if phase == "implementation":
        return values | to_write(delivery.revisions)
    return values | to_judge(delivery.revisions) if phase == "review" else values


def _bullets(lines: tuple[str, ...]) -> str:
    return "\n".join(f"- {line}" for line in lines)


def _validation(delivery: Delivery, phase: Phase) -> str:
    """The commands' results on the work and on the baseline; before implementation, only the commands."""
    if phase in ("implementation", "review"):
        before = red(delivery.baseline) if delivery.baseline else ""
        unknown = flaky_words(delivery.flaky.values()) if phase == "review" else ""
        weaker = weaker_words(delivery.weakened) if phase == "review" else ""
        tests = _tests(delivery) if phase == "review" else ""
        return "\n\n".join(filter(None, (unknown, weaker, delivery.validation_summary, before, tests)))
    return "\n".join(step.command for step in delivery.steps)


def _tests(delivery: Delivery) -> str:
    """The reviewer's text about tests that were changed together with the code; empty if there are none."""
    paths = changed_tests(delivery.written) if delivery.written else ()
    head = "These tests were changed in the same iteration as the code. Check that they still test what they did:"
    return "\n".join([head, *(f"- {path}" for path in paths)]) if paths else ""
