"""Signed checkpoints that a server stores elsewhere, and how `verify` uses them."""

import shutil
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

import pytest

from adapters.proof.checkpoints import (
    GrowingHead,
    NotProved,
    head,
    holds,
    noted,
    opened,
    public_key,
    public_text,
    signing_key,
)
from adapters.store.location import open_store
from api.node.checkpoint_place import command_of
from tests.api.server import Server, ended, serving, start, until


def size_of(note: str, server: Server) -> int:
    """The number of events the note covers; its signature is checked."""
    key = public_key(public_text(signing_key(server.data / "signing.key")))
    return opened(note, key).size


def test_a_folder_gets_one_after_every_so_many_events_also_after_a_restart(tmp_path: Path) -> None:
    place = tmp_path / "elsewhere"
    place.mkdir()
    with serving(tmp_path, checkpoint_to=place, checkpoint_every=20) as server:
        ended(server.client, start(server.client))
        first = until(lambda: sorted(place.glob("checkpoint-*.txt")), what="a checkpoint")
        size = size_of(first[-1].read_text(), server)
        assert size >= 20 and first[-1].name == f"checkpoint-{size:012}.txt"
        server.kill()
        server.start()
        ended(server.client, start(server.client))
        until(lambda: size_of(max(place.glob("checkpoint-*.txt")).read_text(), server) >= 40, what="the next one")
        newest = max(place.glob("checkpoint-*.txt")).read_text()
        server.stop()
        with closing(open_store(f"sqlite:///{server.database}")) as store:
            whole = GrowingHead(store)
            whole.read()
            assert whole.now() == head(store)
        assert opened(newest, public_key(public_text(signing_key(server.data / "signing.key")))).size <= whole.size


def test_a_file_holds_the_newest_and_a_command_gets_it_on_standard_input(tmp_path: Path) -> None:
    file, kept = tmp_path / "newest.txt", tmp_path / "kept.txt"
    program = tmp_path / "keep.py"
    program.write_text(f"import sys; open({str(kept)!r}, 'a').write(sys.stdin.read())")
    with serving(tmp_path, checkpoint_to=file, checkpoint_every=10) as server:
        ended(server.client, start(server.client))
        until(lambda: file.exists() and size_of(file.read_text(), server) >= 10, what="the file")
        server.stop()
    with serving(tmp_path, checkpoint_to=f"{sys.executable} {program}", checkpoint_every=10) as server:
        until(lambda: kept.exists() and kept.read_text().endswith("=\n"), what="the command")
        assert size_of(kept.read_text(), server) >= 10


def test_a_server_that_runs_no_turns_sends_them_too(tmp_path: Path) -> None:
    file = tmp_path / "newest.txt"
    server = Server(tmp_path, words=["--no-work"], checkpoint_to=file, checkpoint_every=3)
    try:
        server.start()
        start(server.client)
        until(lambda: file.exists() and size_of(file.read_text(), server) >= 3, what="the file")
    finally:
        server.leave()


@pytest.mark.parametrize("folder", [False, True])
def test_a_checkpoint_of_a_log_that_has_lost_its_end_is_not_replaced(tmp_path: Path, folder: bool) -> None:
    """It is what shows the loss: to the operator at once, and to `verify` afterwards."""
    place, backup = tmp_path / "elsewhere", tmp_path / "backup.db"
    if folder:
        place.mkdir()
    with serving(tmp_path, checkpoint_to=place, checkpoint_every=1) as server:
        first = ended(server.client, start(server.client))
        server.stop()
        shutil.copy(server.database, backup)
        server.start()
        ended(server.client, start(server.client))
        server.stop()
        last = max(place.iterdir()) if folder else place
        before = last.read_text()
        shutil.copy(backup, server.database)
        server.start()
        assert server.client.get(f"/api/sessions/{first['id']}").status_code == 200
        names = until(lambda: sorted(last.parent.glob(f"{last.name}*")), what="the checkpoints")
        until(lambda: "the log does not continue the one of the last checkpoint" in server.log.read_text(), what="word")
        ended(server.client, start(server.client))
        until(lambda: any(each.read_text() != before for each in last.parent.glob(f"{last.name}*")), what="a new one")
        names = sorted(last.parent.glob(f"{last.name}*"))
        assert before in [each.read_text() for each in names], names
        server.stop()
    with closing(open_store(f"sqlite:///{server.database}")) as store:
        faults = [holds(store, head) for each in names if (head := noted(each.read_text()))]
        assert None in faults and any(faults)


def test_damaged_log_is_not_signed(tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        ended(server.client, start(server.client))
        server.stop()
    with closing(sqlite3.connect(server.database)) as raw:
        [(position, state)] = raw.execute("SELECT position, state FROM events LIMIT 1 OFFSET 3").fetchall()
        for (name,) in raw.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            raw.execute(f"DROP TRIGGER {name}")
        raw.execute("UPDATE events SET state = ? WHERE position = ?", [state + b" ", position])
        raw.commit()
    with closing(open_store(f"sqlite:///{server.database}")) as store, pytest.raises(NotProved):
        GrowingHead(store).read()


@pytest.mark.parametrize(
    ("place", "command"),
    [("/mnt/vault", False), ("~/checkpoints", False), ("cat -", True), ("sh", True), ("/bin/sh", True)],
)
def test_a_place_is_a_command_where_it_has_arguments_or_is_a_program(place: str, command: bool) -> None:
    assert (command_of(place) is not None) == command
