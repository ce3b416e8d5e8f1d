"""Validation commands and what their ends mean (S4 §6.2, behaviour §3.2, K-42)."""

from collections.abc import Sequence

import pytest

from domain.session.validation import (
    CommandRun,
    Ended,
    GivenCommand,
    Stage,
    ValidationStep,
    classify,
    commands,
    outcome,
    stage,
)
from domain.values.base import Invalid, Text


def _outline(steps: Sequence[ValidationStep]) -> list[dict[str, str]]:
    return [{"stage": step.stage, "command": step.command} for step in steps]


def test_a_test_command_alone_follows_lint_and_typecheck() -> None:
    """S4: explicit commands, else pnpm lint, pnpm typecheck, testCommand."""
    assert _outline(commands("pnpm test")) == [
        {"stage": "lint", "command": "pnpm lint"},
        {"stage": "type", "command": "pnpm typecheck"},
        {"stage": "test", "command": "pnpm test"},
    ]


def test_explicit_commands_win_over_the_test_command() -> None:
    """K-42: both are allowed."""
    assert commands("pnpm test", ["ruff check .", " pytest -q "]) == (
        ValidationStep(stage="custom", command="ruff check .", argv=("ruff", "check", ".")),
        ValidationStep(stage="custom", command="pytest -q", argv=("pytest", "-q")),
    )


def test_an_empty_list_of_commands_is_none_at_all() -> None:
    assert _outline(commands("make test", []))[-1] == {"stage": "test", "command": "make test"}


@pytest.mark.parametrize(
    ("test_command", "validation_commands", "errors"),
    [
        (None, None, {"/testCommand": "give a testCommand or validationCommands"}),
        (None, [], {"/testCommand": "give a testCommand or validationCommands"}),
        ("", None, {"/testCommand": "should not be blank"}),
        (" \t", ["pytest"], {"/testCommand": "should not be blank"}),
        (None, ["pytest", "  "], {"/validationCommands/1": "should not be blank"}),
        (None, [[], ["a"], ["", "b"]], {
            "/validationCommands/0": "should not be blank",
            "/validationCommands/2": "should not be blank",
        }),
        (None, [["a", "b\x00"]], {"/validationCommands/0": "holds U+0000"}),
        (None, [7], {"/validationCommands/0": "should be a string or a list of strings"}),
        (None, [["a", 7]], {"/validationCommands/0": "should be a string or a list of strings"}),
        (None, "pytest", {"/validationCommands": "should be a list of commands"}),
        (None, ["a"] * 101, {"/validationCommands": "should have at most 100 entries"}),
        ("a" * 16_385, None, {"/testCommand": "should have at most 16384 characters"}),
        (["a" * 16_385], None, {"/testCommand": "should have at most 16384 characters"}),
        ("'' a", None, {"/testCommand": "names no program"}),
    ],
)  # fmt: skip
def test_an_invalid_command_is_refused_at_its_pointer(
    test_command: GivenCommand | None, validation_commands: list[GivenCommand] | None, errors: dict[str, str]
) -> None:
    with pytest.raises(Invalid) as refused:
        commands(test_command, validation_commands)
    assert refused.value.errors == errors


@pytest.mark.parametrize(
    ("command", "character"),
    [
        ("a; b", ";"),
        ("a && b", "&"),
        ("a || b", "|"),
        ("a > out", ">"),
        ("a < in", "<"),
        ("echo `id`", "`"),
        ("echo $HOME", "$"),
        ("echo $(id)", "$"),
        ("(a)", "("),
        ("a )", ")"),
        ("eslint src/*.ts", "*"),
        ("ls a?", "?"),
        ("ls ~/a", "~"),
        ("a # b", "#"),
        ('echo "$HOME"', "$"),
        ('echo "`id`"', "`"),
        ("echo 'a'; b", ";"),
        ("echo \\\\; b", ";"),
        ('echo "a\\"" | b', "|"),
        ("!x", "!"),
        ("! pytest", "!"),
        ("echo {a,b}", "{…}"),
        ("echo a{b,'c d'}", "{…}"),
        ("echo {{a,b},c}", "{…}"),
        ("echo x{1..3}", "{…}"),
    ],
)
def test_a_command_that_needs_a_shell_is_refused(command: str, character: str) -> None:
    with pytest.raises(Invalid) as refused:
        commands(command)
    advice = "quote it, run a script file, or call a shell: sh -c '…'"
    sentence = f"needs a shell because of {character}, and commands run without one; {advice}"
    assert refused.value.errors == {"/testCommand": sentence}


@pytest.mark.parametrize(
    "command",
    [
        *(
            "cd x",
            "export A=1",
            "source x",
            ". x",
            ": x",
            "alias a=b",
            "set -e",
            "unset A",
            "eval x",
            "exec x",
            "exit 1",
        ),
        *("if true", "for a in b", "while true", "until true", "case a in", "function f", "{ a", "[[ -f a ]]", "cd\tx"),
        *("read", "trap x EXIT", "ulimit -n 9", "wait"),
    ],
)
def test_what_only_a_shell_can_do_is_refused(command: str) -> None:
    """Else the whole budget would go into a program that there is not."""
    with pytest.raises(Invalid) as refused:
        commands(None, [command])
    word = command.split()[0]
    sentence = (
        f"needs a shell because of {word}, and commands run without one; run a script file, or call a shell: sh -c '…'"
    )
    assert refused.value.errors == {"/validationCommands/0": sentence}


@pytest.mark.parametrize(
    "command", ["test -f a", "[ -f a ]", "true", "false", "echo a", "printf a", "time a", "kill 1"]
)
def test_what_a_shell_has_too_is_a_program(command: str) -> None:
    assert commands(None, [command])[0].argv == tuple(command.split())


@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        ("echo 'a", "has an unbalanced quote or a trailing backslash"),
        ('echo "a', "has an unbalanced quote or a trailing backslash"),
        ("echo a\\", "has an unbalanced quote or a trailing backslash"),
        ("CI=1 pnpm test", "starts with a variable assignment, which needs a shell; use env NAME=value …"),
        ("CI=", "starts with a variable assignment, which needs a shell; use env NAME=value …"),
        ("a[0]+=1 b", "starts with a variable assignment, which needs a shell; use env NAME=value …"),
        ("a\nb", "should be one line without control characters; put longer commands into a script file"),
        ("a 'b\nc'", "should be one line without control characters; put longer commands into a script file"),
        ("a\x00", "should be one line without control characters; put longer commands into a script file"),
    ],
)
def test_a_command_that_cannot_be_split_is_refused(command: str, sentence: str) -> None:
    with pytest.raises(Invalid) as refused:
        commands(command)
    assert refused.value.errors == {"/testCommand": sentence}


@pytest.mark.parametrize(
    ("command", "argv"),
    [
        ("python -c 'import sys; sys.exit(1)'", ("python", "-c", "import sys; sys.exit(1)")),
        ('pytest -k "a and (b or c)"', ("pytest", "-k", "a and (b or c)")),
        ("eslint 'src/**/*.ts'", ("eslint", "src/**/*.ts")),
        ("pytest tests/a.py::test[b~c#d]", ("pytest", "tests/a.py::test[b~c#d]")),
        ("a\tb\\ c \\$d ''", ("a", "b c", "$d", "")),
        ("env CI=1 pnpm test", ("env", "CI=1", "pnpm", "test")),
        ("sh -c 'cd a; b {c,d} $E'", ("sh", "-c", "cd a; b {c,d} $E")),
        (
            "echo '{a,b}' \"{1..3}\" \\{c,d} {} {0} @{u} a! cd !",
            ("echo", "{a,b}", "{1..3}", "{c,d}", "{}", "{0}", "@{u}", "a!", "cd", "!"),
        ),
        ("'cd' a", ("cd", "a")),
        ("./cd a", ("./cd", "a")),
        ("cd.py a=~b x~", ("cd.py", "a=~b", "x~")),
        (["sh", "-c", "a | b > $C"], ("sh", "-c", "a | b > $C")),
        (["cd", "~"], ("cd", "~")),
        (["a", " b\nc ", ""], ("a", " b\nc ", "")),
    ],
)
def test_quoted_and_listed_arguments_are_taken_literally(command: GivenCommand, argv: tuple[str, ...]) -> None:
    assert commands(None, [command])[0].argv == argv


def test_a_listed_command_is_shown_as_one_would_type_it() -> None:
    assert commands(None, [["sh", "-c", "npm test"]])[0] == ValidationStep(
        stage="test", command="sh -c 'npm test'", argv=("sh", "-c", "npm test")
    )


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("pnpm lint", "lint"),
        ("npx ESLint .", "lint"),
        ("pnpm lint:types && tsc", "lint"),
        ("pnpm typecheck", "type"),
        ("npx tsc --noEmit", "type"),
        ("pnpm test", "test"),
        ("pnpm test:unit", "test"),
        ("pytest", "test"),
        ("npx vitest run", "test"),
        ("npx jest --ci", "test"),
        ("pytest -q", "custom"),
        ("make check", "custom"),
        ("true", "custom"),
    ],
)
def test_the_stage_follows_from_the_text(command: str, expected: Stage) -> None:
    assert stage(command) == expected


def _run(
    command: str = "x", code: int = 0, *, at: Stage = "custom", ended: Ended = "exited", out: str = "", err: str = ""
) -> CommandRun:
    return CommandRun(
        stage=at,
        command=command,
        argv=(command,),
        exit_code=code,
        seconds=1.5,
        ended=ended,
        stdout=Text.of(out)[0],
        stderr=Text.of(err)[0],
    )


@pytest.mark.parametrize(
    ("run", "expected"),
    [
        (_run(code=1, at="lint", err="Traceback"), "lint"),
        (_run(code=2, at="type"), "type"),
        (_run(code=-9, at="test"), "test"),
        (_run(code=-1, at="test", ended="not_started"), "runtime"),
        (_run(code=-1, at="lint", ended="timeout"), "runtime"),
        (_run(code=0, at="lint", ended="cancelled"), "runtime"),
        (_run(code=-1, at="type"), "runtime"),
        (_run(code=1, out="src/a.ts(1,2): error TS2322: nope"), "type"),
        (_run(code=1, out="TypeError: x is not a function"), "type"),
        (_run(code=1, err="eslint found 2 problems"), "lint"),
        (_run(code=1, out="/w/a.js\n  1:7  error  'x' is never used  no-unused-vars\n"), "lint"),
        (_run(code=1, out="\u2716 1 problem (1 error, 0 warnings)"), "lint"),
        (_run(code=1, out="a.py:1:1: F401 'os' imported but unused"), "lint"),
        (_run(code=1, out="=== 2 failed, 3 passed in 0.1s ==="), "test"),
        (_run(code=1, err="AssertionError"), "test"),
        (_run(code=1, err="Traceback (most recent call last)"), "runtime"),
        (_run(code=127, err="sh: x: command not found"), "runtime"),
        (_run(code=1, out="0 failed"), "unknown"),
        (_run(code=1), "unknown"),
    ],
)
def test_a_failure_has_the_class_of_its_stage_or_its_output(run: CommandRun, expected: str) -> None:
    assert classify(run.stage, run) == expected


def test_nothing_that_ran_proves_nothing() -> None:
    verdict = outcome([])
    assert (verdict.passed, verdict.failure_class) == (False, "unknown")
    assert verdict.summary == "No validation command was run."


def test_validation_passes_when_every_command_did() -> None:
    verdict = outcome([_run("pnpm lint", at="lint"), _run("pnpm test", at="test")])
    assert (verdict.passed, verdict.failure_class) == (True, None)
    assert verdict.summary == "Validation passed: 2 commands in 3.0 s."


@pytest.mark.parametrize("ended", ["not_started", "timeout", "idle", "limit", "cancelled"])
def test_a_command_that_was_stopped_never_passes(ended: Ended) -> None:
    assert not outcome([_run(code=0, ended=ended)]).passed


def test_the_first_failure_names_the_reason() -> None:
    runs = [_run("a"), _run("pnpm test", 1, at="test", out="one\n\x1b[31mtwo\x1b[0m\x07\n", err="three"), _run("b", 2)]
    verdict = outcome(runs)
    assert (verdict.passed, verdict.failure_class, len(verdict.runs)) == (False, "test", 3)
    assert verdict.summary == "Validation failed (test): `pnpm test` ended with exit code 1.\none\ntwo\nthree"


def test_a_timeout_says_after_how_long() -> None:
    verdict = outcome([_run("sleep 9", -1, ended="timeout")])
    assert verdict.summary == "Validation failed (runtime): `sleep 9` was stopped after 2 s."


def test_the_known_reason_of_the_end_is_shown_instead() -> None:
    run = _run("x", -1, ended="limit", err="done: 5").model_copy(update={"reason": "was stopped by its limit"})
    assert outcome([run]).summary == "Validation failed (runtime): `x` was stopped by its limit.\ndone: 5"


def test_the_summary_keeps_the_end_of_a_long_output() -> None:
    summary = outcome([_run("x" * 300, 1, out="a" * 5000 + "the end")]).summary
    assert len(summary) <= 2000
    assert summary.startswith(f"Validation failed (unknown): `{'x' * 200}…` ended with exit code 1.\n…aaa")
    assert summary.endswith("aaathe end")


def test_a_cut_output_is_classified_by_the_end_that_was_kept() -> None:
    run = _run("x", 1, out="a" * 20_000).model_copy(update={"tail": "3 tests failed"})
    assert outcome([run]).summary == "Validation failed (test): `x` ended with exit code 1.\n3 tests failed"
