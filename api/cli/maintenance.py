"""`rebuild`: the views, from the log. `migrate`: the whole log into another store. `clean`: working folders that are no
longer needed."""

import shutil
import time
from collections.abc import Mapping
from contextlib import closing
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

from cyclopts import Parameter
from cyclopts.validators import Number

from api.cli import exits
from api.cli.audit import REWRITTEN, fault_words
from api.cli.client import require_log
from api.cli.exits import Failed
from api.cli.labels import sentence
from api.cli.log import Database, open_log, settings_of
from api.cli.options import WHERE
from api.cli.terminal import counted, put, put_json, say, visible

if TYPE_CHECKING:
    from adapters.store.migration import Migrated
    from adapters.store.port import Log
    from adapters.workspace import Workspaces
    from api.node.settings import Settings


def rebuild(*, database: Annotated[str | None, Parameter(group=WHERE)] = None) -> int:
    """Rebuild all views from the log. Readers see the old views until the new ones are ready. The log is unchanged.

    If an event was changed since the views were made, nothing is rebuilt: they are evidence of what it was.

    The search index is only emptied: a server builds it again in the background, or else the next search does.

    Parameters
    ----------
    database
        The log. HANSARD_DATABASE; default: a file in your data directory.
    """
    settings = settings_of(database)
    _keep_evidence(settings)
    position, missing = _rebuild(settings)
    say(sentence("Views rebuilt up to position {position}.", position=position))
    for what in missing:
        say(what, label="missing")
    return exits.NOT_VERIFIED if missing else exits.OK


_KEYS: Final = (Path("signing.key"), Path("keys/owner.key"))
"""Of a machine's own files those that go with the log."""


def migrate(source: str, target: str, /) -> int:
    """Copy a log into an empty one in another place: from a file to PostgreSQL, or back.

    Positions, hashes and receipts stay the same, so checkpoints and idempotency keys stay valid. Open turns are asked
    again. Stop the servers and workers of SOURCE first. The copy is verified; views are built at the first start.

    Parameters
    ----------
    source
        The log to copy: a file, or a postgresql:// URL. It is not changed.
    target
        Where to: a new file, or the URL of an empty database.
    """
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


_DAY_MS: Final = 86_400_000
_DELETED: Final = "Deleted the working folders of {sessions}, {size}."


def clean(
    *,
    days: Annotated[
        float,
        Parameter(validator=Number(gte=0), help="Only sessions idle for at least this many days [default: 30]."),
    ] = 30,
    dry_run: Annotated[bool, Parameter(help="Show what would be deleted without deleting it.")] = False,
    json: Annotated[bool, Parameter(help="Print what was deleted as JSON.")] = False,
    database: Database = None,
) -> int:
    """Delete the working folders of idle sessions. The record stays.

    Replay, patches, branches and artifacts need no folder; forking, extending and continuing recreate it from the
    record. Only ignored files (.gitignore) are lost: installed dependencies, build output.

    With PostgreSQL, this also removes the commits of ended sessions from the database, if this machine has their
    workspace. This machine keeps them, and later forks of these sessions start here.
    """
    from adapters.workspace import Workspaces

    settings = settings_of(database)
    workspaces = Workspaces(settings.node_dir / "workspaces")
    before = time.time() * 1000 - days * _DAY_MS
    with open_log(settings) as store:
        idle = {name: status for name in workspaces.sessions() if (status := _idle(store, name, before)) is not None}
    sizes = {name: workspaces.size(name) for name in workspaces.names() if name in idle}
    freed = 0 if dry_run else _withdraw(settings, workspaces, idle)
    for name in sizes:
        if not dry_run:
            workspaces.put_away(name)
        if not json:
            put(f"{name}  {_size_words(sizes[name])}")
    if json:
        put_json(
            {
                "items": [{"sessionId": name, "bytes": size} for name, size in sizes.items()],
                "deleted": not dry_run,
                "databaseBytes": freed,
            }
        )
    done = "Would delete the working folders of {sessions}, {size}." if dry_run else _DELETED
    folders, room = counted(len(sizes), "session"), _size_words(sum(sizes.values()))
    say(sentence(done, sessions=folders, size=room))
    if freed:
        say(sentence("Removed {freed} of commits from the database.", freed=_size_words(freed)))
    return exits.OK


def _keep_evidence(settings: "Settings") -> None:
    """Raise Failed where the log is not what the views were made from."""
    from adapters.proof.stored import check_events
    from adapters.proof.verdict import Unchecked, Verification
    from adapters.store.location import reading
    from api.cli.rebuilding import rewritten

    if not settings.views_path.exists():
        return
    verdict = Verification()
    with reading(settings.database) as log:
        with log.rows.frozen() as rows:
            check_events(rows, verdict)
        try:
            verdict.faults += rewritten(log, settings.views_path)
        except Unchecked:
            say(sentence("The views cannot be read: what they know of the log is not compared with it."))
    changed = [fault for fault in verdict.faults if getattr(fault.problem, "code", "") in REWRITTEN]
    if not changed:
        return
    for fault in sorted(changed, key=attrgetter("position")):
        put(visible(fault_words(fault.position, fault.problem)))
    raise Failed(
        sentence(
            "Nothing was rebuilt: the log was changed after the views {views} were made from it. Keep a copy of {log}"
            " and of the views: they are the evidence. Then restore the log from a backup. If you know that the log is"
            " right, delete {views}: then they are built again.",
            log=settings.log_name,
            views=settings.views_path,
        ),
        code=exits.NOT_VERIFIED,
    )


def _rebuild(settings: "Settings") -> tuple[int, list[str]]:
    """The position, and what the views lack because they could not read or fold it."""
    from adapters.store.location import open_store
    from adapters.store.sqlite.views import open_views
    from api.cli.rebuilding import rebuild as rebuild_views
    from api.node.local_files import search_of
    from projections.follow import Follower
    from projections.sessions.search import SEARCH

    with closing(open_store(settings.database)) as store, closing(open_views(settings.views_path)) as views:
        follower = Follower(store, views, witnessed=store.rows)
        position = rebuild_views(follower, store, settings.database)
        missing = [each.error for each in follower.problems()]
        with closing(open_views(search_of(settings.node_dir))) as words:
            Follower(store, words, [SEARCH]).empty()
    return position, missing


def _moved(old: "Settings", new: "Settings") -> "Migrated":
    from adapters.store.location import open_store, reading
    from adapters.store.migration import Moving, NotEmpty, migrate
    from adapters.store.sql.log import SqlRecorder

    with reading(old.database) as log, closing(open_store(new.database)) as store:
        assert isinstance(store, SqlRecorder)
        try:
            return migrate(log, store)
        except (NotEmpty, Moving) as error:
            raise Failed(exits.words_of(error), code=exits.REFUSED) from None


def _keep_keys(old: "Settings", new: "Settings") -> None:
    """Checkpoints are signed, and people are known, as before."""
    for name in _KEYS:
        ours, theirs = old.node_dir / name, new.node_dir / name
        if ours.is_file() and not theirs.exists():
            theirs.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            shutil.copy2(ours, theirs)
    from adapters.store.keys import REVOKED, StoredKey
    from adapters.store.location import open_store, reading
    from api.node.access import keys_in, stored

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


def _verified(new: "Settings") -> int:
    from adapters.proof.verify import verify
    from adapters.store.location import reading

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


def _withdraw(settings: "Settings", workspaces: "Workspaces", idle: Mapping[str, str]) -> int:
    """Remove the commits of those sessions that have ended from the database; the number of bytes. `idle`: statuses."""
    from adapters.store.location import open_store
    from adapters.store.postgres.address import is_shared
    from adapters.turns.folder import ENDED
    from adapters.turns.result.sharing import Sharing

    if not is_shared(settings.database):
        return 0
    with closing(open_store(settings.database)) as store:
        if store.shares is None:
            return 0
        sharing = Sharing(store, store.shares, workspaces, limit=settings.share_bytes)
        return sum(sharing.withdraw(name) for name, status in idle.items() if status in ENDED) + sharing.tidy()


def _idle(store: "Log", name: str, before: float) -> str | None:
    """Its status, if it and the discussions about its work are idle. Folders that are not ours are left alone."""
    from domain.kinds import KINDS, fold
    from domain.session.record import kind_of
    from domain.values.base import HansardError

    if kind_of(name) not in KINDS:
        return None
    try:
        history = store.history(name)
        session = fold(kind_of(name), ((recorded.event, recorded.metadata) for recorded in history))
    except (HansardError, ValueError):  # what cannot be read may still be wanted
        return None
    if session is None or session.updated_at >= before or session.outstanding or session.open_children:
        return None
    return session.status


def _size_words(size: float) -> str:
    for unit in ("bytes", "kB", "MB"):
        if size < 1_000:
            return counted(round(size), "byte") if unit == "bytes" else f"{size:.1f} {unit}"
        size /= 1_000
    return f"{size:.1f} GB"
