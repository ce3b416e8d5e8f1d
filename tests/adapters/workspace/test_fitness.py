"""Which folders are refused before anybody works in them, whatever links lead there."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from adapters.workspace import Lasting, Room, WorkspaceError, Workspaces, check
from tests.adapters.workspace.given import git, write

ROOM = Room(files=3, bytes=10)
OURS = "is inside Hansard's own data folder; choose a folder elsewhere"
BARE = "is inside a bare git repository; choose the repository itself, or a working tree (git clone)"
GITS = "is inside a .git folder; choose the working tree that contains it"


@pytest.fixture
def ours(tmp_path: Path) -> Path:
    """Where Hansard keeps its data, next to the person's projects."""
    result = tmp_path / "home" / "data"
    write(result, {"workspaces/s1/repo.git/HEAD": "", "examples/s1/shop/a.py": ""})
    return result


def refused(folder: Path, ours: Path, room: Room | None = None) -> str:
    with pytest.raises(WorkspaceError) as error:
        check(folder, ours=ours, room=room)
    return str(error.value)


def bare(source: Path) -> Path:
    git(source, "clone", "-q", "--bare", ".", str(source.parent / "bare"))
    return source.parent / "bare"


def container(source: Path) -> Path:
    """A bare repository that a `.git` file points to, for worktrees next to it."""
    folder = bare(source).rename(source.parent / "bared").parent / "container"
    write(folder, {".git": f"gitdir: {source.parent / 'bared'}\n"})
    return folder


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda source: source / ".git", GITS),
        (lambda source: source / ".git" / "hooks", GITS),
        (lambda source: bare(source) / "refs", BARE),
        (container, BARE),
    ],
    ids=["git folder", "inside a git folder", "inside a bare one", "container of worktrees"],
)
def test_a_repository_without_files_is_refused(
    make: Callable[[Path], Path], expected: str, source: Path, ours: Path, tmp_path: Path
) -> None:
    folder = make(source)
    folder.mkdir(exist_ok=True)
    (tmp_path / "link").symlink_to(folder)
    assert [refused(folder, ours), refused(tmp_path / "link", ours)] == [expected, expected]
    check(source, ours=ours)


def test_a_git_folder_that_is_broken_is_refused_too(plain: Path, ours: Path) -> None:
    write(plain, {".git/hooks/x": ""})
    assert refused(plain / ".git" / "hooks", ours) == GITS


def test_a_repository_that_git_cannot_open_is_refused_with_our_own_text(plain: Path, ours: Path) -> None:
    write(plain, {".git": "gitdir: /nowhere\n"})
    assert re.fullmatch(
        r"git cannot open it; see that git status .*\(git rev-parse failed: fatal: .*\)", refused(plain, ours)
    )


def test_a_repository_that_borrows_from_one_that_is_gone_is_refused(source: Path, ours: Path, tmp_path: Path) -> None:
    """Before anything is asked: trying again would not help. What it holds itself is enough."""
    borrowing, whole = tmp_path / "borrowing", tmp_path / "whole"
    for folder in (borrowing, whole):
        git(tmp_path, "clone", "-q", "--shared", str(source), str(folder))
    git(whole, "repack", "-q", "-a", "-d")
    git(borrowing, "commit", "-q", "--allow-empty", "-m", "Mine")
    check(borrowing, ours=ours)
    source.rename(tmp_path / "gone")
    check(whole, ours=ours)
    lender = source / ".git" / "objects"
    said = f"is a repository that borrows objects from {lender}, which is not there: bring that folder back, or"
    assert refused(borrowing, ours) == f"{said} clone again"
    with pytest.raises(Lasting):
        check(borrowing, ours=ours)


def test_a_repository_without_its_own_commit_is_refused(source: Path, ours: Path) -> None:
    head = git(source, "rev-parse", "HEAD").strip()
    (source / ".git" / "objects" / head[:2] / head[2:]).unlink()
    assert refused(source, ours).startswith(f"is a repository that lacks its own commit {head[:10]}; see what git fsck")


def test_a_folder_may_hold_our_data(source: Path, plain: Path) -> None:
    """A log that is kept in the project."""
    for folder in (source, plain):
        data = folder / "hansard.db.d"
        write(folder, {"hansard.db.d/workspaces/s1/repo.git/HEAD": "", "hansard.db": "x" * 20, "hansard.db-wal": ""})
        check(folder, ours=data, room=ROOM, private=(folder / "hansard.db",))
        assert refused(data, data) == OURS


@pytest.mark.parametrize("folder", ["/etc", "/etc/ssl", "/proc/self", "/sys", "/usr", "/bin", "/dev"])
def test_folders_of_the_system_are_refused(ours: Path, tmp_path: Path, folder: str) -> None:
    if not Path(folder).is_dir():
        pytest.skip(f"{folder} does not exist here")
    (tmp_path / "link").symlink_to(folder)
    for place in (Path(folder), tmp_path / "link"):
        assert refused(place, ours) == "belongs to the operating system; choose the folder of one project"


def test_projects_below_system_folders_are_accepted(ours: Path) -> None:
    for folder in (Path("/usr/local"), Path("/usr/src"), Path("/var/tmp"), Path("/dev/shm")):
        if folder.is_dir():
            check(folder, ours=ours)


def test_the_whole_file_system_is_refused(ours: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("/")
    for folder in (Path("/"), tmp_path / "link", Path("/..")):
        assert refused(folder, ours) == "is the whole file system; choose the folder of one project"


@pytest.mark.parametrize(
    ("folder", "expected"),
    [
        (".", OURS),
        ("workspaces", OURS),
        ("workspaces/s1/repo.git", OURS),
        ("examples", OURS),
    ],
)
def test_our_own_data_is_refused(folder: str, expected: str, ours: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(ours / folder)
    (tmp_path / "ours").symlink_to(ours)
    assert refused(ours / folder, ours) == refused(tmp_path / "link", ours) == expected
    assert refused(ours / folder, tmp_path / "ours") == expected


def test_a_person_can_work_in_the_repository_of_the_example(ours: Path) -> None:
    check(ours / "examples" / "s1" / "shop", ours=ours)


def test_a_folder_that_only_starts_like_our_data_is_accepted(ours: Path) -> None:
    (ours.parent / "data of mine").mkdir()
    check(ours.parent / "data of mine", ours=ours)
    check(ours.parent / "data of mine", ours=ours.parent / "not there yet")


@pytest.mark.parametrize("name", ["nowhere", "file", "x" * 300, "loop"])
def test_a_path_that_is_not_a_folder_is_refused(name: str, ours: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    assert refused(tmp_path / name, ours) == "should be an existing folder"


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"a": "", "b": "", "c": ""}, None),
        ({"a": "", "b/c": "", "d": ""}, "holds more than 3 files, more than Hansard copies; "),
        ({"a": "x" * 10}, None),
        ({"a": "x" * 11}, "holds more than 10 bytes, more than Hansard copies; "),
        ({"node_modules/a/b": "x" * 11, "c": "", ".git x": "", ".venv/d": "x" * 11}, None),
    ],
)
def test_a_folder_without_git_has_so_much_room(
    files: dict[str, str], expected: str | None, tmp_path: Path, ours: Path
) -> None:
    folder = tmp_path / "project"
    write(folder, files)
    check(folder, ours=ours)
    if expected is None:
        return check(folder, ours=ours, room=ROOM)
    output = refused(folder, ours, ROOM)
    assert output.startswith(expected) and "make it a git repository" in output
    git(folder, "init", "-q")
    return check(folder, ours=ours, room=ROOM)


def test_links_are_counted_and_not_followed(tmp_path: Path, ours: Path) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "round").symlink_to(folder)
    (folder / "everything").symlink_to("/")
    check(folder, ours=ours, room=ROOM)


def test_a_folder_that_has_grown_is_not_taken_over(tmp_path: Path, plain: Path) -> None:
    """It was smaller when the session was started."""
    write(plain, {"large": "x" * 11})
    with pytest.raises(WorkspaceError, match=r"^The folder .*/plain holds more than 10 bytes, .* are used\)\.$"):
        Workspaces(tmp_path / "data", ROOM).open("s1", plain)
    assert not (tmp_path / "data" / "s1" / "repo.git").exists()


def test_a_folder_that_now_points_elsewhere_is_not_reused(tmp_path: Path, workspaces: Workspaces) -> None:
    (tmp_path / "link").symlink_to("/")
    with pytest.raises(WorkspaceError, match=r"^The folder / is the whole file system"):
        workspaces.open("s1", tmp_path / "link")


def test_errors_of_a_copy_never_consist_of_gits_output_alone(
    tmp_path: Path, workspaces: Workspaces, source: Path
) -> None:
    head = git(source, "rev-parse", "HEAD").strip()
    for result in (source / ".git" / "objects").glob("??/*"):
        if result.parent.name + result.name != head:
            result.chmod(0o600)
            result.write_bytes(b"broken")
    with pytest.raises(WorkspaceError, match=r"^The workspace cannot be made from .*/the source: git "):
        workspaces.open("s1", source)
