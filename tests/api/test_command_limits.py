"""Limits of validation commands over HTTP: output, resources, and which commands may run."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2 as httpx
import pytest
from pydantic import ValidationError

from api.node.settings import Settings
from tests.api.server import Json, delivery, ended, events, inside, only, start


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    limits = {"command_cpu_seconds": 1, "command_memory_bytes": 500_000_000, "command_file_bytes": 4_000_000}
    with inside(tmp_path_factory.mktemp("limits"), output_bytes=100_000, **limits) as result:
        yield result


@pytest.fixture(scope="module")
def hurried(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    """Only what never ends meets this limit: a busy machine may need longer for everything else."""
    with inside(tmp_path_factory.mktemp("hurried"), validation_seconds=1.0) as result:
        yield result


def validated(client: httpx.Client, script: str) -> tuple[Json, Json, list[Json]]:
    """A one-iteration session, the report on its only command, and its events."""
    command = [sys.executable, "-c", script]
    session_id = start(client, delivery(validationCommands=[command], maxIterations=1))
    session = ended(client, session_id)
    artifact = client.get(f"/api/sessions/{session_id}/artifacts/{session['artifactRefs']['validation']}").json()
    [run] = json.loads(artifact["content"])["runs"]
    return session, run, events(client, session_id)


def test_output_size_does_not_fail_a_passing_command(client: httpx.Client) -> None:
    result, run, _ = validated(client, "print('begin'); print('x' * 2_000_000); print('the end')")
    assert (result["status"], result["iteration"]) == ("success", 1)
    assert (run["exitCode"], run["ended"], run["detail"]) == (0, "exited", "")
    assert (run["truncated"], run["leftOut"]) == (True, len("begin\n\nthe end\n") + 2_000_000 - 100_000)
    assert run["stdout"].startswith("begin\nxxx") and run["stdout"].endswith("xxx\nthe end\n")


def test_next_iteration_gets_the_end_of_a_long_output(client: httpx.Client) -> None:
    _, run, result = validated(client, "print('x' * 2_000_000); raise SystemExit('3 tests failed: a, b, c')")
    assert (run["exitCode"], run["truncated"], run["stderr"]) == (1, True, "3 tests failed: a, b, c\n")
    [failed] = only(result, "delivery.validation_failed")
    assert failed["classification"] == "test"
    assert failed["feedback"]["head"].endswith("3 tests failed: a, b, c")


def test_output_that_fits_is_whole(client: httpx.Client) -> None:
    _, run, _ = validated(client, "print('y' * 99_999)")
    assert (run["stdout"], run["truncated"], run["leftOut"]) == ("y" * 99_999 + "\n", False, 0)


DEAF = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); [signal.pause() for _ in iter(int, 1)]"


@pytest.mark.parametrize(
    ("script", "code", "end", "reason"),
    [
        (
            "while True: pass",
            -1,
            "limit",
            "was stopped by its limit of CPU time (1 s; HANSARD_COMMAND_CPU_SECONDS)",
        ),
        (
            "bytearray(900_000_000)",
            1,
            "exited",
            "ended with exit code 1, perhaps by its limit of memory (500000000 bytes; HANSARD_COMMAND_MEMORY_BYTES)",
        ),
        (
            "open('big', 'wb').write(bytes(5_000_000))",
            1,
            "exited",
            "ended with exit code 1, perhaps by its limit of file size (4000000 bytes; HANSARD_COMMAND_FILE_BYTES)",
        ),
    ],
    ids=["CPU", "memory", "file"],
)
def test_exceeded_limit_names_value_and_setting(
    client: httpx.Client, script: str, code: int, end: str, reason: str
) -> None:
    check_limit(client, script, code, end, reason)


def test_exceeded_time_names_value_and_setting(hurried: httpx.Client) -> None:
    """Also of a command that ignores the request to end."""
    reason = "was stopped by its limit of time (1 s; HANSARD_VALIDATION_SECONDS)"
    check_limit(hurried, DEAF, -1, "timeout", reason)


def check_limit(client: httpx.Client, script: str, code: int, end: str, reason: str) -> None:
    """The only sentence, with no seconds but those of the limit."""
    result, run, text = validated(client, script)
    assert (result["budget"]["reason"], run["exitCode"], run["ended"]) == ("iterations", code, end)
    assert run["detail"] == f"It {reason}."
    [failed] = only(text, "delivery.validation_failed")
    assert failed["classification"] == "runtime"
    first, sentence, *_ = failed["feedback"]["head"].splitlines()
    assert first == "Validation failed at iteration 1 (runtime)."
    assert sentence.startswith("Validation failed (runtime): `") and sentence.endswith(f"` {reason}.")
    assert failed["summary"].count("topped") == sentence.count("topped")


# -- which commands may run ----------------------------------------------------------------------------------------

ONLY = "only commands that begin with `true`, `npm test` are allowed here (HANSARD_COMMANDS_ALLOWED)"


def test_a_start_with_a_command_that_is_not_listed_is_refused(tmp_path: Path) -> None:
    with inside(tmp_path, commands_allowed="true,npm test") as client:
        result = delivery(validationCommands=["true", "npm test -- --ci", "npm run build", ["rm", "-rf", "a b"]])
        answer = client.post("/api/sessions", json=result)
        assert answer.status_code == 422
        assert {error["pointer"]: error["detail"] for error in answer.json()["errors"]} == {
            "/validationCommands/2": f"`npm run build` may not run: {ONLY}",
            "/validationCommands/3": f"`rm -rf 'a b'` may not run: {ONLY}",
        }
        alone = delivery(testCommand="pytest")
        del alone["validationCommands"]
        [error] = client.post("/api/sessions", json=alone).json()["errors"]
        assert (error["pointer"], error["detail"]) == ("/testCommand", f"`pytest` may not run: {ONLY}")
        assert ended(client, start(client, delivery(validationCommands=["true --yes"])))["status"] == "success"


def test_a_command_that_was_started_before_it_was_no_longer_listed_does_not_run(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    result = delivery(validationCommands=["touch done"], workspace=str(tmp_path / "work"), maxIterations=1)
    with inside(tmp_path / "log", work=False) as client:
        session_id = start(client, result)
    with inside(tmp_path / "log", commands_allowed="true,npm test") as client:
        session = ended(client, session_id)
    assert (session["reason"], session["iteration"]) == ("validation_not_startable", 1)
    assert f"`touch done` cannot be started. It was not run: {ONLY}." in session["finalSummary"]
    assert not (tmp_path / "work" / "done").exists()


@pytest.mark.parametrize(
    ("setting", "sentence"),
    [
        ({"commands_allowed": "'npm test"}, "should be commands with commas between them: No closing quotation"),
        ({"command_memory_bytes": 67_108_863}, "should be 0 \\(no limit\\) or at least 67108864"),
        ({"command_cpu_seconds": -1}, "greater than or equal to 0"),
    ],
)
def test_a_setting_that_cannot_hold_is_refused(setting: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValidationError, match=sentence):
        Settings(**setting)
