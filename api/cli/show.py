"""`show`: one session."""

from typing import TYPE_CHECKING, Final

from api.cli import exits
from api.cli.figures import present
from api.cli.options import HERE, AsJson, At, Id, Where
from api.cli.reader import reader_of
from api.cli.reader_port import SessionReader
from api.cli.session import details
from api.cli.tables import put_pairs
from api.cli.terminal import put_json
from api.cli.waits import below, mark_queued, say_decision, say_no_worker

if TYPE_CHECKING:
    from api.cli.answers import Session

_STOPPED: Final = frozenset({"failed", "partial", "checkpoint"})
"""The statuses of sessions whose reasons are in their events."""


def show(session: Id, /, *, at: At = None, json: AsJson = False, where: Where = HERE) -> int:
    """Show a session: its status, its result and the commands it allows now."""
    reader = reader_of(where)
    answer = reader.session(session, at)
    if json:
        put_json(answer)
    else:
        item = answer["session"]
        cause = reader.cause(str(item["id"]), at) if item.get("reason") or item["status"] in _STOPPED else None
        is_worked_on = at is not None or _is_worked_on(reader, answer["session"])
        put_pairs(details(item if at is not None else present(item), answer.get("availableCommands") or [], cause))
        discussions = [reader.session(name)["session"] for name in below(item)] if at is None else []
        for each in discussions:
            say_decision(each)
            is_worked_on = is_worked_on and _is_worked_on(reader, each)
        if not is_worked_on:
            say_no_worker(str(answer["session"]["id"]))
    return exits.OK


def _is_worked_on(reader: SessionReader, session: "Session") -> bool:
    """True if a process is there to work on its open turns, if it has any; those that wait for one are marked. A server
    has marked them itself."""
    turns = session.get("outstandingTurns") or ()
    due = [turn for turn in turns if turn["work"] != "wait" and not turn.get("waitingFor")]
    if not due or (states := reader.turn_states(str(session["id"]))) is None:
        return True
    is_worked_on = reader.is_worked_on()
    mark_queued(due, states, is_worked_on=is_worked_on)
    return is_worked_on
