"""`hansard review --diff`: the user's changes as the reviewers get them."""

import asyncio
from pathlib import Path

import pytest

from api.cli import review
from api.cli.exits import Failed
from tests.api.cli.conftest import Hansard, Result, git


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with one commit, as the working directory."""
    path = tmp_path / "mine"
    git(tmp_path, "init", "-q", "-b", "main", str(path))
    (path / "값.py").write_text("one\n", encoding="utf-8")
    (path / "b.py").write_text("one\n")
    _commit(path)
    monkeypatch.chdir(path)
    return path


def _commit(path: Path) -> None:
    git(path, "add", ".")
    git(path, "commit", "-q", "-m", "x")


def _subject(hansard: Hansard, result: Result) -> str:
    return str(hansard("show", result.out.strip(), "--json").json["session"]["subject"])


def test_staged_and_unstaged_changes_and_untracked_files_are_reviewed(hansard: Hansard, mine: Path) -> None:
    (mine / "값.py").write_text("둘\n", encoding="utf-8")
    (mine / "b.py").write_text("three\n")
    (mine / "새 파일.txt").write_text("secret")
    (mine / "ignored").write_text("x")
    (mine / ".git" / "info" / "exclude").write_text("ignored\n")
    git(mine, "add", "b.py")
    result = hansard("review", "--diff", "--detach")
    assert result.code == 0
    subject = _subject(hansard, result)
    head = git(mine, "rev-parse", "HEAD")[:10]
    assert subject.startswith(f"Step: the changes in the repository mine since the last commit ({head})")
    for line in ("+둘", "+three", "-one", "+secret", "diff --git a/값.py b/값.py"):
        assert line in subject.splitlines()
    assert "3 files changed" in subject
    assert "ignored" not in subject
    assert '?? "새 파일.txt"' in git(mine, "-c", "core.quotePath=false", "status", "--porcelain")
    session = hansard("show", result.out.strip(), "--json").json["session"]
    assert session["title"] == "Uncommitted changes in mine"
    assert session["workspace"] == str(mine)


def test_from_below_and_from_elsewhere_the_whole_repository_is_meant(
    hansard: Hansard, mine: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (mine / "b.py").write_text("two\n")
    (mine / "sub").mkdir()
    monkeypatch.chdir(mine / "sub")
    assert "+two" in _subject(hansard, hansard("review", "--diff", "--detach"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere"))
    assert "+two" in _subject(hansard, hansard("review", "--repo", "mine", "--detach", "--title", "x"))


def test_review_against_a_base_shows_only_the_branch(hansard: Hansard, mine: Path) -> None:
    git(mine, "checkout", "-q", "-b", "work")
    (mine / "b.py").write_text("mine\n")
    _commit(mine)
    git(mine, "checkout", "-q", "main")
    (mine / "값.py").write_text("theirs\n", encoding="utf-8")
    _commit(mine)
    git(mine, "checkout", "-q", "work")
    (mine / "c.py").write_text("more\n")
    git(mine, "add", ".")
    subject = _subject(hansard, hansard("review", "--base", "main", "--detach"))
    assert "+mine" in subject
    assert "+more" in subject
    assert "theirs" not in subject
    assert "since main (" in subject


def test_before_the_first_commit_everything_staged_is_new(hansard: Hansard, tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "fresh")
    (tmp_path / "fresh" / "a.py").write_text("first\n")
    git(tmp_path / "fresh", "add", ".")
    result = hansard("review", "--diff", "--repo", str(tmp_path / "fresh"), "--detach")
    subject = _subject(hansard, result)
    assert "since the beginning" in subject
    assert "+first" in subject


def test_nothing_changed_is_nothing_to_review(hansard: Hansard, mine: Path) -> None:
    result = hansard("review", "--diff")
    assert result == Result(0, "", f"Nothing to review: {mine} has no uncommitted changes.\n")
    result = hansard("review", "--base", "HEAD")
    assert result == Result(0, "", f"Nothing to review: {mine} has no changes since HEAD.\n")
    assert hansard("list", "--json").json["items"] == []


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--diff", "--repo", "../here"), "/here is not in a git repository.\n"),
        (("--diff", "--repo", "../mine/.git"), "/.git is in a git repository without a checkout.\n"),
        (("--base", "nope"), "/mine has no such revision.\n"),
        (("--base=--output=x",), "/mine has no such revision.\n"),
    ],
)
def test_invalid_base_is_a_usage_error(hansard: Hansard, mine: Path, words: tuple[str, ...], sentence: str) -> None:
    result = hansard("review", *words)
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith("hansard: ")
    assert result.err.endswith(sentence)
    assert not (mine / "x").exists()


def test_nothing_of_the_repository_is_executed_for_it(mine: Path, tmp_path: Path) -> None:
    trace = tmp_path / "executed"
    git(mine, "config", "diff.external", f"touch {trace}; true")
    git(mine, "config", "diff.odd.textconv", f"touch {trace}; cat")
    git(mine, "config", "core.pager", f"touch {trace}; cat")
    (mine / ".git" / "info" / "attributes").write_text("*.py diff=odd\n")
    (mine / "b.py").write_text("two\n")
    result = asyncio.run(review.changes(mine, base=None))
    assert result is not None
    assert "+two" in result.text
    assert not trace.exists()


def test_colours_and_prefixes_of_the_persons_own_do_not_get_into_it(mine: Path) -> None:
    for name, value in (("color.ui", "always"), ("diff.renames", "false")):
        git(mine, "config", name, value)
    git(mine, "mv", "b.py", "c.py")
    result = asyncio.run(review.changes(mine, base=None))
    assert result is not None
    assert "rename from b.py" in result.text
    assert "\x1b" not in result.text


def test_a_long_diff_is_cut_at_a_line_and_says_so(mine: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (mine / "b.py").write_text("한글 한 줄\n" * 40_000)
    result = asyncio.run(review.changes(mine, base=None))
    assert result is not None
    assert review.MOST < len(result.text) < review.MOST + 2_000
    kept, _, note = result.text.rpartition("\n\n")
    assert kept.endswith("\n+한글 한 줄")
    assert note.startswith("[120,104 more characters of the diff ")
    assert "The diff is long: the last " in capsys.readouterr().err
    assert len(result.text.encode()) < 1_048_576, "what the server takes"


def test_review_copes_with_binary_files(mine: Path) -> None:
    (mine / "b.py").write_bytes(b"a" * 9_000 + b"\0 late\xff\n")
    (mine / "값.py").write_bytes(b"\0\1\2")
    result = asyncio.run(review.changes(mine, base=None))
    assert result is not None
    assert "Binary files a/값.py and b/값.py differ" in result.text
    assert "late�" in result.text
    assert "\0" not in result.text


def test_without_git_it_is_a_sentence(mine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(Failed, match="git rev-parse: "):
        asyncio.run(review.changes(mine, base=None))
