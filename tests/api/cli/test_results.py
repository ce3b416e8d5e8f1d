"""`changes`, `apply` and `merge` on a user's repository: all or nothing."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from api.cli import changes
from tests.api.cli.conftest import Hansard
from tests.api.cli.kept import FILES, git, repository


@pytest.fixture
def here(tmp_path: Path) -> Path:
    """A repository as the working directory."""
    folder = tmp_path / "here"
    return folder if (folder / ".git").exists() else repository(folder)


def test_a_success_without_a_branch_says_why_and_how_to_get_the_changes(
    hansard: Hansard, here: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git(here, "branch", "hansard")
    scenario = tmp_path / "scenario.json"
    scenario.write_text(json.dumps({"replies": {"dev": [{"text": "Wrote it.", "files": FILES}]}}), encoding="utf-8")
    run = hansard("run", "-t", "Shout the third line", "-f", "a.txt", "--test", "true", "--scenario", str(scenario))
    assert run.code == 0, run.err
    shown = hansard("show", "latest").out
    for words in (run.out, shown):
        assert "A branch called hansard exists, and git cannot have hansard/" in words
        assert "The changes are kept: hansard merge " in words
    assert "To merge the result: hansard merge " in run.err
    assert hansard("merge", "latest").code == 0
    assert (here / "a.txt").read_text() == FILES["a.txt"]
    monkeypatch.setenv("LC_ALL", "ko_KR.UTF-8")
    assert "브랜치 없음" in hansard("show", "latest").out


def test_files_are_marked_as_not_named_only_where_some_were_named(
    hansard: Hansard, scenario: Callable[..., str], tmp_path: Path
) -> None:
    repository(tmp_path / "here")
    script = scenario({"dev": [{"text": "Wrote it.", "files": {"b.txt": "two\n"}}]})
    assert "b.txt (+1 -0, added)" in hansard("run", "-t", "Write", "--test", "true", "--scenario", script).out
    assert "b.txt" in hansard("changes", "latest", "--stat").out
    assert "not named" not in hansard("changes", "latest", "--stat").out


def test_a_branch_that_is_behind_a_failed_revision_was_changed_by_nobody(
    hansard: Hansard, scenario: Callable[..., str], tmp_path: Path
) -> None:
    repository(tmp_path / "here")
    replies = [{"text": "Wrote it.", "files": {"b.txt": f"{word}\n"}} for word in ("good", "bad", "worse")]
    check = ("--validate", "grep -qx good b.txt", "--scenario", scenario({"dev": replies}))
    assert hansard("run", "-t", "Write", *check).code == 0
    assert hansard("revise", "latest", "-m", "Write it otherwise", "--wait").code != 0
    said = hansard("merge", "latest").err
    assert "holds what passed before" in said
    assert "was changed after the session" not in said


def test_a_terminal_shows_changes_in_colours_through_a_pager_with_options(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(changes.os, "isatty", lambda _: True)
    monkeypatch.setattr(changes, "paint", lambda text, style: f"<{style}>{text}" if style else text)
    monkeypatch.setenv("PAGER", "head -n 2")
    changes._show("diff --git a/a b/a\n+new\n old")
    assert capfd.readouterr().out == "<bold>diff --git a/a b/a\n<green>+new\n"
    monkeypatch.setenv("PAGER", "no-such-pager -R")
    changes._show("-old")
    assert capfd.readouterr().out == "<red>-old\n"


def test_changes_are_a_patch_or_a_list(hansard: Hansard, here: Path, delivered: str) -> None:
    patch = hansard("changes", delivered).out
    assert "-three\n+THREE\n" in patch and "+++ b/new/b.txt" in patch
    assert hansard("changes", delivered, "--stat").out.splitlines() == [
        "modified         +1 -1  a.txt",
        "added            +1 -0  new/b.txt  (not named)",
    ]
    result = hansard("changes", delivered, "--json").json
    assert result["base"] == {"branch": "main", "commit": git(here, "rev-parse", "main")}
    assert result["head"] == git(here, "rev-parse", result["branch"])
    turn = next(e["data"]["turnId"] for e in events(hansard, delivered) if e["data"].get("files"))
    assert hansard("changes", delivered, "--turn", turn).out == patch
    assert hansard("changes", delivered, "--turn", "nope").code == 3


def events(hansard: Hansard, session_id: str) -> list[dict[str, dict[str, str]]]:
    return [json.loads(line) for line in hansard("events", session_id, "--json").out.splitlines()]


def test_apply_leaves_the_changes_uncommitted(hansard: Hansard, here: Path, delivered: str) -> None:
    head = git(here, "rev-parse", "HEAD")
    (here / "other.txt").write_text("mine, changed\n")
    (here / "a.txt").write_text("zero\none\ntwo\nthree\n")
    git(here, "commit", "--quiet", "-m", "Mine", "a.txt")
    assert hansard("apply", delivered).code == 0
    assert (here / "a.txt").read_text() == "zero\none\ntwo\nTHREE\n"
    assert (here / "new" / "b.txt").read_text() == "new\n"
    assert (here / "other.txt").read_text() == "mine, changed\n"
    assert git(here, "rev-parse", "HEAD~1") == head


def test_merge_says_that_a_person_has_changed_the_branch(hansard: Hansard, here: Path, delivered: str) -> None:
    branch = f"hansard/{delivered}"
    git(here, "checkout", "--quiet", branch)
    git(here, "commit", "--quiet", "--allow-empty", "-m", "Mine")
    git(here, "checkout", "--quiet", "main")
    assert f"for the branch: git merge {branch}" in hansard("merge", delivered).err
    git(here, "branch", "--quiet", "--force", branch, f"{branch}~1")
    assert "git merge" not in hansard("merge", delivered).err


def test_apply_keeps_the_line_endings_of_other_systems(hansard: Hansard, here: Path, tmp_path: Path) -> None:
    (here / "dos.txt").write_bytes(b"one\r\ntwo\r\n")
    git(here, "add", "dos.txt")
    git(here, "commit", "--quiet", "-m", "Lines that end with CRLF")
    wanted = "one\r\nTWO\r\nold mac\rend\r\n"
    replies = {"dev": [{"text": "Wrote the second line large.", "files": {"dos.txt": wanted}}]}
    scenario = tmp_path / "scenario.json"
    scenario.write_text(json.dumps({"replies": replies}), encoding="utf-8")
    assert hansard("run", "-t", "Shout the second line", "--test", "true", "--scenario", str(scenario)).code == 0
    result = hansard("apply", "latest")
    assert result.code == 0, result.err
    assert (here / "dos.txt").read_bytes() == wanted.encode()


def test_apply_empties_no_file_whose_filter_does_not_know_the_content(
    hansard: Hansard, here: Path, tmp_path: Path
) -> None:
    git(here, "config", "filter.vault.clean", "cat")
    (here / ".gitattributes").write_text("*.key filter=vault\n")
    (here / "a.key").write_text("locked\n")
    (here / "none.key").write_text("")
    git(here, "add", "-A")
    git(here, "commit", "--quiet", "-m", "A key")
    git(here, "config", "filter.vault.smudge", "sed -n s/^locked/locked/p")
    replies = {"dev": [{"text": "Opened it.", "files": {"a.key": "open\n", "none.key": "", "new.txt": "new\n"}}]}
    scenario = tmp_path / "scenario.json"
    scenario.write_text(json.dumps({"replies": replies}), encoding="utf-8")
    assert hansard("run", "-t", "Open the key", "--test", "true", "--scenario", str(scenario)).code == 0
    before = git(here, "status", "--porcelain", "--ignored")
    result = hansard("apply", "latest")
    assert result.code == 4 and "writes nothing" in result.err and result.err.rstrip().endswith("a.key"), result.err
    assert (here / "a.key").read_text() == "locked\n" and not (here / "new.txt").exists()
    assert git(here, "status", "--porcelain", "--ignored") == before


def test_apply_brings_nothing_but_the_sessions_changes(hansard: Hansard, here: Path, delivered: str) -> None:
    """Also on a branch without the session's base commit."""
    git(here, "checkout", "--quiet", "--orphan", "elsewhere")
    git(here, "rm", "--quiet", "--cached", "other.txt")
    git(here, "commit", "--quiet", "-m", "Elsewhere")
    (here / "other.txt").unlink()
    result = hansard("apply", delivered)
    assert (result.code, ", uncommitted: 2 changed files." in result.err) == (0, True), result.err
    assert git(here, "status", "--porcelain").split() == ["M", "a.txt", "??", "new/"]


@pytest.mark.parametrize("command", ["apply", "merge"])
def test_uncommitted_changes_in_the_same_files_are_not_touched(
    hansard: Hansard, here: Path, delivered: str, command: str
) -> None:
    (here / "a.txt").write_text("unsaved\n")
    result = hansard(command, delivered)
    assert result.code == 4 and "a.txt" in result.err
    assert (here / "a.txt").read_text() == "unsaved\n" and not (here / "new").exists()


def test_another_repository_is_refused_by_name(
    hansard: Hansard, here: Path, delivered: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "other"
    git(tmp_path, "init", "--quiet", "--initial-branch=main", str(other))
    git(other, "-c", "user.name=A", "-c", "user.email=a@b", "commit", "--quiet", "--allow-empty", "-m", "Begin")
    monkeypatch.chdir(other)
    for command in ("apply", "merge", "apply"):  # also once one of them has fetched the commits
        result = hansard(command, delivered)
        refusal = f"hansard: {other} has nothing in common with session {delivered}, which worked on {here}.\n"
        assert (result.code, result.err) == (4, refusal)
    assert git(other, "status", "--porcelain") == ""


@pytest.mark.parametrize("command", ["apply", "merge"])
def test_a_conflict_names_its_files_and_changes_nothing(
    hansard: Hansard, here: Path, delivered: str, command: str
) -> None:
    (here / "a.txt").write_text("one\ntwo\ndrei\n")
    git(here, "commit", "--quiet", "--all", "-m", "Mine")
    result = hansard(command, delivered)
    assert result.code == 4 and "a.txt" in result.err and "new/b.txt" not in result.err
    assert git(here, "status", "--porcelain") == "" and git(here, "log", "-1", "--format=%s") == "Mine"


def test_merge_keeps_the_agents_commits(hansard: Hansard, here: Path, delivered: str) -> None:
    assert hansard("merge", delivered).code == 0
    assert git(here, "show", "HEAD:a.txt").endswith("THREE")
    assert "via Hansard" in git(here, "log", "--format=%an")
    assert hansard("merge", delivered).err.endswith("\nmain already has these changes.\n")
    assert "main already has these changes." in hansard("merge", delivered, "--squash").err


def test_squash_is_one_commit_with_the_task_and_the_trailers(hansard: Hansard, here: Path, delivered: str) -> None:
    head = git(here, "rev-parse", "HEAD")
    assert hansard("merge", delivered, "--squash").code == 0
    assert git(here, "rev-parse", "HEAD~1") == head
    words = git(here, "log", "-1", "--format=%B").splitlines()
    assert words[:2] == ["Shout the third line", ""]
    assert f"Hansard-Session: {delivered}" in words and "Hansard-Iteration: 1" in words


def test_a_cancelled_delivery_keeps_its_changes(hansard: Hansard, here: Path, tmp_path: Path) -> None:
    """Its commits are on no branch; merge takes them from its workspace."""
    replies = {"dev": [{"text": "Wrote the third line large.", "files": FILES}]}
    scenario = tmp_path / "scenario.json"
    scenario.write_text(json.dumps({"replies": replies}), encoding="utf-8")
    flags = ("-f", "a.txt", "--test", "false", "--max-iterations", "1", "--scenario", str(scenario), "--json")
    result = hansard("run", "-t", "Shout", *flags)
    session = result.json
    assert (result.code, session["result"]["branch"]) == (7, None)
    assert git(here, "branch", "--format=%(refname:short)") == "main"
    note = f"Session {session['id']}: failed (budget exhausted). Its changes may not have passed validation or review."
    applied = hansard("apply", session["id"])
    assert (applied.code, applied.err.splitlines()[0], applied.out) == (0, note, "")
    git(here, "checkout", "--quiet", ".")
    git(here, "clean", "-fdq")
    merged = hansard("merge", session["id"])
    assert (merged.code, merged.err.splitlines()[0]) == (0, note)
    assert git(here, "show", "HEAD:a.txt").endswith("THREE")


def test_without_changes_there_is_nothing_to_take(hansard: Hansard, here: Path) -> None:
    result = hansard("run", "-t", "Look", "-f", "a.txt", "--test", "true")
    summary = "Nothing was changed. Success on iteration 1. Validated by true. Review approved (score 100)."
    assert result.code == 0 and f"summary  {summary}\n" in result.out, result.out
    result = hansard("apply", "latest")
    assert result.code == 4 and "changed nothing" in result.err


def test_merge_outside_a_repository_is_a_usage_error(
    hansard: Hansard, delivered: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert hansard("merge", delivered).code == 2


def test_blame_of_a_link_is_about_the_link(hansard: Hansard, here: Path, delivered: str) -> None:
    assert hansard("merge", delivered).code == 0
    (here / "link").symlink_to("/nowhere")
    git(here, "add", "link")
    git(here, "commit", "--quiet", "-m", "A link")
    [line] = hansard("blame", "link", "--json").json
    assert (line["text"], line["session"]) == ("/nowhere", None)


def test_blame_names_turns_and_never_claims_a_persons_line(hansard: Hansard, here: Path, delivered: str) -> None:
    """Also after a squash merge, an amend in which the person writes a line of their own, and a rebase."""
    assert hansard("merge", delivered, "--squash").code == 0
    (here / "a.txt").write_text("one\ntwo\nTHREE\nmine\n")
    git(here, "commit", "--quiet", "--all", "--amend", "--no-edit")
    git(here, "checkout", "--quiet", "-b", "side", "HEAD~1")
    (here / "other.txt").write_text("side\n")
    git(here, "commit", "--quiet", "--all", "-m", "Side")
    git(here, "rebase", "--quiet", "side", "main")
    result = hansard("blame", "a.txt", "--json").json
    assert [(line["text"], line["session"]) for line in result] == [
        ("one", None),
        ("two", None),
        ("THREE", delivered),
        ("mine", None),
    ]
    written = result[2]
    assert written["turn"].startswith(f"{delivered}.t") and written["iteration"] == 1
    assert written["demandedBy"] is None
    validated, approved = written["validatedBy"], written["approvedBy"]
    history = events(hansard, delivered)
    assert [history[number - 1]["type"] for number in (validated, approved["version"])] == [
        "delivery.tests_passed",
        "delivery.review_approved",
    ]
    [line] = hansard("blame", "a.txt:3").out.splitlines()
    assert "✓ reviewer" in line and line.endswith("THREE")
    assert hansard("blame", "a.txt:9").code == 3 and hansard("blame", "nope.txt").code == 3


def test_a_squash_has_a_note_of_the_agents_lines(hansard: Hansard, here: Path, delivered: str) -> None:
    """The person's line in the same file is not noted."""
    (here / "a.txt").write_text("zero\none\ntwo\nthree\n")
    git(here, "commit", "--quiet", "--all", "-m", "Mine")
    assert hansard("merge", delivered, "--squash").code == 0
    lines = git(here, "notes", "--ref=ai", "show", "HEAD").partition("\n---\n")[0].splitlines()
    assert [line.rpartition(" ")[2] for line in lines] == ["a.txt", "4", "new/b.txt", "1"]


def test_a_result_without_a_branch_is_a_patch(hansard: Hansard, here: Path, tmp_path: Path) -> None:
    scenario = tmp_path / "scenario.json"
    scenario.write_text(json.dumps({"replies": {"dev": [{"text": "Wrote it.", "files": {"new.txt": "new\n"}}]}}))
    result = hansard("run", "-t", "Write", "--fresh", "--test", "true", "--no-baseline", "--scenario", str(scenario))
    session_id = hansard("list", "--json").json["items"][0]["id"]
    assert f"To see the changes as a patch: hansard changes {session_id}\n" in result.err
    assert "+++ b/new.txt" in hansard("changes", session_id).out


def test_stopped_run_ends_with_the_next_command(hansard: Hansard, here: Path, tmp_path: Path) -> None:
    scenario = tmp_path / "scenario.json"
    scenario.write_text(json.dumps({"replies": {"planner": [{"error": "auth"}]}}))
    result = hansard("run", "-t", "Write", "--test", "true", "--no-baseline", "--scenario", str(scenario))
    session_id = hansard("list", "--json").json["items"][0]["id"]
    assert result.err.endswith(f"Next:\n  hansard retry {session_id}\n")


def test_start_warns_about_uncommitted_changes(hansard: Hansard, here: Path) -> None:
    (here / "other.txt").write_text("half a thought\n")
    (here / "new.txt").write_text("new\n")
    result = hansard("run", "-t", "Look", "-f", "a.txt", "--test", "true")
    assert result.code == 0 and "Uncommitted changes are not included: other.txt, new.txt." in result.err


def test_start_warns_about_a_repository_without_commits(hansard: Hansard, here: Path) -> None:
    git(here, "update-ref", "-d", "HEAD")
    result = hansard("run", "-t", "Look", "-f", "a.txt", "--test", "true", "--detach")
    assert "has no commits yet, so the agents start with an empty folder" in result.err
    assert "Uncommitted changes" not in result.err


def test_start_warns_about_submodules(hansard: Hansard, here: Path) -> None:
    start = ("run", "-t", "x", "--test", "true", "--detach")
    assert "Submodules" not in hansard(*start).err
    (here / ".gitmodules").write_text('[submodule "vendor/lib"]\n\tpath = vendor/lib\n\turl = ../lib\n')
    assert "Submodules are not checked out: their folders are empty" in hansard(*start).err


def test_changes_outside_the_scope_wait_for_an_answer(hansard: Hansard, here: Path, tmp_path: Path) -> None:
    (here / "hansard.toml").write_text('[scope]\nallow = ["a.txt"]\noutside = "ask"\n')
    scenario = tmp_path / "scenario.json"
    replies = {"dev": [{"text": "Wrote the third line large.", "files": FILES}]}
    scenario.write_text(json.dumps({"replies": replies}), encoding="utf-8")
    result = hansard("run", "-t", "Shout", "--test", "true", "--no-baseline", "--scenario", str(scenario))
    assert (result.code, "new/b.txt" in result.out) == (6, True), result.err
    session_id = result.err.partition("Session ")[2].split()[0].rstrip(".")
    assert f"hansard allow {session_id}" in result.err
    inbox = hansard("inbox")
    assert session_id in inbox.out and f"hansard allow {session_id}" in inbox.err
    assert hansard("deny", session_id, "another").code == 4
    result = hansard("allow", session_id)
    assert (result.code, "out of scope  new/b.txt" in result.out) == (0, True), result.out
    assert hansard("allow", session_id).code == 4


GH = """\
#!/bin/sh
printf '%s\\n' "$@" > "$GH_SAID"
test -z "$GH_FAILS" || { echo "not logged in" >&2; exit 4; }
echo https://forge.example/shop/pull/7
"""


@pytest.fixture
def forge(here: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A remote repository and a `gh` that records its arguments."""
    bare = tmp_path / "forge.git"
    git(tmp_path, "init", "--quiet", "--bare", str(bare))
    git(here, "remote", "add", "origin", str(bare))
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "gh").write_text(GH)
    (tmp_path / "bin" / "gh").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("GH_SAID", str(tmp_path / "said"))
    return bare


def test_a_pull_request_is_asked_for(hansard: Hansard, forge: Path, delivered: str, tmp_path: Path) -> None:
    result = hansard("pr", delivered)
    assert (result.code, result.out) == (0, "https://forge.example/shop/pull/7\n"), result.err
    assert git(forge, "log", "-1", "--format=%s", f"hansard/{delivered}") == "Shout the third line"
    words = (tmp_path / "said").read_text()
    assert words.startswith(f"pr\ncreate\n--head\nhansard/{delivered}\n--title\nShout the third line\n--body\n")
    assert "Success on iteration 1" in words


def test_a_pull_request_that_is_refused_says_why(
    hansard: Hansard, forge: Path, delivered: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GH_FAILS", "1")
    result = hansard("pr", delivered)
    assert (result.code, "not logged in" in result.err) == (1, True), result.err


def test_without_gh_the_commands_are_printed(
    hansard: Hansard, here: Path, delivered: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    only_git = tmp_path / "only-git"
    only_git.mkdir()
    (only_git / "git").symlink_to(str(shutil.which("git")))
    git(here, "remote", "add", "origin", "https://forge.example/shop.git")
    monkeypatch.setenv("PATH", str(only_git))
    result = hansard("pr", delivered)
    branch = f"hansard/{delivered}"
    assert (result.code, result.out.splitlines()) == (
        0,
        [f"git push origin {branch}", f"gh pr create --head {branch} --fill-first"],
    )


def test_an_orchestration_ends_with_its_branch(hansard: Hansard, here: Path, tmp_path: Path) -> None:
    scenario = tmp_path / "scenario.json"
    replies = {"assistant": [{"text": "Wrote the third line large.", "files": FILES}]}
    scenario.write_text(json.dumps({"replies": replies}), encoding="utf-8")
    result = hansard("orchestrate", "Shout", "--triage", "direct", "--scenario", str(scenario))
    assert result.code == 0, result.err
    branch = git(here, "for-each-ref", "--format=%(refname:short)", "refs/heads/hansard")
    assert branch and branch in result.out and branch in hansard("show", "latest").out
    assert hansard("merge", "latest").code == 0
    assert (here / "new" / "b.txt").read_text() == "new\n"
