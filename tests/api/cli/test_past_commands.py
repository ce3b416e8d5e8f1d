"""`replay`, `fork`, `diff` and `explain` from a user's point of view."""

import json
import re
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from domain.session.children import Decide
from tests.adapters import audited
from tests.api.cli.conftest import Hansard, review
from tests.projections.stage import DEBATE, Stage, challenge, plan, subtask

Scenario = Callable[..., str]
FINE = review()


def versions(hansard: Hansard, session_id: str) -> dict[str, int]:
    """The version of each role's first turn."""
    result: dict[str, int] = {}
    for line in hansard("replay", session_id, "--json").out.splitlines():
        event = json.loads(line)
        if event["type"] == "turn.requested":
            result.setdefault(event["data"]["role"], event["version"])
    return result


# -- replay ----------------------------------------------------------------------------------------------------------


def test_a_session_is_played_event_by_event(hansard: Hansard, blocked_once: str) -> None:
    result = hansard("replay", blocked_once)
    lines = result.out.splitlines()
    assert (result.code, result.err) == (0, "")
    assert lines[0].split(maxsplit=3)[0::2] == ["1", "delivery.session_started"]
    assert [int(line.split()[0]) for line in lines] == list(range(1, len(lines) + 1))
    assert "delivery.session_finished" in lines[-1]
    messages = [line.split(maxsplit=3)[3] for line in lines]
    assert "Asked planner: planning" in messages and "Agent sessions closed" in messages
    assert blocked_once not in result.out


def test_it_can_be_played_faster_than_it_was(hansard: Hansard, blocked_once: str) -> None:
    assert hansard("replay", "latest", "--speed", "1000").out == hansard("replay", blocked_once).out


@pytest.mark.parametrize("speed", ["-1", "nan"])
def test_invalid_speed_is_a_usage_error(hansard: Hansard, blocked_once: str, speed: str) -> None:
    result = hansard("replay", blocked_once, f"--speed={speed}")
    assert (result.code, result.out, result.err) == (2, "", "hansard: --speed must be 0 or more.\n")


def test_a_history_is_decided_again(hansard: Hansard, blocked_once: str) -> None:
    result = hansard("replay", blocked_once, "--assert")
    count = len(hansard("replay", blocked_once).out.splitlines())
    assert (result.code, result.out, result.err) == (
        0,
        "",
        f"{blocked_once}: {count} events, decided the same way today.\n",
    )
    assert hansard("replay", blocked_once, "--assert", "--json").json["difference"] is None


def test_the_first_difference_is_shown_and_the_code_is_8(hansard: Hansard, blocked_once: str, own_log: Path) -> None:
    audited.harmed(
        own_log,
        "UPDATE events SET state ="
        """ cast(replace(cast(plain(state) AS TEXT), '"remainingIterations":', '"remainingIterations":1') AS BLOB)"""
        " WHERE version = 1",
    )
    result = hansard("replay", blocked_once, "--assert")
    first, recorded, today = result.out.splitlines()
    assert (result.code, first) == (8, "version 1 (StartDelivery)")
    assert recorded.startswith("  recorded:  delivery.session_started {") and '"remainingIterations":1' in recorded
    assert today.startswith("  today:     delivery.session_started {") and '"remainingIterations":1' not in today


# -- fork ------------------------------------------------------------------------------------------------------------


def test_a_fork_with_another_answer_runs_to_its_own_end(hansard: Hansard, blocked_once: str) -> None:
    at = versions(hansard, blocked_once)["reviewer"]
    result = hansard("fork", blocked_once, "--at", str(at), "--answer", FINE)
    assert result.code == 0
    assert f"Forked {blocked_once} at version {at}: session " in result.err
    assert "used     iteration 1/6" in result.out
    assert hansard("replay", "latest", "--assert").code == 0


def test_a_fork_that_is_held_ends_the_command_and_names_what_continues_it(
    hansard: Hansard, blocked_once: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = versions(hansard, blocked_once)["reviewer"]
    other = '{"blockingIssues": [{"id": "1", "title": "Other", "detail": "Something else."}]}'
    result = hansard("fork", blocked_once, "--at", str(at), "--answer", other, "--mode", "stop")
    name = result.err.rstrip().rpartition(" ")[2]
    assert result.code == 6 and result.err.rstrip().endswith(f"hansard continue {name}"), result.err
    assert hansard("resume", name).code == 6
    assert f"hansard continue {name}" in hansard("inbox").err
    assert re.search(r"^status +held$", result.out, re.MULTILINE)
    for words in (("show", name), ("list",), ("list", "--label", "none")):
        assert ("held" in hansard(*words).out) == (words != ("list", "--label", "none")), words
    [item] = [item for item in hansard("list", "--json").json["items"] if item["id"] == name]
    assert (item["status"], item["held"]) == ("running", True)
    assert [each["id"] for each in hansard("list", "--status", "held", "--json").json["items"]] == [name]
    assert [line.split()[0] for line in hansard("list", "--status", "held").out.splitlines()[1:]] == [name]
    assert ", held" in hansard("list", "--status", "nope").err
    with monkeypatch.context() as korean:
        korean.setenv("LC_ALL", "ko_KR.UTF-8")
        shown = hansard("list", "--status", "보류됨").out
        assert name in shown and "보류됨" in shown and "held" not in shown
    assert hansard("continue", name).code == 0
    assert name not in hansard("inbox").out
    assert name not in hansard("list", "--status", "held").out
    assert "held" not in hansard("list").out and "held" not in hansard("show", name).out


def test_a_fork_may_only_be_begun(hansard: Hansard, blocked_once: str) -> None:
    result = hansard("fork", blocked_once, "--at", "3", "--detach", "--json")
    assert result.code == 0
    assert result.json["sessionId"] in result.err
    assert hansard("show", result.json["sessionId"], "--json").json["session"]["forkedFrom"] == blocked_once


@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        (["--at", "9999"], 3, "There is no version 9999 of"),
        (["--at", "3", "--decision", "skip"], 4, "no decision"),
        (["--at", "3", "--rounds", "1"], 2, "should add what this kind of session has a budget of"),
        (["--at", "3", "--profile", "seed"], 2, "only reviews and debates have a profile"),
        (["--at", "3", "--minutes", "1", "--answer", "x"], 2, "should name one of"),
        ([], 2, "--at"),
        (["--at", "3", "--mode", "perhaps"], 2, "--mode"),
    ],
)
def test_impossible_fork_is_one_sentence(
    hansard: Hansard, blocked_once: str, words: list[str], code: int, sentence: str
) -> None:
    result = hansard("fork", blocked_once, *words)
    assert (result.code, result.out) == (code, "")
    assert sentence in result.err


# -- diff ------------------------------------------------------------------------------------------------------------


def test_two_sessions_are_shown_side_by_side(hansard: Hansard, blocked_once: str) -> None:
    at = versions(hansard, blocked_once)["reviewer"]
    hansard("fork", blocked_once, "--at", str(at), "--answer", FINE)
    other = hansard("list", "--json").json["items"][0]["id"]
    result = hansard("diff", blocked_once, other)
    lines = result.out.splitlines()
    assert result.code == 0
    assert lines[0].startswith("a: version ") and "turn.answered" in lines[0]
    assert lines[1].startswith("b: version ") and "turn.answered" in lines[1]
    assert lines[2:4] == [f"session  a  {blocked_once}", f"         b  {other}"]
    budget = next(at for at, line in enumerate(lines) if line.startswith("budget"))
    assert "iteration 2/6" in lines[budget] and "iteration 1/6" in lines[budget + 1]
    assert not any(mark in result.out for mark in "[]{}")
    assert max(map(len, lines)) < 120
    assert hansard("diff", blocked_once, other, "--json").json["firstDivergence"]["a"]["type"] == "turn.answered"


def test_diff_compares_a_session_with_its_past(hansard: Hansard, blocked_once: str) -> None:
    assert hansard("diff", blocked_once, blocked_once).out.splitlines()[0] == "Both have the same events."
    result = hansard("diff", blocked_once, blocked_once, "--at-b", "3")
    assert result.out.splitlines()[1] == "b: nothing more"


# -- explain ---------------------------------------------------------------------------------------------------------


def test_a_session_is_explained_from_the_command_that_began_it(hansard: Hansard, blocked_once: str) -> None:
    result = hansard("explain", blocked_once)
    assert result.code == 0
    assert result.out.splitlines()[0].startswith("1. ")
    assert "→ success" in result.out
    assert hansard("explain", blocked_once, "--json").json["state"] == "success"


def test_explain_wish_names_what_is_missing(hansard: Hansard, blocked_once: str) -> None:
    result = hansard("explain", blocked_once, "--wish", "implementation")
    assert result.out.splitlines()[-1] == "Waiting for a person: revise."
    result = hansard("explain", blocked_once, "--wish", "planning")
    assert result.out.splitlines()[-2] == "planning cannot be reached from success."
    result = hansard("explain", blocked_once, "--at", "3", "--wish", "architecture")
    assert result.out.splitlines()[-2:] == [
        "From planning to architecture: complete to architecture.",
        f"Waiting for planner ({blocked_once}.t1).",
    ]


def test_cause_in_another_session_comes_before_its_effect(hansard: Hansard, own_log: Path) -> None:
    """A person decides the debate on a plan, and that starts the work of the orchestration."""
    own_log.parent.mkdir(exist_ok=True)
    stage = Stage(own_log.parent)
    stage.orchestrates("orchestration-1", plan_review=DEBATE).answers("orchestration-1", plan(subtask()))
    [debate] = stage.session("orchestration-1").children
    while waiting := [turn for turn in stage.session(debate).outstanding.values() if turn.work != "wait"]:
        stage.answers(debate, challenge("APPROVE"), agent=waiting[0].agent)
    stage.do(debate, Decide(choice="accept", rationale="good", actor="Kim"))
    decided = next(event for event in stage.store.history(debate) if event.event.TOPIC == "debate.decided")
    stage.store.close()
    (own_log.parent / "log.db").rename(own_log)

    result = hansard("explain", "orchestration-1").out.splitlines()
    assert result[0] == f"{debate}, version {decided.version}:"
    assert result[1].startswith(f"  {decided.version}. tester: Decided: Accept as is: good → decided")
    assert result[2] == "orchestration-1:"
    assert "→ working" in result[3]
    [cause] = hansard("explain", "orchestration-1", "--json").json["causedBy"]
    assert (cause["sessionId"], cause["version"]) == (debate, decided.version)
    began = hansard("explain", debate, "--at", "1").out.splitlines()
    assert began[0].startswith("orchestration-1, version ")


@pytest.mark.parametrize("command", [["replay"], ["explain"], ["fork", "--at", "1"]])
def test_an_unknown_session_is_not_found(hansard: Hansard, command: list[str]) -> None:
    result = hansard(command[0], "nobody", *command[1:])
    assert (result.code, result.out) == (3, "")
    assert "There is no session 'nobody'" in result.err


@pytest.mark.parametrize(("page", "words"), [("tour.md", r"Event (\d+) asked"), ("tour.ko.md", r"이벤트 (\d+)[이가]")])
def test_the_tour_forks_where_the_review_was_asked_for(hansard: Hansard, tmp_path: Path, page: str, words: str) -> None:
    tour = (Path(__file__).parents[3] / "docs" / page).read_text(encoding="utf-8")
    scenario, [named] = tmp_path / "stubborn.json", re.findall(words, tour)
    scenario.write_text(re.findall(r"stubborn\.json <<'JSON'\n(.*)\nJSON", tour)[0])
    start, fork = re.findall(r"bin/hansard (run .*stubborn\.json|fork .*)$", tour, re.MULTILINE)[-2:]
    assert hansard(*(str(scenario) if word == "stubborn.json" else word for word in shlex.split(start))).code == 7
    history = [json.loads(line) for line in hansard("events", "latest", "--json").out.splitlines()]
    asked = [each["version"] for each in history if each["type"] == "turn.requested"][-1]
    assert (int(named), shlex.split(fork)[3]) == (asked, str(asked))
    assert hansard(*shlex.split(fork)).code == 0
