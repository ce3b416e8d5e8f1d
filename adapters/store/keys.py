"""The port of the keys that say who may use the log."""

from hashlib import sha256
from typing import Final, NamedTuple, Protocol

LOGIN: Final = "login"
"""The secret that signs sign-ins."""
REVOKED: Final = "revoked:"
"""Prefix for the digest of a key that must not come back from a file: in the table of secrets, which every log has. The
value is the `revocation_check`; an older version left it empty."""
CHECK: Final = "check:"
"""Prefix for the name of a key: there is its `check`, with which `verify` finds damage."""
LINK: Final = "link:"
"""Prefix for the digest of a link that signs in once: there is its `link_check`."""


def link_check(digest: str, name: str, made: int) -> bytes:
    """SHA-256 over all of a link; `verify` finds damage with it."""
    return sha256(f"{digest}\0{name}\0{made}".encode()).digest()


def revocation_check(name: str) -> bytes:
    """The digest that is stored with such a name; `verify` finds damage with it."""
    return sha256(name.encode()).digest()


class StoredKey(NamedTuple):
    """An API key as all nodes know it: by its SHA-256. `expires` is Unix time in seconds."""

    name: str
    digest: str
    scope: str
    expires: int | None

    @property
    def check(self) -> bytes:
        """SHA-256 over all of it."""
        return sha256("\0".join(map(str, self)).encode()).digest()


class Vault(Protocol):
    """The keys that open the log, where several machines have to agree on them."""

    def all_keys(self) -> list[StoredKey]: ...

    def add(self, key: StoredKey) -> bool:
        """False if the name already has a key."""

    def remove(self, name: str) -> bool:
        """False if the name has no key."""

    def bar(self, digest: str) -> None:
        """A key with this digest does not come back from a file."""

    def was_revoked(self, digest: str) -> bool:
        """True if a key with this digest was removed: it does not come back from a file."""

    def secret(self, name: str, fresh: bytes) -> bytes:
        """The secret of that name: `fresh`, if there was none."""

    def put_link(self, digest: str, name: str) -> None:
        """A token with this digest signs in once, as the owner of a key."""

    def take_link(self, digest: str) -> str | None:
        """The owner of the token, the first time it is used."""
