"""HTTP as both forges speak it: JSON, pages by `Link`, ETags, rate limits. Whatever comes back is limited in size and
time, and a token goes to the one host that it is for."""

import asyncio
import re
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Final
from urllib.parse import quote, urlencode, urljoin, urlsplit

import orjson

from adapters.forge.errors import ForgeAway, ForgeLimited, ForgeNonsense, ForgeRefused
from adapters.forge.port import ForgeKind
from adapters.forge.remotes import on_loopback
from adapters.forge.token import ForgeToken
from domain.values.sentences import Sentence

if TYPE_CHECKING:
    from httpx2 import Response

SECONDS: Final = 30.0
"""How long a request and its answer may take."""
LOG_SECONDS: Final = 120.0
MOST_BYTES: Final = 8 * 1_048_576
"""Maximum size of an answer."""
MOST_LOG_BYTES: Final = 64 * 1_048_576
"""Maximum size of a log; only its end is kept."""
PAGE: Final = 100
"""Items on a page."""
MOST_PAGES: Final = 20
"""Pages that are read of one list."""
_MOST_REDIRECTS: Final = 3
_LONGEST_WAIT: Final = 3_600
"""Seconds; a forge that asks for a longer wait is asked again then."""
_UNNAMED_WAIT: Final = 60
"""Seconds, where a forge limits without saying for how long (GitHub's own advice)."""
_KEPT_ANSWERS: Final = 256
_KEPT_BYTES: Final = 262_144
"""Larger answers are not kept for a comparison."""
_WORDS: Final = 300
"""Characters of what a forge says about a refusal."""
_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
_SAME_METHOD: Final = frozenset({307, 308})
_LINK: Final = re.compile(r'<([^<>]{1,2000})>\s*;\s*rel="([a-z]{1,10})"')
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069]+")
_LOG_HOSTS: Final[Mapping[str, tuple[str, ...]]] = {
    "api.github.com": (".blob.core.windows.net", ".actions.githubusercontent.com", ".githubusercontent.com"),
}
"""Where a forge's own logs lie on other hosts. They are read from there without the token."""


@dataclass(frozen=True, slots=True)
class ForgeAnswer:
    """A JSON document, and the addresses of other pages by their relation (`next`, `last`)."""

    document: object
    links: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class ForgePages:
    """The items of a list. `complete` is False where there were more pages than are read; the last ones are there."""

    items: tuple[object, ...]
    complete: bool


@dataclass(frozen=True, slots=True)
class _CachedAnswer:
    etag: str
    answer: ForgeAnswer


class ForgeHttp:
    """The API at one address, with one token. Raises ForgeError, and nothing else."""

    def __init__(self, kind: ForgeKind, api: str, token: ForgeToken, *, seconds: float = SECONDS) -> None:
        from httpx2 import AsyncClient, Timeout

        self.api = api.rstrip("/")
        self._kind, self._token, self._seconds = kind, token, seconds
        self._origin = _origin(self.api)
        self._host = urlsplit(self.api).netloc
        self._name = urlsplit(self.api).hostname or ""
        self._kept: OrderedDict[str, _CachedAnswer] = OrderedDict()
        self._limited_until = 0
        # No cookies are sent back, and a proxy of the environment is not asked for this machine.
        self._client = AsyncClient(timeout=Timeout(seconds), trust_env=not on_loopback(self._host))

    async def close(self) -> None:
        await self._client.aclose()

    # -- requests ------------------------------------------------------------------------------------------------------

    async def read(self, path: str, query: Mapping[str, str] | None = None) -> ForgeAnswer:
        """GET, with the ETag of the last answer: an unchanged one is not sent again."""
        return await self._read(self._url(path, query))

    async def read_pages(
        self, path: str, query: Mapping[str, str] | None = None, *, key: str = "", most: int = MOST_PAGES
    ) -> ForgePages:
        """All items of a list, which is the document itself, or its field `key`. Of a longer list than `most` pages
        the first page is left out, and all others but the last ones."""
        first = await self.read(path, {**(query or {}), "per_page": str(PAGE)})
        pages, complete = [first], True
        if (last := first.links.get("last")) and (number := _page_number(last)) and number > most:
            pages, complete = [], False
            address: str | None = self._page(last, number - most + 1)
        else:
            address = first.links.get("next")
        while address is not None and len(pages) < most:
            pages.append(await self._read(self._inside(address)))
            address = pages[-1].links.get("next")
        complete = complete and address is None
        return ForgePages(tuple(item for page in pages for item in self._items(page.document, key)), complete)

    async def write(self, method: str, path: str, body: Mapping[str, object]) -> object:
        """Send a change once, and return the answer's document. After ForgeAway it may have been made."""
        return (await self._ask(method, self._url(path, None), orjson.dumps(body), {})).document

    async def read_end(self, path: str, characters: int) -> str:
        """The last characters of a text of any length, such as a log. Its own storage on another host, where the forge
        is known to have one, is asked without the token."""
        url, headers = self._url(path, None), self._headers()
        async with self._answering(LOG_SECONDS):
            for _ in range(_MOST_REDIRECTS + 1):
                async with self._client.stream("GET", url, headers=headers) as response:
                    if response.status_code not in _REDIRECTS:
                        self._check(response.status_code, response.headers, await _beginning(response))
                        return await _end(response, characters)
                url = self._log_address(url, response.headers.get("location", ""))
                headers = headers if _origin(url) == self._origin else {"User-Agent": _AGENT}
        raise self._nonsense("forge_redirects_on")

    # -- one request ---------------------------------------------------------------------------------------------------

    async def _read(self, url: str) -> ForgeAnswer:
        cached = self._kept.get(url)
        answer = await self._ask("GET", url, None, {"If-None-Match": cached.etag} if cached else {})
        if answer is _UNCHANGED:
            if cached is None:
                raise self._nonsense("forge_not_json")
            self._kept.move_to_end(url)
            return cached.answer
        return answer

    async def _ask(self, method: str, url: str, body: bytes | None, extra: Mapping[str, str]) -> ForgeAnswer:
        self._check_limit()
        for _ in range(_MOST_REDIRECTS + 1):
            status, headers, content = await self._exchange(method, url, body, extra)
            if status not in _REDIRECTS:
                break
            if method != "GET" and status not in _SAME_METHOD:
                raise self._nonsense("forge_redirects_on")
            url = self._inside(urljoin(url, headers.get("location", "")))
        else:
            raise self._nonsense("forge_redirects_on")
        if status == 304:
            return _UNCHANGED
        self._check(status, headers, content)
        answer = ForgeAnswer(self._document(content), _links(headers.get("link", "")))
        if method == "GET" and (etag := headers.get("etag", "")) and len(content) <= _KEPT_BYTES and len(etag) < 200:
            self._kept[url] = _CachedAnswer(etag, answer)
            while len(self._kept) > _KEPT_ANSWERS:
                self._kept.popitem(last=False)
        return answer

    async def _exchange(
        self, method: str, url: str, body: bytes | None, extra: Mapping[str, str]
    ) -> tuple[int, Mapping[str, str], bytes]:
        headers = {**self._headers(), **extra}
        if body is not None:
            headers["Content-Type"] = "application/json"
        async with self._answering(self._seconds), self._sent(method, url, body, headers) as response:
            content = b""
            async for piece in response.aiter_bytes():
                content += piece
                if len(content) > MOST_BYTES:
                    raise self._nonsense("forge_too_much")
            return response.status_code, response.headers, content

    @asynccontextmanager
    async def _answering(self, seconds: float) -> "AsyncIterator[None]":
        """A stretch in which the forge has to answer. Raises ForgeAway if it does not, or not in that time."""
        from httpx2 import HTTPError, InvalidURL

        try:
            async with asyncio.timeout(seconds):
                yield
        except TimeoutError:
            raise ForgeAway(Sentence("forge_slow", host=self._host, seconds=round(seconds))) from None
        except (HTTPError, InvalidURL, OSError) as error:
            raise self._away(error) from None

    @asynccontextmanager
    async def _sent(
        self, method: str, url: str, body: bytes | None, headers: Mapping[str, str]
    ) -> "AsyncIterator[Response]":
        async with self._client.stream(method, url, content=body, headers=headers) as response:
            self._client.cookies.clear()
            yield response

    def _headers(self) -> dict[str, str]:
        kind = (
            {"Accept": "application/vnd.github+json", "X-GitHub-Api-Version": "2022-11-28"}
            if self._kind == "github"
            else {"Accept": "application/json"}
        )
        return {"User-Agent": _AGENT, "Accept-Encoding": "identity", **kind, **self._token.headers()}

    # -- addresses -----------------------------------------------------------------------------------------------------

    def _url(self, path: str, query: Mapping[str, str] | None) -> str:
        return f"{self.api}{path}?{urlencode(query)}" if query else f"{self.api}{path}"

    def _inside(self, url: str) -> str:
        """The address, which has to be at the forge itself: the token goes nowhere else."""
        if not url or _origin(url) != self._origin:
            raise self._nonsense("forge_leads_away", other=_shown(urlsplit(url).netloc.rpartition("@")[2]))
        return url

    def _page(self, last: str, number: int) -> str:
        return self._inside(re.sub(r"(?<=[?&]page=)\d+", str(number), last))

    def _log_address(self, before: str, location: str) -> str:
        url = urljoin(before, location)
        parts = urlsplit(url)
        endings = _LOG_HOSTS.get(self._name, ())
        if parts.scheme == "https" and "@" not in parts.netloc and (parts.hostname or "").endswith(endings or ("\0",)):
            return url
        return self._inside(url)

    # -- answers -------------------------------------------------------------------------------------------------------

    def _document(self, content: bytes) -> object:
        try:
            document: object = orjson.loads(content)
        except orjson.JSONDecodeError:
            raise self._nonsense("forge_not_json") from None
        return document

    def _items(self, document: object, key: str) -> list[object]:
        items = document.get(key) if key and isinstance(document, dict) else document
        if not isinstance(items, list):
            raise self._nonsense("forge_not_a_list")
        return items

    def _check(self, status: int, headers: Mapping[str, str], content: bytes) -> None:
        """Raises what the status means, unless it is a success."""
        if 200 <= status < 300:
            return
        words = self._words(content)
        if status == 429 or (status == 403 and _is_limit(headers, words)):
            self._limited_until = _now() + 1_000 * _wait_of(headers)
            self._check_limit()
        if status >= 500 or status == 408:
            raise ForgeAway(Sentence("forge_status", host=self._host, status_code=status))
        code = _REFUSALS.get(status, "forge_refused")
        raise ForgeRefused(Sentence(code, host=self._host, status_code=status, detail=words or "-"), status)

    def _check_limit(self) -> None:
        if (left := self._limited_until - _now()) > 0:
            seconds = -(-left // 1_000)
            raise ForgeLimited(Sentence("forge_limited", host=self._host, seconds=seconds), self._limited_until)

    def _words(self, content: bytes) -> str:
        """Returns what the forge says about a refusal: one line, without the token."""
        try:
            document = orjson.loads(content)
        except orjson.JSONDecodeError:
            return ""
        said_by_forge = document if isinstance(document, dict) else {}
        words = [_flat(said_by_forge.get(key)) for key in ("message", "error", "error_description", "errors")]
        return self._token.masked(_shown(" · ".join(each for each in words if each)))[:_WORDS]

    def _away(self, error: Exception) -> ForgeAway:
        detail = self._token.masked(_shown(str(error) or type(error).__name__))
        return ForgeAway(Sentence("forge_unreachable", host=self._host, detail=detail))

    def _nonsense(self, code: str, *, other: str = "") -> ForgeNonsense:
        """`other` is what the forge has sent: it may have the token in it."""
        params = {"other": self._token.masked(other)} if other else {}
        return ForgeNonsense(Sentence(code, host=self._host, **params))


_AGENT: Final = "hansard"
_UNCHANGED: Final = ForgeAnswer(None, {})
_REFUSALS: Final = {401: "forge_refused_401", 403: "forge_refused_403", 404: "forge_refused_404"}


def path_of(*segments: object) -> str:
    """`/repos/ann/shop`: each segment is escaped, its slashes, too."""
    return "".join(f"/{quote(str(segment), safe='')}" for segment in segments)


def _now() -> int:
    return time.time_ns() // 1_000_000


def _origin(url: str) -> tuple[str, str, int | None]:
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return ("", "", None)
    if parts.username is not None:
        return ("", "", None)
    return parts.scheme, (parts.hostname or "").lower(), port or {"https": 443, "http": 80}.get(parts.scheme)


def _links(header: str) -> Mapping[str, str]:
    return {relation: url for url, relation in _LINK.findall(header[:10_000])}


def _page_number(url: str) -> int:
    match = re.search(r"[?&]page=(\d{1,9})(?:&|$)", url)
    return int(match[1]) if match else 0


def _is_limit(headers: Mapping[str, str], words: str) -> bool:
    return (
        headers.get("x-ratelimit-remaining") == "0" or "retry-after" in headers or "secondary rate" in words.casefold()
    )


def _wait_of(headers: Mapping[str, str]) -> int:
    """Seconds, at least one."""
    after = headers.get("retry-after", "").strip()
    if after.isdecimal() and len(after) < 10:
        seconds = int(after)
    elif after:
        try:
            seconds = round(parsedate_to_datetime(after).timestamp() - time.time())
        except (ValueError, OverflowError):
            seconds = _UNNAMED_WAIT
    else:
        reset = headers.get("x-ratelimit-reset", "") or headers.get("ratelimit-reset", "")
        seconds = round(int(reset) - time.time()) if reset.isdecimal() and len(reset) < 12 else _UNNAMED_WAIT
    return max(1, min(seconds, _LONGEST_WAIT))


def _flat(value: object) -> str:
    match value:
        case str():
            return value
        case list():
            return "; ".join(_flat(each) for each in value[:5])
        case dict():
            pairs = list(value.items())[:5]
            return "; ".join(f"{name}: {_flat(each)}" for name, each in pairs if isinstance(each, str | list))
        case _:
            return ""


def _shown(text: str) -> str:
    """One line without control and direction characters."""
    return _CONTROL.sub(" ", text[:4_000]).strip()


async def _beginning(response: "Response") -> bytes:
    """The body of a refusal; nothing of a success, which may be long."""
    if response.is_success:
        return b""
    content = b""
    async for piece in response.aiter_bytes():
        content += piece
        if len(content) > _KEPT_BYTES:
            break
    return content


async def _end(response: "Response", characters: int) -> str:
    most, length, end = 4 * characters, 0, b""
    async for piece in response.aiter_bytes():
        length += len(piece)
        end = (end + piece)[-most:]
        if length > MOST_LOG_BYTES:
            break
    return end.decode(errors="replace")
