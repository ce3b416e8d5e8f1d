"""The things that a session waits for, in words: an agent's turn, the next attempt at it, or a person's answer."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from api.cli import exits
from api.cli.exits import is_held
from api.cli.labels import recorded, sentence
from api.cli.terminal import local_time, say, visible_name
from api.node.checkouts import free_branch

if TYPE_CHECKING:
    from api.cli.answers import Session, TurnView

Pairs = list[tuple[str, str]]


def is_paused(session: "Session") -> bool:
    """True if the session goes on only after an answer of a person: about changes outside its scope, or to a fork that
    is held."""
    return bool(session.get("scopeRequest")) or is_held(session)


def is_waiting(turn: "TurnView") -> bool:
    """True if nothing works on the turn now."""
    return bool(turn.get("waitingFor") or turn.get("elsewhere") or turn.get("machine") or turn.get("queued"))


def mark_queued(turns: "Iterable[TurnView]", states: Mapping[str, str], *, is_worked_on: bool) -> None:
    """Mark the turns that nothing works on: those that no worker has claimed, and all of them if there is no worker.
    `states` are those of the lease table."""
    for turn in turns:
        if not is_worked_on:
            turn["queued"] = "no_worker"
        elif states.get(str(turn["turnId"])) == "queued":
            turn["queued"] = "unclaimed"


def doing(turn: "TurnView") -> str:
    """Whose turn it is, what for, and what it waits for."""
    phase = str(turn["phase"] or "")
    if phase.isdecimal():  # an orchestration's
        what = sentence("phase {n}", n=phase)
    else:
        what = recorded("phase", phase) if phase else recorded("work", str(turn["work"]))
    return f"{turn['agent']} ({', '.join(filter(None, (what, _how(turn))))})"


def _how(turn: "TurnView") -> str:
    """Of an external agent its worker, who may not have come for the turn yet."""
    if turn.get("machine"):
        return sentence("on the machine {machine}, which has the workspace", machine=turn["machine"])
    if turn.get("waitingFor"):
        return reason(turn)
    if turn.get("external"):
        return sentence("by an external worker")
    if turn.get("elsewhere"):
        return sentence("not in this team")
    return _why_queued(turn)


def _why_queued(turn: "TurnView") -> str:
    """Empty for a turn that is at work."""
    match turn.get("queued"):
        case None:
            return ""
        case "no_worker":
            return sentence("not started: no worker is running")
        case _ if turn["work"] == "ask":
            return sentence("not started: needs a free worker whose team file includes {agent}", agent=turn["agent"])
        case _:
            return sentence("not started: no worker is free")


def reason(turn: "TurnView") -> str:
    """Says why the turn waits, and when the next attempt begins."""
    code = str(turn["waitingFor"])
    why = _cause(turn, code)
    if not turn.get("waitingUntil"):
        return why
    when = "{reason}; attempt {number} at {time}"
    return sentence(when, reason=why, number=turn["attempt"], time=local_time(turn["waitingUntil"]))


def _cause(turn: "TurnView", code: str) -> str:
    match code:
        case "permission":
            return sentence("permission")
        case "branch" if place := turn.get("checkedOutIn"):
            return sentence("waits for you: its branch is checked out in {path}", path=visible_name(place))
        case "branch":
            return sentence("waits for you: its branch is checked out")
        case _:
            return recorded("failure", code).replace("_", " ")


def needs_branch(turns: "Iterable[TurnView]") -> bool:
    """True if one of the turns waits until a person has checked out another branch."""
    return any(turn.get("waitingFor") == "branch" for turn in turns)


def next_of(session: "Session") -> str:
    """The command that asks at once, after the one that makes room for it where a person has the branch checked out."""
    again = f"hansard retry {session['id']}"
    turns = [turn for turn in session.get("outstandingTurns") or () if turn.get("waitingFor") == "branch"]
    if not turns:
        return sentence("{command} (asks at once)", command=again)
    places = dict.fromkeys(turn.get("checkedOutIn") for turn in turns)
    steps = (sentence("first: {command}", command=free_branch(place)) for place in places)
    return "\n".join([*steps, sentence("then: {command}", command=again)])


def questions(session: "Session") -> Pairs:
    """The question to a person, with the commands that answer it."""
    wishes = [f"{each['agent']}: {each['tool']}: {each['title']}" for each in session.get("permissionRequests") or ()]
    scope = session.get("scopeRequest")
    return [
        ("asks for permission", "\n".join(wishes)),
        ("outside the scope", "\n".join(scope["paths"]) if scope else ""),
        ("to answer", answers(session) if wishes or scope else ""),
    ]


def answers(session: "Session") -> str:
    """The commands that allow or deny; of several requests, each is named."""
    requests = session.get("permissionRequests") or ()
    names = [f" {each['requestId']}" for each in requests] if len(requests) > 1 else [""]
    return "\n".join(f"hansard {verb} {session['id']}{name}" for name in names for verb in ("allow", "deny"))


def why_waiting(session: "Session") -> Pairs:
    """Says why nothing happens in a session that is not over, and the command that changes it; else nothing."""
    open_questions = questions(session)
    if any(text for _, text in open_questions):
        return open_questions
    turns = [turn for turn in session.get("outstandingTurns") or () if turn.get("waitingUntil")]
    if not turns:
        return []
    return [
        ("waits for", "\n".join(doing(turn) for turn in turns)),
        ("next", next_of(session)),
    ]


def below(session: "Session") -> list[str]:
    """The reviews and debates that a session may wait for, as it has nothing else to do."""
    return [] if exits.rests(session) or session.get("outstandingTurns") else list(session.get("children") or ())


def say_decision(discussion: "Session") -> None:
    """The commands that decide a review or debate, if it waits for that."""
    if discussion["status"] != exits.WAITING:
        return
    say(sentence("Waiting for your decision:"))
    digest = f" --seen {str(discussion['seen'])[:12]}" if discussion.get("approval") else ""
    say("  " + "     ".join(f"hansard decide {discussion['id']} {choice}{digest}" for choice in discussion["choices"]))


def say_no_worker(session_id: str) -> None:
    """No process runs the turns of the log."""
    advice = "No worker is running on this log: start `hansard serve`, or run it here: `hansard resume {session_id}`."
    say(sentence(advice, session_id=session_id))
