"""Decides who may use the service: API keys, known by digest, in the log that all nodes share or in files with a line
for each, `name:sha256-of-the-key[:scope[:expires]]`; and signing in with a browser: a cookie for a key, a link that
works once, and a limit on guessing."""

import base64
import hashlib
import hmac
import math
import re
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from itsdangerous import Signer

from adapters.store.errors import StoreError
from adapters.store.keys import LOGIN, StoredKey, Vault
from api.node.recent import remember
from api.node.scopes import SCOPES, Scope
from domain.values.sentences import Sentence

DEFAULT: Final[Scope] = "operate"
_DIGEST: Final = re.compile("[0-9a-f]{64}")
_UNITS: Final = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}
_DURATION: Final = re.compile(r"([1-9][0-9]{0,8})([smhd])")


LONGEST_DAYS: Final = 36_500


def seconds_of(duration: str) -> int:
    """`30d` → 2592000, at most 36,500 days. Raises ValueError."""
    match = _DURATION.fullmatch(duration)
    if match is None:
        raise ValueError(Sentence("not_a_duration", given=duration))
    seconds = int(match[1]) * _UNITS[match[2]]
    if seconds > LONGEST_DAYS * _UNITS["d"]:
        raise ValueError(Sentence("duration_too_long", given=duration, number=LONGEST_DAYS))
    return seconds


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
        """Returns whose key it is, compared in constant time; None if unknown or expired."""
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


def keys_in(path: Path) -> Iterator[Key]:
    """The keys of a file."""
    for line in _text(path).splitlines():
        if key := parse(line):
            yield key


def lines_without_key(path: Path) -> list[int]:
    """The numbers of the lines of a file that are no key, and neither blank nor a comment."""
    lines = enumerate((line.strip() for line in _text(path).splitlines()), start=1)
    return [number for number, line in lines if line and not line.startswith("#") and parse(line) is None]


_EVERY_SECONDS: Final = 0.4
"""After this time at the latest, a key that was revoked elsewhere is refused, and its streams end."""
KNOWN_AFTER: Final = _EVERY_SECONDS + 0.1
"""Seconds after which every server knows that a key was made or revoked."""
_SECOND_STEP: Final = 5.0
"""Seconds after which a line that was removed from the file of keys counts as removed for good."""


class SharedKeys(Keys):
    """The keys of a store, less those that were removed from the file that they came from.

    Between `start` and `stop`, a thread reads them regularly.
    """

    def __init__(self, vault: Vault, file: Path | None = None, now: Callable[[], float] = time.time) -> None:
        super().__init__(now=now)
        self._vault, self._stopped = vault, threading.Event()
        self._file, self._listed = file, dict[str, str]()
        self._missing, self._missing_since = frozenset[str](), 0.0
        self._thread = threading.Thread(target=self._run, name="keys", daemon=True)
        self.look()

    def look(self) -> None:
        """Raises StoreError."""
        keys = {key.name: key for key in map(key_of, self._vault.all_keys())}
        missing = self._taken_out(keys)
        self._keys = {name: key for name, key in keys.items() if name not in missing}

    def _taken_out(self, keys: Mapping[str, Key]) -> frozenset[str]:
        """The names whose lines were removed from the file of keys since this process read it. Refused at once, and
        revoked if the lines do not come back: an editor may write a file in two steps."""
        if self._file is None or not self._file.exists():
            return frozenset()
        now = {key.name: key.digest for key in keys_in(self._file)}
        self._listed |= {name: digest for name, digest in now.items() if name in keys and keys[name].digest == digest}
        missing = frozenset(name for name, digest in self._listed.items() if now.get(name) != digest and name in keys)
        if missing != self._missing:
            self._missing, self._missing_since = missing, self._now()
        elif missing and self._now() - self._missing_since >= _SECOND_STEP:
            for name in missing:
                del self._listed[name]
                self._vault.remove(name)
        return missing

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopped.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        while not self._stopped.wait(_EVERY_SECONDS):
            try:
                self.look()
            except StoreError:
                continue  # keys that were valid a moment ago stay valid


def key_of(stored: StoredKey) -> Key:
    """A scope that only a newer version knows allows nothing but reading."""
    scope: Scope = next((each for each in SCOPES if each == stored.scope), "read")
    return Key(stored.name, stored.digest, scope, stored.expires)


def stored(key: Key) -> StoredKey:
    """The key as it is in the store."""
    return StoredKey(key.name, key.digest, key.scope, key.expires)


Clock = Callable[[], float]
LONGEST_COOKIE: Final = 1_000
GUESSES: Final = 10
"""Wrong keys that an address may send in a row."""
_PER_GUESS: Final = 6.0
"""Seconds after which one more is allowed."""
_ADDRESSES: Final = 10_000


class Logins:
    """Cookies for browsers that have shown a key, valid on every node. A cookie says whose the key is and when it ends,
    and is signed with a secret that is kept beside the keys, over the key's digest, too: it ends with its key."""

    def __init__(
        self, keys: Keys, vault: Vault, *, seconds: float, secret: bytes = b"", now: Clock = time.time
    ) -> None:
        """The vault keeps the secret, which is `secret` for a vault without one, and the links."""
        self.keys, self.seconds, self._now = keys, int(seconds), now
        self._vault = vault
        self._secret = vault.secret(LOGIN, secret or secrets.token_bytes(32))
        self.guesses = Guesses(now)
        self.cookie = f"hansard_{hashlib.sha256(self._secret).hexdigest()[:8]}"
        """Its name: browsers share cookies between all ports of a machine, and there may be several servers."""

    def link(self, name: str) -> str:
        """A token that signs in once, for the owner of a key."""
        token = secrets.token_urlsafe(32)
        self._vault.put_link(_digest(token), name)
        return token

    def redeem(self, token: str) -> str | None:
        """The owner of the token, the first time it is used."""
        return self._vault.take_link(_digest(token))

    def issue(self, name: str) -> str:
        """The value of a cookie for the owner of a key."""
        key = self.keys.named(name)
        assert key is not None, "only owners of keys sign in"
        spelt, until = base64.urlsafe_b64encode(name.encode()).decode().rstrip("="), int(self._now()) + self.seconds
        return self._signer(key).sign(f"{spelt}.{until}").decode()

    def name_of(self, value: str) -> str | None:
        """The owner of the cookie; None if it is invalid or expired, or its key is gone."""
        if len(value) > LONGEST_COOKIE:
            return None
        spelt, _, rest = value.partition(".")
        until = rest.partition(".")[0]
        try:
            name = base64.b64decode(spelt + "=" * (-len(spelt) % 4), altchars=b"-_", validate=True).decode()
        except ValueError:
            return None
        key = self.keys.named(name)
        if key is None or not (until.isascii() and until.isdecimal()) or int(until) <= self._now():
            return None
        return name if self._signer(key).validate(value) else None

    def end_of(self, value: str) -> int | None:
        """Unix time at which the cookie ends; None for one that is not valid."""
        return None if self.name_of(value) is None else int(value.split(".")[1])

    def _signer(self, key: Key) -> Signer:
        """The key's digest is signed, too: the cookie ends with the key."""
        return Signer(self._secret, salt=f"sign-in {key.digest}", digest_method=hashlib.sha256)


def former_secret(folder: Path) -> bytes:
    """The secret of sign-ins from the file of earlier versions, so that these stay valid; empty if there is none."""
    try:
        return (folder / "login.secret").read_bytes()
    except OSError:
        return b""


class Guesses:
    """The numbers of wrong keys that each address has sent recently."""

    def __init__(self, now: Clock) -> None:
        self._now = now
        self._wrong: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def wait(self, address: str) -> int:
        """Seconds until the address may try again; 0: now."""
        over = self._level(address) - (GUESSES - 1)
        return max(0, math.ceil(over * _PER_GUESS))

    def wrong(self, address: str) -> None:
        level = self._level(address)
        remember(self._wrong, address, (level + 1, self._now()), _ADDRESSES)

    def _level(self, address: str) -> float:
        level, at = self._wrong.get(address, (0.0, 0.0))
        return max(0.0, level - (self._now() - at) / _PER_GUESS)


def _text(path: Path) -> str:
    """Nothing of a file that cannot be read."""
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return ""


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
