"""With `[workspace] filters = true`, agents see what the checkout shows, and a branch has what git stores."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from adapters.fence.choice import choose
from adapters.fence.port import Unfenced
from adapters.workspace import Lasting, Workspace, Workspaces, conversion_scratch
from adapters.workspace.conversion import converted
from adapters.workspace.conversion_scratch import NotConverted
from adapters.workspace.creation import Earlier
from adapters.workspace.repository import Repository
from adapters.workspace.shown_form import show_all, shower
from tests.adapters.workspace.given import git, write

HIDE = "#!/bin/sh\ntr a-z A-Z\n"
SHOW = "#!/bin/sh\ntr A-Z a-z\n"
ONE_TIME = "#!/bin/sh\ndate +%N; cat\n"
"""Answers otherwise each time, like gpg."""


@pytest.fixture
def workspaces(tmp_path: Path) -> Workspaces:
    return Workspaces(tmp_path / "data", show=shower("auto"))


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder on PATH with filters."""
    folder = tmp_path / "tools"
    write(folder, {"hide": HIDE, "show": SHOW, "broken": "#!/bin/sh\nexit 3\n", "slow": "#!/bin/sh\nsleep 60\n"})
    write(folder, {"seal": ONE_TIME, "unseal": "#!/bin/sh\ntail -n +2\n"})
    for tool in folder.iterdir():
        tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    return folder


def _committed(source: Path, attributes: str, files: dict[str, bytes]) -> None:
    write(source, {".gitattributes": attributes})
    for name, content in files.items():
        (source / name).write_bytes(content)
    git(source, "add", "-A")
    git(source, "commit", "-q", "-m", "given")


def _opened(workspaces: Workspaces, source: Path, name: str = "s1", earlier: Earlier | None = None) -> Workspace:
    return workspaces.open(name, source, lambda: earlier, filters=True)


def _work(opened: Workspace, *steps: dict[str, bytes | None]) -> str:
    folder, state = opened.checkout(tree=None, slot=0), opened.base()
    for files in steps:
        for name, content in files.items():
            if content is None:
                (folder / name).unlink()
            else:
                (folder / name).write_bytes(content)
        state = opened.snapshot(folder, message="m", parent=state, author="Ada")
    return state


def _published(opened: Workspace, state: str) -> str:
    commit = converted(opened, state, choose("auto"))
    assert opened.publish(commit, "result")
    return commit


def _as_the_person(source: Path, files: dict[str, bytes | None]) -> str:
    """The tree that the person's own git makes of the same work."""
    for name, content in files.items():
        (source / name).unlink() if content is None else (source / name).write_bytes(content)
    git(source, "add", "-A")
    tree = git(source, "write-tree")
    git(source, "reset", "-q", "--hard")
    return tree


def _secret(source: Path) -> None:
    git(source, "config", "filter.secret.clean", "hide")
    git(source, "config", "filter.secret.smudge", "show")


@pytest.mark.usefixtures("tools")
def test_agents_see_the_files_of_the_checkout_and_git_shows_no_change(workspaces: Workspaces, source: Path) -> None:
    _secret(source)
    _committed(source, "*.key filter=secret\n*.u16 working-tree-encoding=UTF-16LE\n", {"a.key": b"plain\n"})
    (source / "b.u16").write_bytes("hé\n".encode("utf-16-le"))
    git(source, "add", "-A")
    git(source, "commit", "-q", "-m", "more")
    head = git(source, "rev-parse", "HEAD").strip()
    assert git(source, "show", "HEAD:a.key") == "PLAIN\n"
    opened = _opened(workspaces, source)
    folder = opened.checkout(tree=None, slot=0)
    assert (folder / "a.key").read_bytes() == b"plain\n"
    assert (folder / "b.u16").read_bytes() == (source / "b.u16").read_bytes()
    assert opened.base() == head
    assert git(folder, "rev-parse", "HEAD").strip() == head
    (folder / "a.key").touch()
    assert git(folder, "status", "--porcelain") == ""
    assert opened.snapshot(folder, message="m", parent=head) == head
    fresh = opened.fresh(tree=None, slot=9)
    assert (fresh / "a.key").read_bytes() == b"plain\n"


EVERYTHING: dict[str, dict[str, bytes | None]] = {
    "edited": {"old.key": b"other\n"},
    "new": {"new.key": b"new\n", "plain.txt": b"x\n"},
    "gone": {"old.key": None},
    "moved": {"old.key": None, "moved.key": b"plain\n"},
    "moved out": {"old.key": None, "moved.txt": b"plain\n"},
    "other": {"b.txt": b"b\n"},
    "encoded": {"old.u16": "ü\n".encode("utf-16-le"), "new.u16": "ö\n".encode("utf-16-le")},
    "line ends": {"old.crlf": b"a\r\nb\r\n", "new.crlf": b"c\r\n", "lf.crlf": b"d\n"},
}


@pytest.mark.usefixtures("tools")
@pytest.mark.parametrize("case", list(EVERYTHING))
def test_the_branch_has_what_the_persons_git_would_have_committed(
    workspaces: Workspaces, source: Path, case: str
) -> None:
    _secret(source)
    given = {"old.key": b"plain\n", "old.u16": "o\n".encode("utf-16-le"), "old.crlf": b"a\r\n"}
    _committed(source, "*.key filter=secret\n*.u16 working-tree-encoding=UTF-16LE\n*.crlf eol=crlf\n", given)
    opened = _opened(workspaces, source)
    commit = _published(opened, _work(opened, EVERYTHING[case]))
    assert git(source, "rev-parse", f"{commit}^{{tree}}") == _as_the_person(source, EVERYTHING[case])
    assert git(source, "rev-parse", f"{commit}~1") == git(source, "rev-parse", "HEAD")
    git(source, "checkout", "-q", "result")
    assert git(source, "status", "--porcelain") == ""


@pytest.mark.usefixtures("tools")
def test_attributes_that_an_agent_takes_away_still_count(workspaces: Workspaces, source: Path) -> None:
    _secret(source)
    _committed(source, "*.key filter=secret\n", {"old.key": b"plain\n"})
    opened = _opened(workspaces, source)
    commit = _published(opened, _work(opened, {".gitattributes": b"", "old.key": b"edited\n"}))
    assert git(source, "show", f"{commit}:old.key") == "EDITED\n"


@pytest.mark.usefixtures("tools")
def test_every_commit_is_stored_and_untouched_files_keep_their_blobs(workspaces: Workspaces, source: Path) -> None:
    git(source, "config", "filter.secret.clean", "seal")
    git(source, "config", "filter.secret.smudge", "unseal")
    _committed(source, "*.key filter=secret\n", {"a.key": b"a\n", "b.key": b"b\n"})
    opened = _opened(workspaces, source)
    steps: list[dict[str, bytes | None]] = [{"a.key": b"x\n"}, {"a.key": b"a\n", "c.key": b"b\n"}, {"t": b"t"}]
    commit = _published(opened, _work(opened, *steps))
    before = {name: git(source, "rev-parse", f"HEAD:{name}.key") for name in "ab"}
    assert git(source, "show", f"{commit}~2:a.key").endswith("\nx\n")
    assert git(source, "rev-parse", f"{commit}~2:b.key") == before["b"]
    assert [git(source, "rev-parse", f"{commit}:{name}.key") for name in "abc"] == [
        before["a"],
        before["b"],
        before["b"],
    ]


@pytest.mark.usefixtures("tools")
def test_what_is_published_is_seen_here_as_it_was_made(workspaces: Workspaces, source: Path) -> None:
    _secret(source)
    _committed(source, "*.key filter=secret\n", {"a.key": b"a\n", "b.key": b"b\n"})
    opened = _opened(workspaces, source)
    state = _work(opened, {"a.key": b"x\n"}, {"c.key": b"c\n"})
    commit = _published(opened, state)
    assert commit != state
    assert opened.patch(opened.base(), commit) == opened.patch(opened.base(), state)
    assert [file.path for file in opened.changes(commit).files] == ["a.key", "c.key"]


@pytest.mark.usefixtures("tools")
def test_a_landing_is_merged_as_stored_and_validated_as_shown(workspaces: Workspaces, source: Path) -> None:
    _secret(source)
    _committed(source, "*.key filter=secret\n", {"a.key": b"a\n", "b.key": b"b\n"})
    opened = _opened(workspaces, source)
    commit = _published(opened, _work(opened, {"a.key": b"x\n"}))
    (source / "b.key").write_bytes(b"theirs\n")
    git(source, "commit", "-qam", "theirs")
    branch = git(source, "branch", "--show-current").strip()
    before = opened.tip(branch)
    merged = opened.integrate(onto=before, commit=commit, message="merge")
    show_all(opened, [before, merged], choose("auto"))
    folder = opened.fresh(tree=merged, slot=9)
    assert [(folder / name).read_bytes() for name in ("a.key", "b.key")] == [b"x\n", b"theirs\n"]
    git(source, "checkout", "-q", "--detach")
    assert opened.advance(branch, before=before, after=merged)
    assert [git(source, "show", f"{branch}:{name}") for name in ("a.key", "b.key")] == ["X\n", "THEIRS\n"]


@pytest.mark.usefixtures("tools")
def test_another_machine_sees_the_same(workspaces: Workspaces, source: Path, tmp_path: Path) -> None:
    _secret(source)
    _committed(source, "*.key filter=secret\n", {"a.key": b"a\n"})
    opened = _opened(workspaces, source)
    state = _work(opened, {"b.key": b"b\n"})
    here, other = workspaces.shared("s1"), Workspaces(tmp_path / "other")
    shutil.move(source, tmp_path / "gone")
    there = other.shared("s1")
    there.begin(here.facts, here.base_pack(10**9))
    there.take(1, state, here.state_pack(state, 10**9, ()))
    folder = other.existing("s1").checkout(tree=state, slot=0)
    assert [(folder / name).read_bytes() for name in ("a.key", "b.key")] == [b"a\n", b"b\n"]


@pytest.mark.usefixtures("tools")
@pytest.mark.parametrize(
    ("smudge", "why"),
    [
        ("broken", "failed, without network"),
        ("./show.sh", "relative path"),
        ("no-such-program-anywhere", "was not found"),
        ("slow", "more than 0.2 s"),
    ],
)
def test_a_filter_that_cannot_show_files_ends_the_start_for_good(
    workspaces: Workspaces, source: Path, monkeypatch: pytest.MonkeyPatch, smudge: str, why: str
) -> None:
    _secret(source)
    _committed(source, "*.key filter=secret\n", {"a.key": b"a\n"})
    git(source, "config", "filter.secret.smudge", smudge)
    if smudge == "slow":
        monkeypatch.setattr(conversion_scratch, "SECONDS_IN_ALL", 0.2)
    with pytest.raises(Lasting, match=why):
        _opened(workspaces, source)
    assert not workspaces.exists("s1")


@pytest.mark.usefixtures("tools")
def test_a_filter_that_is_not_configured_shows_what_the_checkout_shows_and_refuses_the_branch(
    workspaces: Workspaces, source: Path
) -> None:
    _committed(source, "*.key filter=secret\n", {"a.key": b"STORED\n"})
    opened = _opened(workspaces, source)
    assert (opened.checkout(tree=None, slot=0) / "a.key").read_bytes() == b"STORED\n"
    with pytest.raises(NotConverted, match=r"a\.key"):
        converted(opened, _work(opened, {"a.key": b"x\n"}), Unfenced)


@pytest.mark.usefixtures("tools")
def test_a_conversation_goes_on_with_what_the_persons_git_stores(workspaces: Workspaces, source: Path) -> None:
    _secret(source)
    _committed(source, "*.key filter=secret\n", {"a.key": b"a\n"})
    first = _opened(workspaces, source)
    commit = _published(first, _work(first, {"b.key": b"b\n"}))
    earlier = Earlier(workspaces.root / "s1" / "repo.git", commit, "result")
    second = _opened(workspaces, source, "s2", earlier)
    folder = second.checkout(tree=None, slot=0)
    assert [(folder / name).read_bytes() for name in ("a.key", "b.key")] == [b"a\n", b"b\n"]
    last = converted(second, _work(second, {"c.key": b"c\n"}), Unfenced)
    assert second.publish(last, "second")
    assert [git(source, "show", f"{last}:{name}") for name in ("a.key", "b.key", "c.key")] == ["A\n", "B\n", "C\n"]


@pytest.mark.usefixtures("tools")
@pytest.mark.parametrize("filters", [True, False])
def test_nothing_of_a_conversation_that_was_never_published_is_handed_over_unfiltered(
    workspaces: Workspaces, source: Path, filters: bool
) -> None:
    _secret(source)
    _committed(source, "*.key filter=secret\n", {"a.key": b"a\n"})
    first = workspaces.open("s1", source, filters=filters)
    state = _work(first, {"b.key": b"b\n"})
    earlier = Earlier(workspaces.root / "s1" / "repo.git", state, None, stored=False)
    second = workspaces.open("s2", source, lambda: earlier, filters=filters)
    assert second.base() == state
    last = converted(second, _work(second, {"c.key": b"c\n"}), Unfenced)
    assert second.publish(last, "second")
    for commit, names in ((last, "abc"), (f"{last}~1", "ab")):
        assert [git(source, "show", f"{commit}:{name}.key") for name in names] == [f"{n.upper()}\n" for n in names]


# -- the filters that people use ---------------------------------------------------------------------------------------


def _lfs(source: Path) -> None:
    git(source, "lfs", "install", "--local")


def _lfs_elsewhere(source: Path) -> None:
    """The files lie in a place that the person has named."""
    _lfs(source)
    git(source, "config", "lfs.storage", "stored-files")


def _crypt(source: Path) -> None:
    git(source, "-c", "alias.crypt=!git-crypt", "crypt", "init")


@pytest.mark.parametrize(
    ("program", "prepare", "attributes", "begins"),
    [
        ("git-lfs", _lfs, "*.bin filter=lfs diff=lfs merge=lfs -text\n", b"version https://git-lfs"),
        ("git-lfs", _lfs_elsewhere, "*.bin filter=lfs -text\n", b"version https://git-lfs"),
        ("git-crypt", _crypt, "*.bin filter=git-crypt diff=git-crypt\n", b"\0GITCRYPT\0"),
    ],
)
def test_git_lfs_and_git_crypt_lose_no_byte(
    workspaces: Workspaces,
    source: Path,
    program: str,
    prepare: Callable[[Path], None],
    attributes: str,
    begins: bytes,
) -> None:
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed")
    prepare(source)
    old, new, other = b"\0old\r\n" * 50, b"\xff\0new" * 50, bytes(range(256))
    _committed(source, attributes, {"old.bin": old, "same.bin": other})
    opened = _opened(workspaces, source)
    folder = opened.checkout(tree=None, slot=0)
    assert (folder / "old.bin").read_bytes() == old
    commit = _published(opened, _work(opened, {"old.bin": new, "added.bin": old + new}))
    stored = Repository(source / ".git")
    for name in ("old.bin", "added.bin", "same.bin"):
        assert stored.run("cat-file", "blob", f"{commit}:{name}").startswith(begins)
    git(source, "checkout", "-q", "result")
    contents = {name: (source / name).read_bytes() for name in ("old.bin", "added.bin", "same.bin")}
    assert contents == {"old.bin": new, "added.bin": old + new, "same.bin": other}
    assert git(source, "status", "--porcelain") == ""


def test_objects_of_git_lfs_that_are_not_here_are_named_before_anything_starts(
    workspaces: Workspaces, source: Path
) -> None:
    if shutil.which("git-lfs") is None:
        pytest.skip("git-lfs is not installed")
    _lfs(source)
    _committed(source, "*.bin filter=lfs -text\n", {"a.bin": b"content"})
    shutil.rmtree(source / ".git" / "lfs" / "objects")
    with pytest.raises(Lasting, match="git lfs pull"):
        _opened(workspaces, source)
