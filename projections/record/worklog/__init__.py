"""The worklog of a session in Markdown, as of any version (shape of cli-jaw's file, behaviour §1.12)."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from domain.session.record import Recorded
from domain.session.state import Session
from projections.record.turns import Turns
from projections.record.worklog import delivery, discussion, orchestration
from projections.record.worklog.log import Row, Worklog

__all__ = ["Worklog", "render", "write"]


class _Shape(NamedTuple):
    """How a kind of session is written down: the rows of an event, and the text of a session."""

    rows: Callable[[Worklog, Turns, Recorded], Iterator[Row]]
    text: Callable[[Any, Mapping[str, str], Sequence[Row]], str]


_SHAPES: Final = {
    "delivery": _Shape(delivery.rows, delivery.text),
    "orchestration": _Shape(orchestration.rows, orchestration.text),
    "review": _Shape(discussion.rows, discussion.text),
    "debate": _Shape(discussion.rows, discussion.text),
}


def write(log: Worklog, turns: Turns, recorded: Recorded) -> None:
    """Add what an event says."""
    shape = _SHAPES.get(recorded.kind)
    if shape is not None:
        for row in list(shape.rows(log, turns, recorded)):
            log.add(recorded.version, row)


def render(log: Worklog, session: Session, *, newest: int | None = None) -> str:
    """The worklog at the session's version, with so many of its newest entries (all of them, if not given)."""
    shape = _SHAPES[session.kind]
    return shape.text(session, log.latest(session.version), log.rows(session.version, newest))
