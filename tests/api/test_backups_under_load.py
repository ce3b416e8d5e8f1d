"""Backups made with `hansard backup` while clients command a server (promise P5): each is restored and verified, and
has everything that was answered before it began, at the same positions."""

import os
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import pytest

from adapters.proof.verify import verify
from adapters.store.location import open_store, reading
from tests.api.server import Server, serving, session, start
from tests.api.test_crashes import Answered, Load
from tests.kit.programs import done


class Copy(NamedTuple):
    """A backup, and how many commands had been answered before it began."""

    file: Path
    known: int


def hansard(log: Path, *words: str) -> str:
    """What the command prints on a log of this name; it has to succeed."""
    settings = {"HANSARD_DATABASE": f"sqlite:///{log}", "HANSARD_DATA_DIR": str(log.with_suffix(".node"))}
    environment = {name: value for name, value in os.environ.items() if not name.startswith("HANSARD_")}
    result = done(words, env=environment | settings, folder=log.parent, seconds=300)
    assert result.returncode == 0, (words, result.stderr)
    return result.stdout


def backed_up(server: Server, load: Load, count: int) -> list[Copy]:
    """So many backups, one after the other, each after something new was answered."""
    copies = list[Copy]()
    for number in range(count):
        load.reach(len(load.answered) + 1)
        copies.append(Copy(server.folder / f"copy-{number}.db", len(load.answered)))
        hansard(server.database, "backup", str(copies[-1].file))
    return copies


def check(copy: Copy, answered: list[Answered], rows: list[tuple[int, bytes]]) -> None:
    """Restore it to a place of its own, and compare it with the log as it became."""
    log = copy.file.with_suffix(".restored") / "hansard.db"
    log.parent.mkdir()
    hansard(log, "restore", str(copy.file))
    with reading(f"sqlite:///{log}") as store:
        assert verify(store).faults == []
        assert [(row.position, row.hash) for row in store.rows.events()] == rows[: store.head()]
        for command in answered[: copy.known]:
            if command.status != 409:
                version = command.body["version"]
                [event] = store.history(command.session_id, after=version - 1, upto=version)
                assert (event.position, event.causation.command_id) == (command.body["position"], command.key)


@pytest.mark.parametrize("count", [2, pytest.param(50, marks=pytest.mark.nightly)])
def test_backups_under_load_are_restored_whole(tmp_path: Path, count: int) -> None:
    with serving(tmp_path, worker_slots=32) as server:
        load = Load(server.url)
        with load.running():
            copies = backed_up(server, load, count)
        server.stop()
        with closing(open_store(f"sqlite:///{server.database}")) as store:
            rows = [(row.position, row.hash) for row in store.rows.events()]
    for copy in copies:
        check(copy, load.answered, rows)
    assert copies[-1].known > copies[0].known
    last = Server(copies[-1].file.with_suffix(".restored"))
    last.start()
    try:
        new = start(last.client)
        assert session(last.client, new)["id"] == new, "it continues where it ended"
        last.stop()
        hansard(last.database, "verify")
    finally:
        last.leave()
