"""More budget for a session, or more rounds."""

from collections.abc import Collection, Sequence
from typing import Annotated, Final

from pydantic import Field, StrictInt
from pydantic.alias_generators import to_camel

from api.actions.answers import Receipt
from api.actions.bodies import Body, Reason
from api.actions.declaration import ActionCall, FormOf, Intent, Tool, action
from domain.delivery.commands import ExtendBudget
from domain.orchestration.commands import AddRounds
from domain.session.record import kind_of
from domain.values.base import Command, Invalid
from domain.values.budget import Iterations, Minutes
from domain.values.sentences import Sentence


class MoreBudget(Body):
    """A larger budget from here on."""

    add_iterations: Iterations | None = None
    add_minutes: Minutes | None = None
    add_tokens: Annotated[StrictInt, Field(ge=1, le=2**53)] | None = None
    add_cost_micros: Annotated[StrictInt, Field(ge=1, le=2**53)] | None = None
    add_rounds: Annotated[StrictInt, Field(ge=1, le=50)] | None = None


class Extend(MoreBudget):
    """More budget; at least one amount, and why."""

    reason: Annotated[Reason, Field(min_length=1, pattern=r"\S")]


@action(
    "/api/sessions/{id}/budget",
    scope="decide",
    body=Extend,
    answer=Receipt,
    summary="Add budget to a session",
    description="Recorded as a person's command. A delivery that ran out of budget continues.",
    example={"addIterations": 2, "addMinutes": 15, "reason": "the last issue is small"},
    form=FormOf(units={"addCost": "addCostMicros"}, again=True),
    tools=(Tool("add_budget", "Give a session more budget or rounds."),),
)
async def extend_budget(call: ActionCall[Extend]) -> Intent:
    """Give a session more budget, or more rounds."""
    return Intent(call.session, _extension(kind_of(call.session), call.body))


def _extension(kind: str, body: Extend) -> Command:
    """Raises Invalid for amounts that this kind does not have; a kind without a budget refuses all of them."""
    amounts = body.model_dump(exclude={"reason"}, exclude_none=True)
    if kind not in _AMOUNTS:
        return ExtendBudget(reason=body.reason)
    command, names = _AMOUNTS[kind]
    if not amounts or not amounts.keys() <= set(names):
        raise _unfit(kind, amounts, names)
    return command(reason=body.reason, **amounts)


def _unfit(kind: str, amounts: Collection[str], names: Sequence[str]) -> Invalid:
    """Returns what the kind accepts, reported at each field that it does not have."""
    fit = [to_camel(name) for name in names]
    strange = [f"/{to_camel(name)}" for name in amounts if name not in names]
    if not strange:
        return Invalid({"": Sentence("fields_missing_any" if len(names) > 1 else "fields_missing", fields=fit)})
    return Invalid(dict.fromkeys(strange, Sentence("field_of_another_kind", kind=kind, fields=fit)))


_AMOUNTS: Final[dict[str, tuple[type[ExtendBudget | AddRounds], tuple[str, ...]]]] = {
    "delivery": (ExtendBudget, ("add_iterations", "add_minutes", "add_tokens", "add_cost_micros")),
    "orchestration": (AddRounds, ("add_rounds",)),
}
