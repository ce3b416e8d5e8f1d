"""How an action is refused: the state of the session, what cannot be done, what can (contract §3)."""

from domain.session.children import NO_DECISION, Decide
from domain.session.state import Session
from domain.values.base import Command, Refused

NO_BUDGET = "has no budget to extend"


def with_release(session: Session, actions: tuple[str, ...]) -> tuple[str, ...]:
    """The actions that a session allows; one that is held can be continued, too."""
    return ("continue", *actions) if session.held and "continue" not in actions else actions


def told(session: Session) -> str:
    """The session and its state, to begin a sentence with: `A delivery in the state running (planning)`."""
    article = "An" if session.kind[0] in "aeiou" else "A"
    state = session.status if session.status == session.state else f"{session.status} ({session.state})"
    return f"{article} {session.kind} in the state {state}"


def refusal(session: Session, verdict: str, actions: tuple[str, ...], *, before: str = "", after: str = "") -> Refused:
    """`verdict` as in "cannot be reset"; `before` and `after` are sentences around it."""
    found = with_release(session, actions)
    nothing = "" if found else "Nothing is allowed now."
    sentence = " ".join(part for part in (before, f"{told(session)} {verdict}.", after, nothing) if part)
    return Refused(sentence, allowed=found)


def unfit(session: Session, command: Command, actions: tuple[str, ...]) -> Refused:
    """A command that this kind of session never takes. Only a discussion waits for a decision, never its parent."""
    if not isinstance(command, Decide):
        return refusal(session, command.REFUSAL, actions)
    waiting = ", ".join(session.open_children)
    if len(session.open_children) > 1:
        return refusal(session, "waits for several decisions", actions, after=f"Address one of {waiting}.")
    if waiting:
        return refusal(session, f"{NO_DECISION} yet", actions, after=f"{waiting} still discusses.")
    last = f"The last one was: {session.last_choice}." if session.last_choice else ""
    return refusal(session, NO_DECISION, actions, after=last)
