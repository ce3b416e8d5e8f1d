"""The port of keys: who may use the log, where several machines have to agree on it."""

from typing import Final, NamedTuple, Protocol

REVOKED: Final = "revoked:"
"""Before the digest of a key that may not come back from a file: in the table of secrets, which every log has."""


class StoredKey(NamedTuple):
    """An API key as all nodes know it: by its SHA-256. `expires` is Unix time in seconds."""

    name: str
    digest: str
    scope: str
    expires: int | None


class Vault(Protocol):
    """Who may use the log, where several machines have to agree on it."""

    def all_keys(self) -> list[StoredKey]: ...

    def add(self, key: StoredKey) -> bool:
        """False where the name has a key already."""

    def remove(self, name: str) -> bool:
        """False where the name has no key."""

    def bar(self, digest: str) -> None:
        """A key with this digest does not come back from a file."""

    def was_revoked(self, digest: str) -> bool:
        """Whether a key with this digest was removed: it does not come back from a file."""

    def secret(self, name: str, fresh: bytes) -> bytes:
        """The secret of that name: `fresh`, if there was none."""

    def put_link(self, digest: str, name: str) -> None:
        """A token with this digest signs in once, as the owner of a key."""

    def take_link(self, digest: str) -> str | None:
        """Whose token it is, the first time it is asked for."""
