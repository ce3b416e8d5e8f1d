"""API keys, known by digest; and files of them, with a line for each: `name:sha256-of-the-key[:scope[:expires]]`."""

import hashlib
import hmac
import re
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, get_args

from domain.values.sentences import Sentence

Scope = Literal["read", "operate", "decide", "admin", "turns"]
SCOPES: Final[tuple[Scope, ...]] = get_args(Scope)
DEFAULT: Final[Scope] = "operate"
_DIGEST: Final = re.compile("[0-9a-f]{64}")
_UNITS: Final = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}
_DURATION: Final = re.compile(r"([1-9][0-9]{0,8})([smhd])")


def seconds_of(duration: str) -> int:
    """`30d` → 2592000. Raises ValueError."""
    match = _DURATION.fullmatch(duration)
    if match is None:
        raise ValueError(Sentence("not_a_duration", given=duration))
    return int(match[1]) * _UNITS[match[2]]


@dataclass(frozen=True, slots=True)
class Key:
    """A key as its file has it."""

    name: str
    digest: str
    scope: Scope = "admin"
    expires: int | None = None
    """Unix time in seconds."""

    @property
    def line(self) -> str:
        expires = "" if self.expires is None else f":{self.expires}"
        return f"{self.name}:{self.digest}:{self.scope}{expires}"

    def expired(self, now: float) -> bool:
        return self.expires is not None and self.expires <= now


def parse(line: str) -> Key | None:
    """The key of a line; None for a comment, a blank line, or one that cannot be read: it grants no access. A line
    without a scope has all of them, as before there were scopes."""
    name, colon, rest = line.strip().partition(":")
    digest, _, rest = rest.partition(":")
    scope, _, expires = (part.strip() for part in rest.partition(":"))
    digest = digest.strip().lower()
    if not colon or name.startswith("#") or not _DIGEST.fullmatch(digest):
        return None
    if scope not in ("", *SCOPES) or not (expires.isdecimal() or not expires):
        return None
    held: Scope = next((each for each in SCOPES if each == scope), "admin")
    return Key(name.strip(), digest, held, int(expires) if expires else None)


class Keys:
    """API keys by name."""

    def __init__(self, keys: Iterable[Key] = (), *, now: Callable[[], float] = time.time) -> None:
        self._now = now
        self._keys = {key.name: key for key in keys}

    def name_of(self, key: str) -> str | None:
        """Whose key it is, compared in constant time; None if unknown or expired."""
        digest = hashlib.sha256(key.encode()).hexdigest().encode()
        match = None
        for name, entry in self._keys.items():
            if hmac.compare_digest(entry.digest.encode(), digest):
                match = name
        return match if match is not None and self.named(match) else None

    def named(self, name: str) -> Key | None:
        """Somebody's key; None of a name without one, or whose key has expired."""
        key = self._keys.get(name)
        return None if key is None or key.expired(self._now()) else key


def _text(path: Path) -> str:
    """Nothing of a file that cannot be read."""
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return ""


def keys_in(path: Path) -> Iterator[Key]:
    """The keys of a file."""
    for line in _text(path).splitlines():
        if key := parse(line):
            yield key


def lines_without_key(path: Path) -> list[int]:
    """The numbers of the lines of a file that are no key, and neither blank nor a comment."""
    lines = enumerate((line.strip() for line in _text(path).splitlines()), start=1)
    return [number for number, line in lines if line and not line.startswith("#") and parse(line) is None]
