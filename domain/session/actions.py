"""Says how an action is refused: the state of the session, what is not possible, and what is (contract §3)."""

from domain.session.children import NO_DECISION, Decide
from domain.session.state import Session
from domain.values.base import Command, Refused
from domain.values.sentences import Sentence

NO_BUDGET = "has_no_budget"


def with_shared(session: Session, actions: tuple[str, ...]) -> tuple[str, ...]:
    """The actions that a session allows, including those of every kind: a held one can be continued, and permissions
    that agents ask for can be answered."""
    release = ("continue",) if session.held and "continue" not in actions else ()
    answer = ("permission",) if session.questions and "permission" not in actions else ()
    return (*release, *actions, *answer)


def refusal(session: Session, code: str, actions: tuple[str, ...], **params: object) -> Refused:
    """The sentence of this code about the session. The parameters `before` and `after` are sentences around it."""
    allowed = with_shared(session, actions)
    about = {"id": session.id, "kind": session.kind, "status": session.status, "state": session.state}
    nothing = () if allowed else (Sentence("nothing_allowed_now"),)
    after = [each for each in (params.pop("after", None), *nothing) if each]
    around = {"after": after} if after else {}
    return Refused(Sentence(code, **about, **params, **around), allowed=allowed)


def unfit(session: Session, command: Command, actions: tuple[str, ...]) -> Refused:
    """Refuses a command that this kind of session never takes. Only a discussion waits for a decision, never its
    parent."""
    if not isinstance(command, Decide):
        return refusal(session, command.REFUSAL, actions)
    waiting = list(session.open_children)
    if len(waiting) > 1:
        after = Sentence("address_one_of", sessions=waiting)
        return refusal(session, "waits_for_several_decisions", actions, after=after)
    if waiting:
        after = Sentence("still_discussing", session=waiting[0])
        return refusal(session, f"{NO_DECISION}_yet", actions, after=after)
    last = Sentence("last_choice", choice=session.last_choice) if session.last_choice else None
    return refusal(session, NO_DECISION, actions, after=last)
