"""Says what validation commands of a delivery show: which ones are allowed, why one failed, and which failures are new.

The baseline is the result of the validation on the untouched workspace, before any agent is asked (contract-2 §9).
"""

import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Final

from pydantic import Field

from domain.checks.test_counts import RunnerCount
from domain.checks.weakening import Weakening, weakening_sentence
from domain.session.attempts import Failure
from domain.session.services import Service
from domain.session.validation import DID_NOT_EXIT, Flake, SetupCommand, Stage, Validated, ValidationStep
from domain.values.base import Value, absent
from domain.values.network import CommandNetwork
from domain.values.sentences import Sentence, with_output

# -- which commands are allowed (rule 8) -------------------------------------------------------------------------------


Prefixes = tuple[tuple[str, ...], ...]
"""The prefixes of allowed commands, as arguments. If there are none, any command is allowed."""


def prefixes(text: str) -> Prefixes:
    """Parse `pytest,python -m pytest,npm test`: separated by commas, each as typed in a shell. Raises ValueError."""
    try:
        commands = tuple(tuple(shlex.split(each)) for each in text.split(","))
    except ValueError as problem:
        raise ValueError(f"should be commands with commas between them: {problem}") from None
    return tuple(prefix for prefix in commands if prefix)


def is_allowed(argv: Sequence[str], allowed: Prefixes) -> bool:
    """Compares argument by argument: `npm test` allows `npm test -- --ci`, but not `npm tests` or `npm`."""
    return not allowed or any(tuple(argv[: len(prefix)]) == prefix for prefix in allowed)


def only(allowed: Prefixes) -> str:
    """The allowed commands, as the end of a sentence."""
    return Sentence("commands_allowed", commands=[f"`{shlex.join(prefix)}`" for prefix in allowed])


# -- why a command failed ----------------------------------------------------------------------------------------------


MOST: Final = 20
LONGEST: Final = 300
"""Maximum length of a reason."""
_ANSI: Final = re.compile(r"\x1b\[[0-9;?]*+[ -/]*+[@-~]")
_UNPRINTABLE: Final = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_LINES: Final = 20_000
"""How many lines at the end of the output are read."""

_TESTS: Final = re.compile(
    r"(?:FAILED|ERROR)\s+\S+::.*"  # pytest, its summary
    r"|(?:FAILED|ERROR)\s+\S+\.py\b.*"
    r"|(?:FAIL|ERROR):\s+\w+\s+\(.*\)"  # unittest
    r"|\s*---\s+FAIL:\s+\S+.*"  # go test
    r"|test\s+\S.*\s\.\.\.\s+FAILED"  # cargo test
    r"|\s*FAIL\s+\S.*"  # jest, vitest, and the packages of go test
    r"|\s*●\s+\S.*›.*"  # jest, one test
    r"|\s*(?:✕|✗|×)\s+\S.*"  # vitest, mocha
    r"|not ok\s+\d+.*"  # node --test, TAP
)
_CHECKS: Final = re.compile(
    r"\S+\(\d+,\d+\):\s+error\s+TS\d+.*"  # tsc
    r"|\S+:\d+:\d+\s+-\s+error\s+TS\d+.*"  # tsc --pretty
    r"|\S+:\d+(?::\d+)?:\s+error:.*"  # mypy, compilers
    r"|\S+:\d+:\d+:\s+[A-Z]{1,5}\d{2,4}\b.*"  # ruff, flake8
    r"|\s*\S+\.go:\d+(?::\d+)?:\s+.*"  # go vet, go build
    r"|error(?:\[E?\d+\])?:\s+.*"  # cargo, rustc
)
_ESLINT: Final = re.compile(r"\s+(\d+:\d+)\s+error\s+(.*)")
_RUFF: Final = re.compile(r"[A-Z]{1,5}\d{2,4}\s+(?:\[\*\]\s+)?\S.*")
_ARROW: Final = re.compile(r"\s*-->\s+(\S+:\d+:\d+)")
_FIRST: Final = re.compile(
    r"E\s{2,}\S.*|[\w.]*(?:Error|Exception|Interrupt)\b(?::.*)?|panic:.*|.*command not found.*|.*Cannot find module.*"
)
_NOISE: Final = re.compile(
    r"error: (?:could not compile|aborting due to|test failed, to rerun|\d+ targets? failed).*|FAIL\s*"
)


def reasons(output: str) -> tuple[str, ...]:
    """Failing tests and errors of checkers, in order; otherwise the first error. At most 20, without duplicates and
    noise.

    Supports pytest, unittest, jest, vitest, node, go, cargo, tsc, eslint, ruff and mypy.
    """
    lines = [_ANSI.sub("", line).rstrip() for line in output.splitlines()[-_LINES:]]
    named = list(_named(lines))
    if not any(_TESTS.fullmatch(line) or _CHECKS.fullmatch(line) for line in named):
        first = next((line for line in lines if _FIRST.fullmatch(line)), None)
        named += [first] if first else []
    return tuple(dict.fromkeys(_short(line) for line in named))[:MOST]


_LAST: Final = 3
_VARYING: Final = re.compile(
    r"0x[0-9a-fA-F]+"  # an address
    r"|\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?Z?)?"  # a date and time
    r"|(?<!\d)\d\d?:\d\d:\d\d(?:[.,]\d+)?"  # a time of day
    r"|(?<![\w.])\d+(?:\.\d+)? ?(?:[mµn]?s|secs?|seconds?|minutes?)\b"  # a duration
    r"|(?<=/)(?:(?:hansard-|tmp)[a-z0-9_]{8}|tmp\.\w{6,})(?!\w)"  # a temporary folder
)


def last_lines(output: str) -> tuple[str, ...]:
    """The last few lines with words, for output in which nothing says why.

    What differs from run to run is replaced by "…": the same failure would be new each time.
    """
    lines = (_VARYING.sub("…", _ANSI.sub("", line)) for line in reversed(output.splitlines()))
    telling = (_short(_UNPRINTABLE.sub(" ", line)) for line in lines if re.search(r"[^\W_]", line))
    return tuple(dict.fromkeys(reversed(list(islice(telling, _LAST)))))


def _named(lines: list[str]) -> Iterator[str]:
    """The lines that name what failed. eslint and ruff print the file name on a separate line."""
    file = code = ""
    for line in lines:
        if _NOISE.fullmatch(line.strip()):
            continue
        if match := _ESLINT.fullmatch(line):
            yield f"{file}:{match[1]} {' '.join(match[2].split())}"
        elif code and (match := _ARROW.fullmatch(line)):
            yield f"{match[1]} {code}"
        elif _TESTS.fullmatch(line) or _CHECKS.fullmatch(line):
            yield line
        code = line if _RUFF.fullmatch(line) else code if not line or line == code else ""
        if line and not line[0].isspace():
            file = line


def _short(line: str) -> str:
    words = line.strip()
    return words if len(words) <= LONGEST else f"{words[: LONGEST - 1]}…"


_SECONDS = re.compile(r"\d+(\.\d+)? ?m?s\b")


def failing(summary: str) -> str:
    """The reasons of a failed validation, without durations."""
    return "failures " + _SECONDS.sub("", summary)


def blocking(titles: Iterable[str]) -> str:
    """The blocking issues of a review, in any order."""
    return "issues " + "; ".join(sorted(title.casefold() for title in titles))


def left_as_they_were(comments: Iterable[str]) -> str:
    """Returns the comments that nobody has dealt with, in any order."""
    return "comments " + " ".join(sorted(comments))


# -- the baseline ------------------------------------------------------------------------------------------------------


REPEATS: Final = 2
MOST_REPEATS: Final = 5
REPEAT_SECONDS: Final = 600.0


def _is_all(value: object) -> bool:
    return value == "all"


def _is_false(value: bool) -> bool:
    return not value


def _is_true(value: bool) -> bool:
    return value


def _is_empty(value: tuple[object, ...]) -> bool:
    return not value


def _as_usual(value: int) -> bool:
    return value == REPEATS


def _as_usual_in_all(value: float) -> bool:
    return value == REPEAT_SECONDS


class Preparation(Value):
    """How a new workspace is prepared, from the repository's trusted settings."""

    setup: tuple[ValidationStep, ...] = Field(default=(), description="commands that run once in each new workspace")
    copy_paths: tuple[str, ...] = Field(default=(), description="ignored files that are copied from the checkout")
    link: tuple[str, ...] = Field(default=(), description="ignored folders of the checkout that are shared read-only")
    env: dict[str, str] = Field(default_factory=dict, description="variables; `./` is the top of the workspace")
    network: CommandNetwork = Field(default="none", description="the network access of the validation")
    setup_network: CommandNetwork = Field(
        default="all", exclude_if=_is_all, description="the network access of the set-up"
    )
    services: tuple[Service, ...] = Field(
        default=(), exclude_if=_is_empty, description="programs that run beside the commands, started first"
    )
    ports: tuple[str, ...] = Field(
        default=(), exclude_if=_is_empty, description="variables that hold numbers of ports for these"
    )
    filters: bool = Field(
        default=False,
        exclude_if=_is_false,
        description="whether agents and validation see what a checkout shows, and not what git stores",
    )
    clean_room: bool = Field(
        default=True, exclude_if=_is_true, description="whether a validation has to pass in a fresh checkout, too"
    )
    repeat: int = Field(
        default=REPEATS, exclude_if=_as_usual, description="how often a command that failed is run again"
    )
    repeat_seconds: float = Field(
        default=REPEAT_SECONDS, exclude_if=_as_usual_in_all, description="seconds that these runs take in all"
    )
    coverage: str | None = Field(
        default=None, exclude_if=absent, description="the coverage report that the commands write, from the top"
    )

    @property
    def needs_work(self) -> bool:
        """True if a new workspace needs any preparation."""
        return bool(self.setup or self.copy_paths or self.link)

    @property
    def has_own_network(self) -> bool:
        """True if what runs in the workspace shares a network of its own."""
        return bool(self.services or self.ports)


class BaselineCommand(Value):
    """The run of a validation command on the untouched workspace."""

    stage: Stage
    command: str
    startable: bool = Field(description="whether its program can be started, or may be added by the task")
    exit_code: int = Field(description="-1 if it was stopped")
    passed: bool
    seconds: float = 0.0
    detail: str = Field(default="", description="why it could not be started")
    reasons: tuple[str, ...] = Field(default=(), description="the lines that say why it failed")
    sentence: Sentence | None = Field(default=None, exclude_if=absent, description="`detail` as data")
    remedy: str = Field(default="", description="what to add to hansard.toml if it needs something from the checkout")
    remedy_sentence: Sentence | None = Field(default=None, exclude_if=absent, description="`remedy` as data")
    flaky: bool = Field(
        default=False, exclude_if=_is_false, description="whether it failed first and passed when it was run again"
    )
    tests: tuple[RunnerCount, ...] = Field(
        default=(), exclude_if=lambda tests: not tests, description="the tests that it ran, as far as its output says"
    )


class Escape(Value):
    """`what` (a package, module or dependency) would be loaded from `path`, outside the workspace."""

    what: str
    path: str


class Baseline(Value):
    """The results of the preparation, before any agent is asked. With `env`, the workspace takes precedence over other
    folders."""

    commands: tuple[BaselineCommand, ...] = ()
    setup: tuple[SetupCommand, ...] = ()
    escapes: tuple[Escape, ...] = ()
    env: dict[str, str] = Field(default_factory=dict, description="variables for the validation, as in `preparation`")


def unready(baseline: Baseline) -> Failure | None:
    """Tells why the validation would prove nothing, and what to do; None if it can be trusted."""
    for setup in baseline.setup:
        if not setup.passed:
            return Failure.of("setup_failed", with_output(_of_setup(setup), setup.tail))
    for command in baseline.commands:
        if not command.startable:
            remedy = command.remedy_sentence or command.remedy
            why = not_startable(command.command, command.sentence or command.detail, remedy)
            return Failure.of("validation_not_startable", why)
    if baseline.escapes:
        sources = [Sentence("comes_from", what=escape.what, path=escape.path) for escape in baseline.escapes]
        return Failure.of("validation_escapes_workspace", Sentence("validation_escapes", sources=sources))
    return None


def _of_setup(setup: SetupCommand) -> Sentence:
    if not setup.service and setup.exit_code == DID_NOT_EXIT:
        return Sentence("setup_command_not_ended", command=setup.command)
    if not setup.service:
        return Sentence("setup_command_failed", command=setup.command, number=setup.exit_code)
    return Sentence("service_failed", state=service_state(setup))


def service_state(setup: SetupCommand) -> Sentence:
    """Says why a service could not be used: it was not ready in time, or it had ended."""
    if setup.exit_code == DID_NOT_EXIT:
        return Sentence("service_not_ready", name=setup.service, command=setup.command, number=round(setup.seconds, 1))
    return Sentence("service_ended", name=setup.service, command=setup.command, number=setup.exit_code)


def not_startable(command: str, detail: str, remedy: str = "") -> Sentence:
    """The advice for a validation command whose program cannot be started."""
    advice = [detail, remedy or Sentence("install_program"), Sentence("retry_baseline")]
    return Sentence("validation_not_startable", command=command, after=[part for part in advice if part])


def red(commands: Sequence[BaselineCommand]) -> str:
    """The text for developer and reviewer about commands that failed before any change; empty if none did."""
    lines = [_line(command) for command in commands if not command.passed]
    return "\n".join(["These commands failed before any change:", *lines]) if lines else ""


def _line(command: BaselineCommand) -> str:
    reasons = "".join(f"\n  {reason}" for reason in command.reasons)
    return f"- `{command.command}` (exit code {command.exit_code}){reasons}"


def flaky_sentence(flake: Flake) -> Sentence:
    """The record of a flaky command."""
    code = "flaky_known" if flake.known else "flaky_new"
    return Sentence(code, command=flake.command, failed=flake.failed, runs=flake.runs)


def notes_on_validation(validated: Validated | None, flakes: Iterable[Flake]) -> tuple[str, ...]:
    """The notes on the validation that a reader of the result needs, in a few sentences; none where nothing is open."""
    if validated is None:
        return ("Not validated.",)
    alone = () if validated.clean_room else ("Not checked in a clone.",)
    return (*alone, *(str(flaky_sentence(flake)) for flake in flakes if not flake.known))


def flaky_words(flakes: Iterable[Flake]) -> str:
    """The first thing the reviewer reads: the commands that are flaky only with the changes; empty if none are."""
    lines = [
        str(flaky_sentence(flake)) + "".join(f"\n  - {test}" for test in flake.tests)
        for flake in flakes
        if not flake.known
    ]
    return "\n".join(lines)


def weaker_words(weakened: Iterable[Weakening]) -> str:
    """Returns what a reviewer or judge reads about checks that prove less than before the work; empty if there are
    none."""
    head = "The validation proves less than before the work, or may. Check that each of these is right:"
    lines = [f"- {weakening_sentence(weakening)}" for weakening in weakened]
    return "\n".join([head, *lines]) if lines else ""


_NAMES: Final = (
    re.compile(r"(?:FAILED|ERROR)\s+(\S+::.*?)(?: - .*)?"),  # pytest, its summary
    re.compile(r"(?:FAIL|ERROR):\s+(\w+\s+\(.*\))"),  # unittest
    re.compile(r"\s*---\s+FAIL:\s+(\S+).*"),  # go test
    re.compile(r"test\s+(\S.*)\s\.\.\.\s+FAILED"),  # cargo test
    re.compile(r"\s*●\s+(\S.*›.*)"),  # jest
    re.compile(r"\s*(?:✕|✗|×|✖)\s+(\S.*?)(?: \(?\d[\d.]* ?m?s\)?)?"),  # vitest, mocha, node
    re.compile(r"not ok\s+\d+(?: - )?\s*(.*)"),  # TAP
)


def failed_tests(output: str) -> tuple[str, ...]:
    """The names of the tests that failed, as far as the runner names them; at most 20."""
    lines = (_ANSI.sub("", line).rstrip() for line in output.splitlines()[-_LINES:])
    names = (match[1] for line in lines for name in _NAMES if (match := name.fullmatch(line)))
    return tuple(dict.fromkeys(_short(name) for name in names if name.strip()))[:MOST]


def new_failures(reasons: Sequence[str], before: Sequence[BaselineCommand]) -> tuple[str, ...]:
    """The reasons that no command gave before any change. Line numbers are ignored, because they move."""
    earlier = {_without_lines(reason) for command in before for reason in command.reasons}
    return tuple(reason for reason in reasons if _without_lines(reason) not in earlier)


def _without_lines(reason: str) -> str:
    return re.sub(r"(?<=[:(])\d+(?:[:,]\d+)?", "", reason)
