"""Sessions as the API answers: of a server, or of the whole application in this process."""

import asyncio
from typing import TYPE_CHECKING, Any

from api.cli.client import Api, connected, missing_log, path_of, resolve
from api.cli.labels import sentence
from api.cli.options import Where
from api.cli.reader_port import (
    Filters,
    ItemPage,
    SessionLine,
    SessionLines,
    WaitingItems,
    as_seen,
    marked,
    with_branch,
    with_landing,
    with_pull_request,
)
from api.cli.terminal import local_time, one_line, say
from api.cli.waits import needs_branch
from api.node.session_answers import AnswerKeeper

if TYPE_CHECKING:
    from api.cli.answers import (
        ExplainedCause,
        Explanation,
        SessionAnswer,
        SessionItem,
        WaitingItem,
    )


class ApiReader:
    """Reads through the API: of a server, or of the application in this process."""

    def __init__(self, where: Where) -> None:
        self._where = where

    def sessions(self, filters: Filters, limit: int, cursor: str | None = None) -> "ItemPage[SessionItem]":
        return asyncio.run(self._pages("/api/sessions", limit, cursor, filters))

    def lines(self, filters: Filters, limit: int, cursor: str | None = None) -> SessionLines:
        page = self.sessions(filters, limit, cursor)
        return SessionLines([_line(item) for item in page.items], page.cursor is not None)

    def session(self, name: str, at: int | None = None) -> "SessionAnswer":
        return asyncio.run(self._session(name, at))

    def cause(self, session_id: str, at: int | None = None) -> "ExplainedCause | None":
        return asyncio.run(self._cause(session_id, at))

    def decisions(self, limit: int) -> "ItemPage[WaitingItem]":
        return asyncio.run(self._pages("/api/decisions", limit, None, {}))

    def waiting(self, limit: int) -> WaitingItems:
        page = self.decisions(limit)
        return WaitingItems(page.items, page.cursor is not None)

    def turn_states(self, session_id: str) -> dict[str, str] | None:
        return None

    def is_worked_on(self) -> bool:
        return True

    async def _pages(self, path: str, limit: int, cursor: str | None, filters: Filters) -> ItemPage[Any]:
        missing = None if self._where.address() else missing_log(self._where.settings())
        if missing is not None:
            say(sentence("No log at {file} yet: there will be one with the first session.", file=missing))
            return ItemPage([], None)
        async with connected(self._where) as api:
            return ItemPage(*await api.pages(path, limit=limit, cursor=cursor, **filters))

    async def _cause(self, session_id: str, at: int | None) -> "ExplainedCause | None":
        async with connected(self._where) as api:
            answer: Explanation = await api.get(f"{path_of(session_id)}/explain", version=at)
            return answer["cause"]

    async def _session(self, name: str, at: int | None) -> "SessionAnswer":
        async with connected(self._where) as api:
            session_id = await resolve(api, name)
            answer = await api.session(session_id, at=at)
            if at is None:
                self._keep(api, session_id)
            return answer

    def _keep(self, api: Api, session_id: str) -> None:
        """Keep the answer for the next command; a server keeps its own."""
        if api.system is not None:
            AnswerKeeper(api.system).keep(session_id)


def _line(item: "SessionItem") -> SessionLine:
    machine = next((turn["machine"] for turn in item["outstandingTurns"] if turn.get("machine")), None)
    status = with_landing(as_seen(str(item["status"]), held=bool(item.get("held"))), item.get("landing") or None)
    status = with_pull_request(status, item.get("pullRequest") or None)
    status = with_branch(status, needed=needs_branch(item["outstandingTurns"]))
    if machine is not None and not item.get("landing"):
        status = f"{status}, {sentence('waiting for the machine {machine}', machine=one_line(machine))}"
    title = marked(str(item["title"]), item.get("scripted"), item.get("forkedFrom"))
    return SessionLine(str(item["id"]), status, local_time(item["updatedAt"]), title)
