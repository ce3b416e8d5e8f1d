"""Which files of a working folder become part of the work."""

from pathlib import Path

import pytest

from adapters.workspace import Workspace, Workspaces
from tests.adapters.workspace.given import git, write


def _commit(source: Path, files: dict[str, str]) -> None:
    write(source, files)
    git(source, "add", "-Af")
    git(source, "commit", "-q", "-m", "given")


def _recorded(opened: Workspace, folder: Path) -> tuple[str, ...]:
    return opened.changed_files(opened.base(), opened.snapshot(folder, message="m", parent=opened.base()))


@pytest.mark.parametrize("rule", [".env\n", "/.env\n", ".e*\n"])
def test_the_rules_at_the_base_count_although_an_agent_removes_them(
    workspaces: Workspaces, source: Path, rule: str
) -> None:
    _commit(source, {".gitignore": f"*.log\n{rule}", "sub/.gitignore": "secret\n"})
    opened = workspaces.open("s1", source)
    folder = opened.checkout(tree=None, slot=0)
    write(folder, {".gitignore": "!.env\n", ".env": "theirs", "sub/secret": "s", "new.txt": "n"})
    (folder / "sub" / ".gitignore").unlink()
    assert _recorded(opened, folder) == (".gitignore", "new.txt", "sub/.gitignore")


def test_rules_that_only_the_person_has_count(
    workspaces: Workspaces, source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    write(tmp_path, {"config/git/ignore": ".claude/\n*.swp\n", "named": "*.bak\n"})
    write(source, {".git/info/exclude": "mine.txt\n!kept.swp\n"})
    opened = workspaces.open("s1", source)
    folder = opened.checkout(tree=None, slot=0)
    write(folder, {".claude/settings.json": "{}", "a.swp": "", "kept.swp": "", "mine.txt": "", "a.bak": ""})
    assert _recorded(opened, folder) == ("a.bak", "kept.swp")
    assert ".claude" not in git(folder, "status", "--porcelain")
    git(source, "config", "core.excludesFile", str(tmp_path / "named"))
    other = workspaces.open("s2", source)
    folder = other.checkout(tree=None, slot=0)
    write(folder, {".claude/settings.json": "{}", "a.bak": ""})
    assert _recorded(other, folder) == (".claude/settings.json",)


def test_what_the_work_itself_ignores_is_not_recorded(workspaces: Workspaces, source: Path) -> None:
    opened = workspaces.open("s1", source)
    folder = opened.checkout(tree=None, slot=0)
    write(folder, {"deep/.gitignore": "*.o\n", "deep/a.o": "", "deep/a.c": "", "a.o": ""})
    assert _recorded(opened, folder) == ("a.o", "deep/.gitignore", "deep/a.c")


def test_rules_of_the_agents_own_git_do_not_count(workspaces: Workspaces, source: Path) -> None:
    opened = workspaces.open("s1", source)
    folder = opened.checkout(tree=None, slot=0)
    write(folder, {"hidden.py": "", "all": "*\n"})
    (folder / ".git" / "info" / "exclude").write_text("*.py\n")
    git(folder, "config", "core.excludesFile", str(folder / "all"))
    assert _recorded(opened, folder) == ("all", "hidden.py")


@pytest.mark.parametrize("how", [("add", "-f"), ("add", "-f", "-N"), ("update-index", "--add")])
def test_an_ignored_file_that_the_agents_git_tracks_is_recorded_and_named(
    workspaces: Workspaces, source: Path, how: tuple[str, ...]
) -> None:
    _commit(source, {".gitignore": "dist/\n*.log\n"})
    opened = workspaces.open("s1", source)
    folder = opened.checkout(tree=None, slot=0)
    write(folder, {"dist/a.js": "a", "dist/b.js": "b", "new.txt": "n", "x.log": "", "docs/.gitignore": "d\n"})
    write(folder, {"docs/d": ""})
    git(folder, *how, "dist/a.js", "docs/d")
    state = opened.snapshot(folder, message="m", parent=opened.base())
    changed = {file.path: file.ignored for file in opened.changes(state).files}
    assert changed == {"dist/a.js": True, "docs/.gitignore": False, "docs/d": True, "new.txt": False}


@pytest.mark.parametrize("content", [b"", b"DIRC", b"DIRC\0\0\0\2\xff\xff\xff\xff" + b"\0" * 40])
def test_an_index_that_cannot_be_read_tracks_nothing(workspaces: Workspaces, source: Path, content: bytes) -> None:
    opened = workspaces.open("s1", source)
    folder = opened.checkout(tree=None, slot=0)
    write(folder, {"new.txt": "n", "x.log": ""})
    (folder / ".git" / "index").write_bytes(content)
    assert _recorded(opened, folder) == ("new.txt",)


def test_an_index_is_not_read_through_a_link(workspaces: Workspaces, source: Path) -> None:
    opened = workspaces.open("s1", source)
    folder = opened.checkout(tree=None, slot=0)
    write(folder, {"x.log": ""})
    git(folder, "add", "-f", "x.log")
    (folder / ".git" / "index").rename(folder / ".git" / "other")
    (folder / ".git" / "index").symlink_to("other")
    assert _recorded(opened, folder) == ()


@pytest.mark.parametrize("put", [".env", "config/local", "config"])
def test_what_was_put_there_is_never_recorded_forced_or_not(workspaces: Workspaces, source: Path, put: str) -> None:
    opened = workspaces.open("s1", source)
    folder = opened.checkout(tree=None, slot=0)
    opened.withhold([put])
    place = f"{put}/local" if put == "config" else put
    write(folder, {place: "secret", "new.txt": "n"})
    assert _recorded(opened, folder) == ("new.txt",)
    git(folder, "add", "-f", place)
    write(folder, {".gitignore": f"!{place}\n"})
    assert _recorded(opened, folder) == (".gitignore", "new.txt")


@pytest.mark.parametrize("tool", ["node_modules", ".venv", "__pycache__"])
def test_new_files_beside_tracked_ones_in_folders_of_tools_are_recorded(
    workspaces: Workspaces, source: Path, tool: str
) -> None:
    _commit(source, {".gitignore": "*.log\n", f"tests/fixtures/{tool}/a/index.js": "a"})
    opened = workspaces.open("s1", source)
    folder = opened.checkout(tree=None, slot=0)
    write(folder, {f"tests/fixtures/{tool}/b/index.js": "b", f"{tool}/x.js": "", f"other/{tool}/x.js": ""})
    assert git(folder, "status", "--porcelain").split() == ["??", f"tests/fixtures/{tool}/b/"]
    assert _recorded(opened, folder) == (f"tests/fixtures/{tool}/b/index.js",)
