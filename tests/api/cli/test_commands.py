"""The commands from a user's point of view, directly on a log."""

import getpass
import io
import json
from collections.abc import Callable
from inspect import signature
from pathlib import Path
from typing import Any, get_type_hints

import pytest
from rich.cells import cell_len

from api.cli.client import option_of
from api.cli.commands import ABOUT, COMMANDS, EPILOGUE, FIRST, GROUPS, MORE, OPTIONS, OTHER, page
from api.cli.main import program
from api.cli.verb import work_of
from domain.values.words import words
from tests.api.cli.conftest import Hansard, Result, git, review

Scenario = Callable[..., str]
BLOCKED = review("Not yet")


@pytest.fixture
def delivery(hansard: Hansard, scenario: Scenario) -> Callable[..., Result]:
    """Run a delivery with a harmless team, or with these replies."""

    def run(*words: str, replies: dict[str, list[Any]] | None = None) -> Result:
        start = ("run", "-t", "더하기를 고쳐줘", "-f", "a.py,b.py", "--test", "true", "--fresh", "--no-baseline")
        return hansard(*start, "--scenario", scenario(replies), *words)

    return run


def id_of(result: Result) -> str:
    return result.err.splitlines()[0].removeprefix("Session ")


# --- usage ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", [listed.name for listed in COMMANDS])
def test_every_command_explains_itself(hansard: Hansard, command: str) -> None:
    result = hansard(command, "--help")
    assert (result.code, result.err) == (0, "")
    assert result.out.startswith(f"Usage: hansard {command} ")


def test_the_help_is_korean_where_the_terminal_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LC_ALL", "ko_KR.UTF-8")
    monkeypatch.setenv("COLUMNS", "90")
    korean = words("ko", "api.cli.help").group("help")
    shown = page(everything=True)
    assert [verb.name for verb in COMMANDS if korean[verb.name] not in shown] == []
    assert [name for name in FIRST if korean[name] not in page()] == []
    assert "Deliver" not in shown and "사용법" in shown
    assert {cell_len(line) for line in shown.splitlines() if line[:1] in "╭│╰" and line} == {90}
    monkeypatch.setenv("LC_ALL", "C")
    assert page().startswith("Usage: hansard COMMAND")


def test_the_english_help_of_the_catalogue_is_that_of_the_commands() -> None:
    english = words("en", "api.cli.help")
    lines = {verb.name: verb.help for verb in COMMANDS} | dict(OPTIONS) | {group: group for group in (*GROUPS, OTHER)}
    assert english.group("help") == lines
    assert (english("about"), english("more"), english("epilogue")) == (ABOUT, MORE, EPILOGUE)


@pytest.mark.parametrize("words", [[], ["help"], ["--help"], ["-h"]])
def test_the_first_page_fits_a_screen_and_names_the_rest(hansard: Hansard, words: list[str]) -> None:
    shown = hansard(*words).out
    listed = {line.split()[1] for line in shown.splitlines() if line.startswith("│ ")}
    assert listed >= FIRST and listed & {verb.name for verb in COMMANDS} == FIRST
    assert "hansard help --all" in shown and "hansard COMMAND --help" in shown
    assert len(shown.splitlines()) <= 50


@pytest.mark.parametrize("words", [["help", "--all"], ["--help", "--all"], ["-h", "--all"]])
def test_the_whole_page_lists_every_command(hansard: Hansard, words: list[str]) -> None:
    shown = hansard(*words).out
    assert {verb.name for verb in COMMANDS} <= {line.split()[1] for line in shown.splitlines() if line.startswith("│ ")}


def test_other_programs_spellings_are_understood(hansard: Hansard) -> None:
    assert hansard("help", "run").out == hansard("run", "--help").out
    version = hansard("--version").out
    assert {hansard(word).out for word in ("version", "-v", "-V")} == {version}


@pytest.mark.parametrize(
    ("words", "complaint", "hint"),
    [
        (["nope"], "Unknown command: nope.", "`hansard --help` shows the usage."),
        (["lst"], "Did you mean list?", "`hansard --help` shows the usage."),
        (["list", "--nope"], "Unknown option: --nope", "`hansard list --help` shows the usage."),
        (["show"], "SESSION is missing.", "`hansard show --help` shows the usage."),
        (["run", "--test"], "--test needs a value.", "`hansard run --help` shows the usage."),
        (["run", "--title", "a", "--title", "b"], "--title is given more than once.", "`hansard run --help`"),
        (
            ["decide", "x", "apply-fix"],
            "CHOICE: 'apply-fix' is not one of apply_fix, skip, revise, accept.",
            "`hansard",
        ),
        (["report", "sumary"], "Did you mean summary?", "`hansard report --help`"),
        (["list", "--limit", "many"], "--limit: 'many' is not a whole number.", "`hansard list --help`"),
        (["list", "--limit", "0"], "--limit: 0 is too small; the minimum is 1.", "`hansard list --help`"),
        (["events", "x", "--after", "-1"], "--after: -1 is too small; the minimum is 0.", "`hansard events --help`"),
        (["clean", "--days", "soon"], "--days: 'soon' is not a number.", "`hansard clean --help`"),
        (["run", "--workspace", "/no/such"], "--workspace: /no/such does not exist.", "`hansard run --help`"),
        (["init", __file__], "is not a folder.", "`hansard init --help`"),
        (["watch", "x", "y"], "Not expected: y.", "`hansard watch --help`"),
        (["run", "Add a flag"], "Not expected: Add a flag. The task needs its option: hansard run -t 'Add a flag'", ""),
        (["--json", "list"], "--json comes after the command: hansard list --json.", "`hansard --help`"),
        (["comment", "x", "--", "FILE", "-m", "y"], "-m comes before --: what follows that is no option.", ""),
        (["list", "--", "--limit=3"], "--limit comes before --: what follows that is no option.", ""),
        (["list", "--", "--limits=3"], "Unknown option: --limits. Did you mean --limit?", ""),
        (["--server", "http://x", "show"], "--server comes after the command: hansard show --server.", ""),
        (["resume", "x", "--team", "/no/such"], "--team: /no/such does not exist.", "`hansard resume --help`"),
        (["resume", "x", "--team", "/"], "--team: / is a folder.", "`hansard resume --help`"),
        (["--nope"], "Unknown option: --nope.", "`hansard --help` shows the usage."),
        (["show", "a", "b"], "Not expected: b.", "`hansard show --help`"),
    ],
)
def test_wrong_usage_is_a_sentence_and_a_hint(hansard: Hansard, words: list[str], complaint: str, hint: str) -> None:
    result = hansard(*words)
    assert (result.code, result.out) == (2, "")
    first, second = result.err.splitlines()
    assert first.startswith("hansard: ")
    assert complaint in first
    assert hint in second


# --- run ------------------------------------------------------------------------------------------------------------


def test_a_delivery_that_succeeds_is_shown_event_by_event_and_ends_with_its_result(
    delivery: Callable[..., Result],
) -> None:
    result = delivery("--title", "합계")
    lines = result.out.splitlines()
    assert result.code == 0
    assert lines[0] == f"session  {id_of(result)}"
    assert lines[1:3] == ["status   success", "reason   nothing was changed"]
    assert lines[3].startswith(
        "summary  Nothing was changed. Success on iteration 1. Validated by true. Review approved"
    )
    assert any(line.startswith("used     iteration 1/6, 0:0") for line in lines)
    talk = result.err.splitlines()
    assert talk[1] == "Workspace: a new, empty folder."
    assert talk[2].split(maxsplit=3)[0] == "1"
    assert talk[2].endswith("delivery.session_started          Delivery started")
    assert talk[-1].endswith("delivery.session_finished         Delivery succeeded")


def test_the_end_of_a_delivery_can_be_read_by_a_script(delivery: Callable[..., Result]) -> None:
    result = delivery("--json", "--label", "x", "--label", "y", "--max-minutes", "7")
    session = result.json
    assert (result.code, session["id"], session["status"]) == (0, id_of(result), "success")
    assert session["task"] == "더하기를 고쳐줘"
    assert session["filePaths"] == ["a.py", "b.py"]
    assert session["labels"] == ["x", "y"]
    assert session["origin"] == "cli"
    assert session["budget"]["maxMinutes"] == 7
    assert "더하기" in result.out


def test_validation_commands_are_split_at_commas_outside_quotes(delivery: Callable[..., Result]) -> None:
    result = delivery("--validation-commands", "echo 'a,b',true", "--validate", "echo c", "--json")
    assert result.code == 0
    commands = [step["command"] for step in result.json["validationCommands"]]
    assert commands == ["echo 'a,b'", "true", "echo c"]


def test_a_delivery_whose_agent_fails_is_a_failure(delivery: Callable[..., Result]) -> None:
    result = delivery(replies={"planner": [{"error": "crash"}]})
    assert result.code == 1
    assert "status   failed" in result.out
    assert "summary  Phase planning failed: planner exited with an error (scripted)." in result.out
    assert result.err.splitlines()[-1].startswith("  hansard retry delivery-")


def test_explain_ends_with_cause_evidence_and_next_command(delivery: Callable[..., Result], hansard: Hansard) -> None:
    delivery(replies={"planner": [{"error": "crash"}]})
    name = hansard("show", "latest", "--json").json["session"]["id"]
    cause, evidence, step = hansard("explain", "latest").out.splitlines()[-3:]
    assert cause == "cause     a turn failed and no attempt is left"
    assert evidence == "evidence  9. crash: planner exited with an error (scripted)."
    assert "evidence    9. crash: planner exited with an error (scripted)." in hansard("show", "latest").out
    assert step == f"next      hansard retry {name}"


def test_a_delivery_that_runs_out_of_budget_says_so_and_goes_on_when_extended(
    delivery: Callable[..., Result], hansard: Hansard
) -> None:
    """K-46: the second review approves, but the budget allowed only one."""
    result = delivery("--max-iterations", "1", replies={"reviewer": [BLOCKED, review()]})
    assert result.code == 7
    assert "summary  Nothing was changed. Ended: budget exhausted (1 of 1 iterations)" in result.out
    assert "exhausted by iterations" in result.out
    more = hansard("extend", "latest", "--iterations", "1", "--reason", "- 한 번 더", "--wait")
    assert more.code == 0
    assert "status   success" in more.out
    assert "iteration 2/2" in more.out
    assert more.err.splitlines()[0].endswith("extended the budget by 1 iteration: - 한 번 더")


def test_a_task_may_begin_like_an_option(hansard: Hansard) -> None:
    result = hansard("run", "-t", "- one\n- two", "-f", "a", "--test", "true", "--detach", "--fresh")
    assert result.code == 0
    assert hansard("show", "latest", "--json").json["session"]["task"] == "- one\n- two"


def test_detach_prints_only_the_id_and_a_hint(hansard: Hansard, scenario: Scenario) -> None:
    start = ("run", "-t", "x", "-f", "a", "--test", "true", "--fresh", "--scenario", scenario())
    result = hansard(*start, "--detach")
    assert result.code == 0
    assert result.out == f"{id_of(result)}\n"
    assert "start `hansard serve`" in result.err
    assert hansard("show", "latest", "--json").json["session"]["status"] == "running"


def test_in_a_repository_the_work_becomes_a_branch_of_it(
    hansard: Hansard, scenario: Scenario, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository = tmp_path / "mine"
    git(tmp_path, "init", "-q", str(repository))
    (repository / "src").mkdir()
    (repository / "src" / "a.py").write_text("old\n")
    git(repository, "add", ".")
    git(repository, "commit", "-q", "-m", "x")
    monkeypatch.chdir(repository / "src")
    replies = {"dev": [{"text": "done", "files": {"a.py": "new\n"}}]}
    result = hansard("run", "-t", "x", "-f", "a.py", "--test", "true", "--scenario", scenario(replies))
    session_id = id_of(result)
    assert result.code == 0, result.err
    assert f"Workspace: a worktree of the repository at {repository}/src; use --fresh" in result.err
    assert f"branch     hansard/{session_id}" in result.out
    assert git(repository, "show", f"hansard/{session_id}:src/a.py") == "new\n"
    assert (repository / "src" / "a.py").read_text() == "old\n"


def test_a_folder_that_is_no_repository_is_worked_in_when_it_is_named(
    hansard: Hansard, scenario: Scenario, tmp_path: Path
) -> None:
    (tmp_path / "plain").mkdir()
    replies = {"dev": [{"text": "done", "files": {"a.py": "new\n"}}]}
    start = ("run", "-t", "x", "-f", "a.py", "--test", "true", "--scenario", scenario(replies))
    result = hansard(*start, "--workspace", "../plain")
    assert result.code == 0, result.err
    assert f"Workspace: {tmp_path}/plain, edited in place." in result.err
    assert (tmp_path / "plain" / "a.py").read_text() == "new\n"


@pytest.mark.parametrize(
    "words",
    [
        ("run", "-t", "x", "-f", "a", "--test", "true"),
        ("run", "-t", "x", "--test", "true", "--detach"),
        ("message", "hi"),
    ],
)
def test_the_example_team_is_never_taken_for_a_real_one(hansard: Hansard, words: tuple[str, ...]) -> None:
    result = hansard(*words)
    assert result.err.count("The scripted example team answers; it does no real work.") == 1


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--scenario", "missing.json"), "--scenario missing.json: No such file or directory."),
        (("--scenario", "twice.json"), '--scenario twice.json: /a: The key "a" occurs twice in one object.'),
        (("--scenario", "list.json"), "--scenario list.json: expected a JSON object."),
        (("--scenario", "odd.json"), "--scenario /replies/dev: Input should be a valid array"),
        (("--workspace", "."), "Give --workspace or --fresh, not both."),
        (
            ("--validate", "a,cd b"),
            "--validate (no. 2): needs a shell because of cd, and commands run without one;",
        ),
        (("--max-iterations", "21"), "--max-iterations: should be at most 20"),
        (("--files", "../outside"), "--files (no. 2): '../outside' leaves the workspace."),
        (("--idempotency-key", "열쇠"), "An idempotency key has 1 to 255 visible ASCII characters."),
        (("--server", "localhost:8000"), "'localhost:8000' is not a server address: expected http://host:port."),
        (("--server", "http://x", "--database", "y"), "Give --server or --database, not both."),
    ],
)
def test_invalid_start_names_the_invalid_part(hansard: Hansard, words: tuple[str, ...], sentence: str) -> None:
    Path("twice.json").write_text('{"a": 1, "a": 2}')
    Path("list.json").write_text("[]")
    Path("odd.json").write_text('{"replies": {"dev": 3}}')
    result = hansard("run", "-t", "x", "-f", "a", "--test", "true", "--fresh", *words)
    assert (result.code, result.out) == (2, "")
    assert sentence in result.err
    assert hansard("list", "--json").json == {"items": [], "nextCursor": None}


def test_the_same_key_starts_one_session_and_another_request_under_it_is_refused(
    hansard: Hansard, scenario: Scenario
) -> None:
    start = ("run", "-f", "a", "--test", "true", "--fresh", "--scenario", scenario(), "--idempotency-key", "k-1")
    first, again = hansard(*start, "-t", "x"), hansard(*start, "-t", "x")
    assert (first.code, again.code) == (0, 0)
    assert first.out == again.out
    other = hansard(*start, "-t", "y")
    assert (other.code, other.out) == (2, "")
    assert "This --idempotency-key was already used for a different request." in other.err
    assert len(hansard("list", "--json").json["items"]) == 1


# --- cancel, extend -------------------------------------------------------------------------------------------------


def test_a_session_is_cancelled_once_and_only_at_the_version_that_was_seen(hansard: Hansard) -> None:
    hansard("run", "-t", "x", "-f", "a", "--test", "true", "--detach")
    stale = hansard("cancel", "latest", "--if-version", "99")
    assert (stale.code, stale.err) == (4, "hansard: The session is at version 2, not 99.\n")
    done = hansard("cancel", "latest", "--if-version", "2", "--reason", "그만", "--json")
    assert done.code == 0
    refused = hansard("cancel", "latest")
    sentence = "A delivery in the state cancelled cannot be cancelled. Nothing is allowed now."
    assert (refused.code, refused.err) == (4, f"hansard: {sentence}\n")
    assert f"{getpass.getuser()} cancelled the delivery: 그만" in hansard("events", "latest").out


def test_an_extension_says_how_much(hansard: Hansard) -> None:
    result = hansard("extend", "latest", "--reason", "x")
    assert (result.code, result.out) == (2, "")
    assert "--iterations, --minutes, --tokens, --cost, or --rounds for an orchestration" in result.err


# --- reading --------------------------------------------------------------------------------------------------------


def test_an_empty_log_says_how_to_begin(hansard: Hansard) -> None:
    assert hansard("list") == Result(0, "", "No sessions yet. Run one with `hansard example`.\n")
    assert hansard("show", "latest") == Result(3, "", "hansard: No sessions yet.\n")


def test_sessions_are_listed_newest_first_and_filtered(hansard: Hansard, delivery: Callable[..., Result]) -> None:
    first = id_of(delivery("--title", "첫째", "--label", "old"))
    second = id_of(delivery("--title", "둘째", replies={"dev": [{"error": "crash"}]}))
    rows = [line.split() for line in hansard("list").out.splitlines()]
    assert rows[0] == ["SESSION", "STATUS", "UPDATED", "TITLE"]
    assert [(row[0], row[1], row[-1]) for row in rows[1:]] == [(second, "failed", "둘째"), (first, "success", "첫째")]
    for filters in (("--status", "success"), ("--label", "old"), ("-q", "첫째")):
        assert [item["id"] for item in hansard("list", "--json", *filters).json["items"]] == [first]
    assert hansard("list", "--status", "running").err == "No matching sessions.\n"


def test_list_continues_after_its_cursor(hansard: Hansard, delivery: Callable[..., Result]) -> None:
    first, second = id_of(delivery()), id_of(delivery())
    page = hansard("list", "--limit", "1", "--json").json
    assert [item["id"] for item in page["items"]] == [second]
    rest = hansard("list", "--limit", "1", "--json", "--cursor", page["nextCursor"]).json
    assert [item["id"] for item in rest["items"]] == [first]
    assert "use --limit for more" in hansard("list", "--limit", "1").err


def test_session_is_shown_now_and_at_a_past_version(hansard: Hansard, delivery: Callable[..., Result]) -> None:
    session_id = id_of(delivery())
    now = hansard("show", session_id)
    assert now.code == 0
    assert "status      success\n" in now.out
    assert "✓ planning  ✓ architecture" in now.out
    then = hansard("show", session_id, "--at", "2")
    assert "status      running\n" in then.out
    assert "▶ planning  · architecture" in then.out
    assert hansard("show", session_id, "--at", "2", "--json").json["session"]["version"] == 2
    missing = hansard("show", session_id, "--at", "999")
    assert missing.code == 3
    assert "has no version 999" in missing.err


def test_a_unique_beginning_of_an_id_is_enough(hansard: Hansard, delivery: Callable[..., Result]) -> None:
    first, second = id_of(delivery()), id_of(delivery())
    short = ((n, first[9 : 9 + n]) for n in range(1, 11))
    letters = next(n for n, name in short if not f"delivery-{second[9:]}".startswith((name, f"delivery-{name}")))
    for name in (first, first[: 9 + letters], first[9 : 9 + letters]):
        assert hansard("show", name, "--json").json["session"]["id"] == first
    assert hansard("show", "latest", "--json").json["session"]["id"] == second
    both = hansard("show", "delivery-")
    assert both == Result(2, "", f"hansard: 'delivery-' matches 2 sessions: {second}, {first}\n")


@pytest.mark.parametrize("name", ["nope", "../sessions", "", "%2e", "한글"])
def test_unknown_session_exits_with_3(hansard: Hansard, name: str) -> None:
    result = hansard("show", name)
    assert result == Result(3, "", f"hansard: There is no session {name!r}. `hansard list` lists the sessions.\n")


def test_events_are_lines_for_people_and_lines_of_json_for_scripts(
    hansard: Hansard, delivery: Callable[..., Result]
) -> None:
    session_id = id_of(delivery())
    lines = hansard("events", session_id, "--after", "1", "--limit", "2").out.splitlines()
    assert [line.split()[0] for line in lines] == ["2", "3"]
    assert lines[1].endswith("turn.requested                    Asked planner: planning")
    whole = hansard("events", session_id, "--json").out.splitlines()
    followed = hansard("events", session_id, "--json", "--follow").out.splitlines()
    assert [f'"version": {n + 1},' in line for n, line in enumerate(whole)] == [True] * len(whole)
    assert followed == whole
    both = hansard("events", session_id, "--follow", "--limit", "2")
    assert (both.code, both.out) == (2, "") and "--follow or --limit" in both.err


def test_agent_output_cannot_control_the_terminal(hansard: Hansard, delivery: Callable[..., Result]) -> None:
    result = delivery("--title", "\x1b]0;owned\x07\u202e", replies={"reviewer": [BLOCKED, review()]})
    assert result.code == 0
    everything = (
        result.out + result.err + hansard("list").out + hansard("show", "latest").out + hansard("events", "latest").out
    )
    assert not {"\x1b", "\x07", "\u202e"} & set(everything)


def test_worklog_is_markdown_now_and_at_a_past_version(hansard: Hansard, delivery: Callable[..., Result]) -> None:
    delivery()
    now = hansard("worklog", "latest").out
    assert now.startswith("# Work Log: 더하기를 고쳐줘\n")
    assert "- Status: success\n" in now
    assert "- Status: running\n" in hansard("worklog", "latest", "--at", "2").out


def test_rebuilt_views_say_the_same(hansard: Hansard, delivery: Callable[..., Result]) -> None:
    delivery("--label", "x")
    before = hansard("list", "--json").json, hansard("worklog", "latest").out
    result = hansard("rebuild")
    assert result.code == 0
    assert result.err.startswith("Views rebuilt up to position ")
    assert (hansard("list", "--json").json, hansard("worklog", "latest").out) == before


def test_the_example_is_sent_back_once_and_succeeds(hansard: Hansard) -> None:
    result = hansard("example")
    assert result.code == 0, result.err
    assert "with a scripted team" in result.err
    assert "delivery.review_blocking_detected Review blocked in iteration 1" in result.err
    assert "status     success" in result.out
    assert "iteration 2/4" in result.out


# --- which log ------------------------------------------------------------------------------------------------------


def test_a_database_may_be_named_as_a_file(hansard: Hansard, tmp_path: Path) -> None:
    other = tmp_path / "other.db"
    assert hansard("example", "--database", str(other)).code == 0
    assert len(hansard("list", "--database", f"sqlite:///{other}", "--json").json["items"]) == 1
    assert hansard("list", "--json").json["items"] == []


def test_broken_team_file_stops_starts_but_not_reads(hansard: Hansard, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HANSARD_TEAM", "missing.toml")
    started = hansard("run", "-t", "x", "-f", "a", "--test", "true")
    assert (started.code, started.out) == (1, "")
    assert started.err == "hansard: missing.toml: the file cannot be read: No such file or directory\n"
    assert hansard("list").code == 0


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("HANSARD_DATABASE", "mysql://x", "HANSARD_DATABASE: should be sqlite:///path or postgresql://"),
        ("HANSARD_DATABASE", "postgresql://x:y/z", "HANSARD_DATABASE: the port should be a number"),
        ("HANSARD_PORT", "many", "HANSARD_PORT: Input should be a valid integer"),
        ("HANSARD_SERVER", "nonsense", "'nonsense' is not a server address"),
    ],
)
def test_invalid_setting_is_named(
    hansard: Hansard, monkeypatch: pytest.MonkeyPatch, name: str, value: str, sentence: str
) -> None:
    monkeypatch.setenv(name, value)
    result = hansard("list")
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith(f"hansard: {sentence}")


def test_file_that_is_not_a_log_is_one_sentence(hansard: Hansard, tmp_path: Path) -> None:
    junk = tmp_path / "junk.db"
    junk.write_bytes(b"no database" * 100)
    result = hansard("list", "--database", str(junk))
    assert result == Result(
        1,
        "",
        f"hansard: The log {junk} is damaged (file is not a database), so nothing is written to it."
        " Put a backup in its place with `hansard restore`.\n",
    )


def test_example_needs_direct_access_to_a_log(hansard: Hansard, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HANSARD_SERVER", "http://127.0.0.1:9")
    result = hansard("example")
    assert result == Result(2, "", "hansard: The example needs direct access to a log: unset HANSARD_SERVER.\n")


def test_a_server_that_is_not_there_is_one_sentence(hansard: Hansard) -> None:
    result = hansard("list", "--server", "http://127.0.0.1:9")
    assert result.code == 1
    assert result.err.startswith("hansard: http://127.0.0.1:9 does not answer: ")
    assert result.err.endswith("Is `hansard serve` running there?\n")


@pytest.mark.parametrize(
    ("pointer", "typed"),
    [
        ("/task", "--task"),
        ("/maxCostMicros", "--max-cost"),
        ("/testCommand", "--test"),
        ("/validationCommands/0", "--validate (no. 1)"),
        ("/employees/1/name", "--employee (no. 2) /name"),
        ("/planReview/maxRounds", "--plan-review /maxRounds"),
        ("/substitute/budget/addMinutes", "--minutes"),
        ("/query/from", "--from"),
        ("/atA", "--at-a"),
        ("/path", "the path"),
        ("/digest", "the digest"),
        ("/substitute", "the change"),
        ("/version", "--at"),
        ("/text", "--message"),
    ],
)
def test_errors_name_the_option_as_typed(pointer: str, typed: str) -> None:
    assert option_of(pointer) == typed


# --- tasks and amounts ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("words", [("-t", "-"), ("--task-file", "task.md")])
def test_a_task_comes_from_stdin_or_a_file_and_needs_no_files(
    hansard: Hansard, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    Path("task.md").write_text("Fix the login\n", encoding="utf-8")
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"Fix the login\n")))
    started = hansard("run", *words, "--test", "true", "--detach", "--fresh").out.strip()
    session = hansard("show", started, "--json").json["session"]
    assert (session["task"].strip(), session["filePaths"]) == ("Fix the login", [])


@pytest.mark.parametrize(
    ("words", "micros"), [(("--max-cost", "2.50"), 2_500_000), (("--max-cost-micros", "7"), 7), ((), None)]
)
def test_a_cost_limit_is_given_in_dollars_or_in_millionths(
    hansard: Hansard, words: tuple[str, ...], micros: int | None
) -> None:
    started = hansard("run", "-t", "x", "--test", "true", "--detach", *words).out.strip()
    assert hansard("show", started, "--json").json["session"]["budget"].get("maxCostMicros") == micros


@pytest.mark.parametrize("amount", ["two", "1e99", "0.0000001", "inf", "-1", "0"])
def test_invalid_amount_is_a_usage_error(hansard: Hansard, amount: str) -> None:
    result = hansard("run", "-t", "x", "--test", "true", "--detach", "--max-cost", amount)
    assert (result.code, result.err) == (
        2,
        f"hansard: --max-cost {amount}: expected an amount in US dollars, such as 2.50.\n",
    )


def test_a_review_of_a_file_reads_the_file(hansard: Hansard) -> None:
    Path("README.md").write_text("What is in it\n", encoding="utf-8")
    for verb, field in (("review", "subject"), ("debate", "plan")):
        started = hansard(verb, "README.md", "--detach").out.strip()
        assert hansard("show", started, "--json").json["session"][field] == "What is in it\n"


# --- watch, resume --------------------------------------------------------------------------------------------------


def test_resume_works_on_an_idle_session_to_its_end(hansard: Hansard) -> None:
    started = hansard("run", "-t", "x", "--test", "true", "--detach").out.strip()
    resumed = hansard("resume", started)
    assert (resumed.code, "status   success" in resumed.out) == (0, True)
    assert "delivery.session_finished" in resumed.err


def test_a_session_that_has_ended_is_watched_to_its_exit_code(
    hansard: Hansard, delivery: Callable[..., Result]
) -> None:
    done = id_of(delivery())
    watched = hansard("watch", done)
    assert (watched.code, "status   success" in watched.out) == (0, True)
    assert "delivery.session_started" in watched.err and "delivery.session_finished" in watched.err


def test_a_cancelled_session_is_watched_to_a_failure(hansard: Hansard) -> None:
    started = hansard("run", "-t", "x", "--test", "true", "--detach").out.strip()
    hansard("cancel", started)
    assert hansard("watch", started).code == 1


# --- latest ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def two_repositories(tmp_path: Path) -> tuple[Path, Path]:
    places = tmp_path / "one", tmp_path / "two"
    for place in places:
        (place / "inside").mkdir(parents=True)
        git(place, "init", "-q")
    return places


def test_latest_is_the_newest_session_of_the_repository_one_stands_in(
    hansard: Hansard,
    delivery: Callable[..., Result],
    two_repositories: tuple[Path, Path],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    one, two = two_repositories
    started = {}
    for place in (one, two):
        monkeypatch.chdir(place)
        started[place] = id_of(delivery("--detach"))
    for place in (one, one / "inside"):
        monkeypatch.chdir(place)
        assert hansard("show", "latest", "--json").json["session"]["id"] == started[one]
        assert hansard("events", "latest").out.count("delivery.session_started") == 1
    monkeypatch.chdir(two.parent)
    assert hansard("show", "latest", "--json").json["session"]["id"] == started[two], "outside: of the whole log"
    monkeypatch.chdir(one)
    assert hansard("cancel", "latest").code == 0
    assert hansard("show", started[one], "--json").json["session"]["status"] == "cancelled"
    assert hansard("show", started[two], "--json").json["session"]["status"] != "cancelled"


def test_where_a_repository_has_no_session_reading_says_whose_it_shows_and_nothing_is_changed(
    hansard: Hansard,
    delivery: Callable[..., Result],
    two_repositories: tuple[Path, Path],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    one, two = two_repositories
    monkeypatch.chdir(one)
    session = id_of(delivery("--detach"))
    monkeypatch.chdir(two)
    shown = hansard("show", "latest", "--json")
    assert shown.json["session"]["id"] == session
    assert shown.err == f"No session of this repository yet; this is the newest of the log: {session}\n"
    assert shown.err == hansard("export", "latest").err
    before = of_people(hansard("events", session, "--json").out)
    refusal = f"This repository has no session yet. The newest of the log is {session}: give that id if you mean it."
    for command in (["cancel"], ["retry"], ["merge"], ["apply"], ["land"], ["fork", "--at", "1"], ["decide", "skip"]):
        verb, *more = command
        words = (verb, "latest", *more)
        refused = hansard(*words)
        assert (refused.code, refusal in refused.err) == (3, True), words
    assert of_people(hansard("events", session, "--json").out) == before


def of_people(listed: str) -> list[str]:
    """The events that a person has caused: a command that is refused may meanwhile work on a turn that waits."""
    events = [json.loads(line) for line in listed.splitlines()]
    return [each["eventId"] for each in events if each["actor"].startswith("person:")]


DECLARED = [listed.name for listed in COMMANDS if listed.place.startswith("verbs.")]


@pytest.mark.parametrize("command", DECLARED)
def test_what_carries_a_command_out_takes_what_it_declares(command: str) -> None:
    verb = program([command])[command].default_command
    assert verb is not None
    work = work_of(vars(verb)["place"])
    assert parameters_of(work) == parameters_of(verb)


def parameters_of(function: Callable[..., object]) -> dict[str, object]:
    """How each parameter is given, and its type without what only the command line needs to know of it."""
    types = get_type_hints(function)
    return {name: (each.kind, types[name]) for name, each in signature(function).parameters.items()}
