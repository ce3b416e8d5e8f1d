"""Reviews and debates on the command line: started, shown, decided, listed in the inbox."""

import getpass
import io
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from api.cli import discussion
from tests.api.cli.conftest import Hansard, Result, critique

Scenario = Callable[..., str]
ISSUES = (("minor", "이름이 나쁘다"), ("critical", "자료를 잃는다 \x1b[2J"))
SYNTHESIS = (
    '고치자.\n```json\n{"verdict": "NEEDS_FIX", "summary": "거의", "resolvedCount": 1, "remainingCount": 2}\n```'
)


@pytest.fixture
def review(hansard: Hansard, scenario: Scenario) -> Callable[..., Result]:
    """Run a review that finds two issues and uses up its rounds, or one with these replies."""

    def start(*words: str, replies: dict[str, list[Any]] | None = None) -> Result:
        answers = {"reviewer": [critique("NEEDS_FIX", *ISSUES)], "coder": ["I see."], "synthesizer": [SYNTHESIS]}
        return hansard("review", "단계, 행동, 결과", "--scenario", scenario(answers | (replies or {})), *words)

    return start


def id_of(result: Result) -> str:
    return result.err.splitlines()[0].removeprefix("Session ")


# --- review ---------------------------------------------------------------------------------------------------------


def test_a_review_in_a_pipe_prints_its_result_and_waits(review: Callable[..., Result]) -> None:
    result = review("--strategy", "red-team")
    assert result.code == 6
    assert result.out.splitlines() == [
        f"session      {id_of(result)}",
        "status       waiting_for_decision",
        "subject      단계, 행동, 결과",
        "rounds       1  critique  reviewer  needs a fix, 2 issues  This is what I think.",
        "             2  rebuttal  coder                            I see.",
        "             3  critique  reviewer  needs a fix, 2 issues  This is what I think.",
        "agreed       no: reviewer needs a fix",
        "stopped      after 3 rounds: the rounds are used up",
        result.out.splitlines()[8],
        "feedback     needs a fix: 요약",
        "             [critical] 자료를 잃는다 ⟦U+001B⟧[2J → mend it",
        "             [minor] 이름이 나쁘다 → mend it",
        "synthesis    고치자.",
        "             needs a fix: 거의 (resolved 1, remaining 2)",
        "team         scripted agents take part, which do no real work",
    ]
    assert result.out.splitlines()[8].startswith("convergence  agreement ")
    assert result.out.splitlines()[8].endswith(", profile seed")
    assert result.err.splitlines()[-2:] == [
        "Waiting for your decision:",
        f"  hansard decide {id_of(result)} apply_fix     hansard decide {id_of(result)} skip",
    ]


def test_a_review_is_decided_once_by_a_choice_of_its_kind(hansard: Hansard, review: Callable[..., Result]) -> None:
    session_id = id_of(review())
    wrong = hansard("decide", session_id, "revise")
    assert (wrong.code, wrong.out) == (4, "")
    text = "A review in the state waiting_for_decision is decided by one of apply_fix, skip."
    assert wrong.err.startswith(f"hansard: {text}")
    stale = hansard("decide", session_id, "skip", "--if-version", "3")
    assert stale.code == 4
    first = hansard("decide", session_id, "skip", "--rationale", "- 괜찮다", "--json")
    assert (first.code, first.json["sessionId"]) == (0, session_id)
    assert first.err == f"Decided: skip for {session_id}.\n"
    assert hansard("decide", session_id, "apply_fix").code == 4
    decision = next(line for line in hansard("show", session_id).out.splitlines() if line.startswith("decision "))
    assert decision.split(maxsplit=1)[1].startswith("skip by ")
    assert decision.endswith(": - 괜찮다")
    assert hansard("decide", session_id, "maybe").code == 2


def test_the_same_decision_under_the_same_key_counts_once(hansard: Hansard, review: Callable[..., Result]) -> None:
    words = ("decide", id_of(review()), "skip", "--idempotency-key", "k-1", "--json")
    first, again = hansard(*words), hansard(*words)
    assert (first.code, again.code) == (0, 0)
    assert first.out == again.out


def test_a_review_is_shown_whole(hansard: Hansard, review: Callable[..., Result]) -> None:
    session_id = id_of(review("--max-rounds", "2", "--profile", "shipped-v3", "--title", "제목"))
    lines = hansard("show", session_id).out.splitlines()
    for line in (
        "title        제목",
        "strategy     review, at most 2 rounds, profile shipped-v3@1",
        "rounds       [Round 1: critique by reviewer]",
        "             [Round 2: rebuttal by coder]",
        "             I see.",
        "convergence           agreement  stability  score",
        "choices      apply_fix or skip",
        "can now      decision, cancel",
    ):
        assert line in lines, line
    assert any(line.startswith("             round 2  ") for line in lines)
    early = hansard("show", session_id, "--at", "1").out
    assert "status    reviewing\n" in early
    assert hansard("show", session_id, "--json").json["session"]["rounds"][1]["content"] == "I see."


def test_a_round_that_a_person_wrote_in_a_fork_is_not_called_the_agents(
    hansard: Hansard, review: Callable[..., Result]
) -> None:
    source = id_of(review("--max-rounds", "2"))
    words = '{"verdict": "PASS", "summary": "Fine by me.", "issues": []}'
    result = hansard("fork", source, "--at", "1", "--snap", "--answer", words)
    forked = [line for line in result.out.splitlines() if "a person, for reviewer" in line]
    assert [line.split()[0] for line in forked] == ["rounds", "agreed"], result.out
    shown = hansard("show", "latest").out
    assert "[Round 1: critique by a person, for reviewer]" in shown and "by reviewer]" not in shown


@pytest.mark.parametrize("command", ["merge", "land", "pr", "revise"])
def test_a_review_has_nothing_to_hand_over(hansard: Hansard, review: Callable[..., Result], command: str) -> None:
    result = hansard(command, id_of(review()), *(["-m", "Shorter."] if command == "revise" else []))
    assert result.code == 4
    assert re.search(r"changed nothing|A review in the state waiting_for_decision", result.out + result.err)


def test_why_a_review_stopped_is_said_in_words(hansard: Hansard, review: Callable[..., Result]) -> None:
    words = hansard("explain", id_of(review("--max-rounds", "2"))).out
    assert re.search(r"^cause +(the agents agree|the rounds are used up)$", words, re.MULTILINE), words


def test_a_review_whose_agent_fails_waits_with_the_error(review: Callable[..., Result]) -> None:
    """K-32"""
    result = review(replies={"reviewer": [{"error": "crash"}]})
    assert result.code == 6
    assert "stopped   after 0 rounds: an agent failed\n" in result.out
    assert "feedback  needs a fix: " in result.out
    assert "error     reviewer: crash: reviewer exited with an error (scripted).\n" in result.out
    assert result.err.splitlines()[-2:] == [
        f"  hansard decide {id_of(result)} apply_fix     hansard decide {id_of(result)} skip",
        f"  hansard retry {id_of(result)}",
    ]


def test_a_subject_comes_through_a_pipe_and_only_one_is_taken(
    hansard: Hansard, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO("한 줄\n".encode())))
    session_id = id_of(hansard("review", "-", "--detach"))
    assert hansard("show", session_id, "--json").json["session"]["subject"] == "한 줄\n"
    for words, sentence in (
        ((), "Nothing to review: give a text, --file FILE, - for stdin, or --diff."),
        (("x", "--diff"), "Give only one of: a text, --file, --diff."),
        (("--file", "x", "--base", "main"), "Give only one of: a text, --file, --diff."),
        (("x" * 500_001,), "The subject has 500,001 characters; the limit is 500,000."),
        (("x", "--strategy", "debate"), "--strategy: 'debate' is not one of review, red-team."),
        (("x", "--profile", "odd"), "--profile: "),
    ):
        result = hansard("review", *words)
        assert (result.code, result.out) == (2, "")
        assert sentence in result.err


def test_a_review_is_cancelled_like_any_session(hansard: Hansard, review: Callable[..., Result]) -> None:
    session_id = id_of(review())
    assert hansard("cancel", session_id, "--reason", "그만").code == 0
    assert hansard("decide", session_id, "skip").code == 4
    [cancelled] = re.findall(r"review\.cancelled +(.*)", hansard("events", session_id, "--follow").out)
    assert cancelled == f"{getpass.getuser()} cancelled the discussion: 그만"


# --- debate ---------------------------------------------------------------------------------------------------------


def test_a_plan_is_debated_from_its_perspectives_and_accepted(hansard: Hansard, scenario: Scenario) -> None:
    concern = json.dumps({"verdict": "CHALLENGE", "concerns": ["너무 크다"], "suggestions": ["나누자"]})
    file = scenario({"critic": ["위험", f"다시\n{concern}"], "planner": ["기회"], "synthesizer": ["요약"]})
    result = hansard("debate", "1. 만든다", "--strategy", "perspectives", "--scenario", file)
    assert result.code == 6
    for line in (
        "plan         1. 만든다",
        "rounds       1  risk-analysis        critic            위험",
        "             2  innovation-analysis  planner           기회",
        "             3  cross-review         critic   objects  다시",
        "feedback     objects",
        "             [concern] 너무 크다",
        "             [suggestion] 나누자",
        "synthesis    요약",
    ):
        assert line in result.out.splitlines(), line
    assert hansard("decide", "debate-", "accept").code == 0


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ((), "Give the plan: as text"),
        (("x", "--strategy", "review"), "--strategy: 'review' is not one of debate, perspectives."),
    ],
)
def test_a_debate_needs_a_plan_and_a_strategy_of_its_own(
    hansard: Hansard, words: tuple[str, ...], sentence: str
) -> None:
    result = hansard("debate", *words)
    assert (result.code, result.out) == (2, "")
    assert sentence in result.err


# --- inbox ----------------------------------------------------------------------------------------------------------


def test_inbox_lists_the_oldest_first(hansard: Hansard, review: Callable[..., Result]) -> None:
    assert hansard("inbox") == Result(0, "", "Nothing is waiting for you.\n")
    first, second = id_of(review("--title", "첫째")), id_of(review("--title", "둘째"))
    result = hansard("inbox")
    rows = [line.split() for line in result.out.splitlines()]
    assert [row[0] for row in rows] == ["SESSION", first, second]
    assert rows[1][1] == "decision"
    assert rows[1][4:7] == ["apply_fix", "|", "skip"]
    assert rows[1][7:11] == ["needs", "a", "fix:", "첫째"]
    assert result.out.splitlines()[1].endswith("a person decides.")
    assert f"decision    hansard decide {first} apply_fix     hansard decide {first} skip" in result.err
    hansard("decide", first, "skip")
    assert [item["sessionId"] for item in hansard("inbox", "--json").json["items"]] == [second]


def test_a_long_inbox_says_that_there_is_more(hansard: Hansard, review: Callable[..., Result]) -> None:
    review()
    review()
    assert "Showing the oldest 1; use --limit for more." in hansard("inbox", "--limit", "1").err


# --- words ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("feedback", "lines"),
    [
        ({}, []),
        ({"verdict": "PASS", "summary": ""}, ["passes"]),
        (
            {
                "verdict": "NEEDS_FIX",
                "summary": "s",
                "issues": [
                    {"severity": "odd", "description": "d"},
                    {"severity": "major", "description": "c", "suggestion": ""},
                    {"severity": "critical", "description": "a\nb", "suggestion": "x"},
                ],
                "pointsOfAgreement": ["fine"],
                "pointsOfDisagreement": [{"claim": "slow", "explanation": "n²", "alternative": ""}],
                "securityRisks": [{"description": "open", "severity": "HIGH"}],
                "missingConsiderations": ["load"],
                "problem": "The JSON is cut.",
            },
            [
                "needs a fix: s",
                "[critical] a b → x",
                "[major] c",
                "[odd] d",
                "[security risk] HIGH: open",
                "[missing] load",
                "[disagreement] slow: n²",
                "(The JSON is cut.)",
            ],
        ),
    ],
)
def test_feedback_lists_the_worst_first(feedback: dict[str, Any], lines: list[str]) -> None:
    assert discussion.feedback({"feedback": feedback, "rounds": []}).splitlines() == lines


@pytest.mark.parametrize(
    ("synthesis", "words"),
    [
        (None, ""),
        ({"text": "all\n", "fallback": False, "counts": None}, "all"),
        (
            {"text": "a", "fallback": True, "counts": None},
            "(The synthesis failed; these are the rounds themselves.)\na",
        ),
        (
            {
                "text": 'so\n{"verdict": "APPROVE"}\n',
                "fallback": False,
                "counts": {"verdict": "APPROVE", "summary": "", "consensusCount": 3, "divergenceCount": 0},
            },
            "so\napproves (consensus 3, divergence 0)",
        ),
    ],
)
def test_synthesis_is_shown_without_its_json(synthesis: dict[str, Any] | None, words: str) -> None:
    assert discussion.synthesis({"synthesis": synthesis}) == words


def test_expired_decision_names_no_person() -> None:
    decision = {"choice": "skip", "actor": "policy", "rationale": "", "at": "2026-01-02T10:00:00Z", "expired": True}
    assert discussion.decision({"decision": decision}).startswith("skip by default: no decision in time, 2026-")


def test_what_was_remarked_with_a_decision_is_shown_with_its_place() -> None:
    decision = {"choice": "apply_fix", "actor": "ann", "rationale": "", "at": "2026-01-02T10:00:00Z", "expired": False}
    places = [("a.py", 3, 4), ("a.py", 5, None), ("b.py", None, None), (None, None, None)]
    remarks = [{"text": "Why?", "path": path, "line": line, "endLine": end} for path, line, end in places]
    shown = discussion.decision({"decision": decision | {"comments": remarks}}).splitlines()
    assert shown[1:] == ["a.py:3-4: Why?", "a.py:5: Why?", "b.py: Why?", "Why?"]


# --- a team's decision ----------------------------------------------------------------------------------------------


def test_vote_shows_missing_votes(
    hansard: Hansard, review: Callable[..., Result], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    team = tmp_path / "team.toml"
    team.write_text(
        '[[agents]]\nname = "Solo"\nadapter = "scripted"\nroles = ["reviewer", "coder", "synthesizer"]\n'
        "[decisions]\napprovers = 2\n"
    )
    monkeypatch.setenv("HANSARD_TEAM", str(team))
    name = id_of(review())
    shown = hansard("show", name)
    assert "apply_fix: 0 of 2 votes, skip: 0 of 2 votes" in shown.out
    seen = hansard("show", name, "--json").json["session"]["seen"]
    assert f"seen         {seen}" in shown.out
    refused = hansard("decide", name, "skip")
    assert refused.code == 2 and "seen" in refused.err
    assert hansard("decide", name, "skip", "--seen", "0123456789").code == 4
    voted = hansard("decide", name, "skip", "--seen", seen[:8])
    assert voted.code == 0 and "skip: 1 of 2 votes" in voted.err
    assert "skip: 1 of 2 votes" in hansard("inbox").out
    shown = hansard("show", name).out
    assert re.search(r"^approval +\S+ voted skip", shown, re.MULTILINE) and "person:" not in shown, shown
