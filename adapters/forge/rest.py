"""The common part of both forges' REST APIs: answers become documents, checks get the ends of their logs, and posts of
our own account give their markers."""

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final, Generic, NamedTuple, TypeVar

from adapters.forge.documents import ForgeDocument, parsed_answer, parsed_items
from adapters.forge.errors import ForgeRefused
from adapters.forge.http import MOST_PAGES, ForgeHttp
from adapters.forge.marks import marker_in, unmarked_text
from adapters.forge.memory import Memory
from adapters.forge.port import (
    ForgeAccount,
    ForgeCheck,
    ForgeComment,
    ForgeComments,
    ForgeRepository,
    HeadChecks,
    conclusion_of,
    in_order,
)

G = TypeVar("G", bound=ForgeDocument)
MOST_COMMIT_PAGES: Final = 3
"""Pages of commits that are read: GitHub lists at most 250."""
_MOST_LOGS: Final = 5
_FORBIDDEN: Final = 403


class ForgeList(NamedTuple, Generic[G]):
    """The items of a list. `complete` is False where there were more than could be read."""

    items: tuple[G, ...]
    complete: bool


class OwnWords(NamedTuple):
    """A text without the marker's line, and the marker; without one where the words are not our own account's."""

    text: str
    marker: str | None


class RestForge(ABC):
    """One repository at one forge."""

    def __init__(self, repository: ForgeRepository, http: ForgeHttp, path: str) -> None:
        self._repository, self._http, self._path = repository, http, path
        self._own: ForgeAccount | None = None
        self._pushers = Memory[bool]()
        self._members = Memory[bool]()

    @property
    def repository(self) -> ForgeRepository:
        return self._repository

    async def close(self) -> None:
        await self._http.close()

    async def account(self) -> ForgeAccount:
        """Our account, asked once."""
        if self._own is None:
            self._own = await self._asked_account()
        return self._own

    @abstractmethod
    async def _asked_account(self) -> ForgeAccount:
        """The account of our token, asked at the forge."""

    # -- documents -----------------------------------------------------------------------------------------------------

    async def _get(self, model: type[G], path: str) -> G:
        return parsed_answer(model, (await self._http.read(path)).document, self._repository.host)

    async def _get_if_there(self, model: type[G], path: str, *, shown_only: bool = False) -> G | None:
        """None where there is no such thing; with `shown_only`, also where it is not shown to our account."""
        try:
            return await self._get(model, path)
        except ForgeRefused as error:
            if error.gone or (shown_only and error.status == _FORBIDDEN):
                return None
            raise

    async def _list(
        self,
        model: type[G],
        path: str,
        query: Mapping[str, str] | None = None,
        *,
        key: str = "",
        most: int = MOST_PAGES,
    ) -> ForgeList[G]:
        pages = await self._http.read_pages(path, query, key=key, most=most)
        return ForgeList(parsed_items(model, pages.items, self._repository.host), pages.complete)

    async def _send(self, model: type[G], method: str, path: str, body: Mapping[str, object]) -> G:
        return parsed_answer(model, await self._http.write(method, path, body), self._repository.host)


async def with_logs(
    head: str, checks: Sequence[ForgeCheck], log: Callable[[str], Awaitable[str]], *, of: Iterable[str], complete: bool
) -> HeadChecks:
    """All checks of a commit together. The first failing ones among `of` have the end of their log."""
    readable = {*of}
    failing = [each.id for each in checks if each.conclusion == "failure" and each.id in readable]
    logs = {each: await log(each) for each in failing[:_MOST_LOGS]}
    logged = tuple(replace(each, log=logs.get(each.id, each.log)) for each in checks)
    return HeadChecks(head, conclusion_of(logged), logged, complete)


def comments_since(comments: Iterable[ForgeComment], since: int | None, *, complete: bool) -> ForgeComments:
    """Those that were made or edited since, in their order."""
    recent = (each for each in comments if since is None or each.edited_at >= since)
    return ForgeComments(tuple(sorted(recent, key=in_order)), complete)


def own_words(body: str, author: ForgeAccount) -> OwnWords:
    """The text of a post, and its marker where our own account has written it."""
    return OwnWords(unmarked_text(body), marker_in(body)) if author.kind == "self" else OwnWords(body, None)
