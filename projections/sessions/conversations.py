"""Conversations: the orchestrations of one origin, as messages of a person and answers of the team; and its queue."""

from collections import defaultdict
from collections.abc import Callable, Sequence

from domain.channel import Channel, Waiting
from domain.orchestration.state import Orchestration
from domain.values.base import iso
from projections.engine.ports import LATEST, Database
from projections.record.results import result_of
from projections.sessions.overview import cursor_of, position_of
from projections.sessions.row import ROWS, SessionRow
from projections.views.conversations import (
    ChannelView,
    ConversationItem,
    ConversationLine,
    ConversationPage,
    ConversationView,
    WaitingMessage,
)
from projections.views.session import ResultView

MOST = 200
"""Maximum number of conversations on a page, and of sessions in one: the newest."""
_OPEN = ("checkpoint", "partial")


def newest_first(db: Database, *, limit: int = MOST, cursor: str | None = None) -> ConversationPage:
    """The conversations with an origin; first those whose latest run began last. Raises Invalid for a cursor that was
    not returned from here."""
    before = LATEST if cursor is None else position_of(cursor)
    newest = db.execute(
        "SELECT origin, max(created) AS latest FROM overview WHERE kind = 'orchestration' AND origin <> ''"
        " GROUP BY origin HAVING latest < ? ORDER BY latest DESC LIMIT ?",
        (before, limit + 1),
    ).fetchall()
    shown = dict(newest[:limit])
    places = ", ".join("?" for _ in shown)
    runs: defaultdict[str, list[SessionRow]] = defaultdict(list)
    condition = f"WHERE kind = 'orchestration' AND origin IN ({places}) ORDER BY created DESC"
    for row in ROWS.select(db, condition, tuple(shown)) if shown else ():
        runs[row.origin].append(row)
    return ConversationPage(
        items=tuple(_item(origin, runs[origin]) for origin in shown),
        next_cursor=cursor_of(newest[limit - 1][1]) if len(newest) > limit else None,
    )


def _item(origin: str, rows: Sequence[SessionRow]) -> ConversationItem:
    """`rows`: its sessions, newest first."""
    return ConversationItem(
        origin=origin,
        updated_at=iso(max(row.updated_at for row in rows)),
        waiting=_first(rows, *_OPEN),
        running=_first(rows, "active"),
        messages=sum(1 if row.status == "active" else 2 for row in rows),
    )


def _first(rows: Sequence[SessionRow], *statuses: str) -> str | None:
    return next((row.session_id for row in rows if row.status in statuses), None)


def conversation(
    db: Database, origin: str, load: Callable[[str], object], channel: Channel | None = None
) -> ConversationView | None:
    """The messages and answers, oldest first, then the messages that wait; None if there are none."""
    rows = ROWS.select(db, "WHERE kind = 'orchestration' AND origin = ? ORDER BY created DESC LIMIT ?", (origin, MOST))
    sessions = [loaded for row in reversed(rows) if isinstance(loaded := load(row.session_id), Orchestration)]
    queue = channel.queue if channel else ()
    if not sessions and not queue:
        return None
    lines = [line for session in sessions for line in _lines(session)]
    return ConversationView(
        origin=origin,
        messages=(*lines, *(_waiting(message) for message in queue)),
        waiting=_first(rows, *_OPEN),
        running=_first(rows, "active"),
        result=_result(sessions),
    )


def _lines(session: Orchestration) -> list[ConversationLine]:
    question = ConversationLine(at=iso(session.created_at), author="person", text=session.prompt, session_id=session.id)
    if session.summary is None:
        return [question]
    text = session.summary.shown()
    return [question, ConversationLine(at=iso(session.updated_at), author="team", text=text, session_id=session.id)]


def _waiting(message: Waiting) -> ConversationLine:
    return ConversationLine(
        at=iso(message.queued_at), author="person", text=message.opening.prompt, session_id=message.session_id
    )


def _result(sessions: Sequence[Orchestration]) -> ResultView | None:
    """The newest one that was not reset."""
    results = (
        result_of(session, session.affected_files) for session in reversed(sessions) if session.status != "reset"
    )
    return next((result for result in results if result is not None), None)


def channel_view(origin: str, channel: Channel | None) -> ChannelView:
    """`channel` is None if there was never a message."""
    return ChannelView(
        origin=origin,
        busy=channel.busy if channel else None,
        latest=channel.latest if channel else None,
        queue=tuple(_message(message) for message in channel.queue) if channel else (),
    )


def _message(message: Waiting) -> WaitingMessage:
    return WaitingMessage(
        session_id=message.session_id,
        prompt=message.opening.prompt,
        title=message.opening.title,
        sender=message.sender,
        queued_at=iso(message.queued_at),
    )
