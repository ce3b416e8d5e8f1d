"""`hansard backup`: a copy of the log, made while it is in use."""

import fcntl
import glob
import os
import re
import secrets
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from adapters.files import private_file, sync
from adapters.proof.checkpoints import NotProved, head
from adapters.store.errors import StoreError
from adapters.store.location import reading
from adapters.store.sqlite.sealed_log import begins_with
from adapters.store.sqlite.soundness import is_database
from api.cli import exits
from api.cli.error_words import words_of
from api.cli.exits import Failed
from api.cli.labels import sentence
from api.cli.log import open_log, settings_of
from api.cli.terminal import counted, say


def backup(target: Path, /, *, replace: bool, database: str | None) -> int:
    """Copy the log to a new file while it is in use. The copy has the same positions, and is verified."""
    settings = settings_of(database)
    if target.exists() and not replace:
        raise Failed(sentence("{target} already exists.", target=target), code=exits.REFUSED)
    if target.exists() and not _is_idle(target, settings.log_file):
        raise _not_a_copy(target)
    if not target.absolute().parent.is_dir():
        raise Failed(sentence("The folder {parent} does not exist.", parent=target.absolute().parent), code=exits.USAGE)
    _remove_leftovers(target)
    draft = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
    holding = ExitStack()
    try:
        holding.enter_context(_in_use(draft))
        with open_log(settings) as store:
            store.rows.backup(draft)
        size = _checked(draft)
        if replace:
            _refuse_other(target, draft)
            draft.replace(target)
        else:
            os.link(draft, target)  # never over another file
        sync(target.absolute().parent)
    except FileExistsError:
        raise Failed(sentence("{target} already exists.", target=target), code=exits.REFUSED) from None
    finally:
        for end in ("", "-wal", "-shm"):
            draft.with_name(draft.name + end).unlink(missing_ok=True)
        holding.close()
    say(
        sentence(
            "Copied the log to {target}: {size}. The copy is complete and unchanged.",
            target=target,
            size=counted(size, "event"),
        )
    )
    return exits.OK


@contextmanager
def _in_use(draft: Path) -> Iterator[None]:
    """Hold a copy that is being made: the lock ends with this process, however it ends."""
    private_file(draft)
    with draft.open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _remove_leftovers(target: Path) -> None:
    """Remove the unfinished copies of this target whose processes were killed: nobody locks them any more."""
    for path in target.absolute().parent.glob(f".{glob.escape(target.name)}.*"):
        if re.fullmatch(r"\.[0-9a-f]{8}", path.name.removeprefix(f".{target.name}")) is None:
            continue
        with path.open("rb") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                continue
            for end in ("", "-wal", "-shm"):
                path.with_name(path.name + end).unlink(missing_ok=True)


def _is_idle(path: Path, log: Path | None) -> bool:
    """True if the file is an unused database and not the log itself."""
    if not path.is_file() or (log is not None and log.exists() and path.samefile(log)):
        return False
    wal = path.with_name(f"{path.name}-wal")
    return is_database(path) and not (wal.exists() and wal.stat().st_size)


def _refuse_other(target: Path, draft: Path) -> None:
    """Raises Failed if the target has anything that the new copy has not: another log, or a longer one."""
    try:
        if not target.exists() or begins_with(draft, target):
            return
    except StoreError as error:
        raise _not_a_copy(target, words_of(error)) from None
    raise _not_a_copy(target)


def _not_a_copy(target: Path, *reasons: str) -> Failed:
    why = sentence("{target} is not an earlier copy of this log, so it was not replaced.", target=target)
    return Failed(why, *reasons, code=exits.REFUSED)


def _checked(copy: Path) -> int:
    """The number of events in the copy. Raises Failed for one that is damaged: it must not replace a good one."""
    try:
        with reading(f"sqlite:///{copy.absolute()}") as log:
            problems = log.rows.integrity()
            size = head(log).size
    except (NotProved, StoreError) as error:
        problems = [words_of(error)]
    if problems:
        why = sentence("The log is damaged, so nothing was copied:")
        raise Failed(why, *problems[:3], sentence("`hansard verify` says more."), code=exits.NOT_VERIFIED)
    return size
