"""API keys that all nodes of a log share: stored in the log, read often, and cached while the store is unavailable."""

import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from adapters.store.port import StoreError
from adapters.store.vault import StoredKey, Vault
from api.node.keys import SCOPES, Key, Keys, Scope, keys_in

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
