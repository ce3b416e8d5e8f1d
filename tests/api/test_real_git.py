"""Work on a user's folder: a git repository only gets a new branch; a plain folder is edited in place."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.api.server import Json, Server, delivery, ended, events, only, serving, start

SUITE = """
import unittest
import shop

class Shop(unittest.TestCase):
    def test_total(self):
        self.assertEqual(shop.total([1, 2]), 3)

unittest.main()
"""
BROKEN = "def total(prices):\n    return sum(prices[1:])\n"
FIXED = "def total(prices):\n    return sum(prices)\n"
CHECK = [sys.executable, "-B", "suite.py"]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("git")) as result:
        yield result


def git(folder: Path, *words: str) -> str:
    person = ["-c", "user.name=Somebody", "-c", "user.email=somebody@example.org", "-c", "commit.gpgsign=false"]
    done = subprocess.run(["git", *person, *words], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.rstrip("\n")


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A project with a failing test. Its owner is on `main`, with uncommitted changes, a hook that would
    leave a trace, and ignored files."""
    folder = tmp_path / "project"
    folder.mkdir()
    git(folder, "init", "--quiet", "--initial-branch=main")
    for name, content in (("shop.py", BROKEN), ("suite.py", SUITE), (".gitignore", "ignored/\n"), ("notes.txt", "a\n")):
        (folder / name).write_text(content)
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "-m", "Begin")
    (folder / "notes.txt").write_text("half a thought\n")
    (folder / "staged.txt").write_text("staged\n")
    git(folder, "add", "staged.txt")
    (folder / "untracked.txt").write_text("untracked\n")
    (folder / "ignored").mkdir()
    (folder / "ignored" / "secret").write_text("secret\n")
    for hook in ("post-checkout", "pre-commit", "post-commit", "reference-transaction", "update"):
        path = folder / ".git" / "hooks" / hook
        path.write_text(f"#!/bin/sh\necho {hook} >> {folder}/hooks-ran\n")
        path.chmod(0o755)
    return folder


def checkout(folder: Path) -> dict[str, Any]:
    """Everything the owner sees."""
    files = {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}
    return {
        "files": {name: content for name, content in files.items() if not name.startswith(".git/")},
        "index": files[".git/index"],
        "config": files[".git/config"],
        "branch": git(folder, "symbolic-ref", "HEAD"),
        "head": git(folder, "rev-parse", "HEAD"),
        "main": git(folder, "rev-parse", "main"),
        "status": git(folder, "status", "--porcelain=v2"),
        "worktrees": git(folder, "worktree", "list"),
        "stash": git(folder, "stash", "list"),
    }


def fix_body(workspace: Path, *texts: str, **fields: Any) -> Json:
    """The body of a delivery whose developer writes these versions of the file, one per iteration."""
    answers = [{"text": "Done.", "files": {"shop.py": text}} for text in texts]
    return delivery({"dev": answers}, workspace=str(workspace), validationCommands=[CHECK], **fields)


def artifact(server: Server, view: Json, phase: str) -> Json:
    answer = server.client.get(f"/api/sessions/{view['id']}/artifacts/{view['artifactRefs'][phase]}")
    assert answer.status_code == 200, answer.text
    body: Json = answer.json()
    return body


def test_the_owners_checkout_stays_as_it_is_and_a_branch_holds_the_work(server: Server, repository: Path) -> None:
    """The first version fails the project's own test, the second passes it."""
    before = checkout(repository)
    session = ended(server.client, start(server.client, fix_body(repository, BROKEN + "# hm\n", FIXED)))
    assert (session["status"], session["iteration"]) == ("success", 2)
    assert checkout(repository) == before
    assert not (repository / "hooks-ran").exists()
    branch = f"hansard/{session['id']}"
    assert git(repository, "branch", "--list", "--format=%(refname:short)").splitlines() == [branch, "main"]
    assert git(repository, "show", f"{branch}:shop.py") + "\n" == FIXED
    assert git(repository, "show", f"{branch}:notes.txt") == "a", "uncommitted changes are not taken along"
    assert git(repository, "diff", "--name-only", "main", branch) == "shop.py"
    assert git(repository, "merge-base", "main", branch) == before["main"]
    [published] = only(events(server.client, session["id"]), "delivery.branch_published")
    assert (published["branch"], published["commit"]) == (branch, git(repository, "rev-parse", branch))
    assert git(repository, "fsck", "--strict", "--no-dangling") == ""


def test_the_patch_applies_to_where_it_began(server: Server, repository: Path, tmp_path: Path) -> None:
    """Also with new, nested and Korean text files; applied, it equals the branch."""
    files = {"shop.py": FIXED, "docs/deep/안내.md": "# 안내\n", "no newline": "x", "crlf.txt": "a\r\nb\r\n"}
    body = fix_body(repository, FIXED) | delivery({"dev": [{"text": "Done.", "files": files}]})
    body |= {"workspace": str(repository), "validationCommands": [CHECK]}
    session = ended(server.client, start(server.client, body))
    assert session["status"] == "success"
    patch = artifact(server, session, "packaging")
    assert patch["mediaType"] == "text/x-diff"
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "--quiet", "--no-hardlinks", "--branch", "main", str(repository), str(clone))
    (tmp_path / "work.patch").write_bytes(patch["content"].encode())
    git(clone, "apply", "--index", str(tmp_path / "work.patch"))
    tree = git(clone, "write-tree")
    assert tree == git(repository, "rev-parse", f"hansard/{session['id']}^{{tree}}")
    assert (clone / "docs" / "deep" / "안내.md").read_text() == "# 안내\n"
    assert (clone / "crlf.txt").read_bytes() == b"a\r\nb\r\n"


def test_validation_sees_the_commit_without_uncommitted_changes(server: Server, repository: Path) -> None:
    script = "import os; assert sorted(os.listdir('.')) == ['.git', '.gitignore', 'notes.txt', 'shop.py', 'suite.py']"
    look = [sys.executable, "-c", f"{script}; assert open('notes.txt').read() == 'a\\n'"]
    body = delivery(workspace=str(repository), validationCommands=[look])
    session = ended(server.client, start(server.client, body))
    assert session["status"] == "success"


def test_work_that_fails_leaves_no_branch(server: Server, repository: Path) -> None:
    before = checkout(repository)
    session = ended(server.client, start(server.client, fix_body(repository, BROKEN, maxIterations=1)))
    assert session["budget"]["reason"] == "iterations"
    assert checkout(repository) == before
    assert git(repository, "branch", "--list", "hansard/*") == ""


def test_two_sessions_on_one_repository_do_not_meet(server: Server, repository: Path) -> None:
    texts = [FIXED + f"# session {number}\n" for number in range(3)]
    ids = [start(server.client, fix_body(repository, text)) for text in texts]
    for session_id, text in zip(ids, texts, strict=True):
        assert ended(server.client, session_id)["status"] == "success"
        assert git(repository, "show", f"hansard/{session_id}:shop.py") + "\n" == text


def test_a_folder_inside_of_a_repository_is_where_the_work_is_done(server: Server, repository: Path) -> None:
    (repository / "packages" / "shop").mkdir(parents=True)
    (repository / "packages" / "shop" / "shop.py").write_text(BROKEN)
    (repository / "packages" / "shop" / "suite.py").write_text(SUITE)
    git(repository, "add", "packages")
    git(repository, "-c", "core.hooksPath=/dev/null", "commit", "--quiet", "-m", "Packages", "--", "packages")
    before = checkout(repository)
    session = ended(server.client, start(server.client, fix_body(repository / "packages" / "shop", FIXED)))
    assert session["status"] == "success"
    assert checkout(repository) == before
    assert git(repository, "diff", "--name-only", "main", f"hansard/{session['id']}") == "packages/shop/shop.py"


def test_a_repository_without_a_commit_is_worked_on_too(server: Server, tmp_path: Path) -> None:
    folder = tmp_path / "empty"
    folder.mkdir()
    git(folder, "init", "--quiet", "--initial-branch=main")
    body = delivery({"dev": [{"text": "Done.", "files": {"a.txt": "a\n"}}]}, workspace=str(folder))
    session = ended(server.client, start(server.client, body))
    assert session["status"] == "success"
    assert [path.name for path in folder.iterdir()] == [".git"]
    assert git(folder, "show", f"hansard/{session['id']}:a.txt") == "a"


def test_a_folder_without_git_is_worked_in_as_it_is(server: Server, tmp_path: Path) -> None:
    (tmp_path / "shop.py").write_text(BROKEN)
    (tmp_path / "suite.py").write_text(SUITE)
    session = ended(server.client, start(server.client, fix_body(tmp_path, BROKEN + "# hm\n", FIXED)))
    assert (session["status"], session["iteration"]) == ("success", 2)
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"shop.py": FIXED, "suite.py": SUITE}
    assert "packaging" not in session["artifactRefs"]
    assert "+    return sum(prices)\n" in artifact(server, session, "implementation")["patch"]


def test_a_deliverys_own_folder_is_no_git_of_the_owner(server: Server) -> None:
    """Without a workspace, the session gets a new, empty one."""
    look = [sys.executable, "-c", "import os; assert sorted(os.listdir('.')) == ['.git', 'src'], os.listdir('.')"]
    body = delivery({"dev": [{"text": "Done.", "files": {"src/login.py": ""}}]}, validationCommands=[look])
    assert ended(server.client, start(server.client, body))["status"] == "success"
