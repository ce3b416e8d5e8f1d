"""Who may come in: pure ASGI, so that streams cost nothing. Host, key, origin, and what every answer carries."""

import hashlib
import hmac
from collections.abc import Mapping
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from api.problems import Problem, problem
from api.settings import Settings

Given = Mapping[bytes, str]
"""The headers of a request by their names in small letters; of several with one name the first."""
OPEN: Final = frozenset({"/healthz"})
SAFE: Final = frozenset({"GET", "HEAD", "OPTIONS"})
HEADERS: Final = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; "
        "trusted-types hansard"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",  # with none at all, browsers would say `Origin: null` of our own forms, too
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
_RAW: Final = tuple((name.lower().encode(), value.encode()) for name, value in HEADERS.items())


class Keys:
    """The API keys of a file: a line each, `name:sha256-of-the-key`; read anew whenever the file changes."""

    def __init__(self, path: Path) -> None:
        self._path, self._read_at = path, -1
        self._keys: dict[str, str] = {}

    def name_of(self, key: str) -> str | None:
        """Whose key it is, compared in constant time; None if nobody's. A file that cannot be read admits nobody."""
        self._refresh()
        digest = hashlib.sha256(key.encode()).hexdigest().encode()
        found = None
        for name, known in self._keys.items():
            if hmac.compare_digest(known.encode(), digest):
                found = name
        return found

    def _refresh(self) -> None:
        try:
            changed = self._path.stat().st_mtime_ns
            if changed != self._read_at:
                lines = (line.strip() for line in self._path.read_text(encoding="utf-8").splitlines())
                pairs = (line.split(":", 1) for line in lines if ":" in line and not line.startswith("#"))
                self._keys = {name.strip(): digest.strip().lower() for name, digest in pairs}
                self._read_at = changed
        except (OSError, UnicodeDecodeError):
            self._keys, self._read_at = {}, -1


class Guard:
    """The door: 421 for a Host that is not ours, 401 without a key where keys are kept, 403 across origins."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self._app = app
        more = {name.strip().lower() for name in settings.allowed_hosts.split(",") if name.strip()}
        self._hosts = {"127.0.0.1", "localhost", "[::1]", settings.host.lower()} | more
        self._keys = Keys(settings.api_keys_file) if settings.api_keys_file else None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        try:
            self._admit(scope)
        except Problem as error:
            return await problem(error)(scope, receive, _with_headers(send))
        await self._app(scope, receive, _with_headers(send))

    def _admit(self, scope: Scope) -> None:
        headers = {name: value.decode("latin-1") for name, value in reversed(scope["headers"])}
        host = headers.get(b"host", "")
        if _name(host) not in self._hosts:
            raise Problem(421, "This host name is not served here.")
        scope.setdefault("state", {})["actor"] = self._actor(scope, headers)
        if scope["method"] not in SAFE:
            _check_origin(headers, scope["scheme"], host)

    def _actor(self, scope: Scope, headers: Given) -> str:
        if self._keys is None or scope["path"] in OPEN:
            return "local"
        scheme, _, key = headers.get(b"authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not key:
            raise Problem(401, "An API key is needed: Authorization: Bearer …", headers={"WWW-Authenticate": "Bearer"})
        name = self._keys.name_of(key.strip())
        if name is None:
            raise Problem(401, "This API key is not known.", headers={"WWW-Authenticate": "Bearer"})
        return f"key:{name}"


def _name(host: str) -> str:
    """`localhost:8000` → `localhost`, `[::1]:8000` → `[::1]`."""
    if host.startswith("["):
        return host.partition("]")[0].lower() + "]"
    return host.partition(":")[0].lower()


def _check_origin(headers: Given, scheme: str, host: str) -> None:
    """No page of another origin may command us, whatever it can make a browser send."""
    site = headers.get(b"sec-fetch-site")
    if site is not None:
        if site not in ("same-origin", "none"):
            raise Problem(403, "Commands from pages of other origins are not taken.")
        return
    origin = headers.get(b"origin")
    if origin is not None and _place(origin) != (scheme, host):
        raise Problem(403, "Commands from pages of other origins are not taken.")


def _place(origin: str) -> tuple[str, str] | None:
    """Scheme and host; None for what is no origin."""
    try:
        return urlsplit(origin)[:2]
    except ValueError:
        return None


def _with_headers(send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            given = message.get("headers", ())
            names = {name for name, _ in given}
            message["headers"] = [*given, *(header for header in _RAW if header[0] not in names)]
        await send(message)

    return sending
