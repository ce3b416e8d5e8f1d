"""What git shows in a workspace, against real repositories of every kind that people have."""

from pathlib import Path

import pytest

from adapters.workspace import Workspace, WorkspaceError, Workspaces
from adapters.workspace.checkout import start_point
from tests.adapters.workspace.given import git, write


@pytest.fixture
def origin(tmp_path: Path) -> Path:
    """A repository on a server: a tag on an old commit, three commits on main, a tag on a branch that nobody merged."""
    folder = tmp_path / "origin"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    for number in (1, 2, 3):
        write(folder, {"a.txt": f"{number}\n", f"dir/{number}.txt": f"new {number}\n"})
        git(folder, "add", "-A")
        git(folder, "commit", "-q", "-m", f"commit {number}")
        if number == 1:
            git(folder, "tag", "-a", "v1.0", "-m", "first")
            git(folder, "branch", "side")
    git(folder, "checkout", "-q", "side")
    write(folder, {"side.txt": "side\n"})
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "on the side")
    git(folder, "tag", "light")
    git(folder, "checkout", "-q", "main")
    for key in ("uploadpack.allowFilter", "uploadpack.allowAnySHA1InWant"):
        git(folder, "config", key, "true")
    return folder


def clone(origin: Path, name: str, *options: str, address: str | None = None) -> Path:
    git(origin.parent, "clone", "-q", *options, address or str(origin), name)
    return origin.parent / name


def inside(workspaces: Workspaces, folder: Path, name: str = "s1") -> Path:
    return workspaces.open(name, folder).checkout(tree=None, slot=0)


def branches(folder: Path) -> set[str]:
    return set(git(folder, "for-each-ref", "--format=%(refname)", "refs/heads", "refs/remotes").split())


QUESTIONS = (
    ("describe", "--tags", "--always"),
    ("describe", "--tags", "--long", "--match", "v*"),
    ("tag", "--list"),
    ("show", "-s", "--format=%H", "light^{commit}"),
    ("log", "--format=%H %s"),
    ("log", "-p", "--format=%H"),
    ("log", "--format=%H", "--", "dir/1.txt"),
    ("diff", "main"),
    ("diff", "--stat", "v1.0"),
    ("merge-base", "origin/main", "HEAD"),
    ("rev-list", "--count", "origin/main..HEAD"),
    ("blame", "a.txt"),
)


def answers(folder: Path) -> dict[str, str]:
    return {" ".join(question): git(folder, *question) for question in QUESTIONS}


def test_git_answers_as_in_the_checkout(workspaces: Workspaces, origin: Path) -> None:
    checkout = clone(origin, "checkout")
    assert answers(inside(workspaces, checkout)) == answers(checkout)


@pytest.mark.parametrize(
    "options",
    [
        ("--shared",),
        ("--reference", "origin"),
        ("--filter=blob:none",),
        ("--filter=tree:0",),
        ("--filter=blob:none", "--shared"),
        ("--filter=blob:none", "--reference", "mirror"),
        ("--filter=blob:limit=1",),
    ],
    ids=" ".join,
)
def test_nor_does_it_matter_where_the_objects_are(
    workspaces: Workspaces, origin: Path, options: tuple[str, ...]
) -> None:
    clone(origin, "mirror", "--bare", "--single-branch", "--branch=side", address=f"file://{origin}")
    address = None if "--shared" in options else f"file://{origin}"
    if "--shared" in options and len(options) > 1:
        clone(origin, "between", "--filter=blob:none", "--no-local", address=f"file://{origin}")
        checkout = clone(origin.parent / "between", "checkout", "--shared")
        git(checkout, "remote", "set-url", "origin", f"file://{origin}")
        git(checkout, "config", "extensions.partialClone", "origin")
        git(checkout, "config", "remote.origin.promisor", "true")
        git(checkout, "fetch", "-q", "--tags")
    else:
        checkout = clone(origin, "checkout", *options, address=address)
    folder = inside(workspaces, checkout)
    gone = origin.rename(origin.with_name("gone"))
    found = answers(folder)
    gone.rename(origin)
    assert found == answers(checkout)


@pytest.mark.parametrize("options", [("--depth=1",), ("--depth=2",), ("--depth=1", "--filter=blob:none")], ids=" ".join)
def test_a_shallow_clone_stays_shallow(workspaces: Workspaces, origin: Path, options: tuple[str, ...]) -> None:
    checkout = clone(origin, "checkout", *options, address=f"file://{origin}")
    git(checkout, "fetch", "-q", "--depth=1", "origin", "tag", "v1.0")
    folder = inside(workspaces, checkout)
    for question in QUESTIONS:
        if "light" not in question[-1] and question[0] != "describe":
            assert git(folder, *question) == git(checkout, *question), question
    git(folder, "fsck", "--connectivity-only")


def test_the_work_in_a_shallow_clone_is_handed_over(workspaces: Workspaces, origin: Path) -> None:
    checkout = clone(origin, "checkout", "--depth=1", "--filter=blob:none", address=f"file://{origin}")
    opened = workspaces.open("s1", checkout)
    folder = opened.checkout(tree=None, slot=0)
    write(folder, {"a.txt": "new\n"})
    state = opened.snapshot(folder, message="work", parent=opened.base())
    assert opened.publish(state, "hansard/result")
    assert git(checkout, "show", "hansard/result:a.txt") == "new\n"


def test_of_the_branches_only_the_base_and_its_upstream_are_there(workspaces: Workspaces, origin: Path) -> None:
    checkout = clone(origin, "checkout")
    git(checkout, "checkout", "-q", "-b", "feature", "--track", "origin/side")
    git(checkout, "branch", "another")
    assert branches(inside(workspaces, checkout)) == {
        "refs/heads/hansard",
        "refs/heads/feature",
        "refs/remotes/origin/side",
    }


def test_without_an_upstream_the_default_branch_of_origin_is_there(workspaces: Workspaces, origin: Path) -> None:
    checkout = clone(origin, "checkout")
    git(checkout, "checkout", "-q", "-b", "feature", "--no-track", "origin/side")
    folder = inside(workspaces, checkout)
    assert branches(folder) == {"refs/heads/hansard", "refs/heads/feature", "refs/remotes/origin/main"}
    assert git(folder, "merge-base", "origin/main", "HEAD") == git(checkout, "merge-base", "origin/main", "HEAD")
    assert git(folder, "diff", "origin/main") == git(checkout, "diff", "origin/main")


def test_a_local_branch_is_no_upstream_and_one_that_is_gone_is_none(workspaces: Workspaces, origin: Path) -> None:
    checkout = clone(origin, "checkout")
    git(checkout, "checkout", "-q", "-b", "local", "--track", "main")
    assert "refs/remotes/origin/main" in branches(inside(workspaces, checkout))
    git(checkout, "checkout", "-q", "-b", "pruned", "--track", "origin/side")
    git(checkout, "update-ref", "-d", "refs/remotes/origin/side")
    assert "refs/remotes/origin/main" in branches(inside(workspaces, checkout, "s2"))


def test_a_detached_head_has_no_base_branch(workspaces: Workspaces, origin: Path) -> None:
    checkout = clone(origin, "checkout")
    git(checkout, "checkout", "-q", "--detach", "v1.0")
    opened = workspaces.open("s1", checkout)
    assert opened.branch is None
    assert branches(opened.checkout(tree=None, slot=0)) == {"refs/heads/hansard", "refs/remotes/origin/main"}


def test_a_worktree_of_the_person_shows_its_own_branch(workspaces: Workspaces, origin: Path) -> None:
    checkout = clone(origin, "checkout")
    git(checkout, "worktree", "add", "-q", "-b", "tree", "../worktree", "v1.0")
    folder = inside(workspaces, origin.parent / "worktree")
    assert "refs/heads/tree" in branches(folder)
    assert "refs/heads/main" not in branches(folder)
    assert git(folder, "describe", "--tags") == "v1.0\n"


@pytest.mark.parametrize("branch", ["release", "v/1"])
def test_a_tag_may_be_called_like_the_branch(workspaces: Workspaces, source: Path, branch: str) -> None:
    git(source, "checkout", "-q", "-b", branch)
    git(source, "tag", branch)
    write(source, {"a.txt": "later\n"})
    git(source, "commit", "-q", "-a", "-m", "later")
    point, opened = start_point(source), workspaces.open("s1", source)
    assert point is not None
    assert (point.branch, opened.branch) == (branch, branch)
    assert opened.tip(branch) == opened.base()
    folder = opened.checkout(tree=None, slot=0)
    assert git(folder, "rev-parse", f"refs/heads/{branch}") == git(source, "rev-parse", f"refs/heads/{branch}")
    assert git(folder, "rev-parse", f"refs/tags/{branch}") == git(source, "rev-parse", f"refs/tags/{branch}")


@pytest.mark.parametrize("branch", ["hansard", "hansard/result", "hansard-work"])
def test_the_base_may_be_called_like_the_branch_that_agents_work_on(
    workspaces: Workspaces, source: Path, branch: str
) -> None:
    git(source, "checkout", "-q", "-b", branch)
    folder = inside(workspaces, source)
    git(folder, "commit", "-q", "--allow-empty", "-m", "an agent's")
    assert git(folder, "rev-parse", f"refs/heads/{branch}") == git(source, "rev-parse", "HEAD")


def test_a_broken_tag_costs_only_itself(workspaces: Workspaces, source: Path) -> None:
    git(source, "tag", "whole")
    (source / ".git" / "refs" / "tags" / "broken").write_text(f"{'1' * 40}\n")
    assert git(inside(workspaces, source), "tag", "--list") == "whole\n"


def test_a_repository_without_commits_has_nothing_to_show(workspaces: Workspaces, tmp_path: Path) -> None:
    folder = tmp_path / "empty"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    assert branches(inside(workspaces, folder)) == {"refs/heads/hansard"}


def test_a_branch_without_commits_starts_empty_beside_tags_and_branches(workspaces: Workspaces, origin: Path) -> None:
    checkout = clone(origin, "checkout")
    git(checkout, "checkout", "-q", "--orphan", "fresh")
    folder = inside(workspaces, checkout)
    assert [path.name for path in folder.iterdir()] == [".git"]
    assert git(folder, "tag", "--list") == git(checkout, "tag", "--list")


def test_five_thousand_tags_are_one_file(workspaces: Workspaces, source: Path) -> None:
    head = git(source, "rev-parse", "HEAD").strip()
    rows = "".join(f"{head} refs/tags/t{number:05}\n" for number in range(5_000))
    (source / ".git" / "packed-refs").write_text(f"# pack-refs with: peeled fully-peeled sorted \n{rows}")
    folder = inside(workspaces, source)
    assert len(git(folder, "tag").split()) == 5_000
    assert not (folder / ".git" / "refs" / "tags").exists() or not any((folder / ".git" / "refs" / "tags").iterdir())


# -- what is not on this machine ---------------------------------------------------------------------------------------


def partial(origin: Path) -> Path:
    """A partial clone that lacks a file of its own commit, as after `git clone --sparse` or `--no-checkout`."""
    return clone(origin, "checkout", "--filter=blob:none", "--no-checkout", address=f"file://{origin}")


def test_files_that_were_never_checked_out_are_fetched(workspaces: Workspaces, origin: Path) -> None:
    folder = inside(workspaces, partial(origin))
    assert (folder / "dir" / "3.txt").read_text() == "new 3\n"


def test_a_start_is_refused_where_the_remote_is_gone(workspaces: Workspaces, origin: Path) -> None:
    checkout = partial(origin)
    origin.rename(origin.with_name("moved"))
    with pytest.raises(WorkspaceError, match="partial clone, and what it lacks could not be fetched from file:"):
        workspaces.open("s1", checkout)
    assert not workspaces.exists("s1")


def test_a_longer_history_than_anyone_wants_stays_at_the_remote(
    workspaces: Workspaces, origin: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("adapters.workspace.borrowed_objects.MOST", 1)
    opened = workspaces.open("s1", clone(origin, "checkout", "--filter=blob:none", address=f"file://{origin}"))
    folder = opened.checkout(tree=None, slot=0)
    assert git(folder, "log", "--format=%s").split("\n")[0] == "commit 3"
    write(folder, {"a.txt": "new\n"})
    state = opened.snapshot(folder, message="work", parent=opened.base())
    assert opened.publish(state, "hansard/result")


def test_no_program_that_the_repository_names_is_run_to_fetch(
    workspaces: Workspaces, origin: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkout, marker, script = partial(origin), tmp_path / "ran", tmp_path / "evil.sh"
    script.write_text(f"#!/bin/sh\ntouch '{marker}'\nexec git-upload-pack \"$@\"\n")
    script.chmod(0o755)
    for key in ("remote.origin.uploadpack", "core.sshCommand", "core.gitProxy", "core.askPass", "credential.helper"):
        git(checkout, "config", key, str(script))
    git(checkout, "config", f"url.ext::{script} .insteadOf", "other:")
    inside(workspaces, checkout)
    git(checkout, "config", "remote.origin.url", "other:x")
    with pytest.raises(WorkspaceError, match="could not be fetched"):
        workspaces.open("s2", checkout)
    assert not marker.exists()


def test_a_path_with_a_line_break_is_refused_before_anything_starts(workspaces: Workspaces, tmp_path: Path) -> None:
    folder = tmp_path / "two\nlines"
    folder.mkdir()
    git(folder, "init", "-q")
    with pytest.raises(WorkspaceError, match="line break"):
        workspaces.open("s1", folder)


def test_alternates_of_alternates(workspaces: Workspaces, origin: Path) -> None:
    first = clone(origin, "first", "--shared")
    second = clone(first, "second", "--shared")
    opened: Workspace = workspaces.open("s1", second)
    assert not (opened.objects / "info" / "alternates").exists()
    origin.rename(origin.with_name("gone"))
    assert "commit 1" in git(opened.checkout(tree=None, slot=0), "log", "-p")


@pytest.mark.parametrize("name", ["trunk", "한국", 'odd"name', "with/slash"])
def test_new_repositories_begin_as_at_the_persons(
    tmp_path: Path, origin: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    home = tmp_path / "account"
    home.mkdir()
    git(tmp_path, "config", "--file", str(home / ".gitconfig"), "init.defaultBranch", name)
    monkeypatch.setenv("HOME", str(home))
    settings = Workspaces(tmp_path / "data").open("s1", origin).git_settings
    assert git(tmp_path, "config", "--file", str(settings), "init.defaultBranch") == f"{name}\n"


def test_no_name_for_the_first_branch_is_no_setting(workspaces: Workspaces, origin: Path) -> None:
    assert workspaces.open("s1", origin).git_settings is None
