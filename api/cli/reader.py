"""The sessions that `list`, `show` and `inbox` read: one port with two implementations, a server and this process.

`ServerReader` asks the API behind an address. `ProcessReader` opens the log: it reads the files themselves where these
can say what is wanted, and starts the whole application only where they cannot, which takes six times as long.
"""

import json
import os
from collections.abc import Coroutine, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Generic, NamedTuple, Protocol, TypeVar, cast

from api.cli.labels import sentence
from api.cli.options import Where
from api.cli.terminal import local_time, one_line, say
from api.node.checkouts import checkout_of
from api.node.local_files import default_log, node_folder
from api.node.log_files import ListRow, LogFiles, NeedRow, PermissionRow

if TYPE_CHECKING:
    from api.cli.answers import (
        ExplainedCause,
        Explanation,
        LandingView,
        PullRequestRow,
        SentenceData,
        SessionAnswer,
        SessionItem,
        WaitingItem,
    )
    from api.cli.client import Api

T = TypeVar("T")
Item = TypeVar("Item")

_MOST: Final = 200
"""Rows from which on a table is read from the API, page by page."""
_HARMLESS: Final = frozenset({"DATABASE", "DATA_DIR", "DEBUG", "TEAM", "AUTH", "API_KEY", "HOST", "PORT", "EXAMPLE"})
"""Settings (`HANSARD_…`) that change nothing about what is read, or are looked at here."""


Filters = Mapping[str, str | None]
"""What a list is limited to, by the names of the API."""


class SessionLine(NamedTuple):
    """A row of `list`, for people."""

    session_id: str
    status: str
    updated: str
    title: str


class ItemPage(NamedTuple, Generic[Item]):
    """Items of the API, and the cursor after them."""

    items: Sequence[Item]
    cursor: str | None


class SessionLines(NamedTuple):
    """The newest sessions for a table, and whether there are more."""

    rows: Sequence[SessionLine]
    more: bool


class WaitingItems(NamedTuple):
    """What waits for a person, as far as a table shows it, and whether there is more."""

    items: "Sequence[WaitingItem]"
    more: bool


class SessionReader(Protocol):
    """The sessions of one log. Raises Failed for what is not there."""

    def sessions(self, filters: Filters, limit: int, cursor: str | None = None) -> "ItemPage[SessionItem]":
        """A list of sessions in full, newest first."""

    def lines(self, filters: Filters, limit: int, cursor: str | None = None) -> SessionLines:
        """The same for a table."""

    def session(self, name: str, at: int | None = None) -> "SessionAnswer":
        """The answer about the session of this name, now or after an event."""

    def cause(self, session_id: str, at: int | None = None) -> "ExplainedCause | None":
        """The event that says what went wrong in a session that has stopped, or None."""

    def decisions(self, limit: int) -> "ItemPage[WaitingItem]":
        """Returns what waits for a person, in full."""

    def waiting(self, limit: int) -> WaitingItems:
        """The same for a table."""

    def turn_states(self, session_id: str) -> dict[str, str] | None:
        """The states of the session's turns in the lease table; None where the answer tells them already."""

    def is_worked_on(self) -> bool:
        """True if some process is there to work on open turns."""


def reader_of(where: Where) -> SessionReader:
    return ProcessReader(where) if where.address() is None else ServerReader(where)


class ServerReader:
    """Reads through the API: of a server, or of the application in this process."""

    def __init__(self, where: Where) -> None:
        self._where = where

    def sessions(self, filters: Filters, limit: int, cursor: str | None = None) -> "ItemPage[SessionItem]":
        return _run(self._pages("/api/sessions", limit, cursor, filters))

    def lines(self, filters: Filters, limit: int, cursor: str | None = None) -> SessionLines:
        page = self.sessions(filters, limit, cursor)
        return SessionLines([_line(item) for item in page.items], page.cursor is not None)

    def session(self, name: str, at: int | None = None) -> "SessionAnswer":
        return _run(self._session(name, at))

    def cause(self, session_id: str, at: int | None = None) -> "ExplainedCause | None":
        return _run(self._cause(session_id, at))

    def decisions(self, limit: int) -> "ItemPage[WaitingItem]":
        return _run(self._pages("/api/decisions", limit, None, {}))

    def waiting(self, limit: int) -> WaitingItems:
        page = self.decisions(limit)
        return WaitingItems(page.items, page.cursor is not None)

    def turn_states(self, session_id: str) -> dict[str, str] | None:
        return None

    def is_worked_on(self) -> bool:
        return True

    async def _pages(self, path: str, limit: int, cursor: str | None, filters: Filters) -> ItemPage[Any]:
        from api.cli.client import connected, missing_log  # what reads files starts without it

        missing = None if self._where.address() else missing_log(self._where.settings())
        if missing is not None:
            say(sentence("No log at {file} yet: there will be one with the first session.", file=missing))
            return ItemPage([], None)
        async with connected(self._where) as api:
            return ItemPage(*await api.pages(path, limit=limit, cursor=cursor, **filters))

    async def _cause(self, session_id: str, at: int | None) -> "ExplainedCause | None":
        from api.cli.client import connected, path_of  # what reads files starts without it

        async with connected(self._where) as api:
            answer: Explanation = await api.get(f"{path_of(session_id)}/explain", version=at)
            return answer["cause"]

    async def _session(self, name: str, at: int | None) -> "SessionAnswer":
        from api.cli.client import connected, resolve

        async with connected(self._where) as api:
            session_id = await resolve(api, name)
            answer = await api.session(session_id, at=at)
            if at is None:
                self._answered(api, session_id)
            return answer

    def _answered(self, api: "Api", session_id: str) -> None:
        """A server keeps its own answers."""


class ProcessReader(ServerReader):
    """Reads the log without a server, from its files where these can say."""

    def __init__(self, where: Where) -> None:
        super().__init__(where)
        self._files = _files_of(where)

    def lines(self, filters: Filters, limit: int, cursor: str | None = None) -> SessionLines:
        columns = {name: filters.get(name) for name in ("kind", "status")}
        rows = None
        if self._files and not cursor and limit < _MOST and not any(filters[name] for name in filters.keys() - columns):
            rows = self._files.newest(kind=columns["kind"], status=columns["status"], limit=limit + 1)
        if rows is None or (not rows and any(columns.values())):  # there may be no such kind or status
            return super().lines(filters, limit, cursor)
        return SessionLines([_of_row(row) for row in rows[:limit]], len(rows) > limit)

    def session(self, name: str, at: int | None = None) -> "SessionAnswer":
        answer = self._files.answer(name, checkout_of(Path.cwd())) if self._files and name and at is None else None
        return super().session(name, at) if answer is None else cast("SessionAnswer", answer)  # an answer that was kept

    def cause(self, session_id: str, at: int | None = None) -> "ExplainedCause | None":
        if self._files is None:
            return super().cause(session_id, at)
        from adapters.store.location import reading  # sessions that did not stop have no cause
        from domain.kinds import fold
        from domain.session.record import kind_of
        from domain.values.words import of_environment
        from projections.record.explain import cause_of

        with reading(self._where.settings().database) as log:
            history = log.history(session_id, upto=at)
        session = fold(kind_of(session_id), ((recorded.event, recorded.metadata) for recorded in history))
        cause = None if session is None else cause_of(history, session, of_environment(os.environ))
        return None if cause is None else cast("ExplainedCause", cause.model_dump(mode="json", by_alias=True))

    def waiting(self, limit: int) -> WaitingItems:
        rows = self._files.waiting(limit + 1) if self._files and limit < _MOST else None
        if rows is None:
            return super().waiting(limit)
        return WaitingItems([_item(row) for row in rows[:limit]], len(rows) > limit)

    def turn_states(self, session_id: str) -> dict[str, str]:
        states = self._files.turn_states(session_id) if self._files else None
        if states is not None:
            return states
        from adapters.store.location import reading  # the database that machines share

        with reading(self._where.settings().database) as log:
            return {str(row[0]): str(row[6]) for row in log.rows.turns(session_id)}

    def is_worked_on(self) -> bool:
        if self._files:
            return self._files.is_worked_on()
        from api.node.workers import other_workers  # settings, and the database that machines share

        return other_workers(self._where.settings())

    def _answered(self, api: "Api", session_id: str) -> None:
        """Keep the answer for the next command."""
        from api.node.session_answers import AnswerKeeper

        if api.system is not None:
            AnswerKeeper(api.system).keep(session_id)


def _run(reading: Coroutine[Any, Any, T]) -> T:
    import asyncio  # half of what a command takes that reads files

    return asyncio.run(reading)


# -- the files -------------------------------------------------------------------------------------------------------


def _files_of(where: Where) -> LogFiles | None:
    """The files of the log; None where it may not be one, or where settings are given that are judged elsewhere."""
    names = {name.removeprefix("HANSARD_") for name, value in os.environ.items() if name[:8] == "HANSARD_" and value}
    if names - _HARMLESS:
        return None
    named = where.database or os.environ.get("HANSARD_DATABASE")
    path = (named or "").removeprefix("sqlite:///")
    if named and ("://" in path or not path.strip()):
        return None
    log = default_log() if not named else Path(path) if path != named else Path(named).expanduser().absolute()
    folder = os.environ.get("HANSARD_DATA_DIR")
    node = Path(folder).expanduser().absolute() if folder else node_folder(str(log.absolute()), log.stem)
    return LogFiles(log, node)


def _marked(title: str, scripted: object, forked: object) -> str:
    """The title, with marks where scripted agents took part, and where it is that of the session it was forked from."""
    marks = [sentence("scripted")] if scripted else []
    marks += [sentence("fork")] if forked else []
    return "".join([*(f"[{mark}] " for mark in marks), title])


def _landed(status: str, landing: "LandingView | None") -> str:
    """The status, and how the newest landing ended."""
    if landing is None:
        return status
    from api.cli.handover_words import landing_in_short  # most lists have none

    return f"{status}, {landing_in_short(landing)}"


def _pulled(status: str, pull: "PullRequestRow | None") -> str:
    """The status, and how the pull request stands."""
    if pull is None:
        return status
    from api.cli.handover_words import pull_request_in_short  # most lists have none

    return f"{status}, {pull_request_in_short(pull)}"


def _pull_of(text: str | None) -> "PullRequestRow | None":
    pull: PullRequestRow | None = json.loads(text) if text else None
    return pull if pull and pull.get("number") is not None else None


def _line(item: "SessionItem") -> SessionLine:
    machine = next((turn["machine"] for turn in item["outstandingTurns"] if turn.get("machine")), None)
    status = _landed(str(item["status"]), item.get("landing") or None)
    status = _pulled(status, item.get("pullRequest") or None)
    if machine is not None and not item.get("landing"):
        status = f"{status}, {sentence('waiting for the machine {machine}', machine=one_line(machine))}"
    title = _marked(str(item["title"]), item.get("scripted"), item.get("forkedFrom"))
    return SessionLine(str(item["id"]), status, local_time(item["updatedAt"]), title)


def _of_row(row: ListRow) -> SessionLine:
    updated = datetime.fromtimestamp(row.updated_at / 1000).astimezone().strftime("%Y-%m-%d %H:%M:%S")
    status = _landed(row.status, json.loads(row.landing) if row.landing is not None else None)
    status = _pulled(status, _pull_of(row.pull_request))
    return SessionLine(row.session_id, status, updated, _marked(row.title, row.scripted, row.forked_from))


def _item(row: NeedRow | PermissionRow) -> "WaitingItem":
    """Returns what waits, with the fields of the API's item that a table shows."""
    about: dict[str, object] = {"sessionId": row.session_id, "parent": row.parent, "title": row.title}
    about["since"] = datetime.fromtimestamp(row.since / 1000, UTC).isoformat()
    if isinstance(row, PermissionRow):
        question = {"question": row.question, "agent": row.agent, "summary": f"{row.tool}: {row.question}"}
        item = {**about, "waitsFor": "permission", "choices": ["allow", "deny"], **question}
        return cast("WaitingItem", item)  # as far as a table shows it
    from projections.record.status import why  # an empty inbox takes none

    item = {
        **about,
        "waitsFor": row.waits_for,
        "choices": json.loads(row.choices or "[]"),
        "feedback": json.loads(row.feedback) if row.feedback and row.waits_for == "decision" else None,
        "cause": row.cause,
        "why": why(row.cause),
        "summary": row.summary,
        "summarySentence": json.loads(row.sentence) if row.sentence else None,
        "notes": _open_points(row.checked, row.waits_for),
    }
    return cast("WaitingItem", item)  # as far as a table shows it


def _open_points(checked: str | None, waits_for: str) -> "list[SentenceData]":
    from projections.sessions.open_points import open_points

    points = open_points(checked, waits_for)
    if not points:
        return []
    from domain.values.sentences import Sentence

    return [{"text": str(Sentence(code, **params)), "code": code, "params": params} for code, params in points]
