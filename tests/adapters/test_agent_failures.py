"""What the words of a failed program mean."""

import pytest

from adapters.agents.failures import Rule, code_of_exit, failure_of, last_lines, recognised, wait_of


@pytest.mark.parametrize(
    ("said", "code"),
    [
        ("API Error: Request rejected (429) · rate_limit_error", "rate_limit"),
        ("exceeded retry limit, last status: 429 Too Many Requests", "rate_limit"),
        ("RESOURCE_EXHAUSTED: quota exceeded for model", "rate_limit"),
        ("You've hit your usage limit. Try again in 3 hours 5 minutes.", "rate_limit"),
        ("You exceeded your current quota (insufficient_quota)", "auth"),
        ("unexpected status 401 Unauthorized: Missing bearer", "auth"),
        ("Invalid API key · Please run /login", "auth"),
        ("API key not valid. Please pass a valid API key.", "auth"),
        ('API Error: 529 {"type":"overloaded_error"}', "overloaded"),
        ("unexpected status 503 Service Unavailable", "overloaded"),
        ("connect ECONNREFUSED 127.0.0.1:1", "network"),
        ("stream disconnected before completion", "network"),
        ("No conversation found with session ID: e06a", "lost_conversation"),
        ('Error resuming session: Invalid session identifier "x".', "lost_conversation"),
        ("prompt is too long: 200001 tokens > 200000 maximum", "limit"),
        ("Segmentation fault", None),
        ("4 failed, 29 passed in 0.401s at line 500", None),
    ],
)
def test_the_usual_words_of_providers_are_recognised(said: str, code: str | None) -> None:
    assert recognised(said) == code


@pytest.mark.parametrize(
    ("said", "seconds"),
    [
        ("Retry-After: 30", 30.0),
        ('"retry_after_ms": 1500', 1.5),
        ("Please try again in 1.5s.", 1.5),
        ("Try again in 1 day 2 hours, 5 minutes.", 93_900.0),
        ("Please retry in 12.345s", 12.345),
        ("Too many requests", None),
    ],
)
def test_the_wait_that_is_named_is_kept(said: str, seconds: float | None) -> None:
    assert wait_of(said) == seconds


def test_only_the_last_lines_without_control_sequences_count() -> None:
    output = last_lines(
        "429 Too Many Requests\n" + "\n".join(f"line {n}" for n in range(20)) + "\n\x1b[31mred\x1b[0m\r\n"
    )
    assert output.split("\n")[0] == "line 1"
    assert output.endswith("\nred")
    assert recognised(output) is None


def test_rules_of_the_team_come_first() -> None:
    rules = [Rule(match="out of (coffee|tea)", code="overloaded")]
    failure = failure_of("crash", "Exit 1: out of Tea, 401", output="out of Tea, 401", rules=rules)
    assert (failure.code, failure.retryable) == ("overloaded", True)


def test_what_needs_a_person_is_not_retryable() -> None:
    retryable = {code: failure_of(code, "x").retryable for code in ("auth", "refused", "limit", "deadline", "network")}
    assert retryable == {"auth": False, "refused": False, "limit": False, "deadline": False, "network": True}


@pytest.mark.parametrize(
    ("output", "exit_code", "code"),
    [
        ("/usr/bin/env: \u2018node\u2019: No such file or directory", 127, "refused"),
        ("sh: 1: exec: claude: not found", 127, "refused"),
        ("bash: line 1: claude: command not found", 127, "refused"),
        ("bash: /opt/claude: cannot execute: required file not found", 126, "refused"),
        ("Starting.\nsh: 1: /opt/claude: Permission denied", 126, "refused"),
        ("sh: 1: claude: not found", 1, "crash"),
        ("sh: 1: rg: not found\nThe search failed.", 127, "crash"),
        ("", 127, "crash"),
        ("sh: 1: claude: not found", None, "crash"),
    ],
)
def test_only_a_wrapper_whose_program_cannot_be_started_is_not_asked_again(
    output: str, exit_code: int | None, code: str
) -> None:
    assert code_of_exit(exit_code, output) == code
