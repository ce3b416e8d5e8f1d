"""The meaning of a failed attempt: derives a code from the error text of a program or provider.

Only the last lines of the error text of a failed attempt are read: an agent may well write about rate limits in its
answer.
"""

import re
from collections.abc import Iterable
from typing import Annotated, Final, NamedTuple

from pydantic import AfterValidator, Field

from adapters.agents.resets import wait_of
from domain.session.attempts import Failure, FailureCode, Retryable
from domain.session.attempts import Final as FinalCode
from domain.values.base import Value
from domain.values.sentences import Sentence

LINES: Final = 20
TAIL: Final = 2_000
"""How many characters of an error text are kept."""

_ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])")

_SOURCE = re.compile(
    r"""^[ \t]*File\ ".*",\ line\ \d+.*(?:\n[ \t]{4}.*)*
      | ^(?:ModuleNotFound|Import|Syntax|Indentation|Name|Attribute|FileNotFound|Permission|NotADirectory)Error:.*""",
    re.MULTILINE | re.VERBOSE,
)
"""What a Python traceback says about source code and files: names and line numbers, not what a provider answered."""

_TRACE = re.compile(r"\s+at .*(?::\d+|<anonymous>)\)?\s*\{?$")
"""A line of a JavaScript stack trace."""


def pattern(text: str) -> str:
    try:
        re.compile(text)
    except re.error as error:
        raise ValueError(Sentence("not_a_regular_expression", detail=error)) from None
    return text


class Rule(Value):
    """An error text that matches this regular expression, ignoring case, has this code."""

    match: Annotated[str, Field(min_length=1, max_length=500), AfterValidator(pattern)]
    code: Retryable | FinalCode


class _Known(NamedTuple):
    code: FailureCode
    words: re.Pattern[str]


def _pattern(code: FailureCode, *patterns: str) -> _Known:
    return _Known(code, re.compile("|".join(patterns), re.IGNORECASE | re.MULTILINE))


_STATUS = r"(?:status|http(?:/\d(?:\.\d)?)?|error|code)\W{0,3}(?:code)?\W{0,3}(?:of|is)?\s?"


def _status(number: str, *words: str) -> str:
    """An HTTP status where it is called one, or with words that follow it: not a line number or a count."""
    after = "|".join(("status", r"client error", r"error\b", r"\{", *words))
    return (
        rf"{_STATUS}{number}\b|(?<!\w)\({number}\)|\b(?:returned|received|got|with)\s(?:an?\s)?{number}(?=[.,:;]|\s*$)"
        rf"|(?<![\w:./(-])(?<!line ){number}\W{{1,3}}(?:{after})|^[^\w\n]*{number}[^\w\n]*$"
    )


_KNOWN: Final = (
    _pattern(
        "lost_conversation",
        r"no (?:such )?(?:conversation|session|thread|rollout)s?\b.{0,40}found",
        r"(?:conversation|session|thread)\b.{0,80}\b(?:not found|does not exist|could not be found)",
        r"no such (?:conversation|session|thread)",
        r"no (?:saved |previous )?sessions? found|invalid session identifier|error resuming session",
    ),
    _pattern("auth", r"insufficient_quota|credit balance is too low|billing (?:hard )?limit|payment required"),
    _pattern(
        "rate_limit",
        r"rate.?limit|too many requests|resource.?exhausted|usage limit|quota exceeded|exceeded your .{0,20}quota",
        r"(?:hour|session|daily|weekly|monthly|opus|sonnet) limit reached|limit reached\|\d|limit.{0,20}\bresets?\b",
        r"(?:hit|reached|exceeded) your (?:(?:session|daily|weekly|monthly|opus|sonnet|request|spending) )?limit\b",
        _status("429", "too many", "rate", "resource"),
    ),
    _pattern(
        "auth",
        r"unauthori[sz]ed|(?<![\w/.-])authentication(?![\w/-]|\.\w)|authentication.?(?:error|failed|required)",
        r"invalid.{0,12}api.?key|incorrect api key|api key not valid|missing bearer|\b(?:no|missing) (?:\w+ )?api.?key",
        r"must specify the \w*api_key|\bauth (?:method|type)\b|providerautherror",
        r"\btoken (?:has |is |was )?(?:been )?(?:expired|revoked)|token could not be refreshed|expired.?token",
        r"not logged in|(?:log|sign) ?in (?:first|again|to continue)|please (?:log|sign) ?in|permission.denied: .*api",
        _status("40[13]", "unauthori", "forbidden", "invalid", "authentication"),
    ),
    _pattern(
        "overloaded",
        r"overloaded|service unavailable|internal server error|bad gateway|gateway time-?out|high demand",
        rf"{_STATUS}5\d\d\b|\b5(?:00|02|03|04|29) (?:status|error|internal|service|bad|gateway|overloaded|\{{)",
    ),
    _pattern(
        "network",
        r"\b(?:ECONN(?:REFUSED|RESET|ABORTED)|ENOTFOUND|ETIMEDOUT|EAI_AGAIN|EPIPE)\b",
        r"\bgetaddrinfo|socket hang up|fetch failed",
        r"connection (?:refused|reset|error|closed|aborted|timed out)|network error|unable to connect|cannot connect",
        r"stream (?:disconnected|closed|ended|error)|premature close|error sending request|incomplete chunked",
    ),
    _pattern("limit", r"context.(?:length|window)|prompt is too long|max.?(?:turns|tokens|budget)"),
    _pattern(
        "refused", r"content.?policy|usage polic|safety (?:filter|settings|reasons)|request was (?:blocked|declined)"
    ),
    _pattern("rate_limit", r"\bretry.after\b.{0,5}[:=]"),
)
_NAMES_ITS_END: Final = ("rate_limit", "overloaded")
"""Failures whose text may say when they end."""

_NOT_STARTED = re.compile(
    r": (?:.*\b(?:not found|no such \w+ or directory|permission denied|is a directory)|cannot execute.*)$",
    re.IGNORECASE,
)
"""The last line of a shell, or of `env`, that could not start a program; its exit code is 126 or 127."""


def last_lines(text: str) -> str:
    """The end of an error text without control sequences, stack traces, blank lines and repetitions."""
    lines = (line.rstrip() for line in _ANSI.sub("", text).replace("\r", "\n").split("\n"))
    latest: list[str] = []
    for line in lines:
        if line.strip() and not _TRACE.match(line) and line not in latest[-3:]:
            latest.append(line)
    return "\n".join(latest[-LINES:])[-TAIL:].strip()


def code_of_exit(exit_code: int | None, output: str) -> FailureCode:
    """The failure that a bad exit means, unless its text says more: a wrapper whose program is not there would fail
    again and again, like a program that is not there itself.
    """
    was_not_started = exit_code in (126, 127) and _NOT_STARTED.search(output.rpartition("\n")[2])
    return "refused" if was_not_started else "crash"


def failure_of(code: FailureCode, why: str, *, output: str = "", rules: Iterable[Rule] = ()) -> Failure:
    """The failure, with the code that its text implies, or else with this code."""
    code = recognised(output, rules) or code
    return Failure.of(code, why, retry_after=wait_of(output) if code in _NAMES_ITS_END else None)


def recognised(output: str, rules: Iterable[Rule] = ()) -> FailureCode | None:
    for rule in rules:
        if re.search(rule.match, output, re.IGNORECASE):
            return rule.code
    words = _SOURCE.sub("", output)
    return next((pattern.code for pattern in _KNOWN if pattern.words.search(words)), None)


def of_status(status: int) -> FailureCode | None:
    """The code for an HTTP status; None if it is no failure of the provider."""
    if status in (401, 402, 403):
        return "auth"
    if status == 429:
        return "rate_limit"
    return "overloaded" if status >= 500 else None
