"""The sessions that `list`, `show` and `inbox` read: one port with two implementations, a server and this process.

`ApiReader` asks the API behind an address. `ProcessReader` opens the log: it reads the files themselves where these
can say what is wanted, and starts the whole application only where they cannot, which takes six times as long.
"""

import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

from api.cli.options import Where
from api.cli.reader_port import (
    Filters,
    ItemPage,
    SessionLine,
    SessionLines,
    SessionReader,
    WaitingItems,
    as_seen,
    marked,
    with_branch,
    with_landing,
    with_pull_request,
)
from api.node.checkouts import checkout_of
from api.node.local_files import default_log, node_folder
from api.node.log_files import ListRow, LogFiles, NeedRow, PermissionRow

if TYPE_CHECKING:
    from api.cli.answers import ExplainedCause, PullRequestRow, SentenceData, SessionAnswer, SessionItem, WaitingItem
    from api.cli.api_reader import ApiReader
    from api.cli.log_reader import LogReader

_MOST: Final = 200
"""Rows from which on a table is read from the API, page by page."""
_HARMLESS: Final = frozenset({"DATABASE", "DATA_DIR", "DEBUG", "TEAM", "AUTH", "API_KEY", "HOST", "PORT", "EXAMPLE"})
"""Settings (`HANSARD_…`) that change nothing about what is read, or are looked at here."""


def reader_of(where: Where) -> SessionReader:
    return ProcessReader(where) if where.address() is None else _api(where)


def _api(where: Where) -> "ApiReader":
    from api.cli.api_reader import ApiReader  # what reads files starts without it

    return ApiReader(where)


def _log(where: Where) -> "LogReader":
    from api.cli.log_reader import LogReader  # sessions that did not stop have no cause

    return LogReader(where)


class ProcessReader:
    """Reads the log without a server, from its files where these can say."""

    def __init__(self, where: Where) -> None:
        self._where, self._files = where, _files_of(where)

    def sessions(self, filters: Filters, limit: int, cursor: str | None = None) -> "ItemPage[SessionItem]":
        return _api(self._where).sessions(filters, limit, cursor)

    def lines(self, filters: Filters, limit: int, cursor: str | None = None) -> SessionLines:
        columns = {name: filters.get(name) for name in ("kind", "status")}
        rows = None
        if self._files and not cursor and limit < _MOST and not any(filters[name] for name in filters.keys() - columns):
            rows = self._files.newest(kind=columns["kind"], status=columns["status"], limit=limit + 1)
        if rows is None or (not rows and any(columns.values())):  # there may be no such kind or status
            return _api(self._where).lines(filters, limit, cursor)
        return SessionLines([_of_row(row) for row in rows[:limit]], len(rows) > limit)

    def session(self, name: str, at: int | None = None) -> "SessionAnswer":
        answer = self._files.answer(name, checkout_of(Path.cwd())) if self._files and name and at is None else None
        return (
            _api(self._where).session(name, at) if answer is None else cast("SessionAnswer", answer)
        )  # an answer that was kept

    def cause(self, session_id: str, at: int | None = None) -> "ExplainedCause | None":
        return (
            _api(self._where).cause(session_id, at) if self._files is None else _log(self._where).cause(session_id, at)
        )

    def decisions(self, limit: int) -> "ItemPage[WaitingItem]":
        return _api(self._where).decisions(limit)

    def waiting(self, limit: int) -> WaitingItems:
        rows = self._files.waiting(limit + 1) if self._files and limit < _MOST else None
        if rows is None:
            return _api(self._where).waiting(limit)
        return WaitingItems([_item(row) for row in rows[:limit]], len(rows) > limit)

    def turn_states(self, session_id: str) -> dict[str, str]:
        states = self._files.turn_states(session_id) if self._files else None
        return _log(self._where).turn_states(session_id) if states is None else states

    def is_worked_on(self) -> bool:
        if self._files:
            return self._files.is_worked_on()
        from api.node.workers import others_have  # settings, and the database that machines share

        return others_have(self._where.settings())


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


def _pull_of(text: str | None, status: str) -> "PullRequestRow | None":
    """As the API has it: one that is not open yet only once the work is done."""
    pull: PullRequestRow | None = json.loads(text) if text else None
    return pull if pull and (pull.get("number") is not None or status in ("success", "done")) else None


def _of_row(row: ListRow) -> SessionLine:
    updated = datetime.fromtimestamp(row.updated_at / 1000).astimezone().strftime("%Y-%m-%d %H:%M:%S")
    status = with_landing(
        as_seen(row.status, held=row.cause == "held"), json.loads(row.landing) if row.landing is not None else None
    )
    status = with_branch(with_pull_request(status, _pull_of(row.pull_request, row.status)), needed=row.needs_branch)
    return SessionLine(row.session_id, status, updated, marked(row.title, row.scripted, row.forked_from))


def _item(row: NeedRow | PermissionRow) -> "WaitingItem":
    """Returns what waits, with the fields of the API's item that a table shows."""
    about: dict[str, object] = {"sessionId": row.session_id, "parent": row.parent, "title": row.title}
    about["since"] = datetime.fromtimestamp(row.since / 1000, UTC).isoformat()
    if isinstance(row, PermissionRow):
        question = {"question": row.question, "agent": row.agent, "summary": f"{row.tool}: {row.question}"}
        item = {**about, "waitsFor": "permission", "choices": ["allow", "deny"], **question}
        return cast("WaitingItem", item)  # as far as a table shows it
    from projections.record.status import why  # an empty inbox takes none

    reason = json.loads(row.sentence) if row.sentence else None
    item = {
        **about,
        "waitsFor": row.waits_for,
        "choices": json.loads(row.choices or "[]"),
        "feedback": json.loads(row.feedback) if row.feedback and row.waits_for == "decision" else None,
        "cause": row.cause,
        "why": why(row.cause),
        "summary": row.summary,
        "summarySentence": reason,
        "checkedOutIn": reason["params"].get("path") if reason and reason["code"] == row.cause else None,
        "notes": _open_points(row.checked, row.waits_for),
    }
    return cast("WaitingItem", item)  # as far as a table shows it


def _open_points(checked: str | None, waits_for: str) -> "list[SentenceData]":
    from projections.sessions.open_points import open_points  # an empty inbox takes none

    points = open_points(checked, waits_for)
    if not points:
        return []
    from domain.values.sentences import Sentence

    return [{"text": str(Sentence(code, **params)), "code": code, "params": params} for code, params in points]
