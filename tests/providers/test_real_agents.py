"""Real programs against the stub: a delivery that fixes a failing test, an orchestration of two rounds, failures.

Run with `-m agents`; the programs come from npm at first use (see `programs.py`).
"""

import json
from pathlib import Path

import pytest

from adapters.fence.bubblewrap import bubblewrap_works
from api.cli.main import carry_out
from tests.providers.deliveries import (
    FIX,
    RUN,
    answered,
    counted,
    data,
    delivery,
    events,
    left_running,
    runs,
    says,
    team,
)
from tests.providers.stub import Provider, Rule, Step

pytestmark = pytest.mark.agents


def test_a_delivery_fixes_a_failing_test_and_counts_what_the_provider_counted(
    program: str, provider: Provider, repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    provider.rules = delivery()
    code = carry_out([*RUN, "--team", team(repository, program, provider.url)])
    assert code == 0, capsys.readouterr()
    recorded = events(capsys)
    turns = answered(recorded)
    assert [turn["role"] for turn in turns] == ["planner", "architect", "designer", "dev", "reviewer"]
    assert [turn.get("files", []) for turn in turns] == [[], [], [], ["calc.py"], []]
    counted(turns, provider)
    activities = {each["turnId"]: each for each in data(recorded, "turn.activity_recorded")}
    assert all(activities[turn["turnId"]]["transcript"] for turn in turns)
    [tool] = activities[turns[3]["turnId"]]["tools"]
    assert (tool["tool"], tool["denied"]) == ("execute", False)
    assert left_running(repository.parent) == []


@pytest.mark.skipif(not bubblewrap_works(), reason="bubblewrap does not work here")
def test_a_delivery_that_may_reach_the_provider_alone(
    program: str, provider: Provider, repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    provider.rules = delivery()
    listed = team(repository, program, provider.url, more='network = ["provider"]\n')
    assert carry_out([*RUN, "--team", listed]) == 0, capsys.readouterr()
    turns = answered(events(capsys))
    assert [turn["role"] for turn in turns] == ["planner", "architect", "designer", "dev", "reviewer"]
    assert all((turn["fence"], turn["fenceGaps"]) == ("bwrap", []) for turn in turns)
    refused = {each["host"] for turn in turns for each in turn.get("refusedHosts", ())}
    assert "127.0.0.1" not in refused, "its provider is not among the refused"


def test_one_agent_in_all_roles_of_an_orchestration_of_two_rounds(
    program: str, provider: Provider, repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    subtask = {"agent": "Agent", "role": "backend", "task": "Fix add", "start_phase": 3, "end_phase": 4}
    passed = json.dumps({"verdicts": [{"agent": "Agent", "pass": True, "feedback": "ok"}], "allDone": False})
    provider.rules = [
        Rule("You are the planner", [says(json.dumps({"direct_answer": None, "subtasks": [subtask]}))]),
        Rule("You are an employee", [runs(FIX), says("Fixed the sign."), says("Checked it.")]),
        Rule("You are the judge", [says(passed)]),
    ]
    words = ["orchestrate", "Fix add and check it, then document it", "--triage", "orchestrate"]
    code = carry_out([*words, "--team", team(repository, program, provider.url)])
    assert code == 0, capsys.readouterr()
    recorded = events(capsys)
    turns = answered(recorded)
    counted(turns, provider)
    assert [turn["role"] for turn in turns] == ["planner", "backend", "judge", "backend", "judge"]
    assert [turn.get("resumed") for turn in turns if turn["role"] == "judge"] == [False, True]
    assert not [event for event in recorded if event["type"] == "turn.failed"]


@pytest.mark.parametrize(
    ("words", "roles", "choice"),
    [
        (["review", "--diff", "--max-rounds", "2"], ["reviewer", "coder", "synthesizer"], "skip"),
        (["debate", "Change the sign in add.", "--max-rounds", "2"], ["critic", "planner", "synthesizer"], "accept"),
    ],
    ids=["review", "debate"],
)
def test_a_discussion_reaches_its_decision_and_changes_no_file(
    program: str,
    provider: Provider,
    repository: Path,
    capsys: pytest.CaptureFixture[str],
    words: list[str],
    roles: list[str],
    choice: str,
) -> None:
    provider.rules = [
        Rule("You are the reviewer of another", [runs(FIX), says("The sign is wrong. This must be fixed.")]),
        Rule("Your work has been reviewed", [runs(FIX), says("I agree, the sign is wrong.")]),
        Rule("You are the critic of a plan", [runs(FIX), says("The plan lacks a test. I disagree.")]),
        Rule("You are the planner, and your plan", [runs(FIX), says("I agree, a test is added.")]),
        Rule("Summarize the", [says("Both agree.")]),
    ]
    changed = "def add(a, b):\n    return a - b  # changed\n"
    (repository / "calc.py").write_text(changed)
    code = carry_out([*words, "--team", team(repository, program, provider.url)])
    assert code == 6, capsys.readouterr()
    recorded = events(capsys)
    assert not data(recorded, "turn.failed") and not data(recorded, "turn.attempt_failed")
    turns = answered(recorded)
    assert {turn["role"] for turn in turns} == set(roles)
    assert all(turn.get("files", []) == [] for turn in turns)
    counted(turns, provider)
    assert (repository / "calc.py").read_text() == changed
    assert carry_out(["decide", "latest", choice]) == 0
    assert left_running(repository.parent) == []


def test_one_refusal_for_the_rate_is_waited_out(
    program: str, provider: Provider, repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    provider.rules = delivery(planner=Step(status=429, headers=(("Retry-After", "1"), ("retry-after-ms", "1000"))))
    code = carry_out([*RUN, "--team", team(repository, program, provider.url)])
    assert code == 0, capsys.readouterr()
    recorded = events(capsys)
    assert {each["failure"]["code"] for each in data(recorded, "turn.attempt_failed")} <= {"rate_limit"}
    counted(answered(recorded), provider)


def test_final_failures_end_at_once_and_can_be_retried(
    program: str, provider: Provider, repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    provider.rules = [Rule("You are the planner", [Step(status=401)])]
    chosen = ["--team", team(repository, program, provider.url)]
    assert carry_out([*RUN, *chosen]) != 0
    [failed] = data(events(capsys), "turn.failed")
    assert (failed["failure"]["code"], failed["failure"]["retryable"]) == ("auth", False)
    assert failed["seconds"] < 60
    provider.rules = delivery()
    assert carry_out(["retry", "latest", "--wait", *chosen]) == 0, capsys.readouterr()
    assert left_running(repository.parent) == []


@pytest.mark.parametrize("program", ["claude", "codex"], indirect=True)
@pytest.mark.parametrize(("rules", "fixed"), [('deny = ["execute:sed *"]', False), ('allow = ["execute:sed *"]', True)])
def test_it_asks_before_it_runs_a_command(
    program: str, provider: Provider, repository: Path, capsys: pytest.CaptureFixture[str], rules: str, fixed: bool
) -> None:
    provider.rules = delivery()
    path = Path(team(repository, program, provider.url))
    path.write_text(f"{path.read_text()}\n[permissions]\n{rules}\n")
    code = carry_out([*RUN[:-1], "1", "--team", str(path)])
    did = data(events(capsys), "turn.activity_recorded")
    assert [(tool["title"], tool["denied"]) for each in did for tool in each["tools"]] == [(FIX, not fixed)]
    assert (code == 0) == fixed


def test_a_person_comments_and_the_same_session_goes_on(
    program: str, provider: Provider, repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Comments on lines are quoted to the program, which answers each; its conversation is a new one with a digest."""
    answers = {
        "comments": [{"id": "c1", "answer": "fixed"}, {"id": "c2", "answer": "declined", "words": "It is short."}]
    }
    rename = "sed -i 's/add(a, b)/add(a, c)/; s/a + b/a + c/' calc.py"
    provider.rules = delivery()
    agents = ["--team", team(repository, program, provider.url)]
    assert carry_out([*RUN, *agents]) == 0, capsys.readouterr()
    assert carry_out(["comment", "latest", "calc.py:1", "-m", "Call it c, please."]) == 0
    assert carry_out(["comment", "latest", "calc.py", "-m", "Is that all?"]) == 0
    provider.rules = delivery()
    provider.rules[3] = Rule("You are the developer", [runs(rename), says(f"Done.\n{json.dumps(answers)}")])
    assert carry_out(["revise", "latest", "-m", "See my comments.", "--wait", *agents]) == 0, capsys.readouterr()
    recorded = events(capsys)
    assert [each["answer"] for each in data(recorded, "session.comment_answered")] == ["fixed", "declined"]
    assert not [event for event in recorded if event["type"] in ("turn.failed", "turn.attempt_failed")]
    asked = [each for each in provider.prompts if "See my comments." in each]
    assert any("on calc.py, line 1:\n> def add(a, b):\nCall it c, please." in each for each in asked)
    assert carry_out(["comments", "latest", "--json"]) == 0
    first, second = json.loads(capsys.readouterr().out)["items"]
    assert (first["status"], second["status"]) == ("fixed", "declined")
    assert second["answers"][0]["words"] == "It is short."
    assert left_running(repository.parent) == []
