"""Claims of this machine: ports and folders that are free again once their process has ended."""

import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from adapters.processes.process_table import look_up
from adapters.services import claims
from adapters.services.claims import delete, end_abandoned, free_ports, note_leader, own_folder

NUMBERING = claims._numbering()


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


# -- ports ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def port() -> Iterator[socket.socket]:
    """Something of the machine that listens."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server


def test_nobody_gets_a_port_that_another_has(monkeypatch: pytest.MonkeyPatch, port: socket.socket) -> None:
    """Neither what a session has claimed, nor what something else of the machine listens on; and what was claimed in
    vain is let go."""
    with socket.create_server(("127.0.0.1", 0)) as other:
        number = other.getsockname()[1]
    monkeypatch.setattr(claims, "_PORTS", [port.getsockname()[1], number])
    with pytest.raises(OSError, match="no free port is left"):
        free_ports(["db", "cache"])
    ports, held = free_ports(["db"])
    assert ports == {"db": number}
    with pytest.raises(OSError, match="no free port is left"):
        free_ports(["db"])
    for claim in held:
        claim.close()
    ports, held = free_ports(["cache"])
    assert ports == {"cache": number}
    held[0].close()


def test_claims_in_a_folder_of_somebody_else_do_not_count(temporary: Path) -> None:
    elsewhere = temporary / "elsewhere"
    elsewhere.mkdir()
    (temporary / f"hansard-ports-{os.getuid()}").symlink_to(elsewhere)
    with pytest.raises(OSError, match="is not ours"):
        free_ports(["db"])


# -- folders -------------------------------------------------------------------------------------------------------


def abandoned(note: str) -> Path:
    """The folder of a process that was killed, with what it noted."""
    folder, claim = own_folder()
    claim.write(note)
    claim.close()
    return folder


def test_a_folder_is_there_until_it_is_deleted_or_its_process_ends() -> None:
    folder, claim = own_folder()
    note_leader(claim, os.getpid())
    end_abandoned()
    assert folder.is_dir()
    delete(folder, claim)
    assert not folder.exists()


def test_what_only_looks_like_a_folder_of_ours_is_left_alone(temporary: Path) -> None:
    (temporary / "hansard-service-empty").mkdir()
    kept = temporary / "kept"
    kept.mkdir()
    (kept / ".lock").touch()
    (temporary / "hansard-service-link").symlink_to(kept)
    (temporary / "hansard-service-led").mkdir()
    (temporary / "hansard-service-led" / ".lock").symlink_to(kept / ".lock")
    end_abandoned()
    names = ["hansard-service-empty", "hansard-service-led", "hansard-service-link", "kept"]
    assert sorted(path.name for path in temporary.iterdir()) == names


@pytest.fixture
def service() -> Iterator[subprocess.Popen[bytes]]:
    """A service in a session of its own, which outlives who began it."""
    script = "import sys, time; print(1, flush=True); time.sleep(600)"
    process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, start_new_session=True)
    assert process.stdout is not None
    process.stdout.readline()
    yield process
    process.kill()
    process.wait()
    process.stdout.close()


@pytest.mark.skipif(not NUMBERING, reason="there is no process table here")
@pytest.mark.parametrize(
    ("note", "ends"),
    [
        ("{pid} {started} {numbering}", True),
        ("{pid} 1 {numbering}", False),
        ("{pid} {started} pid:[1]", False),
        ("{pid}", False),
        ("", False),
    ],
    ids=["ours", "another-program", "another-container", "cut", "nothing"],
)
def test_what_a_killed_process_left_is_ended_if_it_is_surely_that(
    service: subprocess.Popen[bytes], note: str, ends: bool
) -> None:
    """Its folder is deleted all the same."""
    found = look_up(service.pid)
    assert found is not None
    folder = abandoned(note.format(pid=service.pid, started=found.started, numbering=NUMBERING))
    end_abandoned()
    assert not folder.exists()
    if ends:
        assert service.wait(60) == -9
    else:
        assert service.poll() is None
