"""A merge, land or apply whose process is killed at any moment: the next one finishes it or undoes it, and no byte of
the person's is lost."""

import os
import random
import shutil
import signal
import sys
from pathlib import Path

import pytest

from adapters.workspace import WorkspaceError
from adapters.workspace.move import InTheWay, is_unfinished, planned, recover, recover_inertly, tree_of
from adapters.workspace.person import Interrupted, PersonsGit
from adapters.workspace.undo_journal import PREFIX, mark_owner
from tests.adapters.workspace.test_moves import (
    Case,
    blob_of,
    carry_out,
    entries,
    files,
    git,
    made,
    picture,
    put,
    template,
)

__all__ = ["template"]

STEPS = ("os.", "open", "shutil.", "subprocess.Popen", "tempfile.")


def killed_at(step: int, case: Case) -> bool:
    """Carry out the move in a process of its own that is killed before its `step`th step; False if it had fewer."""
    if child := os.fork():
        _, status = os.waitpid(child, 0)
        return os.WIFSIGNALED(status)
    left = step

    def count(event: str, _: object) -> None:
        nonlocal left
        if event.startswith(STEPS):
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(count)
    try:
        carry_out(case)
    except (WorkspaceError, Interrupted):
        pass
    finally:
        os._exit(0)


def persons_files(here: Path) -> dict[str, tuple[str, bytes]]:
    """The files that git would not give back."""
    held = {path: blob for path, (_, blob) in entries(here, "ls-tree", "-r", "HEAD").items()}
    return {path: content for path, content in files(here).items() if held.get(path) != blob_of(content[1])}


def check(seed: int, template: Path, place: Path) -> str:
    """Kill one generated move at some step and recover; says what came of it."""
    case = made(seed, template, place)
    here = case.here
    if (here / ".git" / "index.lock").exists():
        return "locked"
    shutil.rmtree(here / ".git" / "hooks")
    before, persons = picture(here), persons_files(here)
    step = random.Random(seed).randint(1, 160)  # noqa: S311 (the same steps every time)
    words = f"seed {seed}, step {step}: {case.way} after {case.did}"
    if not killed_at(step, case):
        return "too late"
    recover(PersonsGit(here), here)
    now = picture(here)
    assert not list((here / ".git").glob(f"{PREFIX}*")), words
    assert not (here / ".git" / "index.lock").exists(), words
    differing = {key: (before[key], now[key]) for key in before if before[key] != now[key] and key != "under way"}
    if not differing:
        return "undone"
    assert {path: files(here).get(path) for path in persons} == persons, words
    assert git(here, "rev-parse", "HEAD").strip() != case.onto or case.way == "apply", (words, differing)
    assert not (here / ".git" / "MERGE_HEAD").exists(), words
    after = git(here, "merge-tree", "--write-tree", case.onto, case.commit).split("\n")[0]
    tree = git(here, "rev-parse", "HEAD^{tree}").strip()
    assert tree == after or case.way == "apply", words
    return "finished"


@pytest.mark.parametrize(
    "first", [0, *(pytest.param(number, marks=pytest.mark.nightly) for number in range(30, 300, 30))]
)
@pytest.mark.nightly
def test_generated_moves_that_are_killed_lose_nothing(template: Path, tmp_path: Path, first: int) -> None:
    ended = [check(seed, template, tmp_path / str(seed)) for seed in range(first, first + 30)]
    assert ended.count("undone") > 5, ended


@pytest.fixture
def merging(template: Path, tmp_path: Path) -> Case:
    """A checkout in which a merge brings `new.txt` and changes `b.txt`."""
    here = tmp_path / "here"
    shutil.copytree(template, here, symlinks=True)
    git(here, "switch", "--quiet", "--create", "work")
    put(here, "new.txt", "agent\n")
    put(here, "b.txt", "agent\n")
    git(here, "add", "--all")
    git(here, "commit", "--quiet", "-m", "Work")
    commit = git(here, "rev-parse", "HEAD").strip()
    git(here, "switch", "--quiet", "main")
    put(here, "people.txt", "people\n")
    git(here, "add", "people.txt")
    git(here, "commit", "--quiet", "-m", "People")
    return Case(here, commit, git(here, "rev-parse", "HEAD").strip(), "merge")


def killing(case: Case, hook: str) -> None:
    """Have a hook of git kill git and the process that started it; then start the move."""
    script = case.here / ".git" / "hooks" / hook
    script.write_text("#!/bin/sh\nkill -9 $(ps -o ppid= -p $PPID) $PPID\n")
    script.chmod(0o755)
    child = os.fork()
    if child == 0:
        try:
            carry_out(case)
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    script.unlink()


@pytest.mark.parametrize("hook", ["pre-merge-commit", "commit-msg", "prepare-commit-msg", "reference-transaction"])
def test_a_merge_that_is_killed_within_git_is_undone_by_the_next(merging: Case, hook: str) -> None:
    before = picture(merging.here)
    killing(merging, hook)
    assert list((merging.here / ".git").glob(f"{PREFIX}*")), "it was killed"
    recover(PersonsGit(merging.here), merging.here)
    assert picture(merging.here) == before
    carry_out(merging)
    assert (merging.here / "new.txt").read_text() == "agent\n"


def test_a_killed_merge_is_undone_without_running_anything_but_not_where_files_have_filters(merging: Case) -> None:
    before = picture(merging.here)
    killing(merging, "pre-merge-commit")
    assert is_unfinished(merging.here)
    git(merging.here, "config", "filter.mine.smudge", "touch ran")
    (attributes := merging.here / ".git" / "info" / "attributes").parent.mkdir(exist_ok=True)
    attributes.write_text("b.txt filter=mine\n")
    assert not recover_inertly(merging.here) and is_unfinished(merging.here)
    attributes.unlink()
    assert recover_inertly(merging.here) and not is_unfinished(merging.here)
    assert not list((merging.here / ".git").glob(f"{PREFIX}*"))
    git(merging.here, "config", "--remove-section", "filter.mine")
    assert picture(merging.here) == before


def test_a_move_that_is_under_way_is_no_killed_one(merging: Case) -> None:
    (place := merging.here / ".git" / f"{PREFIX}x").mkdir()
    owner = mark_owner(place)
    assert not is_unfinished(merging.here) and not recover_inertly(merging.here)
    os.close(owner)
    assert is_unfinished(merging.here) and recover_inertly(merging.here)
    assert not place.exists()


def test_a_merge_that_is_killed_when_its_commit_is_there_is_finished(merging: Case) -> None:
    killing(merging, "post-merge")
    recover(PersonsGit(merging.here), merging.here)
    assert git(merging.here, "status", "--porcelain") == ""
    assert git(merging.here, "rev-parse", "HEAD^2").strip() == merging.commit
    assert not (merging.here / ".git" / "MERGE_HEAD").exists()


@pytest.mark.parametrize("path", ["b.txt", "new.txt"])
@pytest.mark.parametrize("text", ["mine, afterwards\n", "agent\nand mine\n"])
def test_what_a_person_wrote_after_the_kill_is_neither_moved_nor_lost(merging: Case, path: str, text: str) -> None:
    """In a file that the merge had changed: nothing is undone until they have put it in safety. In others: it stays."""
    before = picture(merging.here)
    killing(merging, "pre-merge-commit")
    (merging.here / path).write_text(text)
    edited = picture(merging.here)
    for attempt in (lambda: recover(PersonsGit(merging.here), merging.here), lambda: recover_inertly(merging.here)):
        with pytest.raises(InTheWay) as refused:
            attempt()
        assert (refused.value.obstacle, refused.value.paths) == ("edited", (path,))
        assert picture(merging.here) == edited and is_unfinished(merging.here)
    (merging.here / path).unlink()
    recover(PersonsGit(merging.here), merging.here)
    assert picture(merging.here) == before
    carry_out(merging)
    assert (merging.here / path).read_text() == "agent\n"


def test_another_file_that_a_person_wrote_after_the_kill_stays(merging: Case) -> None:
    killing(merging, "pre-merge-commit")
    (merging.here / "mine.txt").write_text("mine\n")
    recover(PersonsGit(merging.here), merging.here)
    assert (merging.here / "mine.txt").read_text() == "mine\n"


@pytest.mark.parametrize(
    "attributes",
    ["b.txt text eol=crlf\n", "b.txt filter=loud\n", "b.txt working-tree-encoding=UTF-16\n", "b.txt ident\n"],
)
@pytest.mark.parametrize("part", [1.0, 0.5, 0.0])
def test_what_the_killed_merge_wrote_itself_is_no_edit(merging: Case, attributes: str, part: float) -> None:
    """Also where git writes other bytes than it holds, and where it was killed while it wrote them."""
    git(merging.here, "config", "filter.loud.smudge", "tr a-z A-Z")
    git(merging.here, "config", "filter.loud.clean", "tr A-Z a-z")
    (merging.here / ".git" / "info" / "attributes").write_text(attributes)
    (merging.here / "b.txt").unlink()
    git(merging.here, "checkout", "--quiet", "--", "b.txt")
    before = picture(merging.here)
    killing(merging, "pre-merge-commit")
    (written := merging.here / "b.txt").write_bytes(written.read_bytes()[: int(part * written.stat().st_size)])
    recover(PersonsGit(merging.here), merging.here)
    assert picture(merging.here) == before


def test_a_person_who_went_on_is_not_set_back(merging: Case) -> None:
    here = merging.here
    killing(merging, "pre-merge-commit")
    (here / ".git" / "index.lock").unlink(missing_ok=True)
    git(here, "reset", "--quiet", "--hard")
    put(here, "later.txt", "later\n")
    git(here, "add", "later.txt")
    git(here, "commit", "--quiet", "-m", "Later")
    before = files(here), git(here, "rev-parse", "HEAD")
    recover(PersonsGit(here), here)
    assert (files(here), git(here, "rev-parse", "HEAD")) == before
    assert not list((here / ".git").glob(f"{PREFIX}*"))


def test_two_moves_at_once_do_not_undo_each_other(merging: Case) -> None:
    place = merging.here / ".git" / f"{PREFIX}other"
    place.mkdir()
    owner = mark_owner(place)
    person = PersonsGit(merging.here)
    trees = [tree_of(person, commit) for commit in (merging.onto, merging.commit)]
    with pytest.raises(InTheWay) as refused:
        planned(person, merging.here, *trees)
    assert refused.value.obstacle == "locked"
    os.close(owner)
    planned(person, merging.here, trees[0], trees[0])
    assert not place.exists()
