"""The program `hansard` in separate processes: streams, signals, exit codes and servers."""

import contextlib
import json
import os
import pty
import re
import shlex
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.kit.commands import Done, command
from tests.kit.surroundings import without_settings

LONGEST = 30.0
Program = Callable[..., subprocess.CompletedProcess[str]]
Here = Callable[..., Done]


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    ours = without_settings()
    ours.pop("NO_COLOR", None)
    return ours | {
        "HANSARD_DATABASE": f"sqlite:///{tmp_path}/hansard.db",
        "HANSARD_AUTH": "off",
        "TERM": "xterm-256color",
        "TZ": "UTC",
        "HOME": str(tmp_path),
    }


@pytest.fixture
def hansard(environment: dict[str, str], tmp_path: Path) -> Program:
    def call(*words: str, **more: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "api", *words],
            capture_output=True,
            encoding="utf-8",
            env=environment | {"PYTHONPATH": str(_ROOT)} | more,
            cwd=tmp_path,
            stdin=subprocess.DEVNULL,
            timeout=LONGEST,
        )

    return call


@pytest.fixture
def here(environment: dict[str, str]) -> Here:
    """A command on the same log in this process, to prepare or to look at what the program does."""

    def call(*words: str, **more: str) -> Done:
        return command(*words, env=environment | more)

    return call


_ROOT = Path(__file__).parents[2]


# --- usage ----------------------------------------------------------------------------------------------------------


WORK = ("run", "orchestrate", "message", "review", "debate", "example", "inbox", "decide", "continue", "reset")


def test_help_is_a_newcomers_first_page(hansard: Program) -> None:
    result = hansard("--help")
    assert (result.returncode, result.stderr) == (0, "")
    assert "Start with hansard example" in result.stdout
    for name in ("init", "run", "review", "orchestrate", "inbox", "watch", "show", "merge", "serve", "doctor"):
        assert re.search(rf"│ {name} ", result.stdout), name
    everything = hansard("help", "--all").stdout
    for name in (*WORK, "extend", "cancel", "list", "show", "events", "worklog", "serve", "doctor", "key"):
        assert re.search(rf"│ {name} ", everything), name


def test_help_needs_nothing_heavy() -> None:
    """Users wait for the imports of `--help` and completion at every prompt."""
    program = (
        "import sys, api.cli.main as a; a.program([]); "
        "print([m for m in ('httpx2', 'starlette', 'uvicorn', 'statemachine', 'eventsourcing') if m in sys.modules])"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=_ROOT, timeout=LONGEST)
    assert result.stdout == "[]\n"


def test_wrong_usage_is_on_stderr_with_code_2(hansard: Program) -> None:
    result = hansard("list", "--nope")
    assert (result.returncode, result.stdout) == (2, "")
    assert (
        result.stderr
        == "hansard: Unknown option: --nope. Did you mean --owner?\n  `hansard list --help` shows the usage.\n"
    )


def test_arguments_that_are_no_utf_8_are_refused(hansard: Program) -> None:
    result = hansard("show", b"\xff\xfe".decode(errors="surrogateescape"))
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr == "hansard: The arguments are not valid UTF-8.\n"


def test_unexpected_error_is_one_line_and_a_hint(tmp_path: Path) -> None:
    program = (
        "import sys, api.cli.main as a\n"
        "def _call(words): raise RuntimeError('odd')\n"
        "a._call = _call\n"
        "sys.exit(a.main(['list']))"
    )
    for debug, traceback in (("", False), ("1", True)):
        result = subprocess.run(
            [sys.executable, "-c", program],
            capture_output=True,
            text=True,
            cwd=_ROOT,
            env=os.environ | {"HANSARD_DEBUG": debug},
            timeout=LONGEST,
        )
        assert result.returncode == 1
        assert ("Traceback" in result.stderr) is traceback
        assert ("hansard: Unexpected error (RuntimeError): odd\n" in result.stderr) is not traceback


# --- streams --------------------------------------------------------------------------------------------------------


def test_korean_works_in_every_locale(hansard: Program) -> None:
    start = ("run", "-t", "합계를 고쳐줘", "-f", "값.py", "--test", "true", "--detach", "--json")
    result = hansard(*start, LC_ALL="C", PYTHONIOENCODING="ascii", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0")
    assert result.returncode == 0, result.stderr
    shown = hansard("show", json.loads(result.stdout)["sessionId"], LC_ALL="C", PYTHONIOENCODING="ascii")
    assert "합계를 고쳐줘" in shown.stdout
    assert "값.py" in shown.stdout


def test_a_scenario_comes_through_stdin(environment: dict[str, str], tmp_path: Path) -> None:
    result = subprocess.run(
        [sys.executable, "-m", "api", "run", "-t", "x", "-f", "a", "--test", "true", "--scenario", "-", "--json"],
        input='{"replies": {"planner": [{"error": "refused"}]}}',
        capture_output=True,
        text=True,
        env=environment | {"PYTHONPATH": str(_ROOT)},
        cwd=tmp_path,
        timeout=LONGEST,
    )
    assert result.returncode == 1, result.stderr
    assert json.loads(result.stdout)["lastError"] == "planner rejected the request (scripted)."


def test_closed_pipe_is_not_an_error(here: Here, environment: dict[str, str], tmp_path: Path) -> None:
    assert here("example").returncode == 0
    reading, writing = os.pipe()
    os.close(reading)
    result = subprocess.run(
        [sys.executable, "-m", "api", "events", "latest", "--json"],
        stdout=writing,
        stderr=subprocess.PIPE,
        env=environment | {"PYTHONPATH": str(_ROOT)},
        cwd=tmp_path,
        timeout=LONGEST,
    )
    os.close(writing)
    assert (result.returncode, result.stderr) == (141, b"")


@pytest.mark.parametrize(
    "closed", [*(pytest.param(one, marks=pytest.mark.nightly) for one in (">&-", "2>&-")), "<&- >&- 2>&-"]
)
def test_session_finishes_with_closed_streams(
    here: Here, environment: dict[str, str], tmp_path: Path, closed: str
) -> None:
    words = f"exec {shlex.quote(sys.executable)} -m api run -t x -f a --test true {closed}"
    ours = environment | {"PYTHONPATH": str(_ROOT)}
    result = subprocess.run(["sh", "-c", words], env=ours, cwd=tmp_path, capture_output=True, timeout=LONGEST)
    assert result.returncode == 0
    [session] = json.loads(here("list", "--json").stdout)["items"]
    assert session["status"] == "success"
    assert here("verify").returncode == 0  # nothing was printed into a file that reused the number of a stream


def test_work_continues_after_stderr_is_closed(environment: dict[str, str], tmp_path: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    result = subprocess.run(
        [sys.executable, "-m", "api", "run", "-t", "x", "-f", "a", "--test", "true", "--json"],
        stdout=subprocess.PIPE,
        stderr=writing,
        env=environment | {"PYTHONPATH": str(_ROOT)},
        cwd=tmp_path,
        timeout=LONGEST,
    )
    os.close(writing)
    assert (result.returncode, json.loads(result.stdout)["status"]) == (0, "success")


def test_colour_is_only_for_a_terminal_that_wants_it(
    hansard: Program, here: Here, environment: dict[str, str], tmp_path: Path
) -> None:
    assert here("run", "-t", "x", "-f", "a", "--test", "true", "--detach").returncode == 0
    assert "\x1b" not in hansard("list").stdout
    assert "\x1b[34mrunning" in _on_a_terminal(["list"], environment, tmp_path)[1]
    assert "\x1b" not in _on_a_terminal(["list"], environment | {"NO_COLOR": "1"}, tmp_path)[1]


def test_on_a_terminal_a_delivery_is_a_live_display(environment: dict[str, str], tmp_path: Path) -> None:
    code, shown = _on_a_terminal(["example"], environment, tmp_path)
    assert code == 0
    assert re.search("▶(planning|architecture|design|implementation|validation|review|packaging)", shown)
    assert "Review blocked in iteration 1" in shown
    assert "iteration 2/4" in shown
    assert "\x1b[2mworkspace" in shown
    merge, see = shown.rstrip().splitlines()[-2:]
    assert re.fullmatch(r"To merge the result: cd \S+ && hansard merge delivery-\w+", merge)
    assert see.startswith("To see what was changed: hansard changes delivery-")


# --- signals --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupt_cancels_nothing_and_shows_how_to_continue(
    here: Here, environment: dict[str, str], tmp_path: Path, number: signal.Signals
) -> None:
    scenario = tmp_path / "slow.json"
    scenario.write_text('{"replies": {}, "delayMs": 60000}')
    words = ["run", "-t", "x", "-f", "a", "--test", "true", "--fresh", "--scenario", str(scenario)]
    with _started(words, environment, tmp_path) as process:
        talk = _read_until(process, "Started planning")
        process.send_signal(number)
        out, err = process.communicate(timeout=LONGEST)
    session_id = talk.splitlines()[0].removeprefix("Session ")
    assert (process.returncode, out) == (130, "")
    assert err.splitlines() == [
        f"Stopped watching; session {session_id} was not cancelled. Watch again: hansard watch {session_id}",
        f"  hansard watch {session_id}     hansard resume {session_id}     hansard cancel {session_id}",
    ]
    assert json.loads(here("show", session_id, "--json").stdout)["session"]["status"] == "running"


def test_background_process_of_a_script_ends_on_request(environment: dict[str, str], tmp_path: Path) -> None:
    """Ctrl-C is ignored there; SIGTERM is not."""
    scenario = tmp_path / "slow.json"
    scenario.write_text('{"replies": {}, "delayMs": 60000}')
    words = ["run", "-t", "x", "-f", "a", "--test", "true", "--fresh", "--scenario", str(scenario)]
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        started = _started(words, environment, tmp_path)
        with started as process:
            signal.signal(signal.SIGINT, before)
            _read_until(process, "Started planning")
            process.send_signal(signal.SIGINT)
            process.send_signal(signal.SIGTERM)
            out, err = process.communicate(timeout=LONGEST)
    finally:
        signal.signal(signal.SIGINT, before)
    assert (process.returncode, out) == (130, "")
    assert "was not cancelled" in err


# --- serving --------------------------------------------------------------------------------------------------------


def test_every_command_works_through_a_server_too(
    hansard: Program, here: Here, environment: dict[str, str], tmp_path: Path
) -> None:
    with _serving(environment, tmp_path) as (_, address, talk):
        assert f"  log   {tmp_path}/hansard.db\n" in talk
        assert "  team  the scripted example team, which does no real work" in talk
        result = hansard("run", "-t", "원격", "-f", "a", "--test", "true", "--fresh", "--json", HANSARD_SERVER=address)
        assert result.returncode == 0, result.stderr
        assert "The scripted example team answers" in result.stderr
        session_id = json.loads(result.stdout)["id"]
        assert "원격" in here("list", "--server", address).stdout
        assert "success" in here("show", "latest", "--server", address).stdout
        assert len(here("events", session_id, "--follow", "--json", "--server", address).stdout.splitlines()) > 20
        assert here("worklog", "latest", "--server", address).stdout.startswith("# Work Log: 원격\n")
        refused = here("cancel", "latest", "--server", address)
        assert (refused.returncode, refused.stderr) == (
            4,
            f"The newest session of the server: {session_id}\n"
            "hansard: A delivery in the state success cannot be cancelled. Allowed now: revise.\n",
        )
        assert here("show", "nope", "--server", address).returncode == 3


@pytest.mark.alone
def test_stop_closes_streams_and_releases_the_log(environment: dict[str, str], tmp_path: Path) -> None:
    with _serving(environment, tmp_path, "--example") as (process, address, talk):
        port = int(address.rpartition(":")[2])
        _read_until(process, "example delivery: delivery-")
        with socket.create_connection(("127.0.0.1", port), timeout=LONGEST) as stream:
            stream.sendall(b"GET /api/events HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: text/event-stream\r\n\r\n")
            assert b"200 OK" in stream.recv(4096)
            started = time.monotonic()
            process.send_signal(signal.SIGTERM)
            assert process.wait(LONGEST) == 0
            assert time.monotonic() - started < 4.0
    assert "Hansard is serving on" in talk


def test_a_port_that_is_taken_is_one_line(hansard: Program) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        result = hansard("serve", "--port", str(port))
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr == (
        f"hansard: Port {port} on 127.0.0.1 is in use; choose another with --port (0 picks a free one).\n"
    )


def test_no_other_machine_gets_in_without_a_key(hansard: Program) -> None:
    host = "0.0.0.0"  # noqa: S104 - refused
    result = hansard("serve", "--host", host, "--port", "0", HANSARD_AUTH="off")
    assert (result.returncode, result.stdout) == (5, "")
    assert result.stderr == (
        f"hansard: Other machines can reach {host}, so keys are required: unset HANSARD_AUTH=off.\n"
    )


def test_a_key_opens_the_server_and_the_log_needs_none(here: Here, environment: dict[str, str], tmp_path: Path) -> None:
    keys = {"HANSARD_API_KEYS_FILE": str(tmp_path / "keys"), "HANSARD_AUTH": "key"}
    key = here("key", "new", "alice", **keys).stdout.strip()
    with _serving(environment | keys, tmp_path) as (_, address, _talk):
        refused = here("list", "--server", address, XDG_STATE_HOME=str(tmp_path / "another"))
        assert (refused.returncode, refused.stdout) == (5, "")
        assert here("list", "--server", address).returncode == 0, "the account's own key"
        assert here("list", "--server", address, HANSARD_API_KEY=key).returncode == 0
        assert here("list", "--server", address, HANSARD_API_KEY=key + "x").returncode == 5
        assert here("list", **keys).returncode == 0


@contextlib.contextmanager
def _started(words: list[str], environment: dict[str, str], folder: Path) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [sys.executable, "-u", "-m", "api", *words],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        env=environment | {"PYTHONPATH": str(_ROOT)},
        cwd=folder,
    )
    watchdog = threading.Timer(LONGEST, process.kill)
    watchdog.start()
    try:
        yield process
    finally:
        watchdog.cancel()
        process.kill()
        process.communicate()


@contextlib.contextmanager
def _serving(
    environment: dict[str, str], folder: Path, *words: str
) -> Iterator[tuple[subprocess.Popen[str], str, str]]:
    """A server on a free port: its process, address and first output."""
    with _started(["serve", "--port", "0", *words], environment, folder) as process:
        talk = _read_until(process, "Press Ctrl-C to stop.")
        address = re.search(r"http://\S+", talk)
        assert address is not None
        yield process, address[0], talk


def test_an_error_on_a_terminal_is_coloured_and_readable(environment: dict[str, str], tmp_path: Path) -> None:
    code, shown = _on_a_terminal(["list", "--no\x1b[2Jpe"], environment, tmp_path)
    assert code == 2
    assert shown.startswith("\x1b[31mhansard:\x1b[0m Unknown option: --no⟦U+001B⟧[2Jpe")
    assert shown.count("\x1b") == 2


def _read_until(process: subprocess.Popen[str], words: str) -> str:
    """The process's stderr up to the line with this text."""
    assert process.stderr is not None
    text = ""
    for line in process.stderr:
        text += line
        if words in line:
            return text
    raise AssertionError(f"{words!r} was not said, but:\n{text}")


def _on_a_terminal(words: list[str], environment: dict[str, str], folder: Path) -> tuple[int, str]:
    """Exit code and output on a terminal of 100 columns."""
    leader, follower = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "api", *words],
        stdin=subprocess.DEVNULL,
        stdout=follower,
        stderr=follower,
        env=environment | {"PYTHONPATH": str(_ROOT), "COLUMNS": "100"},
        cwd=folder,
    )
    os.close(follower)
    shown = b""
    with contextlib.suppress(OSError):  # how a terminal signals that the other end is closed
        while chunk := os.read(leader, 65_536):
            shown += chunk
    os.close(leader)
    return process.wait(LONGEST), shown.decode()
