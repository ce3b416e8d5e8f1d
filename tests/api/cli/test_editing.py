"""A person writes in their editor: it is the one that they expect, and what it leaves is what counts."""

import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from api.cli import comments, revision
from tests.api.cli.conftest import Hansard
from tests.api.cli.test_results import here

__all__ = ["here"]

Edits = Callable[[str], Path]


@pytest.fixture
def edits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Edits:
    """Has a program as the editor that runs these lines with `text`, and keeps what it was shown."""
    for module in (comments, revision):
        monkeypatch.setattr(module, "is_interactive", lambda: True)
    for name in ("GIT_EDITOR", "VISUAL"):
        monkeypatch.delenv(name, raising=False)
    shown = tmp_path / "shown"

    def choose(lines: str) -> Path:
        program = tmp_path / "my editor.py"
        head = "import pathlib, sys\nfile = pathlib.Path(sys.argv[-1])\ntext = file.read_text()\n"
        head += f"pathlib.Path({str(shown)!r}).write_text(text)\n"
        program.write_text(f"{head}{lines}\n")
        monkeypatch.setenv("EDITOR", shlex.join([sys.executable, str(program), "--wait"]))
        return shown

    return choose


BELOW = "file.write_text(text.replace('|{}\\n', '|{}\\nWhy?\\n'))"
EMPTY = "file.write_text('')"


def listed(hansard: Hansard) -> list[Any]:
    items: list[Any] = hansard("comments", "latest", "--json").json["items"]
    return items


def revisions(hansard: Hansard) -> list[str]:
    lines = hansard("events", "latest", "--json").out.splitlines()
    return [line for line in lines if '"session.revision_requested"' in line]


def added(hansard: Hansard) -> str:
    """A line that the result has added."""
    patch = hansard("changes", "latest").out
    return next(line[1:] for line in patch.splitlines() if line.startswith("+") and not line.startswith("+++"))


def test_words_below_a_line_are_a_comment_on_it(hansard: Hansard, here: Path, delivered: str, edits: Edits) -> None:
    line = added(hansard)
    shown = edits(BELOW.format(line, line))
    assert hansard("comment", "latest").code == 0
    [made] = listed(hansard)
    assert (made["text"], made["quote"]) == ("Why?", [line])
    assert shown.read_text().startswith("\n> Write above everything")


def test_words_above_everything_are_about_the_whole_or_the_file(
    hansard: Hansard, here: Path, delivered: str, edits: Edits
) -> None:
    edits("file.write_text('Good.' + text)")
    assert hansard("comment", "latest").code == 0
    assert hansard("comment", "latest", "a.txt").code == 0
    assert [(each["text"], each["path"]) for each in listed(hansard)] == [("Good.", None), ("Good.", "a.txt")]


@pytest.mark.parametrize("lines", [EMPTY, "file.write_text(' \\n')", "pass"])
@pytest.mark.parametrize("words", [("comment", "latest"), ("comment", "latest", "a.txt:1"), ("revise", "latest")])
def test_nothing_is_recorded_where_nothing_was_written(
    hansard: Hansard, here: Path, delivered: str, edits: Edits, words: tuple[str, ...], lines: str
) -> None:
    edits(lines)
    before = hansard("events", "latest", "--json").out
    said = hansard(*words)
    assert said.code == 0 and "nothing was recorded" in said.err
    assert hansard("events", "latest", "--json").out == before


def test_without_an_editor_the_words_come_from_the_option_whatever_they_begin_with(
    hansard: Hansard, here: Path, delivered: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("api.cli.comments.is_interactive", lambda: False)
    silent = hansard("comment", "latest")
    assert silent.code == 2 and "--message TEXT, or --message - for stdin" in silent.err
    assert hansard("comment", "latest", "--message=--json").code == 0
    assert listed(hansard)[-1]["text"] == "--json"


def test_a_path_as_a_shell_completes_it_is_one_of_the_repository(
    hansard: Hansard, here: Path, delivered: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(here)
    made = hansard("comment", "latest", f"{here}/a.txt:1", "-m", "One.")
    assert (made.code, made.err) == (0, "Comment c1 on a.txt:1.\n    | one\n")  # the line that it is about
    (here / "sub").mkdir()
    monkeypatch.chdir(here / "sub")
    assert hansard("comment", "latest", "../a.txt:1", "-m", "Two.").code == 0
    assert [(each["path"], each["line"]) for each in listed(hansard)] == [("a.txt", 1)] * 2
    outside = hansard("comment", "latest", "../../a.txt:1", "-m", "Three.")
    assert outside.code == 2 and "is not in the repository" in outside.err


@pytest.mark.parametrize("words", [("--at", "3", "--resolve", "c1"), ("--reason", "Why?")])
def test_what_would_be_ignored_is_refused(hansard: Hansard, here: Path, delivered: str, words: tuple[str, ...]) -> None:
    hansard("comment", "latest", "-m", "Say it shorter.")
    assert hansard("comments", "latest", *words).code == 2
    assert listed(hansard)[-1]["status"] == "open"


def test_a_request_with_open_comments_is_cancelled_by_an_empty_file_alone(
    hansard: Hansard, here: Path, delivered: str, edits: Edits
) -> None:
    assert hansard("comment", "latest", "-m", "Say it shorter.").code == 0
    edits(EMPTY)
    assert "nothing was recorded" in hansard("revise", "latest").err
    assert revisions(hansard) == []
    shown = edits("pass")
    assert hansard("revise", "latest").code == 0
    assert len(revisions(hansard)) == 1
    assert "> Open comments that go with it: c1." in shown.read_text()


@pytest.mark.parametrize(
    ("lines", "words"), [("sys.exit(3)", "ended with an error"), ("file.unlink()", "nothing was recorded")]
)
@pytest.mark.parametrize("command", ["comment", "revise"])
def test_an_editor_that_fails_or_removes_the_file_records_nothing(
    hansard: Hansard, here: Path, delivered: str, edits: Edits, command: str, lines: str, words: str
) -> None:
    edits(lines)
    said = hansard(command, "latest")
    assert words in said.err and "Traceback" not in said.err
    assert listed(hansard) == [] and revisions(hansard) == []


def test_an_editor_that_is_not_there_is_named(
    hansard: Hansard, here: Path, delivered: str, edits: Edits, monkeypatch: pytest.MonkeyPatch
) -> None:
    edits("pass")
    for command in ("/nowhere/editor", "unclosed 'quote"):
        monkeypatch.setenv("EDITOR", command)
        said = hansard("comment", "latest")
        assert said.code == 2 and command in said.err


def test_the_editor_is_chosen_in_the_order_of_git(
    hansard: Hansard, here: Path, delivered: str, edits: Edits, monkeypatch: pytest.MonkeyPatch
) -> None:
    edits("file.write_text('EDITOR' + text)")
    for number, (name, word) in enumerate((("EDITOR", ""), ("VISUAL", "visual"), ("GIT_EDITOR", "git"))):
        if word:
            monkeypatch.setenv(name, f"sh -c 'echo {word} > \"$1\"' -")
        assert hansard("comment", "latest").code == 0
        assert listed(hansard)[number]["text"] == (word or "EDITOR")
    monkeypatch.setenv("GIT_EDITOR", " ")
    assert hansard("comment", "latest").code == 0
    assert listed(hansard)[3]["text"] == "visual"


def test_words_that_are_refused_are_kept(hansard: Hansard, here: Path, delivered: str, edits: Edits) -> None:
    edits("file.write_text('All my words.' + text)")
    said = hansard("revise", "latest", "--iterations", "99")
    assert said.code == 2
    kept = next(word.rstrip(".") for word in said.err.split() if "hansard-comment-" in word)
    assert "All my words." in Path(kept).read_text()
    Path(kept).unlink()


def test_a_request_comes_through_stdin(
    hansard: Hansard, here: Path, delivered: str, edits: Edits, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "words").write_text("From a pipe.\n")
    with (tmp_path / "words").open() as stdin:
        monkeypatch.setattr("sys.stdin", stdin)
        assert hansard("revise", "latest", "-m", "-").code == 0
    [event] = [each for each in hansard("events", "latest", "--json").out.splitlines() if "revision_requested" in each]
    assert "From a pipe." in event


def test_what_happens_next_is_said_and_true(hansard: Hansard, here: Path, delivered: str) -> None:
    """Without a server it is run by `resume`; a request while the work goes on is taken up after it."""
    first = hansard("revise", "latest", "-m", "Again.")
    assert "Requested changes" in first.err and "Waits for" in first.err and "hansard resume" in first.err
    assert "takes it up" not in first.err
    second = hansard("revise", "latest", "-m", "And this.")
    assert "The next turn that writes takes it up." in second.err
    assert hansard("resume", "latest").code == 0
    assert len(revisions(hansard)) == 2
    assert '"queued"' not in hansard("show", "latest", "--json").out


def test_quiet_shows_phases_only(hansard: Hansard, here: Path, delivered: str) -> None:
    said = hansard("revise", "latest", "-m", "Again.", "--wait", "--quiet")
    assert said.code == 0, said.err
    assert "answered in" not in said.err and "implementation" in said.err.lower()
    assert "answered in" in hansard("revise", "latest", "-m", "Once more.", "--wait").err
