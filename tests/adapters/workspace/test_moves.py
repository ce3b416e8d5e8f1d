"""Merges, lands and applies over checkouts in every state: no byte of the person's is lost, or nothing has changed."""

import hashlib
import os
import random
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import pytest

from adapters.workspace import WorkspaceError, move
from adapters.workspace.branch import advance
from adapters.workspace.move import planned, tree_of
from adapters.workspace.person import Interrupted, PersonsGit
from adapters.workspace.repository import Repository

Act = Callable[[random.Random, Path], None]
IGNORED: Final = "*.secret\nbuild/\n"
BASE: Final = {
    ".gitignore": IGNORED,
    "a.txt": "".join(f"line {number}\n" for number in range(30)),
    "b.txt": "b\n",
    "src/one.py": "one\n",
    "src/two.py": "two\n",
    "src/deep/three.py": "three\n",
    "docs/한 글.md": "docs\n",
    "lib/x/y/z.txt": "z\n",
    "other/keep.txt": "keep\n",
}
NAMES: Final = ("--name-only", "--no-renames")
NEW: Final = ("new.txt", "src/new.py", ".env.secret", "build/out.js", "fresh/deep/er.txt", "b.txt/inside", "src")


def git(folder: Path, *words: str, codes: tuple[int, ...] = (0,)) -> str:
    done = subprocess.run(["git", *words], cwd=folder, capture_output=True, check=False)
    assert done.returncode in codes, (words, done.stderr)
    return os.fsdecode(done.stdout)


def put(folder: Path, path: str, text: str) -> None:
    """Write a file, whatever is in the way of it."""
    place = folder / path
    for above in reversed(place.relative_to(folder).parents[:-1]):
        if (folder / above).is_symlink() or (folder / above).is_file():
            (folder / above).unlink()
    if place.is_dir() and not place.is_symlink():
        shutil.rmtree(place)
    place.parent.mkdir(parents=True, exist_ok=True)
    if place.is_symlink():
        place.unlink()
    place.write_text(text)


def files(folder: Path) -> dict[str, tuple[str, bytes]]:
    """Every file outside `.git`, with its kind and its content."""
    found: dict[str, tuple[str, bytes]] = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if name.split("/")[0] == ".git" or (path.is_dir() and not path.is_symlink()):
            continue
        if path.is_symlink():
            found[name] = ("link", os.fsencode(path.readlink()))
        else:
            found[name] = ("program" if path.stat().st_mode & 0o100 else "file", path.read_bytes())
    return found


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("template") / "here"
    folder.mkdir()
    git(folder, "init", "--quiet", "--template=", "--initial-branch=main")
    for name, value in (("user.name", "Ann"), ("user.email", "ann@example.org"), ("gc.auto", "0")):
        git(folder, "config", name, value)
    for path, text in BASE.items():
        put(folder, path, text)
    (folder / "link").symlink_to("a.txt")
    (folder / "run.sh").write_text("#!/bin/sh\n")
    (folder / "run.sh").chmod(0o755)
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "-m", "Begin")
    git(folder, "tag", "main")  # named like the branch
    (folder / ".git" / "hooks").mkdir()
    (folder / ".git" / "info").mkdir(exist_ok=True)
    return folder


# -- what a session did ------------------------------------------------------------------------------------------


def _modify(chance: random.Random, here: Path) -> None:
    path = chance.choice([*BASE][1:])
    put(here, path, f"{BASE[path]}agent\n")


def _delete(chance: random.Random, here: Path) -> None:
    place = here / chance.choice([*BASE][1:])
    if place.is_file():
        place.unlink()


def _add(chance: random.Random, here: Path) -> None:
    put(here, chance.choice(NEW), "agent\n")


def _folder_to_file(chance: random.Random, here: Path) -> None:
    folder = chance.choice(["src", "lib/x", "docs"])
    if (here / folder).is_dir():
        shutil.rmtree(here / folder)
        put(here, folder, "a file now\n")


def _link(chance: random.Random, here: Path) -> None:
    path = chance.choice(["b.txt", "link", "src/two.py"])
    put(here, path, "")
    (here / path).unlink()
    (here / path).symlink_to(chance.choice(["other", "nowhere"]))


def _program(_: random.Random, here: Path) -> None:
    for place in (here / "b.txt", here / "run.sh"):
        if place.is_file() and not place.is_symlink():
            place.chmod(place.stat().st_mode ^ 0o111)


def _case(_: random.Random, here: Path) -> None:
    if (here / "b.txt").is_file():
        (here / "b.txt").rename(here / "B.TXT")


def _unignore(_: random.Random, here: Path) -> None:
    put(here, ".gitignore", "nothing\n")
    put(here, ".env.secret", "agent\n")


WORK: Final[tuple[Act, ...]] = (
    _modify,
    _modify,
    _delete,
    _add,
    _add,
    _folder_to_file,
    _link,
    _program,
    _case,
    _unignore,
)


# -- what the person did ------------------------------------------------------------------------------------------


def _untracked(chance: random.Random, here: Path) -> None:
    path = chance.choice([*NEW, "mine.txt", "src/deep/mine.txt", "lib/x/mine.secret", "docs/build/mine"])
    if path not in ("src",) and not any((here / path).parents[n].is_file() for n in range(2)):
        with_text = chance.choice(["mine\n", "mine\n", "agent\n"])
        if not (here / path).is_dir() and not (here / "b.txt").is_symlink() and not path.startswith("b.txt/"):
            put(here, path, with_text)


def _edit(chance: random.Random, here: Path) -> None:
    path = chance.choice([*BASE][1:])
    if (here / path).is_file():
        (here / path).write_text(f"{BASE[path]}mine\n")


def _staged(chance: random.Random, here: Path) -> None:
    path = chance.choice([*[*BASE][1:], "staged.txt", "new.txt"])
    put(here, path, "staged\n")
    git(here, "add", "--force", "--sparse", path)
    if chance.random() < 0.4:
        (here / path).write_text("staged, then changed\n")


def _intended(chance: random.Random, here: Path) -> None:
    path = chance.choice(["intended.txt", "new.txt", "src/new.py"])
    if not (here / path).exists():
        put(here, path, "intended\n")
        git(here, "add", "--intent-to-add", "--force", "--sparse", path, codes=(0, -11))  # git 2.39 may crash here
        (here / ".git" / "index.lock").unlink(missing_ok=True)


def _unstaged_removal(chance: random.Random, here: Path) -> None:
    path = chance.choice(["b.txt", "src/one.py", "other/keep.txt"])
    if (here / path).is_file():
        words = ("rm", "--quiet", "--cached", "--force", path)
        removals = (lambda: (here / path).unlink(), lambda: git(here, *words, codes=(0, 128)))
        chance.choice(removals)()


def _flagged(chance: random.Random, here: Path) -> None:
    path = chance.choice(["a.txt", "b.txt", "other/keep.txt"])
    if (here / path).is_file() and git(here, "ls-files", path):
        git(here, "update-index", chance.choice(["--assume-unchanged", "--skip-worktree"]), path)
        if chance.random() < 0.7:
            (here / path).write_text("mine, unseen\n")


def _folder_linked(_: random.Random, here: Path) -> None:
    if (here / "src").is_dir() and not (here / "src").is_symlink():
        shutil.move(here / "src", here.parent / "elsewhere")
        (here / "src").symlink_to("../elsewhere")


def _sparse(chance: random.Random, here: Path) -> None:
    more = ["--sparse-index"] if chance.random() < 0.5 else []
    git(here, "sparse-checkout", "set", "--cone", *more, chance.choice(["src", "other", "docs"]), codes=(0, 1, 128))


def _split(_: random.Random, here: Path) -> None:
    git(here, "update-index", "--split-index", codes=(0, 128))  # a sparse one cannot be split


def _lock(_: random.Random, here: Path) -> None:
    (here / ".git" / "index.lock").touch()


def _excluded(_: random.Random, here: Path) -> None:
    (here / ".git" / "info" / "exclude").write_text("new.txt\nfresh/\n")
    put(here, "fresh/deep/er.txt", "mine, and excluded\n")


STATES: Final[tuple[Act, ...]] = (
    *(_untracked, _untracked, _untracked, _untracked, _edit, _staged, _intended, _unstaged_removal, _flagged),
    *(_folder_linked, _sparse, _sparse, _split, _lock, _excluded),
)
HOOKS: Final = (
    "echo no >&2; exit 1",
    "for f in $(git diff --cached --name-only --diff-filter=AM); do [ -f $f ] && echo formatted >> $f; done; exit 1",
    "for f in *; do [ -f $f ] && echo formatted >> $f; done; git add --all; exit 1",
    "echo hook > made-by-hook; mkdir -p made/by; echo x > made/by/hook; exit 1",
    "rm -rf *.secret build mine.txt docs; exit 1",
    "git stash --quiet --include-untracked; exit 1",
    "git tag by-hook; git branch by-hook; git update-ref -d refs/tags/main; exit 1",
    "git config core.ignorecase true; chmod 600 a.txt; rm -f .git/MERGE_HEAD; exit 1",
    "kill -INT $PPID; sleep 5",
    "exit 0",
)


@dataclass
class Case:
    """A checkout, and the commit that is to get into it."""

    here: Path
    commit: str
    onto: str
    way: str
    did: list[str] = field(default_factory=list)


def made(seed: int, template: Path, place: Path) -> Case:
    chance = random.Random(seed)  # noqa: S311 (the same cases every time)
    here = place / "here"
    shutil.copytree(template, here, symlinks=True)
    git(here, "update-index", "-q", "--refresh")
    git(here, "switch", "--quiet", "--create", "work")
    did: list[str] = []
    for _ in range(chance.randint(1, 4)):
        act = chance.choice(WORK)
        act(chance, here)
        did.append(act.__name__)
    git(here, "add", "--all", "--force")
    git(here, "commit", "--quiet", "--allow-empty", "-m", "Work")
    commit = git(here, "rev-parse", "HEAD").strip()
    git(here, "switch", "--quiet", "main")
    git(here, "clean", "--quiet", "-ffdx")
    if chance.random() < 0.5:
        put(here, "people.txt", "people\n")
        git(here, "add", "people.txt")
        git(here, "commit", "--quiet", "-m", "People")
    if chance.random() < 0.5:
        for name in chance.sample(["pre-merge-commit", "commit-msg", "pre-commit", "prepare-commit-msg"], 2):
            hook = here / ".git" / "hooks" / name
            hook.write_text(f"#!/bin/sh\n{chance.choice(HOOKS)}\n")
            hook.chmod(0o755)
            did.append(f"{name}: {hook.read_text()}")
    for act in chance.choices(STATES, k=chance.randint(0, 3)):
        if not (here / ".git" / "index.lock").exists():
            act(chance, here)
            did.append(act.__name__)
    onto = git(here, "rev-parse", "HEAD").strip()
    return Case(here, commit, onto, chance.choice(["merge", "merge", "squash", "land", "apply"]), did)


def picture(here: Path) -> dict[str, object]:
    """All that has to be as before when a move is refused."""
    lock = here / ".git" / "index.lock"
    was_locked = lock.exists()
    lock.unlink(missing_ok=True)
    state = {
        "files": files(here),
        "folders": sorted(str(path) for path in here.rglob("*") if path.is_dir() and ".git" not in path.parts),
        "status": git(here, "--no-optional-locks", "status", "--porcelain=v2", "--ignored", "--untracked-files=all"),
        "index": git(here, "ls-files", "-s", "-v"),
        "refs": git(here, "for-each-ref"),
        "head": (here / ".git" / "HEAD").read_text(),
        "stash": git(here, "stash", "list"),
        "config": (here / ".git" / "config").read_text(),
        "under way": sorted(path.name for path in (here / ".git").glob("*_*") if path.name != "COMMIT_EDITMSG"),
    }
    if was_locked:
        lock.touch()
    return state


def carry_out(case: Case) -> str:
    """The tree that the move aims at. Raises WorkspaceError."""
    here, git_here = case.here, PersonsGit(case.here)
    after = git(here, "merge-tree", "--write-tree", case.onto, case.commit).split("\n")[0]
    if case.way == "land":
        ours = here.parent / "ours.git"
        git(here.parent, "clone", "--quiet", "--bare", str(here), str(ours))
        after = git(ours, "merge-tree", "--write-tree", case.onto, case.commit).split("\n")[0]
        people = ("-c", "user.name=Hansard", "-c", "user.email=hansard@hansard.invalid")
        merged = git(ours, *people, "commit-tree", "-p", case.onto, "-p", case.commit, "-m", "Land", after).strip()
        assert advance(Repository(ours), here, "main", before=case.onto, after=merged)
        return after
    plan = planned(git_here, here, tree_of(git_here, case.onto), after)
    if case.way == "apply":
        move.apply_uncommitted(plan)
    elif case.way == "squash":
        move.squash(plan, case.commit, message="Squashed")
    else:
        move.merge(plan, case.commit, title="Merge")
    return after


def entries(here: Path, *words: str) -> dict[str, tuple[str, str]]:
    """The mode and the object of each path, as an index or a tree lists it."""
    listed = [line.partition("\t") for line in git(here, words[0], "-z", *words[1:]).split("\0") if line]
    return {path: (facts.split()[0], facts.split()[2 if "blob" in facts else 1]) for facts, _, path in listed}


def blob_of(content: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


def check(seed: int, template: Path, place: Path) -> str:
    """Carry out one generated move; says whether it was done or refused."""
    case = made(seed, template, place)
    here = case.here
    before = picture(here)
    held = {path: blob for path, (_, blob) in entries(here, "ls-tree", "-r", "HEAD").items()}
    persons = {path: content for path, content in files(here).items() if held.get(path) != blob_of(content[1])}
    words = f"seed {seed}: {case.way} after {case.did}"
    try:
        after = carry_out(case)
    except (WorkspaceError, Interrupted) as error:
        after_all = picture(here)
        differing = {key: (before[key], now) for key, now in after_all.items() if now != before[key]}
        assert not differing, (words, error, differing)
        return "refused"
    now = files(here)
    assert {path: now.get(path) for path in persons} == persons, words
    if case.way == "apply":
        assert git(here, "rev-parse", "HEAD").strip() == case.onto
        changed = [*filter(None, git(here, "diff-tree", "-r", "-z", *NAMES, case.onto, after).split("\0"))]
        git(here, "update-index", "--add", "--remove", "--replace", "--", *changed)
        brought, wanted = entries(here, "ls-files", "-s"), entries(here, "ls-tree", "-r", after)
        assert {path: brought.get(path) for path in changed} == {path: wanted.get(path) for path in changed}, words
    else:
        assert git(here, "rev-parse", "HEAD^{tree}").strip() == after, words
        assert not (here / ".git" / "MERGE_HEAD").exists(), words
    assert not list((here / ".git").glob("hansard-undo-*")), words
    return "done"


@pytest.mark.parametrize(
    ("first", "count"),
    [(0, 10), *(pytest.param(number, 40, marks=pytest.mark.nightly) for number in range(0, 1000, 40))],
)
def test_generated_moves_lose_nothing(template: Path, tmp_path: Path, first: int, count: int) -> None:
    ended = [check(seed, template, tmp_path / str(seed)) for seed in range(first, first + count)]
    assert count // 8 < ended.count("done") < count - count // 8
