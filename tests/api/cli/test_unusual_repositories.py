"""`apply`, `merge`, `pr` and `land` where the repository is not as they need it: a sentence, and nothing changes."""

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from api.cli.handover_words import to_use
from tests.api.cli.conftest import Hansard
from tests.api.cli.kept import FILES, git
from tests.api.cli.test_results import forge, here

__all__ = ["forge", "here"]

Runs = Callable[[], str]


@pytest.fixture
def runs(hansard: Hansard, tmp_path: Path) -> Runs:
    """Runs a delivery in the working directory. Returns the session's id."""

    def run() -> str:
        scenario = tmp_path / "scenario.json"
        replies = {"dev": [{"text": "Wrote the third line large.", "files": FILES}]}
        scenario.write_text(json.dumps({"replies": replies}), encoding="utf-8")
        result = hansard("run", "-t", "Shout", "--test", "true", "--no-baseline", "--scenario", str(scenario))
        assert result.code == 0, result.err
        return result.err.partition("Session ")[2].split()[0].rstrip(".")

    return run


@pytest.fixture
def empty(here: Path) -> Path:
    """The working directory as a repository without commits."""
    shutil.rmtree(here / ".git")
    for name in ("a.txt", "other.txt"):
        (here / name).unlink()
    git(here, "init", "--quiet", "--initial-branch=main")
    git(here, "config", "user.name", "Somebody")
    git(here, "config", "user.email", "somebody@example.org")
    return here


def state(folder: Path) -> tuple[str, str, str]:
    """What must not change: the commit, the branches, and what is not committed."""
    refs = git(folder, "for-each-ref", "--format=%(refname) %(objectname)")
    return git(folder, "rev-parse", "HEAD"), refs, git(folder, "status", "--porcelain")


# -- the command line ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", ["apply", "merge"])
def test_a_bare_repository_has_no_checkout(
    hansard: Hansard, here: Path, delivered: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    bare = tmp_path / "bare.git"
    git(tmp_path, "clone", "--quiet", "--bare", str(here), str(bare))
    monkeypatch.chdir(bare)
    before = (git(bare, "rev-parse", "HEAD"), git(bare, "for-each-ref"))
    result = hansard(command, delivered)
    assert (result.code, result.out) == (4, "")
    assert (git(bare, "rev-parse", "HEAD"), git(bare, "for-each-ref")) == before
    assert result.err.splitlines() == [
        f"hansard: {bare} is in a git repository without a checkout.",
        "  Make one (git worktree add FOLDER BRANCH) and run the command there.",
    ]


@pytest.mark.parametrize("command", ["apply", "merge"])
def test_the_folder_of_git_is_no_checkout(
    hansard: Hansard, here: Path, delivered: str, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    before = state(here)
    monkeypatch.chdir(here / ".git")
    result = hansard(command, delivered)
    assert (result.code, result.out, state(here)) == (4, "", before)


@pytest.mark.parametrize("command", ["apply", "merge"])
def test_the_result_of_a_bare_repository_is_refused_there_and_landed(
    hansard: Hansard,
    here: Path,
    runs: Runs,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    command: str,
) -> None:
    bare = tmp_path / "bare.git"
    git(tmp_path, "clone", "--quiet", "--bare", str(here), str(bare))
    monkeypatch.chdir(bare)
    session_id = runs()
    before = git(bare, "for-each-ref")
    assert hansard(command, session_id).code == 4
    assert git(bare, "for-each-ref") == before
    git(bare, "worktree", "add", "--quiet", str(tmp_path / "tree"), "main")
    monkeypatch.chdir(tmp_path / "tree")
    assert hansard(command, session_id).code == 0
    assert (tmp_path / "tree" / "new" / "b.txt").read_text() == "new\n"


@pytest.mark.parametrize(
    ("complaint", "sentence"),
    [
        ("fatal: detected dubious ownership in repository at '/shop'", "git does not trust {here}, which belongs to"),
        ("error: unable to create temporary file: Read-only file system", "git cannot write in {here}."),
        ("error: insufficient permission for adding an object to repository", "git cannot write in {here}."),
    ],
)
def test_a_repository_of_others_is_refused_in_our_words(
    hansard: Hansard,
    here: Path,
    delivered: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    complaint: str,
    sentence: str,
) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "git").write_text(f'#!/bin/sh\necho "{complaint}" >&2\nexit 128\n')
    (tmp_path / "bin" / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    for words in (["apply", delivered], ["merge", delivered], ["init"]):
        result = hansard(*words)
        assert (result.code, sentence.format(here=here) in result.err) == (4, True), result.err


@pytest.mark.parametrize("command", ["apply", "merge", "pr", "list"])
def test_a_folder_that_was_deleted_is_named_as_the_reason(
    hansard: Hansard, delivered: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    result = hansard(command, *([delivered] if command != "list" else []))
    assert (result.code, result.err) == (2, "hansard: The current folder no longer exists. Change to another one.\n")


def test_a_branch_without_commits_gets_those_of_the_session(hansard: Hansard, empty: Path, runs: Runs) -> None:
    session_id = runs()
    (empty / "a.txt").write_text("mine\n")
    for command in ("apply", "merge"):
        result = hansard(command, session_id)
        assert result.code == 4 and "a.txt" in result.err, result.err
    (empty / "a.txt").unlink()
    result = hansard("merge", session_id, "--squash")
    assert (result.code, "merge without --squash" in result.err) == (4, True), result.err
    assert git(empty, "status", "--porcelain") == "" and not (empty / "a.txt").exists()
    result = hansard("merge", session_id)
    said = "Scripted: scripted agents took part; they do no real work.\nMerged into main.\n"
    assert (result.code, result.err) == (0, said)
    assert git(empty, "rev-parse", "main") == git(empty, "rev-parse", f"hansard/{session_id}")
    assert (empty / "new" / "b.txt").read_text() == "new\n" and git(empty, "status", "--porcelain") == ""
    assert hansard("merge", session_id).err.endswith("main already has these changes.\n")


def test_changes_are_applied_where_there_is_no_commit(hansard: Hansard, empty: Path, runs: Runs) -> None:
    assert hansard("apply", runs()).code == 0
    assert (empty / "new" / "b.txt").read_text() == "new\n"
    assert git(empty, "branch", "--show-current") == "main"


def test_what_began_without_commits_is_applied_to_a_branch_that_has_some(
    hansard: Hansard, empty: Path, runs: Runs
) -> None:
    session_id = runs()
    (empty / "mine.txt").write_text("mine\n")
    git(empty, "add", "mine.txt")
    git(empty, "commit", "--quiet", "-m", "Mine")
    before = state(empty)
    result = hansard("merge", session_id)
    assert (result.code, "no commit in common" in result.err, state(empty)) == (4, True, before), result.err
    assert hansard("apply", session_id).code == 0
    assert git(empty, "status", "--porcelain").split() == ["??", "a.txt", "??", "new/"]


@pytest.mark.parametrize("words", [("merge",), ("merge", "--squash")])
def test_a_merge_needs_a_branch(hansard: Hansard, here: Path, delivered: str, words: tuple[str, ...]) -> None:
    git(here, "checkout", "--quiet", "--detach")
    before = state(here)
    result = hansard(*words, delivered)
    assert (result.code, state(here)) == (4, before)
    assert f"No branch is checked out in {here}." in result.err and "git switch BRANCH" in result.err
    assert hansard("apply", delivered).code == 0


@pytest.mark.parametrize("words", [("merge",), ("merge", "--squash")])
@pytest.mark.parametrize("trouble", ["hook", "lock"])
def test_a_merge_that_git_does_not_finish_leaves_nothing_behind(
    hansard: Hansard, here: Path, delivered: str, words: tuple[str, ...], trouble: str
) -> None:
    """The files are merged by then: git would leave the merge half done."""
    (here / "other.txt").write_text("mine, changed\n")
    git(here, "commit", "--quiet", "--all", "-m", "Mine")
    (here / "third.txt").write_text("not committed\n")
    if trouble == "hook":
        hook = here / ".git" / "hooks" / "commit-msg"
        hook.parent.mkdir(exist_ok=True)
        hook.write_text("#!/bin/sh\necho no ticket number >&2\necho x > made.txt\nexit 1\n")
        hook.chmod(0o755)
    else:
        (here / ".git" / "index.lock").touch()
    before = state(here)
    result = hansard(*words, delivered)
    assert (result.code, state(here)) == (4, before), result.err
    assert ("no ticket number" if trouble == "hook" else "index.lock") in result.err
    assert "git commit'" not in result.err
    kept = [*(here / ".git").glob("hansard-undone/*/made.txt")]
    assert [str(path.parent) in result.err for path in kept] == ([True] if trouble == "hook" else [])
    assert not (here / ".git" / "MERGE_HEAD").exists()


@pytest.mark.parametrize("language", ["en", "ko"])
def test_a_killed_merge_is_not_undone_over_what_was_written_since(
    hansard: Hansard, here: Path, delivered: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, language: str
) -> None:
    """Every command that would undo it names the file and leaves it alone; doctor names the checkout."""
    monkeypatch.setenv("LC_ALL", {"en": "en_US.UTF-8", "ko": "ko_KR.UTF-8"}[language])
    (here / "other.txt").write_text("mine, changed\n")
    git(here, "commit", "--quiet", "--all", "-m", "Mine")
    hook = here / ".git" / "hooks" / "pre-merge-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\nkill -9 $(ps -o ppid= -p $PPID) $PPID\n")
    hook.chmod(0o755)
    if (child := os.fork()) == 0:
        try:
            hansard("merge", delivered)
        finally:
            os._exit(0)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status)
    hook.unlink()
    [path, *_] = git(here, "diff", "--cached", "--name-only").splitlines()
    (here / path).write_text("edited since\n")
    before = state(here)
    said = {"en": ("half changed", "changed since"), "ko": ("바꾸다 만", "다시 바뀌어서")}[language]
    assert f"{here}" in (found := hansard("doctor").out) and said[0] in found
    for words in (("merge",), ("merge", "--squash"), ("apply",)):
        result = hansard(*words, delivered)
        assert (result.code, state(here)) == (4, before), result.err
        assert path in result.err and said[1] in result.err
    (scenario := tmp_path / "none.json").write_text("{}", encoding="utf-8")
    run = hansard("run", "-t", "x", "--test", "true", "--quick", "--no-baseline", "--scenario", str(scenario))
    assert said[1] in run.err and path in run.err and (here / path).read_text() == "edited since\n"
    (here / path).rename(tmp_path / "mine")
    assert hansard("merge", delivered).code == 0
    assert said[0] not in hansard("doctor").out


def test_a_failed_merge_does_not_end_a_merge_of_the_person(hansard: Hansard, here: Path, delivered: str) -> None:
    git(here, "checkout", "--quiet", "-b", "side")
    (here / "other.txt").write_text("side\n")
    git(here, "commit", "--quiet", "--all", "-m", "Side")
    git(here, "checkout", "--quiet", "main")
    git(here, "merge", "--quiet", "--no-ff", "--no-commit", "side")
    before = state(here)
    result = hansard("merge", delivered)
    assert (result.code, state(here)) == (4, before) and before[2] == "M  other.txt", result.err
    assert (here / ".git" / "MERGE_HEAD").exists()


def _stopped(here: Path, *words: str) -> None:
    """Two commits on a side branch and one on main, which change the same file; then a command of git that stops."""
    git(here, "checkout", "--quiet", "-b", "side")
    for text in ("side\n", "side, again\n"):
        (here / "other.txt").write_text(text)
        git(here, "commit", "--quiet", "--all", "-m", text.strip())
    git(here, "checkout", "--quiet", "main")
    (here / "other.txt").write_text("main\n")
    git(here, "commit", "--quiet", "--all", "-m", "Main")
    done = subprocess.run(["git", *words], cwd=here, capture_output=True, check=False)
    assert done.returncode == 1, done.stderr
    (here / "other.txt").write_text("settled\n")
    git(here, "add", "other.txt")


@pytest.mark.parametrize("command", [("merge",), ("merge", "--squash"), ("land",)], ids=" ".join)
@pytest.mark.parametrize("under_way", ["rebase", "cherry-pick"])
def test_what_git_has_not_finished_is_named(
    hansard: Hansard, here: Path, delivered: str, under_way: str, command: tuple[str, ...]
) -> None:
    """In a rebase no branch is checked out, and between two picks nothing but a folder of git's says what goes on."""
    _stopped(here, *(("rebase", "side") if under_way == "rebase" else ("cherry-pick", "side~1", "side")))
    if under_way == "cherry-pick":
        git(here, "commit", "--quiet", "-m", "Settled")
    before = state(here)
    result = hansard(*command, delivered)
    assert (result.code, state(here)) == (4, before), result.err
    assert "is not finished" in result.out + result.err and "git switch" not in result.err, result


@pytest.mark.parametrize(
    ("name", "value"), [("branch.main.mergeOptions", "--no-ff"), ("merge.ff", "only"), ("merge.ff", "false")]
)
def test_settings_of_merges_do_not_hold_for_one_commit(
    hansard: Hansard, here: Path, delivered: str, name: str, value: str
) -> None:
    (here / "other.txt").write_text("mine, changed\n")
    git(here, "commit", "--quiet", "--all", "-m", "Mine")
    git(here, "config", name, value)
    assert hansard("merge", delivered, "--squash").code == 0
    assert git(here, "log", "-2", "--format=%s") == "Shout the third line\nMine"


@pytest.mark.parametrize("words", [("merge",), ("merge", "--squash")], ids=" ".join)
def test_a_merge_that_brings_nothing_is_no_merge(
    hansard: Hansard, here: Path, delivered: str, words: tuple[str, ...]
) -> None:
    (here / "other.txt").write_text("mine, changed\n")
    git(here, "commit", "--quiet", "--all", "-m", "Mine")
    git(here, "config", "branch.main.mergeOptions", "-s ours")
    before = state(here)
    result = hansard(*words, delivered)
    assert (result.code, state(here), "left out every change" in result.err) == (4, before, True), result.err


@pytest.mark.parametrize("command", ["merge", "apply", "land"])
def test_settings_of_git_that_cannot_be_read_are_named(
    hansard: Hansard, here: Path, delivered: str, command: str
) -> None:
    settings = (here / ".git" / "config").read_text()
    (here / ".git" / "config").write_text("[core\n")
    result = hansard(command, delivered)
    assert (result.code, "bad config line 1" in result.out + result.err) == (4, True), result
    (here / ".git" / "config").write_text(settings)
    assert git(here, "status", "--porcelain") == ""


@pytest.mark.parametrize("has_gh", [True, False])
def test_a_pull_request_needs_a_remote(
    hansard: Hansard, forge: Path, here: Path, delivered: str, monkeypatch: pytest.MonkeyPatch, has_gh: bool
) -> None:
    git(here, "remote", "remove", "origin")
    if not has_gh:
        monkeypatch.setattr("api.cli.pull_request.shutil.which", lambda _: None)
    result = hansard("pr", delivered)
    assert (result.code, "no remote named origin" in result.err, result.out) == (4, True, ""), result.err


def test_a_pull_request_needs_no_branch_here(hansard: Hansard, forge: Path, here: Path, delivered: str) -> None:
    git(here, "branch", "--quiet", "-D", f"hansard/{delivered}")
    assert hansard("pr", delivered).code == 0
    assert git(forge, "log", "-1", "--format=%s", f"hansard/{delivered}") == "Shout the third line"


# -- landing -------------------------------------------------------------------------------------------------------


def test_what_changed_nothing_does_not_land(hansard: Hansard, here: Path) -> None:
    assert hansard("run", "-t", "Look", "--test", "true").code == 0
    before = state(here)
    result = hansard("land", "latest", "--onto", "main")
    assert (result.code, state(here)) == (4, before)
    assert "not landed: " in result.out and "changed no file" in result.out and "landed on" not in result.out


def test_what_landed_before_is_not_landed_twice(hansard: Hansard, here: Path, delivered: str) -> None:
    assert "landed on main as " in hansard("land", delivered).out
    before = state(here)
    result = hansard("land", delivered)
    assert (result.code, state(here)) == (0, before)
    assert result.out == f"{delivered}  nothing to land: main already has these changes\n"
    assert "Nothing to land: main already has these changes" in hansard("events", delivered).out


def test_a_branch_that_is_the_result_itself_has_nothing_to_land(hansard: Hansard, here: Path, delivered: str) -> None:
    """As after a fast-forward to it."""
    git(here, "merge", "--quiet", "--ff-only", f"hansard/{delivered}")
    before = state(here)
    for onto in ("main", f"hansard/{delivered}"):
        result = hansard("land", delivered, "--onto", onto)
        assert (result.code, state(here), "nothing to land" in result.out) == (0, before, True), result


def test_a_checkout_whose_files_only_have_new_dates_is_landed_on(hansard: Hansard, here: Path, delivered: str) -> None:
    """As after a copy of the repository, or a restored backup."""
    os.utime(here / "a.txt", (1, 1))
    assert "landed on main as " in hansard("land", delivered).out
    assert (here / "a.txt").read_text() == FILES["a.txt"]


def test_land_says_which_branch_is_gone(hansard: Hansard, here: Path, delivered: str) -> None:
    git(here, "branch", "--quiet", "--move", "main", "trunk")
    before = state(here)
    result = hansard("land", delivered)
    assert (result.code, state(here)) == (4, before)
    reason = f"There is no branch main in {here}. Create it, or name another one."
    assert result.out == f"{delivered}  not landed: --onto: {reason}\n"
    assert "landed on trunk" in hansard("land", delivered, "--onto", "trunk").out


def test_land_needs_a_first_commit(hansard: Hansard, empty: Path, runs: Runs) -> None:
    session_id = runs()
    result = hansard("land", session_id)
    assert (result.code, "There is no branch main" in result.out) == (4, True), result.out
    git(empty, "commit", "--quiet", "--allow-empty", "-m", "Begin")
    assert "landed on main" in hansard("land", session_id).out
    assert (empty / "new" / "b.txt").read_text() == "new\n"


def test_the_advice_in_a_bare_repository_works_there(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet", "--bare", "shop.git")
    git(tmp_path, "init", "--quiet", "shop")
    for name, verb in (("shop.git", "land"), ("shop", "merge")):
        result = {"branch": "hansard/delivery-1", "repository": str(tmp_path / name)}
        assert to_use(result) == ("To merge the result:", verb)
        for state, use in (("none", "pr"), ("open", "pr"), ("closed", verb), ("merged", None)):
            advice = to_use({**result, "pullRequest": {"state": state, "rest": None}})
            assert (advice[1] if advice else None) == use, state


def test_land_works_in_a_bare_repository(
    hansard: Hansard, here: Path, runs: Runs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bare = tmp_path / "bare.git"
    git(tmp_path, "clone", "--quiet", "--bare", str(here), str(bare))
    monkeypatch.chdir(bare)
    session_id = runs()
    assert "landed on main" in hansard("land", session_id).out
    assert git(bare, "show", "main:new/b.txt") == "new"


def test_land_says_that_the_repository_is_gone(
    hansard: Hansard, here: Path, delivered: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    here.rename(tmp_path / "moved")
    result = hansard("land", delivered)
    assert (result.code, f"The repository {here} no longer exists." in result.out) == (4, True), result.out
    here.mkdir()
    result = hansard("land", delivered)
    assert (result.code, f"git cannot open the repository {here}" in result.out) == (4, True), result.out
    here.rmdir()
    (tmp_path / "moved").rename(here)
    assert "landed on main" in hansard("land", delivered).out


def test_land_does_not_blame_uncommitted_changes_for_a_repository_that_cannot_be_written(
    hansard: Hansard, here: Path, delivered: str
) -> None:
    (here / ".git" / "index.lock").touch()
    before = state(here)
    result = hansard("land", delivered)
    assert (result.code, state(here)) == (4, before)
    assert "uncommitted" not in result.out and "index.lock" in result.out


def test_land_does_without_a_working_tree_that_was_deleted(
    hansard: Hansard, here: Path, delivered: str, tmp_path: Path
) -> None:
    git(here, "worktree", "add", "--quiet", "-b", "release", str(tmp_path / "release"))
    shutil.rmtree(tmp_path / "release")
    result = hansard("land", delivered, "--onto", "release")
    assert (result.code, "landed on release" in result.out) == (0, True), result.out
    assert git(here, "show", "release:new/b.txt") == "new"
