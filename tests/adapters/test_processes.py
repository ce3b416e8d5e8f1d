"""The process runner against real programs: it ends, it is bounded, and nothing survives it (promise P19)."""

import asyncio
import ctypes
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from adapters.processes.environment import clean_environment, own
from adapters.processes.limits import NO_LIMITS, SystemLimits
from adapters.processes.program import Finished, run
from adapters.references import resolve_secrets

linux = pytest.mark.skipif(sys.platform != "linux", reason="what leaves its session is only found on Linux")


async def shell(script: str, cwd: Path, **options: Any) -> Finished:
    """A script as a stand-in for an agent; sixty seconds mean: not by the clock."""
    limits: dict[str, Any] = {"wall_seconds": 60.0, "grace_seconds": 60.0, "env": clean_environment()}
    return await run(["sh", "-c", script], cwd=cwd, **(limits | options))


def ran(script: str, cwd: Path, **options: Any) -> Finished:
    return asyncio.run(shell(script, cwd, **options))


def is_gone(pid: str) -> bool:
    """Neither alive nor a zombie."""
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return True
    return False


@pytest.mark.parametrize(
    ("script", "code", "stdout", "stderr"),
    [
        ("exit 0", 0, "", ""),
        ("echo out; echo err >&2; exit 3", 3, "out\n", "err\n"),
        ("exit 137", 137, "", ""),
        ("kill -9 $$", -9, "", ""),
        ("pwd >/dev/null; printf '{\"partial\": '", 0, '{"partial": ', ""),
    ],
)
def test_exit_code_and_both_streams_are_kept(tmp_path: Path, script: str, code: int, stdout: str, stderr: str) -> None:
    finished = ran(script, tmp_path)
    assert (finished.exit_code, finished.stdout, finished.stderr) == (code, stdout, stderr)
    assert (finished.ended, finished.truncated, finished.detail) == ("exit", False, "")


def test_arguments_reach_the_program_as_they_are(tmp_path: Path) -> None:
    argv = ["printf", "%s|", "a b", "$HOME", "; rm -rf x", "*", "한 글"]
    finished = asyncio.run(run(argv, cwd=tmp_path, env=clean_environment(), wall_seconds=60))
    assert finished.stdout == "a b|$HOME|; rm -rf x|*|한 글|"


def test_programs_run_in_the_given_folder_with_default_permissions_and_no_core_dumps(tmp_path: Path) -> None:
    assert ran("pwd -P; umask; ulimit -Hc", tmp_path).stdout == f"{tmp_path.resolve()}\n0022\n0\n"


@pytest.mark.parametrize(("stdin", "seen"), [(None, ""), (b"", ""), (b"a\0b" * 100_000, "a\0b" * 100_000)])
def test_standard_input_is_the_given_bytes_or_nothing(tmp_path: Path, stdin: bytes | None, seen: str) -> None:
    assert ran("cat", tmp_path, stdin=stdin).stdout == seen


def test_a_program_that_does_not_read_its_input_still_ends(tmp_path: Path) -> None:
    assert ran("exit 4", tmp_path, stdin=b"x" * 5_000_000).exit_code == 4


@pytest.mark.parametrize("limits", [NO_LIMITS, SystemLimits(file_bytes=1_000_000)], ids=["free", "under limits"])
@pytest.mark.parametrize(
    ("argv", "folder", "detail"),
    [
        (["no-such-program"], "", "'no-such-program' was not started: No such file or directory."),
        (["./plain.txt"], "", "'./plain.txt' was not started: Permission denied."),
        (["./broken"], "", "'./broken' was not started: Exec format error."),
        (["true"], "missing", "'true' was not started: the folder '{}/missing' does not exist."),
        (["true", "a\0b"], "", "'true' was not started: embedded null byte."),
        ([], "", "There is no command to run."),
    ],
)
def test_what_cannot_start_says_why(
    tmp_path: Path, argv: list[str], folder: str, detail: str, limits: SystemLimits
) -> None:
    (tmp_path / "plain.txt").write_text("text")
    (tmp_path / "broken").write_bytes(b"\x7fELF broken")
    (tmp_path / "broken").chmod(0o755)
    started = run(argv, cwd=tmp_path / folder, env=clean_environment(), wall_seconds=60, limits=limits)
    assert asyncio.run(started) == Finished(None, "", "", False, 0.0, "not_started", detail.format(tmp_path))


def test_it_is_stopped_when_its_time_is_over(tmp_path: Path) -> None:
    finished = ran("echo before; exec sleep 600", tmp_path, wall_seconds=0.3)
    assert (finished.ended, finished.exit_code, finished.stdout) == ("timeout", None, "before\n")
    assert finished.detail == "Stopped after 0.3 s."
    assert 0.3 <= finished.seconds < 5


def test_a_program_that_ignores_the_signal_is_killed_after_the_grace_period(tmp_path: Path) -> None:
    finished = ran("trap '' TERM; while :; do sleep 600; done", tmp_path, wall_seconds=0.2, grace_seconds=0.2)
    assert (finished.ended, finished.exit_code) == ("timeout", None)
    assert finished.seconds < 5


def test_a_stopped_program_that_claims_success_has_no_exit_code(tmp_path: Path) -> None:
    """An agent may answer SIGTERM with a farewell and status 0."""
    finished = ran("trap 'echo bye; exit 0' TERM; while :; do sleep 0.01; done", tmp_path, wall_seconds=0.3)
    assert (finished.ended, finished.exit_code, finished.stdout) == ("timeout", None, "bye\n")


def test_silence_is_limited_but_output_on_either_stream_breaks_it(tmp_path: Path) -> None:
    script = "for i in 1 2 3 4 5 6 7 8; do sleep 0.25; printf . >&2; done; exec sleep 600"
    finished = ran(script, tmp_path, idle_seconds=1.5)
    assert (finished.ended, finished.stderr) == ("idle", "........")
    assert finished.detail == "Stopped after 1.5 s without output."


def test_the_output_cap_counts_both_streams_and_ends_the_program(tmp_path: Path) -> None:
    finished = ran("echo 12345678; sleep 0.2; yes >&2", tmp_path, output_bytes=20)
    assert (finished.stdout, finished.stderr) == ("12345678\n", "y\ny\ny\ny\ny\ny")
    assert (finished.ended, finished.truncated, finished.exit_code) == ("output", True, None)
    assert finished.detail == "Stopped after 20 bytes of output."


@pytest.mark.parametrize(("size", "ended", "code"), [(999, "exit", 0), (1000, "exit", 0), (1001, "output", None)])
def test_output_of_exactly_the_cap_is_whole(tmp_path: Path, size: int, ended: str, code: int | None) -> None:
    finished = ran(f"head -c {size} /dev/zero", tmp_path, output_bytes=1000)
    assert (finished.ended, finished.exit_code, len(finished.stdout)) == (ended, code, min(size, 1000))


def test_a_gigabyte_of_output_does_not_become_our_memory(tmp_path: Path) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    finished = ran("trap '' TERM; head -c 1000000000 /dev/zero", tmp_path, grace_seconds=0.5)
    assert (finished.ended, len(finished.stdout)) == ("output", 1_048_576)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50 * 1024


@pytest.mark.parametrize(
    ("script", "text"),
    [
        (r"printf '\355\225'; sleep 0.1; printf '\234'", "한"),
        (r"printf 'a\377b'", "a\N{REPLACEMENT CHARACTER}b"),
        (r"printf 'a\355\225'", "a\N{REPLACEMENT CHARACTER}"),
    ],
)
def test_text_is_decoded_across_chunks_and_invalid_bytes_are_marked(tmp_path: Path, script: str, text: str) -> None:
    assert ran(script, tmp_path).stdout == text


def test_a_character_cut_by_the_cap_is_left_out(tmp_path: Path) -> None:
    assert ran("printf 한글", tmp_path, output_bytes=4).stdout == "한"


def test_output_is_reported_as_it_arrives(tmp_path: Path) -> None:
    texts: list[str] = []
    ran("echo one; sleep 0.1; echo two >&2", tmp_path, on_output=texts.append)
    assert texts == ["one\n", "two\n"]


def test_a_listener_that_fails_stops_the_program(tmp_path: Path) -> None:
    def listener(text: str) -> None:
        raise LookupError(text)

    with pytest.raises(LookupError, match="hello"):
        ran("echo hello; exec sleep 600", tmp_path, on_output=listener)


def test_processes_left_in_the_group_are_killed_and_do_not_block(tmp_path: Path) -> None:
    finished = ran("sleep 600 & echo $!", tmp_path)
    assert (finished.ended, finished.exit_code) == ("exit", 0)
    assert finished.seconds < 5
    assert is_gone(finished.stdout)


DAEMONS = {
    "in a session of its own": "setsid sleep 600 & echo $!",
    "orphaned twice": "(setsid sh -c 'echo $$ > pid; exec sleep 600' &); until [ -s pid ]; do :; done; cat pid",
    "with other streams": "setsid sleep 600 < /dev/null > /dev/null 2>&1 & echo $!",
    "deaf": "(trap '' TERM HUP; setsid sh -c 'echo $$ > pid; sleep 600' &); until [ -s pid ]; do :; done; cat pid",
    "in a group of its own, without its environment": (
        f'env -i {sys.executable} -c \'import os; os.setpgid(0, 0); print(os.getpid(), file=open("pid", "w"), '
        'flush=True); os.execv("/bin/sleep", ["sleep", "600"])\' & until [ -s pid ]; do :; done; cat pid'
    ),
    "in a session of its own, without its environment": (
        "env -i /usr/bin/setsid -f /bin/sh -c 'echo $$ > pid; exec /bin/sleep 600';"
        " until [ -s pid ]; do :; done; cat pid"
    ),
    "with somebody else's mark": (
        "HANSARD_PROCESS=other@run setsid -f sh -c 'echo $$ > pid; exec sleep 600';"
        " until [ -s pid ]; do :; done; cat pid"
    ),
    "already dead": "setsid true & echo $!; exec sleep 0.1",
}


@linux
@pytest.mark.parametrize("script", DAEMONS.values(), ids=DAEMONS.keys())
def test_no_daemon_survives(tmp_path: Path, script: str) -> None:
    finished = ran(script, tmp_path)
    assert (finished.ended, finished.exit_code) == ("exit", 0)
    assert is_gone(finished.stdout)


@linux
def test_the_daemons_of_another_run_are_left_alone(tmp_path: Path) -> None:
    async def both() -> tuple[Finished, Finished]:
        long = asyncio.create_task(
            shell("setsid sh -c 'echo $$ > pid; until [ -e go ]; do :; done; echo done > said' & wait", tmp_path)
        )
        short = await shell("until [ -s pid ]; do :; done; setsid sleep 600 &", tmp_path)
        (tmp_path / "go").touch()
        return short, await long

    short, long = asyncio.run(both())
    assert (short.exit_code, long.exit_code) == (0, 0)
    assert (tmp_path / "said").read_text() == "done\n"


@linux
def test_a_daemon_without_a_mark_ends_with_the_last_run_that_may_have_started_it(tmp_path: Path) -> None:
    async def both() -> tuple[bool, str]:
        daemon = "env -i /usr/bin/setsid -f /bin/sh -c 'echo $$ > pid; exec /bin/sleep 600'"
        long = asyncio.create_task(shell(f"{daemon}; until [ -e go ]; do :; done", tmp_path))
        await shell("until [ -s pid ]; do :; done", tmp_path)
        pid = (tmp_path / "pid").read_text()
        lived = not is_gone(pid)
        (tmp_path / "go").touch()
        await long
        return lived, pid

    lived, pid = asyncio.run(both())
    assert lived and is_gone(pid)


def test_the_exit_codes_of_other_children_of_ours_are_not_stolen(tmp_path: Path) -> None:
    async def beside() -> int | None:
        other = await asyncio.create_subprocess_exec("sh", "-c", "exit 8")
        await shell("setsid sleep 600 &", tmp_path)
        return await other.wait()

    ours = subprocess.Popen(["sh", "-c", "exit 7"])
    os.waitid(os.P_PID, ours.pid, os.WEXITED | os.WNOWAIT)
    assert ran("setsid sleep 600 &", tmp_path).exit_code == 0
    assert asyncio.run(beside()) == 8
    assert ours.wait() == 7


async def until_it_speaks(script: str, cwd: Path, **options: Any) -> tuple[asyncio.Task[Finished], str]:
    output: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    task = asyncio.create_task(
        shell(script, cwd, on_output=lambda text: None if output.done() else output.set_result(text), **options)
    )
    return task, await output


def test_cancelling_ends_everything_before_it_returns(tmp_path: Path) -> None:
    async def story() -> bool:
        task, pid = await until_it_speaks("sleep 600 & echo $!; wait", tmp_path)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return is_gone(pid)

    assert asyncio.run(story())


def test_cancelling_twice_does_not_wait_for_the_grace(tmp_path: Path) -> None:
    async def story() -> bool:
        deaf = "trap 'echo no' TERM; echo $$; while :; do sleep 0.01; done"
        heard: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        pids: list[str] = []

        def listen(text: str) -> None:
            if text.strip().isdigit():
                pids.append(text)
                task.cancel()
            elif "no" in text and not heard.done():  # the shell may also say that its sleep was ended
                heard.set_result(None)

        task = asyncio.create_task(shell(deaf, tmp_path, on_output=listen))
        await heard
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return is_gone(pids[0])

    began = time.monotonic()
    assert asyncio.run(story())
    assert time.monotonic() - began < 20


def test_leaving_the_event_loop_ends_what_still_runs(tmp_path: Path) -> None:
    async def story() -> str:
        task, pid = await until_it_speaks("echo $$; exec sleep 600", tmp_path)
        assert not task.done()
        return pid

    assert is_gone(asyncio.run(story()))


def test_the_loop_stays_free_while_a_program_runs(tmp_path: Path) -> None:
    async def story() -> int:
        task, ticks = asyncio.create_task(shell("sleep 0.5", tmp_path)), 0
        while not task.done():
            await asyncio.sleep(0.01)
            ticks += 1
        return ticks

    assert asyncio.run(story()) > 10


@linux
def test_forty_bad_agents_all_end_and_none_survives(tmp_path: Path) -> None:
    """P19, on a small clock."""
    scripts = {
        "exec sleep 98765": "timeout",
        "trap '' TERM; while :; do sleep 98765; done": "timeout",
        "while :; do printf x; sleep 0.2; done": "timeout",
        "setsid sleep 98765 & exec sleep 98765": "timeout",
        "(setsid sleep 98765 &); head -c 300000000 /dev/zero": "output",
        "printf '\\355'; exit 137": "exit",
        "printf '{\"a\"'": "exit",
        ":": "exit",
    }

    async def everybody() -> list[Finished]:
        each = [shell(s, tmp_path, wall_seconds=2, grace_seconds=0.5) for s in [*scripts] * 5]
        return await asyncio.gather(*each)

    finished = asyncio.run(everybody())
    assert [f.ended for f in finished] == [*scripts.values()] * 5
    assert max(f.seconds for f in finished) < 60, "none waits for its end of itself"
    commands = [path.read_bytes() for path in Path("/proc").glob("[0-9]*/cmdline") if path.exists()]
    assert [command for command in commands if b"98765" in command] == []


@linux
def test_a_child_cannot_read_our_environment(tmp_path: Path) -> None:
    """F9: as the same user it could; as another it never can."""
    ran(":", tmp_path)
    assert ctypes.CDLL(None).prctl(3, 0, 0, 0, 0) == 0


def test_the_environment_is_an_allow_list(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in list(os.environ):
        monkeypatch.delenv(name)
    ours = {
        "PATH": "/usr/bin:.:bin::/bin",
        "LANG": "ko_KR.UTF-8",
        "LC_ALL": "C.UTF-8",
        "TERM": "dumb",
        "TZ": "Asia/Seoul",
    }
    for name, value in ours.items():
        monkeypatch.setenv(name, value)
    for name in ("HANSARD_DATABASE", "OPENAI_API_KEY", "HOME", "PYTHONPATH", "LD_PRELOAD", "HANSARD_PROCESS"):
        monkeypatch.setenv(name, "secret")
    allowed = {**ours, "PATH": "/usr/bin:/bin"}
    assert clean_environment() == allowed
    assert clean_environment({"A": "1"}, home=tmp_path) == {**allowed, "HOME": str(tmp_path), "A": "1"}
    seen = ran("exec env", tmp_path).stdout.splitlines()
    names = {line.partition("=")[0] for line in seen}
    assert names - {"PWD", "SHLVL", "_", "OLDPWD"} == {*allowed, "HANSARD_PROCESS"}
    assert "HANSARD_PROCESS=secret" not in seen


def test_what_runs_for_a_worker_carries_its_name(tmp_path: Path) -> None:
    """Each of two workers in one process its own; and a setting cannot say otherwise."""

    async def work(owner: str) -> str:
        own(owner)
        env = clean_environment({"HANSARD_PROCESS": "mine@other"})
        in_a_task = asyncio.create_task(shell("echo $HANSARD_PROCESS", tmp_path, env=env))
        return (await in_a_task).stdout.rstrip("\n").partition("@")[2]

    async def both() -> list[str]:
        return await asyncio.gather(work("here.1.a"), work("here.1.b"))

    assert asyncio.run(both()) == ["here.1.a", "here.1.b"]
    assert "@" not in ran("echo $HANSARD_PROCESS", tmp_path).stdout


@linux
def test_when_memory_runs_out_a_program_goes_before_us(tmp_path: Path) -> None:
    ours = int(Path("/proc/self/oom_score_adj").read_text())
    script = "until [ $(cat /proc/self/oom_score_adj) -ne $0 ]; do :; done; cat /proc/self/oom_score_adj"
    finished = asyncio.run(run(["sh", "-c", script, str(ours)], cwd=tmp_path, env=clean_environment(), wall_seconds=10))
    assert int(finished.stdout) == min(ours + 500, 1000)


def test_secrets_are_named_in_settings_and_found_elsewhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("THE_KEY", "sk-1")
    (tmp_path / "key").write_text("sk-2\n")
    settings = {"A": "env:THE_KEY", "B": f"file:{tmp_path / 'key'}", "C": "plain", "D": "http://localhost"}
    assert resolve_secrets(settings) == {"A": "sk-1", "B": "sk-2", "C": "plain", "D": "http://localhost"}


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        ("env:MISSING_KEY", "KEY: environment variable 'MISSING_KEY' is unset or empty."),
        ("env:EMPTY_KEY", "KEY: environment variable 'EMPTY_KEY' is unset or empty."),
        ("file:{}/none", "KEY: the file '{}/none' cannot be read as text."),
        ("file:{}/bytes", "KEY: the file '{}/bytes' cannot be read as text."),
        ("file:{}/empty", "KEY: file '{}/empty' is unset or empty."),
    ],
)
def test_a_missing_secret_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, value: str, sentence: str) -> None:
    monkeypatch.setenv("EMPTY_KEY", "")
    (tmp_path / "bytes").write_bytes(b"\xff\xfesecret")
    (tmp_path / "empty").touch()
    with pytest.raises(ValueError) as raised:
        resolve_secrets({"KEY": value.format(tmp_path)})
    assert str(raised.value) == sentence.format(tmp_path)


def test_signals_that_we_ignore_are_not_ignored_by_children(tmp_path: Path) -> None:
    before = signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    try:
        assert ran("sh -c 'kill -PIPE $$'; echo $?", tmp_path).stdout == "141\n"
    finally:
        signal.signal(signal.SIGPIPE, before)
