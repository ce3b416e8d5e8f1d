"""What every decision needs: the open doors, the chart's next state, the fields that S4's events share."""

from collections.abc import Sequence
from typing import Any

from domain.delivery.chart import PHASES, TABLE, Phase
from domain.delivery.events import ArtifactCreated
from domain.delivery.state import Delivery
from domain.session.draft import Draft
from domain.session.state import Outstanding
from domain.values.base import Text

DeliveryDraft = Draft[Delivery]

DOORS = ("cancel", "extend")
ROLES: dict[Phase, str] = {
    "planning": "planner",
    "architecture": "architect",
    "design": "designer",
    "implementation": "dev",
    "validation": "test",
    "review": "reviewer",
    "packaging": "supervisor",
}


def allowed_actions(delivery: Delivery) -> tuple[str, ...]:
    """What a person may do now, by the names of the doors (contract §2)."""
    return tuple(door for door in DOORS if TABLE.target(delivery.state, door, delivery.guard) is not None)


def next_state(draft: DeliveryDraft, event: str, *, sentence: str) -> str:
    """The state that the event leads to; Refused, with `sentence`, where it leads nowhere."""
    return TABLE.next(draft.session.state, event, draft.session.guard, sentence=sentence)


def next_phase(draft: DeliveryDraft, event: str, *, sentence: str) -> Phase:
    """The same, where the next state is a phase."""
    state = next_state(draft, event, sentence=sentence)
    return next(phase for phase in PHASES if phase == state)


def waiting(draft: DeliveryDraft, turn_id: str) -> Outstanding:
    """The turn, while it is waited for. The doors are looked up for a refusal alone: every answer comes this way."""
    delivery = draft.session
    found = delivery.outstanding.get(turn_id)
    return found if found is not None else delivery.turn(turn_id, allowed=allowed_actions(delivery))


def about(
    draft: DeliveryDraft, phase: Phase, *, role: str | None = None, iteration: int | None = None
) -> dict[str, Any]:
    """S4's flat fields for an event about a phase: of the running iteration, or of the one that is named."""
    delivery = draft.session
    return {
        "role": role or ROLES[phase],
        "phase": phase,
        "iteration": delivery.iteration if iteration is None else iteration,
        "elapsed_ms": delivery.budget.elapsed(delivery.budget_time(draft.at)),
        "remaining_iterations": delivery.budget.limits.remaining(delivery.gate if iteration is None else iteration),
        "reason": delivery.exhausted_by,
    }


def artifact_id(delivery: Delivery) -> str:
    """The id of the artifact that is made next."""
    return f"{delivery.id}.a{delivery.artifacts + 1}"


def artifact(
    draft: DeliveryDraft,
    phase: Phase,
    media_type: str,
    text: Text,
    *,
    patch: Text | None = None,
    goals: Sequence[str] = (),
) -> str:
    """Keep what was made; its id."""
    name = artifact_id(draft.session)
    draft.record(
        ArtifactCreated(
            message=f"Artifact of {phase} created.",
            artifact_id=name,
            media_type=media_type,
            content=text,
            patch=patch,
            goals=tuple(goals),
            **about(draft, phase),
        )
    )
    return name
