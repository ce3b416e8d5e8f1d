"""`hansard migrate`: the whole log into another store."""

import shutil
from contextlib import closing
from pathlib import Path
from typing import Final

from adapters.proof.verify import verify
from adapters.store.keys import REVOKED, StoredKey
from adapters.store.location import open_store, reading
from adapters.store.migration import Migrated, Moving, NotEmpty
from adapters.store.migration import migrate as move
from adapters.store.sql.log import SqlRecorder
from api.cli import exits
from api.cli.audit import fault_words
from api.cli.client import require_log
from api.cli.error_words import words_of
from api.cli.exits import Failed
from api.cli.labels import sentence
from api.cli.log import settings_of
from api.cli.terminal import counted, put, say, visible
from api.node.access import keys_in, stored
from api.node.settings import Settings

_KEYS: Final = (Path("signing.key"), Path("keys/owner.key"))
"""Of a machine's own files those that go with the log."""


def migrate(source: str, target: str, /) -> int:
    """Copy a log into an empty one in another place: from a file to PostgreSQL, or back."""
    old, new = settings_of(source), settings_of(target)
    require_log(old)
    moved = _moved(old, new)
    _keep_keys(old, new)
    say(
        sentence(
            "Copied {events}, {texts} and {receipts} to {log_name}.",
            events=counted(moved.events, "event"),
            texts=counted(moved.texts, "text"),
            receipts=counted(moved.receipts, "receipt"),
            log_name=new.log_name,
        )
    )
    return _verified(new)


def _moved(old: Settings, new: Settings) -> Migrated:
    with reading(old.database) as log, closing(open_store(new.database)) as store:
        assert isinstance(store, SqlRecorder)
        try:
            return move(log, store)
        except (NotEmpty, Moving) as error:
            raise Failed(words_of(error), code=exits.REFUSED) from None


def _keep_keys(old: Settings, new: Settings) -> None:
    """Checkpoints are signed, and people are known, as before."""
    for name in _KEYS:
        ours, theirs = old.node_dir / name, new.node_dir / name
        if ours.is_file() and not theirs.exists():
            theirs.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            shutil.copy2(ours, theirs)

    with reading(old.database) as log, closing(open_store(new.database)) as store:
        assert store.vault is not None, "every store on disk has keys"
        for secret, _ in log.rows.secrets():
            if secret.startswith(REVOKED):
                store.vault.bar(secret.removeprefix(REVOKED))
        for row in log.rows.api_keys():
            store.vault.add(StoredKey(*row))
        for key in keys_in(old.node_dir / "keys" / "keys"):
            if not store.vault.was_revoked(key.digest):
                store.vault.add(stored(key))


def _verified(new: Settings) -> int:
    with reading(new.database) as log:
        verdict = verify(log)
    for fault in verdict.faults:
        put(visible(fault_words(fault.position, fault.problem)))
    if not verdict.sound:
        raise Failed(
            sentence("The copy does not verify, so the source may be damaged: do not use it."), code=exits.NOT_VERIFIED
        )
    say(
        sentence(
            "The copy is complete and unchanged: {events}, root {root}…",
            events=counted(verdict.events, "event"),
            root=verdict.root[:16],
        )
    )
    return exits.OK
