"""`hansard verify`, `checkpoint`, `prove`, `export`, `import`, `backup`: the log itself, proved, copied and carried."""

import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from api.cli import exits
from api.cli.client import WHERE, Where
from api.cli.exits import Failed
from api.cli.terminal import put, put_json, say

if TYPE_CHECKING:
    from adapters.audit.verify import Verdict
    from adapters.store import SqliteStore
    from api.settings import Settings

Database = Annotated[
    Path | None,
    Parameter(group=WHERE, help="The log. HANSARD_DATABASE; else a file in your data directory."),
]
AsJson = Annotated[bool, Parameter(help="JSON to stdout.")]


def _settings(database: Path | None) -> "Settings":
    return Where(database=str(database) if database else None).settings()


@contextmanager
def _opened(settings: "Settings") -> Iterator["SqliteStore"]:
    from adapters.store import open_store

    if not settings.database_path.exists():
        raise Failed(f"There is no log {settings.database_path}.", code=exits.NOT_FOUND)
    with closing(open_store(settings.database)) as store:
        yield store


def verify(
    *,
    checkpoint: Path | None = None,
    public_key: str | None = None,
    proof: Path | None = None,
    json: AsJson = False,
    database: Database = None,
) -> int:
    """Check that the log is whole and unchanged: file, hash chains, versions, rules, views. Exit code 8 if it is not.

    Parameters
    ----------
    checkpoint
        A signed checkpoint from before: what was signed then must still be there.
    public_key
        The key that signed it, as `hansard checkpoint --public-key` showed it; else this log's own.
    proof
        A proof of one event, made by `hansard prove`; it is checked without a log, with the public key alone.
    """
    from adapters.audit import checkpoints
    from adapters.audit.verify import verify as verify_log

    if proof is not None:
        return _check_proof(proof, public_key)
    settings = _settings(database)
    with _opened(settings) as store:
        verdict = verify_log(store, lambda: _views(store))
        if checkpoint is not None:
            text = public_key or checkpoints.public_text(checkpoints.signing_key(_key_path(settings)))
            problem = _against(store, checkpoint, text)
            if problem is not None:
                verdict.blame(None, problem)
    return _tell(verdict, settings.database_path, json=json)


def _key_path(settings: "Settings") -> Path:
    return settings.data_dir / "signing.key"


def _views(store: "SqliteStore") -> str | None:
    """Whether two folds over the log give the same views."""
    from tempfile import TemporaryDirectory

    from adapters.store.views import SqliteViews
    from projections.dump import dump
    from projections.follow import Follower

    with TemporaryDirectory() as folder, closing(SqliteViews(Path(folder) / "views")) as views:
        follower = Follower(store, views)
        follower.catch_up()
        found = [str(problem.error) for problem in follower.problems()]
        first = dump(views)
        follower.rebuild()
        if first != dump(views):
            found.append("the views do not come out the same twice")
    return "; ".join(found) or None


def _against(store: "SqliteStore", note: Path, key: str) -> str | None:
    from adapters.audit import checkpoints

    try:
        return checkpoints.holds(store, checkpoints.opened(_read(note), checkpoints.public_key(key)))
    except checkpoints.NotProved as error:
        return str(error)


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise Failed(f"{path} cannot be read: {error}.") from None


def _tell(verdict: "Verdict", path: Path, *, json: bool) -> int:
    faults = [{"position": fault.position, "problem": fault.problem} for fault in verdict.faults]
    if json:
        figures = {"events": verdict.events, "sessions": verdict.sessions, "head": verdict.head, "root": verdict.root}
        put_json({"sound": verdict.sound, **figures, "faults": faults})
    else:
        for fault in verdict.faults:
            put(f"position {fault.position}: {fault.problem}" if fault.position else fault.problem)
        word = "is whole and unchanged" if verdict.sound else "is NOT as it should be"
        say(f"{path} {word}: {verdict.events} events of {verdict.sessions} streams, root {verdict.root[:16]}…")
    return exits.OK if verdict.sound else exits.NOT_VERIFIED


def _check_proof(path: Path, key: str | None) -> int:
    import json as reader

    from adapters.audit import checkpoints

    if key is None:
        raise Failed("A proof is checked with --public-key.", code=exits.USAGE)
    try:
        checkpoint = checkpoints.check_proof(reader.loads(_read(path)), checkpoints.public_key(key))
    except (checkpoints.NotProved, ValueError) as error:
        raise Failed(f"Not proved: {error}", code=exits.NOT_VERIFIED) from None
    say(f"Proved: the event is one of the {checkpoint.size} that were signed.")
    return exits.OK


def checkpoint(*, public_key: bool = False, database: Database = None) -> int:
    """Print a signed checkpoint of the log. Keep it elsewhere: with it, `verify` also finds an end that was cut off.

    Parameters
    ----------
    public_key
        Print the public key instead.
    """
    from adapters.audit import checkpoints

    settings = _settings(database)
    key = checkpoints.signing_key(_key_path(settings))
    if public_key:
        put(checkpoints.public_text(key))
        return exits.OK
    with _opened(settings) as store:
        put(checkpoints.sign(checkpoints.head(store), key).rstrip("\n"))
    return exits.OK


def prove(session: str, version: int, /, *, database: Database = None) -> int:
    """Print a proof that one event is in the log; anybody can check it with the public key alone."""
    from adapters.audit import checkpoints

    settings = _settings(database)
    with _opened(settings) as store:
        found: dict[str, Any] = checkpoints.prove(store, session, version, checkpoints.signing_key(_key_path(settings)))
    put_json(found)
    return exits.OK


def export(session: str | None = None, /, *, database: Database = None) -> int:
    """Write one session, or the whole log, to stdout as JSON Lines with a manifest at the end."""
    from adapters.audit.transfer import export as lines

    with _opened(_settings(database)) as store:
        if session is not None and not store.version(session):
            raise Failed(f"There is no session {session!r}.", code=exits.NOT_FOUND)
        for line in lines(store, session):
            sys.stdout.buffer.write(line)
        sys.stdout.buffer.flush()
    return exits.OK


def take_in(file: Path, /, *, database: Database = None) -> int:
    """Import sessions from a file that `export` wrote; - reads stdin. All of it, or nothing.

    Nobody goes on working on what was imported; it can be read, replayed, forked and cancelled.
    """
    from adapters.audit.transfer import NotImported
    from adapters.audit.transfer import take_in as carry_in
    from adapters.store import open_store

    settings = _settings(database)
    with closing(open_store(settings.database)) as store:
        try:
            if str(file) == "-":
                sessions, events = carry_in(store, sys.stdin.buffer)
            else:
                with file.open("rb") as lines:
                    sessions, events = carry_in(store, lines)
        except OSError as error:
            raise Failed(f"{file} cannot be read: {error.strerror}.") from None
        except NotImported as error:
            raise Failed(f"Nothing was imported. {error}", code=exits.NOT_VERIFIED) from None
    say(f"Imported {events} events of {sessions} sessions.")
    return exits.OK


def backup(target: Path, /, *, database: Database = None) -> int:
    """Copy the log to a new file while it is in use. The copy is complete and has the same positions."""
    if target.exists():
        raise Failed(f"{target} is there already.", code=exits.REFUSED)
    with _opened(_settings(database)) as store:
        store.rows.backup(target)
    say(f"The log stands in {target} too; `hansard verify --database {target}` checks it.")
    return exits.OK
