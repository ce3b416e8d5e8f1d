"""Input at the edges: far dates, byte order marks, line breaks, and signals of a service."""

import os
import signal
import time
from pathlib import Path

import pytest

from adapters.agents.team import load
from adapters.files import content
from adapters.project import parse
from adapters.store.sqlite.store import SqliteStore, wal_bytes
from api.node.access import seconds_of
from api.node.owner import account
from tests.adapters.stores_under_test import delivery_story, write
from tests.api.cli.conftest import Hansard
from tests.api.server import Server, start, until

BOM = "\ufeff"
YEAR_BEYOND = 999_999_999_999


@pytest.mark.parametrize("far", ["36501d", "876001h", "2930000d", "99999999d", "999999999d", "999999999h"])
def test_a_key_lasts_36500_days_at_most(hansard: Hansard, own_log: Path, far: str) -> None:
    result = hansard("key", "new", "far", "--expires", far)
    assert (result.code, result.err) == (2, f"hansard: --expires: {far} is too long: at most 36500d.\n")
    assert hansard("key", "list").code == 0


@pytest.mark.parametrize("never", ["", " ", "0d", "-1d", "d", "1.5d"])
def test_an_expiry_that_is_none_makes_no_key(hansard: Hansard, own_log: Path, never: str) -> None:
    """Least of all an empty one, such as an unset variable of a script: it would be valid for ever."""
    result = hansard("key", "new", "ada", f"--expires={never}")
    assert (result.code, result.out) == (2, "")
    assert "ada" not in hansard("key", "list").out


def test_the_longest_key_is_listed(hansard: Hansard, own_log: Path) -> None:
    assert hansard("key", "new", "long", "--expires", "36500d").code == 0
    assert "until 21" in hansard("key", "list").out
    assert seconds_of("36500d") == seconds_of("876000h")


def test_what_an_older_version_has_stored_is_listed(hansard: Hansard, own_log: Path, tmp_path: Path) -> None:
    file = tmp_path / "keys"
    file.write_text(f"old:{'0' * 64}:read:{YEAR_BEYOND}\n")
    file.chmod(0o600)
    result = hansard("key", "list", "--file", str(file))
    assert result.code == 0 and "9999-12-31" in result.out
    assert hansard("key", "list", "--json", "--file", str(file)).code == 0


def test_a_byte_order_mark_is_passed_over(hansard: Hansard, tmp_path: Path) -> None:
    team = tmp_path / "team.toml"
    team.write_text(f'{BOM}[[agents]]\nname = "Ada"\npreset = "claude"\n', encoding="utf-8")
    assert [agent.name for agent in load(team).agents] == ["Ada"]
    settings = tmp_path / "hansard.toml"
    settings.write_text(f"{BOM}[validation]\nrepeat = 2\n", encoding="utf-8")
    assert parse(content(settings))


def test_a_changed_export_says_what_has_changed(hansard: Hansard, own_log: Path, tmp_path: Path) -> None:
    file = tmp_path / "log.jsonl"
    file.write_bytes(b'{"hansard":"export","format":1}\r\n')
    result = hansard("import", str(file))
    assert result.code == 8 and "CR and LF" in result.err


def test_a_service_without_a_terminal_goes_on_after_signals_of_its_keeper(tmp_path: Path) -> None:
    """As `logrotate` sends them."""
    server = Server(tmp_path, within=("setsid", "-w"))
    try:
        server.start()
        [pid] = map(int, Path(f"/proc/{server.pid}/task/{server.pid}/children").read_text().split()) or [server.pid]
        for number in (signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2):
            os.kill(pid, number)
            assert start(server.client)
        assert server.client.get("/healthz").status_code == 200
        assert account()
    finally:
        server.leave()


def test_the_write_ahead_log_shrinks_once_its_reader_has_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("adapters.store.sqlite.store.WAL_BYTES", 20_000)
    monkeypatch.setattr("adapters.store.sqlite.store._AGAIN_SECONDS", 0.05)
    store = SqliteStore(str(tmp_path / "log.db"))
    with store._reading() as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM events").fetchone()
        for number in range(8):
            began = time.monotonic()
            name = f"delivery-{number}"
            store.append([write(delivery_story(name).begun, session_id=name)])
            assert time.monotonic() - began < 3, "no one waits for the reader"
        assert wal_bytes(store.path) > 20_000
        reader.execute("ROLLBACK")
    until(lambda: wal_bytes(store.path) < 20_000, what="a short log, though nothing more is written")
    store.close()
