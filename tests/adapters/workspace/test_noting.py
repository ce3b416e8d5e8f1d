"""Notes in `refs/notes/ai` as the Git AI Standard 3.0.0 has them, read by a strict reader of its own."""

import hashlib
import json
import re
from pathlib import Path
from typing import Any

from adapters.workspace import Workspace
from adapters.workspace.publication import hand_over
from tests.adapters.workspace.given import git, write

TRAILERS = (
    "Done.\n\nHansard-Session: delivery-a\nHansard-Turn: delivery-a.t4\nHansard-Agent: Grace\nHansard-Model: opus\n"
)
ENTRY = re.compile(r"  (s_[0-9a-f]{14}::t_[0-9a-f]{14}|h_[0-9a-f]{14}|[0-9a-f]{16}) (\d+(?:-\d+)?(?:,\d+(?:-\d+)?)*)")


def note(source: Path, commit: str) -> str:
    return git(source, "notes", "--ref=ai", "show", commit)


def strictly(text: str) -> tuple[dict[str, dict[str, str]], dict[str, Any]]:
    """The ranges by path and key, and what is known of the keys. Fails for whatever the standard does not allow."""
    head, divider, tail = text.partition("---\n")
    assert divider
    result: dict[str, dict[str, str]] = {}
    path = ""
    for line in head.splitlines():
        entry = ENTRY.fullmatch(line)
        if entry is None:
            assert line and not line[0].isspace()
            assert (line[0] == '"') == (" " in line)
            path = line.strip('"')
            result[path] = {}
            continue
        numbers = [int(number) for number in re.split("[,-]", entry[2])]
        assert numbers == sorted(set(numbers)) and numbers[0] > 0
        result[path][entry[1]] = entry[2]
    about = json.loads(tail)
    assert about["schema_version"] == "authorship/3.0.0" and isinstance(about["prompts"], dict)
    assert all(result.values())
    keys = {key for keys in result.values() for key in keys}
    for key in keys:
        name = key.partition("::")[0]
        part = "sessions" if name.startswith("s_") else "humans" if name.startswith("h_") else "prompts"
        assert name in about[part]
    for session in about.get("sessions", {}).values():
        assert session["agent_id"].keys() == {"tool", "id", "model"}
        assert session.keys() <= {"agent_id", "human_author", "custom_attributes"}
    return result, about


def handed_over(of_git: Workspace, files: dict[str, str | bytes | None], name: str = "hansard/s1") -> str:
    folder = of_git.checkout(tree=None, slot=0)
    of_git.write_files(folder, files)
    commit = of_git.snapshot(folder, message=TRAILERS, parent=of_git.base(), author="Grace")
    assert hand_over(of_git, commit, name) == name
    return commit


def test_the_lines_of_a_result_are_noted_on_its_commit(of_git: Workspace, source: Path) -> None:
    commit = handed_over(of_git, {"a.txt": "one\na\ntwo\nthree\n", "new file.txt": "x\n"})
    result, about = strictly(note(source, commit))
    name = "s_" + hashlib.sha256(b"hansard:delivery-a/Grace").hexdigest()[:14]
    key = f"{name}::t_{hashlib.sha256(b'delivery-a.t4').hexdigest()[:14]}"
    assert result == {"a.txt": {key: "1,3-4"}, "new file.txt": {key: "1"}}
    assert about["base_commit_sha"] == commit
    assert about["sessions"][name]["agent_id"] == {"tool": "hansard", "id": "delivery-a/Grace", "model": "opus"}
    before = git(source, "rev-parse", "refs/notes/ai")
    assert hand_over(of_git, commit, "hansard/again") == "hansard/again"
    assert git(source, "rev-parse", "refs/notes/ai") == before


def test_lines_that_were_only_moved_are_not_noted(of_git: Workspace, source: Path) -> None:
    lines = [f"person_wrote_line_{number}\n" for number in range(8)]
    write(source, {"moved.txt": "".join(lines)})
    git(source, "add", "--all")
    git(source, "commit", "--quiet", "-m", "More")
    folder = of_git.checkout(tree=None, slot=0)
    first = of_git.snapshot(folder, message="x", parent=of_git.base())
    of_git.write_files(folder, {"moved.txt": "".join(lines)})
    base = of_git.snapshot(folder, message="base", parent=first)
    of_git.write_files(folder, {"moved.txt": "".join([*lines[4:], "agent_wrote_this\n", *lines[:4]])})
    commit = of_git.snapshot(folder, message=TRAILERS, parent=base, author="Grace")
    assert hand_over(of_git, commit, "hansard/s1") == "hansard/s1"
    [ranges] = strictly(note(source, commit))[0]["moved.txt"].values()
    assert ranges == "5"


def test_a_note_of_others_is_added_to(of_git: Workspace, source: Path) -> None:
    """Lines that it attests stay theirs; notes on other commits are not touched."""
    person = "h_" + "0" * 14
    theirs = {
        "schema_version": "authorship/3.0.0",
        "git_ai_version": "1.7.5",
        "base_commit_sha": "x",
        "prompts": {},
        "humans": {person: {"author": "Somebody <s@example.org>"}},
    }
    git(source, "notes", "--ref=ai", "add", "-m", "by hand", "HEAD")
    commit = handed_over(of_git, {"a.txt": "one\na\ntwo\n"})
    text = f"a.txt\n  {person} 3\nother.txt\n  {person} 1-2\n---\n{json.dumps(theirs)}"
    git(source, "notes", "--ref=ai", "add", "-f", "-m", text, commit)
    assert hand_over(of_git, commit, "hansard/again") == "hansard/again"
    result, about = strictly(note(source, commit))
    assert result["other.txt"] == {person: "1-2"}
    assert result["a.txt"].pop(person) == "3" and list(result["a.txt"].values()) == ["1"]
    assert about["git_ai_version"] == "1.7.5" and about["humans"] == theirs["humans"]
    assert git(source, "notes", "--ref=ai", "show", "main") == "by hand\n"


def test_an_unreadable_note_is_left_alone(of_git: Workspace, source: Path) -> None:
    commit = handed_over(of_git, {"a.txt": "one\n"})
    for text in ("something else", 'a.txt\n  what\n---\n{"schema_version": "authorship/3.0.0"}', "---\n[]"):
        git(source, "notes", "--ref=ai", "add", "-f", "-m", text, commit)
        assert hand_over(of_git, commit, "hansard/again") == "hansard/again"
        assert note(source, commit) == f"{text}\n"
