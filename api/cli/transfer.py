"""`hansard export`, `import`, `backup`: the log as a file."""

import fcntl
import glob
import os
import re
import secrets
import sys
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from pathlib import Path

from adapters.files import private_file, sync
from adapters.proof.checkpoints import NotProved, SignedHead, head
from adapters.proof.transfer import AlreadyThere, NotImported
from adapters.proof.transfer import export as lines
from adapters.proof.transfer import take_in as carry_in
from adapters.store.errors import StoreError
from adapters.store.location import reading
from adapters.store.sqlite.sealed_log import begins_with
from api.cli import exits
from api.cli.checkpoint_file import opened_checkpoint
from api.cli.exits import Failed
from api.cli.labels import sentence
from api.cli.log import changing, find_stream, open_log, settings_of
from api.cli.terminal import counted, say
from api.node.settings import Settings


def export(session: str | None, /, *, json: bool, database: str | None) -> int:
    """Write the whole log, or a session with its reviews and debates, to stdout as JSON Lines."""
    with open_log(settings_of(database)) as store:
        for line in lines(store, None if session is None else find_stream(store, session)):
            sys.stdout.buffer.write(line)
        sys.stdout.buffer.flush()
    return exits.OK


def import_sessions(file: Path, /, *, checkpoint: Path | None, public_key: str | None, database: str | None) -> int:
    """Import sessions from a file written by `export`; - reads stdin. All or nothing."""
    settings = settings_of(database)
    signed = None if checkpoint is None else opened_checkpoint(checkpoint, public_key, settings)
    try:
        with lines_of(file) as lines:
            return take_in(lines, settings, signed)
    except OSError as error:
        problem = sentence("{file} cannot be read: {strerror}.", file=file, strerror=exits.reason_of(error))
        raise Failed(problem, code=exits.USAGE) from None


def lines_of(file: Path) -> AbstractContextManager[Iterable[bytes]]:
    return nullcontext(sys.stdin.buffer) if str(file) == "-" else file.open("rb")


def take_in(lines: Iterable[bytes], settings: Settings, signed: SignedHead | None) -> int:
    """Import the lines of an export. Raises Failed, and then nothing is imported."""
    with changing(settings) as store:
        try:
            sessions, events = carry_in(store, lines, signed)
        except NotImported as error:
            code = exits.REFUSED if isinstance(error, AlreadyThere) else exits.NOT_VERIFIED
            raise Failed(sentence("Nothing was imported. {error}", error=exits.words_of(error)), code=code) from None
    say(
        sentence(
            "Imported {events} of {sessions}.", events=counted(events, "event"), sessions=counted(sessions, "session")
        )
    )
    if signed is None:
        say(
            sentence(
                "An export carries no signature: whether its log was changed before cannot be seen in it."
                " A checkpoint of that log shows it (--checkpoint)."
            )
        )
    return exits.OK


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
    """Remove what copies to this target left that were killed: nobody holds it."""
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
    with path.open("rb") as file:
        return file.read(16) == b"SQLite format 3\0" and not (wal.exists() and wal.stat().st_size)


def _refuse_other(target: Path, draft: Path) -> None:
    """Raises Failed if the target has anything that the new copy has not: another log, or a longer one."""
    try:
        if not target.exists() or begins_with(draft, target):
            return
    except StoreError as error:
        raise _not_a_copy(target, exits.words_of(error)) from None
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
        problems = [exits.words_of(error)]
    if problems:
        why = sentence("The log is damaged, so nothing was copied:")
        raise Failed(why, *problems[:3], sentence("`hansard verify` says more."), code=exits.NOT_VERIFIED)
    return size
