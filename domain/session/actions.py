"""How a door that does not open is refused: the state of the session, what cannot be done, what can (contract §3)."""

from typing import NoReturn

from domain.delivery.commands import CancelDelivery, ExtendBudget
from domain.discussion.commands import CancelDiscussion, Decide
from domain.orchestration.commands import AddRounds, ContinueOrchestration, ResetOrchestration
from domain.session.state import Session
from domain.values.base import Command, Refused

NO_BUDGET = "has no budget to extend"
NO_DECISION = "does not wait for a decision"

_REFUSED: dict[type[Command], str] = {
    ContinueOrchestration: "cannot be continued",
    ResetOrchestration: "cannot be reset",
    CancelDelivery: "cannot be cancelled",
    CancelDiscussion: "cannot be cancelled",
    ExtendBudget: "cannot be given more budget",
    AddRounds: "cannot be given more rounds",
    Decide: NO_DECISION,
}
"""In the words of whoever asked. What is not among them no door sends."""


def with_release(session: Session, actions: tuple[str, ...]) -> tuple[str, ...]:
    """The doors of a session; one that is held can be let go on, too."""
    return ("continue", *actions) if session.held and "continue" not in actions else actions


def told(session: Session) -> str:
    """The session and its state, to begin a sentence with: `A delivery in the state running (planning)`."""
    article = "An" if session.kind[0] in "aeiou" else "A"
    state = session.status if session.status == session.state else f"{session.status} ({session.state})"
    return f"{article} {session.kind} in the state {state}"


def refusal(session: Session, verdict: str, actions: tuple[str, ...], *, before: str = "", behind: str = "") -> Refused:
    """`verdict` as in "cannot be reset"; `before` and `behind` are sentences around it."""
    found = with_release(session, actions)
    nothing = "" if found else "Nothing is allowed now."
    sentence = " ".join(part for part in (before, f"{told(session)} {verdict}.", behind, nothing) if part)
    return Refused(sentence, allowed=found)


def unfit(session: Session, command: Command, actions: tuple[str, ...]) -> Refused:
    """A command that this kind of session never takes."""
    return refusal(session, _REFUSED.get(type(command), "does not take this"), actions)


def refuse_decision(session: Session, actions: tuple[str, ...]) -> NoReturn:
    """What waits for a decision is always a discussion; its parent never does itself."""
    waiting = ", ".join(session.open_children)
    if len(session.open_children) > 1:
        raise refusal(session, "waits for several decisions", actions, behind=f"Address one of {waiting}.")
    if waiting:
        raise refusal(session, f"{NO_DECISION} yet", actions, behind=f"{waiting} still discusses.")
    last = f"The last one was: {session.last_choice}." if session.last_choice else ""
    raise refusal(session, NO_DECISION, actions, behind=last)
