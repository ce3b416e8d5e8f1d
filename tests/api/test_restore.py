"""A copy is put in place of a log on SQLite, after a crash, in any order; a malformed log is refused before it takes
anything."""

import os
import shutil
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing
from itertools import product
from pathlib import Path

import pytest

from adapters.notify.outbox import open_outbox
from adapters.store.location import open_store
from api.cli.main import carry_out
from tests.adapters.stores_under_test import delivery_story, write
from tests.api.server import ROOT, Server, session, start, until
from tests.kit.programs import done


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    result = Server(tmp_path, retry_seconds=0.001)
    yield result
    result.leave()


def hansard(server: Server, *words: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {
        "HANSARD_DATABASE": f"sqlite:///{server.database}",
        "HANSARD_DATA_DIR": str(server.data),
        "HANSARD_LANG": "en",
    }
    return done(words, env=environment, folder=ROOT, seconds=120)


def listed(server: Server) -> set[str]:
    return {item["id"] for item in server.client.get("/api/sessions", params={"limit": "200"}).json()["items"]}


def wal(log: Path) -> Path:
    return log.with_name(f"{log.name}-wal")


ORDERS = [
    pytest.param(*each, marks=() if each == (True, False) else pytest.mark.nightly)
    for each in product([False, True], repeat=2)
]


@pytest.mark.parametrize(("folded", "clean"), ORDERS)
def test_a_backup_comes_back_whatever_has_happened_since(server: Server, folded: bool, clean: bool) -> None:
    """The log was checkpointed before the backup or never, and it was closed or it crashed."""
    server.start()
    kept = start(server.client)
    if folded:
        server.stop()
        server.start()
    copy = server.folder / "copy.db"
    assert hansard(server, "backup", str(copy)).returncode == 0
    gone = [start(server.client) for _ in range(3)]
    until(lambda: set(gone) <= listed(server), what="what will be gone")
    assert hansard(server, "restore", str(copy)).returncode == 4, "a server has the log open"
    assert set(gone) <= listed(server)
    old = server.database.read_bytes()
    server.stop() if clean else server.kill()
    crashed = server.database.read_bytes(), wal(server.database).exists()
    assert clean or crashed == (old, True)
    if not clean:
        shutil.copyfile(copy, server.database)
        refused = hansard(server, "serve", "--port", "0")
        assert refused.returncode != 0 and "A backup was copied over the log" in refused.stderr
        crashed = server.database.read_bytes(), wal(server.database).exists()
    done = hansard(server, "restore", str(copy))
    assert done.returncode == 0, done.stderr
    [aside] = [each for each in server.folder.glob("hansard.db.before-*") if each.name[-4:] not in ("-wal", "-shm")]
    assert (aside.read_bytes(), wal(aside).exists()) == crashed
    assert str(aside) in done.stderr and not wal(server.database).exists()
    assert hansard(server, "verify").returncode == 0
    server.start()
    assert listed(server) == {kept}
    assert [server.client.get(f"/sessions/{name}").status_code for name in (*gone, kept)] == [404, 404, 404, 200]
    new = start(server.client)
    assert session(server.client, new)["id"] == new
    server.stop()
    assert hansard(server, "verify").returncode == 0


@pytest.mark.parametrize(
    "spoilt",
    ["page", *(pytest.param(each, marks=pytest.mark.nightly) for each in ("chain", "other", "half", "text", "none"))],
)
def test_what_is_no_sound_copy_is_not_restored(server: Server, spoilt: str) -> None:
    server.start()
    start(server.client)
    server.stop()
    copy = server.folder / "copy.db"
    assert hansard(server, "backup", str(copy)).returncode == 0
    content = copy.read_bytes()
    match spoilt:
        case "page":
            copy.write_bytes(content[:8192] + os.urandom(4096) + content[12288:])
        case "half":
            copy.write_bytes(content[: len(content) // 2])
        case "none":
            copy.write_bytes(b"")
        case "text":
            copy.write_text("Buy milk.\n")
        case "chain" | "other":
            change = "UPDATE events SET hash = x'00'" if spoilt == "chain" else "DROP TABLE events"
            with closing(sqlite3.connect(copy)) as connection:
                connection.execute(change)
                connection.commit()
    before = server.database.read_bytes()
    result = hansard(server, "restore", str(copy))
    assert result.returncode == 8 and "nothing was restored" in result.stderr, result.stderr
    assert f".{server.database.name}" not in result.stderr, "no name of a draft"
    assert "Fault(" not in result.stderr
    assert server.database.read_bytes() == before
    assert [
        each.name for each in server.folder.glob("*hansard.db*") if "before" in each.name or each.name[0] == "."
    ] == []


def test_no_file_and_the_log_itself_are_refused(server: Server) -> None:
    server.start()
    server.stop()
    assert hansard(server, "restore", str(server.folder / "nowhere.db")).returncode == 3
    assert hansard(server, "restore", str(server.database)).returncode == 2


def damage(server: Server) -> None:
    """A page of the log, in its middle, that holds nonsense."""
    server.start()
    for _ in range(3):
        start(server.client)
    server.stop()
    content = server.database.read_bytes()
    middle = len(content) // 8192 * 4096
    server.database.write_bytes(content[:middle] + b"\xa5" * 4096 + content[middle + 4096 :])


def test_a_malformed_log_is_refused_before_the_first_command(server: Server) -> None:
    damage(server)
    before = server.database.read_bytes()
    for words in (["serve", "--port", "0"], ["worker"], ["review", "x"], ["key", "new", "ada"]):
        result = hansard(server, *words)
        assert result.returncode != 0, words
        assert "hansard restore" in result.stderr, (words, result.stderr)
    assert server.database.read_bytes() == before


def test_notifications_go_back_with_a_restored_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else what begins to wait before the next server starts might never be told."""
    monkeypatch.setenv("HANSARD_DATABASE", str(tmp_path / "log" / "hansard.db"))
    monkeypatch.setenv("HANSARD_DATA_DIR", str(tmp_path / "node"))
    log = open_store(f"sqlite:///{tmp_path / 'log' / 'hansard.db'}")
    log.append([write(delivery_story().begun)])
    log.rows.backup(tmp_path / "copy.db")
    log.append([write(delivery_story("delivery-2").begun, session_id="delivery-2")])
    (tmp_path / "node").mkdir()
    outbox = open_outbox(log, tmp_path / "node" / "notify.db")
    assert outbox.begin(log.head()) == 6
    log.close()
    assert carry_out(["restore", str(tmp_path / "copy.db")]) == 0
    assert outbox.begin(12) == 3
