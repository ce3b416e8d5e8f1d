"""`hansard doctor`: a line for each thing Hansard needs, and what to do where one is missing."""

import asyncio
import os
import shutil
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Final

from rich.cells import cell_len, set_cell_size

from adapters.files import open_to_others
from adapters.processes.environment import clean_environment
from adapters.processes.program import run
from adapters.proof.glance import NEWEST, glance
from adapters.store.location import check_driver, reading
from adapters.store.sqlite.durability import journal_mode, probed
from adapters.workspace.git import WorkspaceError, in_theirs
from adapters.workspace.move import is_unfinished
from api.cli import exits
from api.cli.error_words import in_words, words_of
from api.cli.forge_health import check_forge
from api.cli.health import Finding, check_team, histories, refused
from api.cli.labels import recorded, sentence
from api.cli.options import Where
from api.cli.project import try_agents
from api.cli.service_health import check_services
from api.cli.terminal import paint, put, put_json, visible
from api.node.checkouts import checkout_of
from api.node.places import is_beside_the_log, reveals_the_log, unfit_places
from api.node.settings import Settings
from domain.values.base import HansardError

_STYLES: Final = {"ok": "green", "warn": "yellow", "fail": "red"}
_LEAST_GIT: Final = (2, 38)
"""`git merge-tree --write-tree`."""
_LITTLE_SPACE: Final = 1_000_000_000
_NO_SPACE: Final = 100_000_000
_AHEAD_SECONDS: Final = 300.0
_WRITTEN: Final = 1_767_225_600
"""2026-01-01: an earlier clock is wrong."""


def doctor(*, database: str | None, team: Path | None, all_: bool, try_: bool, json: bool) -> int:
    """Check Python, SQLite, the log's location, git, the team and its programs, disk and clock. Changes nothing."""
    settings = Where(database=database).settings(team=team)
    if try_:
        return try_agents(settings, json=json)
    findings = list(_examine(settings))
    if all_:
        findings += histories(settings)
    if json:
        put_json({"items": [asdict(finding) for finding in findings]})
    else:
        _print(findings)
    return exits.FAILURE if any(finding.mark == "fail" for finding in findings) else exits.OK


def _print(findings: list[Finding]) -> None:
    width = max(cell_len(recorded("check", finding.name)) for finding in findings)
    for finding in findings:
        mark = paint(finding.mark.ljust(4), _STYLES[finding.mark])
        name = set_cell_size(recorded("check", finding.name), width)
        put(f"{mark}  {name}  {visible(finding.found)}")
        if finding.advice:
            put(f"{' ' * (width + 8)}{visible(finding.advice)}")


def _examine(settings: Settings) -> Iterator[Finding]:
    path = settings.log_file
    ours = path or settings.node_dir / "views"
    of_a_file: tuple[Callable[[], Finding], ...] = (lambda: place(ours), lambda: durability(ours))
    checks: tuple[Callable[[], Finding], ...] = (
        python,
        lambda: sqlite(holds_the_log=path is not None),
        *((lambda: database(settings.database),) if path is None else of_a_file),
        git,
        lambda: disk(ours, settings.node_dir / "workspaces"),
        lambda: clock(ours, now=time.time()),
    )
    for check in checks:
        yield check()
    if has_log(settings.database) if path is None else path.is_file() and path.stat().st_size:
        yield record(settings.database, settings.views_path)
    yield from places(settings)
    yield check_forge(settings)
    yield from check_team(settings)
    yield from check_services(settings.sandbox or "auto")
    yield from refused(settings)
    yield from checkout(Path.cwd())


def places(settings: Settings) -> Iterator[Finding]:
    """Tells which settings name a place that cannot be used, or should not be."""
    name = "settings"
    for fault in unfit_places(settings):
        yield Finding("fail", name, f"{fault.setting}: {in_words(fault.problem)}")
    if is_beside_the_log(settings):
        problem = sentence("HANSARD_CHECKPOINT_TO is beside the log: who can change the one can change the other")
        yield Finding(
            "warn", name, problem, sentence("Name a place on another machine, or a command that sends it there.")
        )
    if settings.data_dir is not None and reveals_the_log(settings):
        problem = sentence("HANSARD_DATA_DIR is in the folder of the log: each workspace's path says where the log is")
        yield Finding("warn", name, problem, sentence("Give the log a folder of its own."))
    folder = settings.worklog_folder and settings.worklog_folder.expanduser()
    if folder is not None and (checkout := checkout_of(folder)) is not None and not _is_ignored(checkout, folder):
        problem = sentence(
            "HANSARD_WORKLOG_FOLDER is in the checkout {path}, where git does not ignore it", path=checkout
        )
        yield Finding("warn", name, problem, sentence("Name a folder outside, or let git ignore it."))


def _is_ignored(checkout: Path, folder: Path) -> bool:
    with suppress(WorkspaceError):
        return bool(in_theirs(["check-ignore", "--", f"{folder}/"], checkout, codes=(0, 1)))
    return True  # nothing is known of it


def has_log(url: str) -> bool:
    """True if the database answers and has a log."""
    try:
        with reading(url):
            return True
    except HansardError:
        return False


def database(url: str) -> Finding:
    """Tells whether the database answers, may hold the log, takes and gives back a row, passes on notifications, and
    asks for a password."""
    name = "database"
    try:
        check_driver()
        from adapters.store.postgres.sealed_log import inspect, lets_in_without_password
        from adapters.store.postgres.trial import try_out

        server = inspect(url)
        version = f"PostgreSQL {server.version}"
        try_out(url, has_log=server.head is not None)
        if server.head is None:
            return Finding("ok", name, sentence("{log}, no log yet (created at first use)", log=version))
        if lets_in_without_password(url):
            advice = sentence(
                "Programs that agents run can use it, too. Let the database ask for a password (scram-sha-256)."
            )
            problem = sentence("{log} lets this account in without a password", log=version)
            return Finding("warn", name, problem, advice)
    except HansardError as error:
        return Finding("fail", name, words_of(error), sentence("Check HANSARD_DATABASE and the server."))
    return Finding("ok", name, sentence("{log}, {n} positions", log=version, n=server.head))


def python() -> Finding:
    return Finding("ok", "Python", f"{'.'.join(map(str, sys.version_info[:3]))} ({sys.executable})")


def sqlite(version: tuple[int, int, int] | None = None, *, holds_the_log: bool = True) -> Finding:
    """The WAL-reset defect: 3.7.0 to 3.51.2, but not 3.44.6 and 3.50.7 onwards in their own lines (promise F7).
    Beside a log in PostgreSQL, SQLite has only views, which are made from the log."""
    numbers = version or sqlite3.sqlite_version_info
    spelt = ".".join(map(str, numbers))
    if numbers < (3, 37, 0):
        return Finding("fail", "SQLite", spelt, sentence("The log's tables need 3.37 or newer (STRICT)."))
    is_fixed = numbers >= (3, 51, 3) or (3, 44, 6) <= numbers < (3, 45, 0) or (3, 50, 7) <= numbers < (3, 51, 0)
    if holds_the_log and not is_fixed:
        return Finding(
            "warn",
            "SQLite",
            sentence(
                "{version} has the WAL-reset defect: in rare cases, processes that write at the same moment damage"
                " the log.",
                version=spelt,
            ),
            sentence(
                "Use 3.51.3 or newer (also fixed in 3.44.6 and 3.50.7). Until then one process for each log is safe;"
                " with more, keep backups, and `hansard verify` now and then."
            ),
        )
    return Finding("ok", "SQLite", spelt)


def place(path: Path) -> Finding:
    """Tells whether the log is, or could be made, there and be written."""
    name = "log"
    if path.exists():
        if not path.is_file():
            problem = sentence("{path} is not a file", path=path)
            return Finding("fail", name, problem, sentence("Name a file with HANSARD_DATABASE."))
        if not os.access(path, os.R_OK | os.W_OK) or not os.access(path.parent, os.W_OK | os.X_OK):
            problem = sentence("{path} cannot be written", path=path)
            return Finding("fail", name, problem, sentence("Make it writable for this user."))
        if open_to_others(path):
            advice = sentence("It contains prompts, replies and source code: `chmod 600` it unless they may read it.")
            problem = sentence("{path} is readable by other users of this machine", path=path)
            return Finding("warn", name, problem, advice)
        return Finding("ok", name, str(path))
    folder = _existing(path.parent)
    if not folder.is_dir() or not os.access(folder, os.W_OK | os.X_OK):
        problem = sentence("{path} cannot be created: {folder} is not writable", path=path, folder=folder)
        return Finding("fail", name, problem, sentence("Set HANSARD_DATABASE."))
    return Finding("ok", name, sentence("{path} (created at first use)", path=path))


def durability(path: Path) -> Finding:
    """Tells whether a database next to the log accepts WAL with synchronous=FULL, and the log itself has it."""
    name = "durability"
    try:
        with tempfile.TemporaryDirectory(prefix=".hansard-doctor-", dir=_existing(path.parent)) as folder:
            mode, synchronous = probed(Path(folder) / "probe.db")
    except (OSError, sqlite3.Error) as error:
        problem = sentence("could not be tested: {error}", error=error)
        return Finding("fail", name, problem, sentence("Put the log on a local disk."))
    try:
        there = journal_mode(path) if path.is_file() and path.stat().st_size else "wal"
    except sqlite3.Error as error:
        return Finding("fail", name, f"{path}: {error}", sentence("Name another file with HANSARD_DATABASE."))
    if (mode, synchronous) != ("wal", 2):
        problem = "journal_mode={mode}, synchronous={synchronous} instead of WAL and FULL (2)"
        advice = sentence("Put the log on a local disk; network folders do not support WAL.")
        return Finding("fail", name, sentence(problem, mode=mode, synchronous=synchronous), advice)
    if there != "wal":
        problem = sentence("the log has journal_mode={mode}", mode=there)
        return Finding("warn", name, problem, sentence("It becomes WAL when Hansard opens it."))
    return Finding("ok", name, "journal_mode=wal, synchronous=FULL")


def record(log: str, views: Path) -> Finding:
    """Tells whether the newest events can be read, and what is known of the others; `--all` reads every one."""
    faults = glance(log, views)
    if faults:
        more = sentence(" and {n} more", n=len(faults) - 1) if faults[1:] else ""
        advice = sentence("`hansard verify` checks the whole log; `hansard rebuild` repairs views that have stopped.")
        return Finding("fail", "record", f"{in_words(faults[0])}{more}", advice)
    every = "the newest {n} events can be read, and every view is up to date"
    return Finding("ok", "record", sentence(every, n=NEWEST))


def git() -> Finding:
    advice = sentence("Install git 2.38 or newer; workspaces need it.")
    words = asyncio.run(_git_version())
    digits = words.removeprefix("git version ").split(".")[:2]
    if not words.startswith("git version ") or not all(part.isdecimal() for part in digits):
        return Finding("fail", "git", words.strip() or sentence("not found"), advice)
    if tuple(map(int, digits)) < _LEAST_GIT:
        return Finding("fail", "git", words.strip(), advice)
    return Finding("ok", "git", words.strip().removeprefix("git version "))


async def _git_version() -> str:
    answer = await run(["git", "--version"], cwd=Path.cwd(), env=clean_environment(), wall_seconds=10)
    return answer.stdout or answer.detail or answer.stderr


def checkout(folder: Path) -> Iterator[Finding]:
    """Tells of a killed command that has left the checkout here half changed, or why that cannot be seen; nothing
    otherwise."""
    top = checkout_of(folder)
    try:
        if top is not None and is_unfinished(top):
            problem = sentence("a killed command has left {top} half changed", top=top)
            words = (
                "The next hansard run, merge or apply there undoes or finishes it, unless its files have changed since."
            )
            yield Finding("warn", "checkout", problem, sentence(words))
    except WorkspaceError as error:
        yield Finding("warn", "checkout", words_of(error))


def disk(path: Path, workspaces: Path) -> Finding:
    """Tells how much is free, and what can be deleted without loss."""
    free = shutil.disk_usage(_existing(path.parent)).free
    space = sentence("{size} GB free", size=f"{free / 1e9:.1f}")
    if folders := sum(each.is_dir() for each in workspaces.iterdir()) if workspaces.is_dir() else 0:
        deleting = "{space}; working folders: {number} (`hansard clean` deletes those that are no longer needed)"
        space = sentence(deleting, space=space, number=folders)
    if free < _NO_SPACE:
        return Finding("fail", "disk", space, sentence("Free some space: commands fail once the log cannot grow."))
    if free < _LITTLE_SPACE:
        return Finding("warn", "disk", space, sentence("Workspaces and the log grow; free some space soon."))
    return Finding("ok", "disk", space)


def clock(path: Path, *, now: float) -> Finding:
    """Tells whether the clock can be right: not before this program was written, not before the log's last change."""
    spelt = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(now))
    changed_at = path.stat().st_mtime if path.exists() else 0.0
    if now < _WRITTEN or now + _AHEAD_SECONDS < changed_at:
        problem = sentence("{time} cannot be right", time=spelt)
        return Finding("warn", "clock", problem, sentence("Set the clock: events carry its time."))
    return Finding("ok", "clock", spelt)


def _existing(folder: Path) -> Path:
    """The folder, or the nearest one above it that exists."""
    return next((place for place in (folder.absolute(), *folder.absolute().parents) if place.exists()), Path("/"))
