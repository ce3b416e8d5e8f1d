"""Signing in with a browser: a cookie for a key, a link that works once, and a limit on guessing."""

import base64
import hashlib
import hmac
import math
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Final

from adapters.store.vault import LOGIN, Vault
from api.node.keys import Keys
from api.node.recent import remember

Clock = Callable[[], float]
LONGEST_COOKIE: Final = 1_000
GUESSES: Final = 10
"""How many wrong keys an address may send in a row."""
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
        spelt, until = base64.urlsafe_b64encode(name.encode()).decode().rstrip("="), int(self._now()) + self.seconds
        return f"{spelt}.{until}.{self._signed(name, until)}"

    def name_of(self, value: str) -> str | None:
        """The owner of the cookie; None if it is invalid or expired, or its key is gone."""
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
        key = self.keys.named(name)
        return hmac.new(self._secret, f"{until}.{key.digest}.{name}".encode(), "sha256").hexdigest() if key else ""


def former_secret(folder: Path) -> bytes:
    """The secret of sign-ins from the file of earlier versions, so that these stay valid; empty if there is none."""
    try:
        return (folder / "login.secret").read_bytes()
    except OSError:
        return b""


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


class Guesses:
    """How many wrong keys each address has sent recently."""

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
