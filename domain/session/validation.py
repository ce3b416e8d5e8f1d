"""Validation: which commands prove an iteration, and what their results mean (S4 §6.2, behaviour §3.2, K-42).

A command is a list of arguments. It never runs in a shell, so words that only a shell understands are refused at the
start, instead of being passed literally to a program.
"""

import re
import shlex
from collections.abc import Sequence
from typing import Literal

from pydantic import Field

from domain.values.base import Invalid, Text, Value, absent
from domain.values.sentences import Sentence, sentence_of

Stage = Literal["lint", "type", "test", "custom"]
FailureClass = Literal["lint", "type", "test", "runtime", "unknown"]
Ended = Literal["exited", "not_started", "timeout", "idle", "limit", "cancelled"]

DEFAULT_COMMANDS = ("pnpm lint", "pnpm typecheck")
"""What runs before a `testCommand` that is given without other commands."""

MOST_COMMANDS = 100
LONGEST_COMMAND = 16_384
"""Maximum length of a command."""

LONGEST_SUMMARY = 2_000
"""Characters."""

DID_NOT_EXIT = -1
"""The exit code of a command that could not start or was stopped."""

GivenCommand = str | Sequence[str]
"""A command line as typed, or the arguments themselves, taken literally."""

_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:\[[^\]]*\])?\+?=")
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
_QUOTED = re.compile(
    r"""\\. | '[^']*+' | "(?P<double>[^"\\]*+(?:\\.[^"\\]*+)*+)" """,
    re.VERBOSE | re.DOTALL,
)
_EXPANSION = re.compile(r"[`$]")
_LITERAL = "\x00"
"""Replaces quoted text; a command that is split never contains this character."""
_SHELL = re.compile(r"[;&|><`$()*?]|(?<!\S)[~#]")
_BRACES = re.compile(r"\{((?:[^\s{}]|\{[^\s{}]*+\})*+)\}")
# fmt: off
_SHELL_WORDS = frozenset((
    ".", ":", "alias", "bg", "bind", "break", "builtin", "caller", "case", "cd", "command", "compgen",
    "complete", "compopt", "continue", "coproc", "declare", "dirs", "disown", "do", "done", "elif", "else",
    "enable", "esac", "eval", "exec", "exit", "export", "fc", "fg", "fi", "for", "function", "getopts", "hash",
    "help", "history", "if", "jobs", "let", "local", "logout", "mapfile", "popd", "pushd", "read", "readarray",
    "readonly", "return", "select", "set", "shift", "shopt", "source", "suspend", "then", "times", "trap",
    "type", "typeset", "ulimit", "umask", "unalias", "unset", "until", "wait", "while", "{", "}", "[[", "]]",
))
# fmt: on
"""Builtins and keywords that are not also programs, as `test`, `[`, `echo`, `kill` and `time` are."""
_ANSI = re.compile(r"\x1b\[[0-9;?]*+[ -/]*+[@-~]")
_UNPRINTABLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")

_SIGNS: tuple[tuple[FailureClass, re.Pattern[str]], ...] = (
    ("type", re.compile(r"error TS\d|\btype ?error|\btypecheck|\bmypy\b|\bpyright\b|\bis not assignable to\b", re.I)),
    (
        "lint",
        re.compile(
            r"\b(?:es|style|oxc)?lint\b|\bprettier\b|\bruff\b|\bflake8\b|\bbiome\b"
            r"|\bproblems? \(\d+ errors?, \d+ warnings?\)|^[ \t]*+\d+:\d+[ \t]++(?:error|warning)[ \t]"
            r"|^\S+:\d+:\d+: [A-Z]{1,4}\d{2,4}\b",
            re.I | re.M,
        ),
    ),
    (
        "test",
        re.compile(r"\b[1-9]\d* (?:tests? )?fail|\btests? failed\b|\bassert|\bvitest\b|\bjest\b|\bpytest\b", re.I),
    ),
    (
        "runtime",
        re.compile(
            r"\bTraceback\b|\b(?:Syntax|Reference|Import|ModuleNotFound)Error\b|\bcannot find module\b|\bpanic"
            r"|\bsegmentation fault\b|\bcommand not found\b|\bE(?:NOENT|ACCES|ADDRINUSE|CONNREFUSED)\b"
            r"|\bout of memory\b|\bkilled\b",
            re.I,
        ),
    ),
)
"""Patterns that classify the output of a custom command, tried in this order."""


class ValidationStep(Value):
    """A command to run: its stage, its original text, its arguments."""

    stage: Stage
    command: str
    argv: tuple[str, ...]


class SetupCommand(Value):
    """The run of a set-up command, or the start of a service that did not get ready."""

    command: str
    service: str = Field(default="", exclude_if=lambda name: not name, description="the name of that service")
    exit_code: int = Field(description="-1 if it was stopped")
    passed: bool
    seconds: float = 0.0
    tail: str = Field(default="", description="the end of its output, if it failed")


Cause = Literal["only_passes_with_leftovers", "setup_failed", "no_tests"]
"""Why a validation failed, where that is more than a command that failed."""


class CleanRoom(Value):
    """The commands in a fresh checkout of the recorded tree, where nothing is that a clone would not have."""

    needed: bool = Field(description="false where the run in the workspace was the clean one itself")
    seconds: float = Field(default=0.0, description="how long it took, the set-up included")
    setup: tuple[SetupCommand, ...] = Field(default=(), description="the set-up commands that ran there")
    same: bool = Field(default=True, description="whether the commands ended there as in the workspace")
    stale: tuple[str, ...] = Field(
        default=(),
        exclude_if=lambda stale: not stale,
        description="the commands that failed each time in the workspace, by what its set-up had left, and passed here",
    )


class Flake(Value):
    """A command that failed and passed on the same tree: at most `repeat` failures in a row."""

    stage: Stage
    command: str
    runs: int = Field(description="how often it was run, the first time included")
    failed: int = Field(description="how often it failed")
    tests: tuple[str, ...] = Field(default=(), description="the tests that failed, as far as the output names them")
    known: bool = Field(default=False, description="whether it is flaky without the changes, too")


class LineRange(Value):
    """Lines from one number to another, both included."""

    first: int
    last: int


class NotRun(Value):
    """Lines that the work added to a file and no validation has run."""

    path: str
    lines: tuple[LineRange, ...]
    in_report: bool = Field(
        default=True,
        exclude_if=lambda in_report: in_report,
        description="false where the report has files of this kind, but not this one",
    )


class WorkCoverage(Value):
    """What the coverage report of a validation says about the lines that the work added."""

    path: str = Field(description="the report, from the top of the repository")
    not_run: tuple[NotRun, ...] = Field(default=(), description="by file; the lines that no command has run")
    cut: bool = Field(default=False, exclude_if=lambda cut: not cut, description="whether there are more lines")
    problem: Sentence | None = Field(default=None, exclude_if=absent, description="why the report says nothing")


class Validated(Value):
    """The last validation of the result."""

    commands: tuple[str, ...]
    clean_room: bool = Field(description="whether the commands were run as in a clone of the result")
    version: int = Field(description="the event that recorded it")
    passed: bool


class CommandRun(Value):
    """A command that was run, or should have been; `exit_code` is `DID_NOT_EXIT` unless it `exited` by itself."""

    stage: Stage
    command: str
    argv: tuple[str, ...]
    exit_code: int
    seconds: float = 0.0
    ended: Ended = "exited"
    stdout: Text = Text()
    stderr: Text = Text()
    truncated: bool = False
    reason: str = Field(default="", description="how it ended, where more is known of that than `ended` says")
    tail: str = Field(default="", description="the end of the output, where a `Text` keeps only its beginning")
    no_tests: bool = Field(default=False, description="whether it ran no test, although it did before the work")

    @property
    def passed(self) -> bool:
        return self.ended == "exited" and self.exit_code == 0 and not self.no_tests


class ValidationResult(Value):
    """The result that the runs of a validation prove. `summary` is one or two sentences and the end of the failing
    output."""

    passed: bool
    failure_class: FailureClass | None
    runs: tuple[CommandRun, ...]
    summary: str
    sentence: Sentence | None = Field(default=None, description="how the command that failed ended")


def commands(
    test_command: GivenCommand | None = None, validation_commands: Sequence[GivenCommand] | None = None
) -> tuple[ValidationStep, ...]:
    """The explicit commands, otherwise `pnpm lint`, `pnpm typecheck` and the test command (S4, K-42).

    If both are given, the explicit commands win, but the test command still has to be valid. Raises `Invalid` with a
    pointer for each blank or malformed command, or one that needs a shell.
    """
    errors: dict[str, str] = {}
    test = [] if test_command is None else [_step(test_command, "/testCommand", errors)]
    if isinstance(validation_commands, str):
        raise Invalid({"/validationCommands": Sentence("not_a_list_of_commands")})
    entries = list(validation_commands or ())
    if len(entries) > MOST_COMMANDS:
        raise Invalid({"/validationCommands": Sentence("too_many_entries", number=MOST_COMMANDS)})
    explicit = [_step(command, f"/validationCommands/{index}", errors) for index, command in enumerate(entries)]
    if not test and not explicit:
        errors["/testCommand"] = Sentence("validation_missing")
    if errors:
        raise Invalid(errors)
    chosen = explicit or [*(_split(command) for command in DEFAULT_COMMANDS), *test]
    return tuple(step for step in chosen if step is not None)


def stage(command: str) -> Stage:
    """The purpose of a command, guessed from its text (behaviour §3.2)."""
    text = command.lower()
    if "lint" in text:
        return "lint"
    if "typecheck" in text or "tsc" in text:
        return "type"
    if " test" in text or text.endswith("test") or "vitest" in text or "jest" in text:
        return "test"
    return "custom"


def classify(stage: Stage, run: CommandRun) -> FailureClass:
    """The class of a failed run: `runtime` if it was stopped, otherwise its stage.

    A custom command is classified by its output: the first class in the order of `_SIGNS` wins.
    """
    if run.ended != "exited" or run.exit_code == DID_NOT_EXIT:
        return "runtime"
    if stage != "custom":
        return stage
    output = f"{run.stdout.head}\n{run.stderr.head}\n{run.tail}"
    return next((failure for failure, sign in _SIGNS if sign.search(output)), "unknown")


def outcome(runs: Sequence[CommandRun]) -> ValidationResult:
    """Returns what the runs prove: passed if there is at least one and none failed; otherwise, the first failure
    explains why."""
    if not runs:
        return ValidationResult(
            passed=False, failure_class="unknown", runs=(), summary="No validation command was run."
        )
    failed = next((run for run in runs if not run.passed), None)
    if failed is None:
        noun = "command" if len(runs) == 1 else "commands"
        seconds = sum(run.seconds for run in runs)
        summary = f"Validation passed: {len(runs)} {noun} in {seconds:.1f} s."
        return ValidationResult(passed=True, failure_class=None, runs=tuple(runs), summary=summary)
    failure, sentence = classify(failed.stage, failed), ending(failed)
    first = f"Validation failed ({failure}): {sentence}"
    summary = "\n".join(filter(None, (first, _tail(failed, LONGEST_SUMMARY - len(first) - 2))))
    return ValidationResult(passed=False, failure_class=failure, runs=tuple(runs), summary=summary, sentence=sentence)


def ending(run: CommandRun) -> Sentence:
    """Returns how the command ended."""
    shown = run.command if len(run.command) <= 200 else f"{run.command[:200]}…"
    return Sentence("command_ended", command=shown, end=_end(run))


def _step(entry: object, pointer: str, errors: dict[str, str]) -> ValidationStep | None:
    try:
        return _split(entry) if isinstance(entry, str) else _literal(entry)
    except ValueError as problem:
        errors[pointer] = sentence_of(problem)
        return None


def _split(command: str) -> ValidationStep:
    words = command.strip()
    _check(words)
    _check_needs_no_shell(words)
    argv = shlex.split(words)
    if not argv[0]:
        raise ValueError(Sentence("command_names_no_program"))
    return ValidationStep(stage=stage(words), command=words, argv=tuple(argv))


def _literal(entry: object) -> ValidationStep:
    if not isinstance(entry, Sequence) or isinstance(entry, bytes) or not all(isinstance(word, str) for word in entry):
        raise ValueError(Sentence("not_a_command"))
    argv = tuple(str(word) for word in entry)
    if not argv or not argv[0].strip():
        raise ValueError(Sentence("blank"))
    if any("\x00" in word for word in argv):
        raise ValueError(Sentence("holds_nul"))
    words = shlex.join(argv)
    if len(words) > LONGEST_COMMAND:
        raise ValueError(Sentence("too_many_characters", number=LONGEST_COMMAND))
    return ValidationStep(stage=stage(words), command=words, argv=argv)


def _check(words: str) -> None:
    if not words:
        raise ValueError(Sentence("blank"))
    if len(words) > LONGEST_COMMAND:
        raise ValueError(Sentence("too_many_characters", number=LONGEST_COMMAND))
    if _CONTROL.search(words):
        raise ValueError(Sentence("command_not_one_line"))


def _check_needs_no_shell(words: str) -> None:
    """Quoted and escaped characters are literal, except for expansions that a shell does in double quotes."""
    bare = _QUOTED.sub(_unquoted, words)
    if any(quote in bare for quote in "'\"\\"):
        raise ValueError(Sentence("command_unbalanced"))
    if _ASSIGNMENT.match(bare):
        raise ValueError(Sentence("command_sets_variable"))
    if sign := _of_a_shell(bare):
        code = "command_needs_shell" if sign in _SHELL_WORDS else "command_needs_quoting"
        raise ValueError(Sentence(code, sign=sign))


def _unquoted(token: re.Match[str]) -> str:
    """Returns what a shell would still expand in quoted text."""
    expansion = _EXPANSION.search(token["double"] or "")
    return expansion.group() if expansion else _LITERAL


def _of_a_shell(bare: str) -> str | None:
    """Parts that only a shell understands: a first word, a character, brace expansion."""
    first = bare.split(maxsplit=1)[0]
    if first in _SHELL_WORDS or first.startswith("!"):
        return first if first in _SHELL_WORDS else "!"
    if character := _SHELL.search(bare):
        return character.group()
    several = any("," in braces or ".." in braces for braces in _BRACES.findall(bare))
    return "{…}" if several else None


def _end(run: CommandRun) -> str:
    if run.reason:
        return run.reason
    match run.ended:
        case "exited" if run.no_tests:
            return Sentence("end_without_tests")
        case "exited":
            return Sentence("end_by_exit", number=run.exit_code)
        case "not_started":
            return Sentence("end_before_start")
        case "timeout":
            return Sentence("end_by_time", number=run.seconds)
        case "idle":
            return Sentence("end_by_silence")
        case "limit":
            return Sentence("end_by_limit")
        case "cancelled":
            return Sentence("end_by_cancelling")


def _tail(run: CommandRun, limit: int) -> str:
    """The end of the output, stderr last, without terminal control sequences."""
    parts = [run.tail] if run.tail else [run.stdout.head, run.stderr.head]
    output = "\n".join(plain for part in parts if (plain := _plain(part)))
    return output if len(output) <= limit else f"…{output[1 - limit :]}"


def _plain(output: str) -> str:
    return _UNPRINTABLE.sub("", _ANSI.sub("", output)).strip()
