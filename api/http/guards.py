"""Checks requests by host, key and origin."""

import asyncio
import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Final
from urllib.parse import urlsplit

from starlette.requests import Request, cookie_parser
from starlette.types import Message, Receive
from starlette.types import Scope as Connection

from api.http.problems import Problem
from api.node.access import Logins
from api.node.scopes import Scope, includes, require
from api.node.settings import Settings
from domain.values.sentences import Sentence


def check_scope(request: Request, scope: Scope | None) -> None:
    """Raises ScopeNeeded if the caller's key does not have the scope; None is open to everyone."""
    if scope is not None:
        require(scope, getattr(request.state, "scope", None))


def check_key(request: Request) -> None:
    """Raises Problem 401 if the key of a request that has waited is no longer valid."""
    is_kept: Callable[[], bool] | None = getattr(request.state, "is_kept", None)
    if is_kept is not None and not is_kept():
        raise Problem(401, Sentence("unknown_api_key"), headers=CHALLENGE)


def may_read(request: Request) -> bool:
    """True if the caller has a key with which one may read."""
    return includes(getattr(request.state, "scope", None), "read")


Given = Mapping[bytes, str]
"""The headers of a request by lower-case name; of several with the same name, the first one."""
OPEN: Final = frozenset({"/healthz", "/readyz", "/login", "/api/forge/webhook"})
"""A webhook is signed by the forge instead."""
ASSETS: Final = "/assets/"
"""Styles and scripts are the same for everyone, and the sign-in page needs some of them."""
SAFE: Final = frozenset({"GET", "HEAD", "OPTIONS"})
_HOST: Final = re.compile(r"(\[[^\]]*\]|[^:\[\]]+)(?::[0-9]*)?")
"""A name or an address, and a port (RFC 9110 §7.2). Nothing else may follow: clients disagree on what it means."""
_CHECK_SECONDS: Final = 0.5
"""How often the key of an open stream, or of a waiting claim, is checked."""
_WAITS: Final = "/api/turns/claim"
CHALLENGE: Final = {"WWW-Authenticate": "Bearer"}


class UnknownHost(Problem):
    """The request has an unknown Host."""


class Guard:
    """The guard: 421 for a foreign Host, 401 without a key, 403 across origins. `entry` are the keys that are accepted,
    or the name of every caller if no key is required."""

    def __init__(self, settings: Settings, entry: Logins | str) -> None:
        self._entry = entry
        more = {name.strip().lower() for name in settings.allowed_hosts.split(",") if name.strip()}
        self._hosts = {"127.0.0.1", "localhost", "[::1]", settings.host.lower()} | more

    def let_in(self, scope: Connection, receive: Receive) -> Receive:
        """Note who the caller is and what they may do. Returns where to receive the request from. Raises Problem."""
        headers = {name: value.decode("latin-1") for name, value in reversed(scope["headers"])}
        host = headers.get(b"host", "")
        if _name(host) not in self._hosts:
            raise UnknownHost(421, Sentence("unknown_host"))
        state = scope.setdefault("state", {})
        state["actor"] = self._actor(scope["path"], headers)
        state["scope"] = self._scope(state["actor"])
        if scope["method"] not in SAFE:
            _check_origin(headers, scope["scheme"], host)
        is_long = "text/event-stream" in headers.get(b"accept", "") or scope["path"] == _WAITS
        if isinstance(self._entry, Logins) and is_long:
            state["is_kept"] = partial(self._is_kept, headers)
            return _while(state["is_kept"], receive)
        return receive

    def _is_kept(self, headers: Given) -> bool:
        """True if the key, or the sign-in, is still valid."""
        try:
            return isinstance(self._entry, str) or bool(_owner(self._entry, headers))
        except Problem:
            return False

    def _scope(self, actor: str) -> Scope | None:
        """The scopes of the caller: all if no key is required, nothing without one."""
        if isinstance(self._entry, str):
            return "admin"
        key = self._entry.keys.named(actor.removeprefix("person:"))
        return key.scope if key else None

    def _actor(self, path: str, headers: Given) -> str:
        """The actor of the request; "" if none is needed."""
        if isinstance(self._entry, str):
            return self._entry
        try:
            return f"person:{_owner(self._entry, headers)}"
        except Problem:
            if _is_open(path):
                return ""
            raise


def _is_open(path: str) -> bool:
    """True if the path is open to everyone. Paths that lead out of the assets are not."""
    return path in OPEN or (path.startswith(ASSETS) and ".." not in path.split("/"))


def _owner(logins: Logins, headers: Given) -> str:
    scheme, _, key = headers.get(b"authorization", "").partition(" ")
    if scheme.lower() == "bearer" and key:
        name = logins.keys.name_of(key.strip())
        if name is None:
            raise Problem(401, Sentence("unknown_api_key"), headers=CHALLENGE)
        return name
    cookie = cookie_parser(headers.get(b"cookie", "")).get(logins.cookie)
    name = logins.name_of(cookie) if cookie else None
    if name is None:
        raise Problem(401, Sentence("api_key_required"), headers=CHALLENGE)
    return name


def _while(is_kept: Callable[[], bool], receive: Receive) -> Receive:
    """Passes on what the client sends, as long as its key is valid; then it counts as disconnected, which ends its
    stream.
    """

    async def receiving() -> Message:
        waiting = asyncio.ensure_future(receive())
        try:
            while not (await asyncio.wait({waiting}, timeout=_CHECK_SECONDS))[0]:
                if not is_kept():
                    return {"type": "http.disconnect"}
            return waiting.result()
        finally:
            waiting.cancel()

    return receiving


def _name(host: str) -> str | None:
    """`localhost:8000` → `localhost`, `[::1]:8000` → `[::1]`; None if it is not a name with or without a port."""
    match = _HOST.fullmatch(host)
    return match[1].lower() if match else None


def _check_origin(headers: Given, scheme: str, host: str) -> None:
    """No page of another origin may send commands, whatever it can make a browser do."""
    site = headers.get(b"sec-fetch-site")
    if site is not None:
        if site not in ("same-origin", "none"):
            raise Problem(403, Sentence("cross_origin"))
        return
    origin = headers.get(b"origin")
    if origin is not None and _place(origin) != (scheme, host):
        raise Problem(403, Sentence("cross_origin"))


def _place(origin: str) -> tuple[str, str] | None:
    """Scheme and host; None if this is not an origin."""
    try:
        return urlsplit(origin)[:2]
    except ValueError:
        return None
