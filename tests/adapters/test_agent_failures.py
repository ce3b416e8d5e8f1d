"""What the words of a failed program mean."""

import time
from datetime import UTC, datetime

import pytest

from adapters.agents.failures import Rule, code_of_exit, failure_of, last_lines, recognised
from adapters.agents.resets import wait_of

NOW = datetime(2026, 11, 26, 3, 0, tzinfo=UTC).timestamp()
"""A Thursday."""
HOUR = 3_600.0


@pytest.mark.parametrize(
    ("said", "code"),
    [
        ("API Error: Request rejected (429) · rate_limit_error", "rate_limit"),
        ("exceeded retry limit, last status: 429 Too Many Requests", "rate_limit"),
        ("RESOURCE_EXHAUSTED: quota exceeded for model", "rate_limit"),
        ("You've hit your usage limit. Try again in 3 hours 5 minutes.", "rate_limit"),
        ("5-hour limit reached ∙ resets 3pm", "rate_limit"),
        ("You've hit your limit · resets 3pm (Europe/Berlin)", "rate_limit"),
        ("You've reached your weekly limit.", "rate_limit"),
        ("Claude AI usage limit reached|1790000000", "rate_limit"),
        ("Retry-After: 30", "rate_limit"),
        ("503 Service Unavailable, Retry-After: 30", "overloaded"),
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
        ("OAuth token has expired. Please obtain a new token or refresh your existing token.", "auth"),
        ("Please set an Auth method in your settings.json or specify GEMINI_API_KEY", "auth"),
        ("No auth type is selected. Please configure one in settings.json.", "auth"),
        ("When using Gemini API, you must specify the GEMINI_API_KEY environment variable.", "auth"),
        ("Your access token could not be refreshed. Log out and try again.", "auth"),
        ("No authentication information found.", "auth"),
        ("litellm.AuthenticationError: Missing Anthropic API Key", "auth"),
        ("403 Forbidden", "auth"),
        ("server returned 403", "auth"),
        ('API Error: 401 {"type":"error","error":{"type":"authentication_error"}}', "auth"),
        ("unexpected status 401", "auth"),
        ('got status: 429. {"error":{"code":429,"status":"RESOURCE_EXHAUSTED"}}', "rate_limit"),
        ("[API Error: 429 status code (no body)]", "rate_limit"),
        ("Error code: 429 - {'error': {'message': 'slow down'}}", "rate_limit"),
        ("HTTP/2 429", "rate_limit"),
        ("429", "rate_limit"),
        ("litellm.RateLimitError: slow down", "rate_limit"),
        ("getaddrinfo ENOTFOUND api.example.com", "network"),
        ("Segmentation fault", None),
        ("4 failed, 29 passed in 0.401s at line 500", None),
    ],
)
def test_the_usual_words_of_providers_are_recognised(said: str, code: str | None) -> None:
    assert recognised(said) == code


@pytest.mark.parametrize(
    "crash",
    [
        "ModuleNotFoundError: No module named 'aider_not_here'",
        "ModuleNotFoundError: No module named 'ratelimit'",
        "FileNotFoundError: [Errno 2] No such file or directory: 'x'",
        "PermissionError: [Errno 13] Permission denied: '/srv/api/keys'",
        'Traceback (most recent call last):\n  File "x.py", line 429, in <module>\n    main()\nKeyError: 1',
        'Traceback:\n  File "authentication.py", line 4\n    if status == 429:\n       ^^^^^^\nZeroDivisionError: 1',
        "src/prices.c:429: error: expected ';'",
        "src/prices.ts(401): error",
        "ended with 401 files",
        "429 tests passed, then line 403 failed after 401 ms",
        "SyntaxError: Unexpected token in JSON",
        "tests/authentication/test_login.py failed",
    ],
)
def test_a_crash_of_the_program_is_not_mistaken_for_an_answer_of_the_provider(crash: str) -> None:
    """Names of files and errors, line numbers and counts look like the words of providers."""
    assert recognised(crash) is None
    assert failure_of("crash", crash, output=crash).code == "crash"


def test_a_traceback_ends_with_what_the_provider_answered() -> None:
    crash = 'Traceback:\n  File "x.py", line 3\n    ask()\nopenai.RateLimitError: Error code: 429'
    assert recognised(crash) == "rate_limit"


@pytest.mark.parametrize(
    ("said", "seconds"),
    [
        ("Retry-After: 30", 30.0),
        ('"retry_after_ms": 1500', 1.5),
        ("Please try again in 1.5s.", 1.5),
        ("Try again in 1 day 2 hours, 5 minutes.", 93_900.0),
        ("Please retry in 12.345s", 12.345),
        ('"retryDelay": "34s"', 34.0),
        ("Your quota will reset after 2h3m5s.", 7_385.0),
        ('{"type": "usage_limit_reached", "resets_in_seconds": 1234}', 1_234.0),
        ("Too many requests", None),
    ],
)
def test_the_wait_that_is_named_is_kept(said: str, seconds: float | None) -> None:
    assert wait_of(said) == seconds


@pytest.mark.parametrize(
    ("said", "seconds"),
    [
        ("Retry-After: Thu, 26 Nov 2026 06:00:00 GMT", 3 * HOUR),
        (f"Claude AI usage limit reached|{NOW + 60:.0f}", 60.0),
        (f'"resetsAt": {NOW + 60:.0f}000', 60.0),
        ("rate limit exceeded, resets at 2026-11-26T06:00:00Z", 3 * HOUR),
        ('"anthropic-ratelimit-requests-reset: 2026-11-26T03:00:01.5Z"', 1.5),
        ("resets at 2026-11-26 08:00:00+02:00", 3 * HOUR),
        ("5-hour limit reached ∙ resets 6am (UTC)", 3 * HOUR),
        ("You've hit your limit · resets 7:30am (Europe/Berlin)", 3.5 * HOUR),
        ("You've hit your limit · resets 2:30am (UTC)", None),
        ("You've hit your limit · resets 1am (UTC)", 22 * HOUR),
        ("Weekly limit reached ∙ resets Dec 1 at 3am (UTC)", 5 * 24 * HOUR),
        ("Weekly limit reached ∙ resets Jan 2, 3am (UTC)", 37 * 24 * HOUR),
        ("Weekly limit reached ∙ resets Monday 3am (UTC)", 4 * 24 * HOUR),
        ("Weekly limit reached ∙ resets Thursday at 1am (UTC)", 7 * 24 * HOUR - 2 * HOUR),
        ("Upgrade to Pro or try again at Nov 27th, 2026 3:00 AM UTC.", 24 * HOUR),
        ("Try again at 4:15 AM (UTC).", 1.25 * HOUR),
        ("resets 25pm (UTC)", None),
        ("resets 3pm (Nowhere/Land)", None),
        ("resets Feb 31 at 3pm (UTC)", None),
        ("limit reached, it resets 7 counters", None),
        ("Claude AI usage limit reached|1000000000", None),
    ],
)
def test_a_reset_time_that_is_named_is_waited_for(said: str, seconds: float | None) -> None:
    assert wait_of(said, NOW) == seconds


def test_a_time_without_a_zone_is_the_machines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Asia/Seoul")
    time.tzset()
    try:
        assert wait_of("5-hour limit reached ∙ resets 3pm", NOW) == 3 * HOUR
        assert wait_of("resets at 2026-11-26T15:00:00", NOW) == 3 * HOUR
    finally:
        monkeypatch.undo()
        time.tzset()


def test_only_limits_and_overloads_name_their_end() -> None:
    said = "Traceback: nothing can be done until 3:30 pm (UTC)"
    assert failure_of("crash", said, output=said).retry_after is None


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
