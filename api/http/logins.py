"""Who somebody is: by an API key, or by the cookie that a browser was given for one."""

import base64
import hashlib
import hmac
import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

LONGEST_COOKIE: Final = 1_000


class Keys:
    """The API keys of some files: a line each, `name:sha256-of-the-key`; and the owner's, by name and file. Read again
    whenever a file changes."""

    def __init__(self, *paths: Path, owner: tuple[str, Path] | None = None) -> None:
        self._paths, self._owner = paths, owner
        self._read_at: tuple[int, ...] = ()
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

    def digest_of(self, name: str) -> str | None:
        """What is kept of somebody's key; None of a name without one."""
        self._refresh()
        return self._keys.get(name)

    def _refresh(self) -> None:
        files = (*self._paths, *([self._owner[1]] if self._owner else []))
        changed = tuple(_changed(path) for path in files)
        if changed != self._read_at:
            kept = (pair for path in self._paths for pair in _listed(path))
            self._keys, self._read_at = {**self._owned(), **dict(kept)}, changed

    def _owned(self) -> dict[str, str]:
        if self._owner is None or not (key := _text(self._owner[1]).strip()):
            return {}
        return {self._owner[0]: hashlib.sha256(key.encode()).hexdigest()}


def _changed(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return -1


def _text(path: Path) -> str:
    """Nothing of a file that cannot be read: it admits nobody."""
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return ""


def _listed(path: Path) -> Iterator[tuple[str, str]]:
    for line in _text(path).splitlines():
        name, colon, digest = line.strip().partition(":")
        if colon and not name.startswith("#"):
            yield name.strip(), digest.strip().lower()


class Logins:
    """Cookies for browsers that have shown a key. A cookie says whose the key is and when it ends, and is signed with a
    secret that stands beside the log, over the key's digest, too: it ends with the key's line in the file."""

    def __init__(self, keys: Keys, secret: Path, *, seconds: float, now: Callable[[], float]) -> None:
        self.keys, self.seconds, self._now = keys, int(seconds), now
        self._secret = _made(secret)
        self._links: dict[str, str] = {}
        self.cookie = f"hansard_{hashlib.sha256(self._secret).hexdigest()[:8]}"
        """Its name: browsers keep one jar for all ports of a machine, and there may be several servers on it."""

    def link(self, name: str) -> str:
        """A token that signs in once, for the owner of a key."""
        token = secrets.token_urlsafe(32)
        self._links[token] = name
        return token

    def redeem(self, token: str) -> str | None:
        """Whose token it is, the first time it is shown."""
        return self._links.pop(token, None)

    def issue(self, name: str) -> str:
        """The value of a cookie for the owner of a key."""
        spelt, until = base64.urlsafe_b64encode(name.encode()).decode().rstrip("="), int(self._now()) + self.seconds
        return f"{spelt}.{until}.{self._signed(name, until)}"

    def name_of(self, value: str) -> str | None:
        """Whose cookie it is; None where it is nobody's, over, or its key is no longer kept."""
        spelt, _, rest = value.partition(".")
        until, _, signature = rest.partition(".")
        try:
            name = base64.b64decode(spelt + "=" * (-len(spelt) % 4), altchars=b"-_", validate=True).decode()
        except ValueError:
            return None
        if len(value) > LONGEST_COOKIE or not (until.isascii() and until.isdecimal()) or int(until) <= self._now():
            return None
        signed = self._signed(name, int(until))
        return name if signed and hmac.compare_digest(signed.encode(), signature.encode()) else None

    def _signed(self, name: str, until: int) -> str:
        """Empty for a name without a key."""
        digest = self.keys.digest_of(name)
        return hmac.new(self._secret, f"{until}.{digest}.{name}".encode(), "sha256").hexdigest() if digest else ""


def _made(path: Path) -> bytes:
    """The secret in the file, which is made where it is missing; whole, whoever else makes it at the same time."""
    if not path.exists():
        draft = path.with_name(f"{path.name}.{secrets.token_hex(4)}")
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(secrets.token_bytes(32))
        with suppress(FileExistsError):
            os.link(draft, path)
        draft.unlink()
    return path.read_bytes()
