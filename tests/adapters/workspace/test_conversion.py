"""What a person's git would have committed: filters, encodings and line endings."""

import os
from pathlib import Path

import pytest

from adapters.fence.port import Unfenced
from adapters.workspace import Workspace, Workspaces
from adapters.workspace.conversion import converted
from adapters.workspace.conversion_scratch import NotConverted
from domain.values.sentences import Sentence, sentence_of
from tests.adapters.workspace.given import git, write

HIDE = "#!/bin/sh\ntr a-z A-Z\n"


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder on PATH with filters: `hide` and `broken`."""
    folder = tmp_path / "tools"
    write(folder, {"hide": HIDE, "broken": "#!/bin/sh\nexit 3\n"})
    for name in ("hide", "broken"):
        (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    return folder


def _opened(workspaces: Workspaces, source: Path, attributes: str, clean: str = "") -> Workspace:
    if clean:
        git(source, "config", "filter.secret.clean", clean)
    write(source, {".gitattributes": attributes, "old.key": "STORED\n"})
    (source / "old.u16").write_bytes("old\n".encode("utf-16"))
    git(source, "-c", "filter.secret.clean=cat", "add", "-A")
    git(source, "-c", "filter.secret.clean=cat", "commit", "-q", "-m", "given")
    return workspaces.open("s1", source)


def _work(opened: Workspace, *steps: dict[str, bytes]) -> str:
    folder, state = opened.checkout(tree=None, slot=0), opened.base()
    for files in steps:
        for name, content in files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(content)
        state = opened.snapshot(folder, message="m", parent=state, author="Ada")
    return state


def _published(opened: Workspace, state: str) -> str:
    assert opened.repository is not None
    commit = converted(opened, state, Unfenced)
    assert opened.publish(commit, "result")
    return commit


def _code(error: Exception) -> str:
    sentence = sentence_of(error)
    assert isinstance(sentence, Sentence)
    return sentence.code


@pytest.mark.usefixtures("tools")
def test_a_new_file_under_a_filter_is_cleaned_in_every_commit(workspaces: Workspaces, source: Path) -> None:
    opened = _opened(workspaces, source, "*.key filter=secret\n", "hide")
    commit = _published(opened, _work(opened, {"new.key": b"plain\n"}, {"new.key": b"plainer\n", "b.txt": b"b"}))
    assert git(source, "show", f"{commit}:new.key") == "PLAINER\n"
    assert git(source, "show", f"{commit}~1:new.key") == "PLAIN\n"
    assert git(source, "show", f"{commit}:b.txt") == "b"
    assert git(source, "log", "-1", "--format=%an", commit) == "Ada via Hansard\n"
    git(source, "checkout", "-q", "result")
    assert git(source, "status", "--porcelain") == ""


@pytest.mark.usefixtures("tools")
def test_content_in_stored_form_stays(workspaces: Workspaces, source: Path) -> None:
    opened = _opened(workspaces, source, "*.key filter=secret\n", "sed s/^/x/")
    stored = {
        "moved.key": b"STORED\n",
        "a.key": b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n",
        "b.key": b"\0GITCRYPT\0abc",
    }
    state = _work(opened, stored)
    assert converted(opened, state, Unfenced) == state


@pytest.mark.usefixtures("tools")
@pytest.mark.parametrize("path", ["old.key", "old.u16"])
def test_an_edited_file_under_a_filter_or_an_encoding_refuses(workspaces: Workspaces, source: Path, path: str) -> None:
    opened = _opened(workspaces, source, "*.key filter=secret\n*.u16 working-tree-encoding=UTF-16\n", "hide")
    with pytest.raises(NotConverted, match=path) as refused:
        converted(opened, _work(opened, {path: b"other\n"}), Unfenced)
    assert _code(refused.value) == "filtered_files_edited"


@pytest.mark.usefixtures("tools")
def test_an_edit_that_was_taken_back_is_in_no_commit(workspaces: Workspaces, source: Path) -> None:
    opened = _opened(workspaces, source, "*.key filter=secret\n", "hide")
    commit = _published(opened, _work(opened, {"old.key": b"secret\n"}, {"old.key": b"STORED\n", "b": b""}))
    assert git(source, "show", f"{commit}~1:old.key") == "STORED\n"


@pytest.mark.usefixtures("tools")
@pytest.mark.parametrize(
    ("clean", "code"),
    [
        ("", "filter_not_configured"),
        ("./clean.sh", "filter_relative"),
        ("tools/clean %f", "filter_relative"),
        ("no-such-program-anywhere", "filter_not_found"),
        ("/no/such/program", "filter_not_found"),
        ("broken", "filter_failed"),
    ],
)
def test_a_filter_that_cannot_be_run_refuses_the_whole_branch(
    workspaces: Workspaces, source: Path, clean: str, code: str
) -> None:
    opened = _opened(workspaces, source, "*.key filter=secret\n", clean)
    state = _work(opened, {"new.key": b"plain\n", "clean.sh": HIDE.encode(), "tools/clean": HIDE.encode()})
    with pytest.raises(NotConverted, match=r"new\.key") as refused:
        converted(opened, state, Unfenced)
    assert _code(refused.value) == code


@pytest.mark.usefixtures("tools")
def test_attributes_that_an_agent_wrote_run_nothing(workspaces: Workspaces, source: Path, tmp_path: Path) -> None:
    opened = _opened(workspaces, source, "*.key filter=secret\n", f"touch {tmp_path / 'ran'}")
    state = _work(opened, {".gitattributes": b"*.txt filter=secret\n", "new.txt": b"n\r\n"})
    assert converted(opened, state, Unfenced) == state
    assert not (tmp_path / "ran").exists()


@pytest.mark.usefixtures("tools")
def test_the_settings_of_the_start_count(workspaces: Workspaces, source: Path) -> None:
    opened = _opened(workspaces, source, "*.key filter=secret\n", "hide")
    git(source, "config", "filter.secret.clean", "broken")
    commit = _published(opened, _work(opened, {"new.key": b"plain\n"}))
    assert git(source, "show", f"{commit}:new.key") == "PLAIN\n"


@pytest.mark.parametrize(
    ("attributes", "name", "content", "stored"),
    [
        ("*.u16 working-tree-encoding=UTF-16\n", "n.u16", "hé\n".encode("utf-16"), "hé\n".encode()),
        ("*.u16 working-tree-encoding=UTF-16\n", "n.u16", b"plain\n", b"plain\n"),
        ("*.txt text\n", "n.txt", b"a\r\nb\r\n", b"a\nb\n"),
        ("*.txt eol=crlf\n", "n.txt", b"a\r\n", b"a\n"),
        ("* text=auto\n", "n.txt", b"a\r\n", b"a\n"),
        ("* text=auto\n", "n.bin", b"a\r\n\0", b"a\r\n\0"),
        ("*.txt -text\n", "n.txt", b"a\r\n", b"a\r\n"),
        ("*.txt ident\n", "n.txt", b"$Id: 1 $\n", b"$Id$\n"),
    ],
)
def test_encodings_and_line_endings_are_stored_as_git_stores_them(
    workspaces: Workspaces, source: Path, attributes: str, name: str, content: bytes, stored: bytes
) -> None:
    opened = _opened(workspaces, source, attributes)
    commit = _published(opened, _work(opened, {name: content}))
    expected = source.parent / "expected"
    expected.write_bytes(stored)
    assert git(source, "rev-parse", f"{commit}:{name}") == git(source, "hash-object", "--no-filters", str(expected))


def test_a_repository_without_attributes_is_left_alone(workspaces: Workspaces, source: Path) -> None:
    opened = workspaces.open("s1", source)
    state = _work(opened, {"a.txt": b"a\r\n", "new": b"\xff\0"})
    assert converted(opened, state, Unfenced) == state
