"""`hansard export`, `import`, `backup`: the log as a file."""

import fcntl
import glob
import os
import re
import secrets
import sys
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from adapters.files import private_file, sync
from api.cli import exits
from api.cli.exits import Failed
from api.cli.labels import sentence
from api.cli.options import WHERE, Where
from api.cli.terminal import counted, say
from api.node.checkouts import checkout_of

if TYPE_CHECKING:
    from adapters.proof.checkpoints import SignedHead
    from adapters.store.port import Log, Store
    from api.node.settings import Settings

Database = Annotated[
    str | None,
    Parameter(group=WHERE, help="The log. HANSARD_DATABASE; default: a file in your data directory."),
]
Anyway = Annotated[bool, Parameter(help="Has no effect: the output is always JSON.")]


def settings_of(database: str | None) -> "Settings":
    return Where(database=database).settings()


@contextmanager
def open_log(settings: "Settings") -> Iterator["Log"]:
    """The log, to be read: proving it must not change it."""
    from adapters.store.location import reading

    if settings.log_file is not None and not settings.log_file.exists():
        raise Failed(sentence("No log at {log_file}.", log_file=settings.log_file), code=exits.NOT_FOUND)
    with reading(settings.database) as log:
        yield log


@contextmanager
def changing(settings: "Settings") -> Iterator["Store"]:
    """The log, to be changed. Raises Broken for a malformed one."""
    from adapters.store.location import open_store
    from api.system import log_use

    use = log_use(settings)
    try:
        with closing(open_store(settings.database)) as store:
            yield store
    finally:
        if use is not None:
            use.end()


def find_stream(store: "Log", name: str) -> str:
    """The session that is meant: its id, a unique prefix, or `latest`."""
    names = store.rows.streams()
    if name == "latest":
        sessions = [stream for stream in reversed(names) if not stream.startswith("channel-")]
        here = checkout_of(Path.cwd())
        own = (stream for stream in sessions if here is not None and _is_of(store, stream, here))
        name = next(own, sessions[0] if sessions else name)
    matches = [name] if name in names else [candidate for candidate in names if name and candidate.startswith(name)]
    if len(matches) > 1:
        raise Failed(sentence("{name!r} matches {n} sessions.", name=name, n=len(matches)), code=exits.USAGE)
    if not matches:
        raise Failed(sentence("There is no session {name!r}.", name=name), code=exits.NOT_FOUND)
    return matches[0]


def _is_of(store: "Log", stream: str, here: Path) -> bool:
    """Returns whether a session was started in or on the repository with this top folder."""
    from domain.delivery.events import DeliveryStarted
    from domain.discussion.events import DiscussionStarted
    from domain.orchestration.events import OrchestrationStarted

    first = store.history(stream, upto=1)
    match first[0].event if first else None:
        case OrchestrationStarted(opening=request) | DiscussionStarted(topic=request):
            started_in, workspace = request.started_in, request.workspace
        case DeliveryStarted() as request:
            started_in, workspace = request.started_in, request.workspace
        case _:
            return False
    if started_in is not None:
        return Path(started_in) == here
    return workspace is not None and Path(workspace).is_relative_to(here)


def export(session: str | None = None, /, *, json: Anyway = False, database: Database = None) -> int:
    """Write the whole log, or a session with its reviews and debates, to stdout as JSON Lines.

    A manifest at the end has counts and hashes for everything before it.

    Parameters
    ----------
    session
        Only this session, with its reviews and debates: an id, a unique prefix, or `latest`.
    """
    from adapters.proof.transfer import export as lines

    with open_log(settings_of(database)) as store:
        for line in lines(store, None if session is None else find_stream(store, session)):
            sys.stdout.buffer.write(line)
        sys.stdout.buffer.flush()
    return exits.OK


def import_sessions(
    file: Annotated[Path, Parameter(allow_leading_hyphen=True, help="A file written by `export`; - reads stdin.")],
    /,
    *,
    checkpoint: Path | None = None,
    public_key: str | None = None,
    database: Database = None,
) -> int:
    """Import sessions from a file written by `export`; - reads stdin. All or nothing.

    An export carries no signature. With a checkpoint that its log signed, nothing is imported unless the file begins
    with the events that the checkpoint covers.

    Imported sessions do not run on their own; you can read, replay, fork and cancel them. If you make one run again
    (by a fork, more budget or `continue`), it uses the validation commands from the file: check them first.

    Parameters
    ----------
    checkpoint
        A signed checkpoint of the log that the file comes from.
    public_key
        The key that signed it, from `hansard checkpoint --public-key`; default: this log's key.
    """
    from api.cli.checkpoint_file import opened_checkpoint

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


def take_in(lines: Iterable[bytes], settings: "Settings", signed: "SignedHead | None") -> int:
    """Import the lines of an export. Raises Failed, and then nothing is imported."""
    from adapters.proof.transfer import AlreadyThere, NotImported
    from adapters.proof.transfer import take_in as carry_in

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


def backup(target: Path, /, *, replace: bool = False, database: Database = None) -> int:
    """Copy the log to a new file while it is in use. The copy has the same positions, and is verified.

    Parameters
    ----------
    target
        The new file.
    replace
        Replace an earlier copy of this log, once the new one has been verified. No other file is ever replaced.
    """
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
    from adapters.store.errors import StoreError
    from adapters.store.sqlite.sealed_log import begins_with

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
    from adapters.proof.checkpoints import NotProved, head
    from adapters.store.errors import StoreError
    from adapters.store.location import reading

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
