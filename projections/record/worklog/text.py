"""The worklog of a session in Markdown, as of any version (shape of cli-jaw's file, behaviour §1.12)."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from domain.session.record import Recorded
from domain.session.state import Session
from domain.values.words import Language, Words
from projections.record.markdown import worded, wording
from projections.record.session import view
from projections.record.status import outcome
from projections.record.turns import Turns
from projections.record.worklog import delivery, discussion, orchestration
from projections.record.worklog.forge import at_forge
from projections.record.worklog.parts import Row, Worklog, asked_again, comments, permissions


class _Shape(NamedTuple):
    """The form of a kind's worklog: the rows of an event, and the text of a session."""

    rows: Callable[[Worklog, Turns, Recorded], Iterator[Row]]
    text: Callable[[Any, Mapping[str, str], Sequence[Row], Words], str]


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
        more = (
            *permissions(recorded.event),
            *asked_again(recorded),
            *comments(recorded.event),
            *at_forge(recorded.event),
        )
        for row in [*shape.rows(log, turns, recorded), *more]:
            log.add(recorded.version, row)


def render(log: Worklog, session: Session, *, newest: int | None = None, language: Language | None = None) -> str:
    """The worklog at the session's version, with this many of its newest entries (by default all), in the wording of
    the seeds unless a language is given."""
    latest = log.latest(session.version)
    if language and latest.get("summary"):
        latest["summary"] = outcome(view(session).wire(), language)
    say = wording(language)
    return worded(_SHAPES[session.kind].text(session, latest, log.rows(session.version, newest), say), say)
