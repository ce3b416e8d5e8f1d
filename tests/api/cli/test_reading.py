"""All reading commands print JSON for scripts and never create a log (contract §6)."""

import hashlib
import io
import json
import os
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

import pytest

from api.cli.commands import COMMANDS, PAST, READ
from tests.adapters import audited
from tests.api.cli.conftest import Hansard, git
from tests.projections.stage import Stage

WRITES = ("fork", "import", "blame", "attest", "trace", "share")
"""Commands on the past that also write, or need a repository or a result."""
READING = [found.name for found in COMMANDS if found.group in (READ, PAST) and found.name not in WRITES]
NEEDED = {
    **dict.fromkeys(
        ("show", "events", "worklog", "changes", "comments", "replay", "explain", "cuts", "findings"), ("delivery-1",)
    ),
    "diff": ("delivery-1", "delivery-1"),
    "prove": ("delivery-1", "1"),
    "lab": ("--profile", "seed"),
}
"""The required arguments of a command."""


@pytest.fixture
def log(own_log: Path) -> Path:
    """A delivery, a review, and an orchestration started by a message."""
    own_log.parent.mkdir()
    stage = Stage(own_log.parent)
    stage.delivers().discusses().says("orchestration-1", "Add a login", "chat")
    stage.store.close()
    return stage.store.path.rename(own_log)


@pytest.mark.parametrize("name", [*READING, "inbox", "doctor"])
def test_every_reading_command_takes_json(hansard: Hansard, log: Path, name: str) -> None:
    result = hansard(name, *NEEDED.get(name, ()), "--json")
    assert result.code in (0, 1), result.err  # the doctor may report problems
    values = json_values(result.out)
    assert values and all(isinstance(value, dict | list) for value in values)


def json_values(text: str) -> list[object]:
    """One value, or one value per line."""
    try:
        return [json.loads(text)]
    except ValueError:
        return [json.loads(line) for line in text.splitlines()]


@pytest.mark.parametrize("name", sorted({*READING} - {"checkpoint", "prove", "verify", "export", "list", "inbox"}))
@pytest.mark.parametrize("given", ["flag", "environment"])
def test_a_log_that_is_named_and_not_there_is_not_made(
    hansard: Hansard, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, given: str
) -> None:
    path = tmp_path / "elsewhere" / "log.db"
    flag = ("--database", str(path)) if given == "flag" else ()
    if given == "environment":
        monkeypatch.setenv("HANSARD_DATABASE", f"sqlite:///{path}")
    result = hansard(name, *NEEDED.get(name, ()), *flag)
    assert (result.code, result.out, result.err) == (3, "", f"hansard: No log at {path}.\n")
    assert not path.parent.exists()


@pytest.mark.parametrize(("name", "words"), [("list", "No sessions yet."), ("inbox", "Nothing is waiting for you.")])
def test_lists_of_a_log_that_does_not_exist_yet_are_empty(
    hansard: Hansard, tmp_path: Path, name: str, words: str
) -> None:
    path = tmp_path / "elsewhere" / "log.db"
    plain, json = (hansard(name, *more, "--database", str(path)) for more in ((), ("--json",)))
    note = f"No log at {path} yet: there will be one with the first session.\n"
    assert (plain.code, plain.out) == (0, "") and plain.err.startswith(note) and words in plain.err
    assert (json.code, json.json, json.err) == (0, {"items": [], "nextCursor": None}, note)
    assert not path.parent.exists()


def test_a_log_may_begin_with_trust(hansard: Hansard, tmp_path: Path) -> None:
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop" / "hansard.toml").write_text("[workspace]\n")
    git(tmp_path / "shop", "init", "-q")
    path = tmp_path / "elsewhere" / "log.db"
    trusted = hansard("trust", "--yes", str(tmp_path / "shop"), "--database", str(path))
    assert (trusted.code, path.exists()) == (0, True), trusted.err


@pytest.mark.parametrize("word", ["nofile.md", "docs/plan.md", "계획.md", "./plan", "../notes.txt", "~/plan.md"])
@pytest.mark.parametrize("verb", ["review", "debate"])
def test_a_word_that_looks_like_a_file_and_is_none_is_not_discussed(hansard: Hansard, verb: str, word: str) -> None:
    refused = hansard(verb, word, "--detach")
    assert (refused.code, refused.err.splitlines()[0]) == (2, f"hansard: There is no file {word}.")
    assert hansard("list", "--json").json["items"] == []


@pytest.mark.parametrize("text", ["Use v1.2", "ship", "v1.2", "https://example.org/plan.md", "Move a.py to b.py"])
def test_other_words_are_discussed_as_they_are(hansard: Hansard, text: str) -> None:
    started = hansard("debate", text, "--detach")
    assert started.code == 0, started.err


@pytest.mark.parametrize("name", ["checkpoint", "verify", "export"])
def test_prove_does_not_create_a_log(hansard: Hansard, tmp_path: Path, name: str) -> None:
    path = tmp_path / "elsewhere" / "log.db"
    result = hansard(name, "--database", str(path))
    assert (result.code, result.err) == (3, f"hansard: No log at {path}.\n")
    assert not path.parent.exists()


def test_the_default_log_may_be_empty(hansard: Hansard) -> None:
    result = hansard("list", "--json")
    assert (result.code, result.json) == (0, {"items": [], "nextCursor": None})


def test_a_worklog_as_json_says_of_which_version(hansard: Hansard, log: Path) -> None:
    plain, now, then = (hansard("worklog", "delivery-1", *more) for more in ((), ("--json",), ("--json", "--at", "1")))
    assert (now.json["sessionId"], now.json["version"], now.json["worklog"]) == ("delivery-1", 3, plain.out)
    assert then.json["version"] == 1


def test_checkpoint_json_has_the_note_and_its_fields(hansard: Hansard, log: Path) -> None:
    plain, result = hansard("checkpoint"), hansard("checkpoint", "--json").json
    assert result["checkpoint"] == plain.out
    assert result["origin"] == "hansard"
    assert [str(result["size"]), result["root"]] == plain.out.splitlines()[1:3]
    key = hansard("checkpoint", "--public-key")
    assert result["publicKey"] == key.out.strip() == hansard("checkpoint", "--public-key", "--json").json["publicKey"]


def test_json_option_keeps_json_output_unchanged(hansard: Hansard, log: Path) -> None:
    assert hansard("export", "--json").out == hansard("export").out
    assert (
        hansard("prove", "delivery-1", "1", "--json").json["event"] == hansard("prove", "delivery-1", "1").json["event"]
    )


# -- missing sessions and logs -------------------------------------------------------------------------------------


MISSING = "/missing cannot be read: No such file or directory."


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("verify", "--checkpoint", "/missing"), MISSING),
        (("verify", "--checkpoint", "/"), "/ cannot be read: Is a directory."),
        (("verify", "--proof", "/missing", "--public-key", "x"), MISSING),
        (("import", "/missing"), MISSING),
        (("import", "/"), "/ cannot be read: Is a directory."),
        (("backup", "/missing/log.db"), "The folder /missing does not exist."),
    ],
)
def test_missing_file_is_a_usage_error(hansard: Hansard, log: Path, words: tuple[str, ...], sentence: str) -> None:
    result = hansard(*words)
    assert (result.code, result.out, result.err) == (2, "", f"hansard: {sentence}\n")


@pytest.mark.parametrize("name", ["latest", "delivery-1", "/"])
def test_verify_says_what_it_takes_in_place_of_a_session(hansard: Hansard, log: Path, name: str) -> None:
    result = hansard("verify", name)
    assert (result.code, result.out) == (2, "")
    first, second = result.err.splitlines()
    assert first.startswith(f"hansard: {name} cannot be read: ")
    assert second.strip().startswith("`verify` takes a file that `share` or `backup` wrote. Without one")


def test_system_errors_come_without_errno(hansard: Hansard, log: Path, tmp_path: Path) -> None:
    """Wherever it comes from."""
    (tmp_path / "file").write_text("")
    result = hansard("import", str(tmp_path / "file" / "x"))
    assert result.code == 2
    assert "Errno" not in result.err and result.err.endswith("Not a directory.\n")


@pytest.mark.parametrize(
    ("words", "option"),
    [
        (("show", "delivery-1", "--at", "0"), "--at"),
        (("worklog", "delivery-1", "--at", "-1"), "--at"),
        (("explain", "delivery-1", "--at", "0"), "--at"),
        (("fork", "delivery-1", "--at", "0"), "--at"),
        (("diff", "delivery-1", "delivery-1", "--at-a", "0"), "--at-a"),
        (("prove", "delivery-1", "0"), "VERSION"),
    ],
)
def test_impossible_version_names_its_option(hansard: Hansard, log: Path, words: tuple[str, ...], option: str) -> None:
    result = hansard(*words)
    assert (result.code, result.out) == (2, "")
    assert f"{option}: {words[-1]} is too small; the minimum is 1." in result.err
    assert "/version" not in result.err


# -- import --------------------------------------------------------------------------------------------------------


def test_an_import_reads_stdin_and_counts_sessions_only(
    hansard: Hansard, log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The channel of the message is imported too and is not a session."""
    lines = hansard("export").out
    copy = tmp_path / "copy.db"
    for expected in (0, 4):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(lines.encode())))
        result = hansard("import", "-", "--database", str(copy))
        assert result.code == expected
        assert "channel-" not in result.err
        if expected == 0:
            assert result.err.splitlines()[0].endswith(" of 3 sessions.")
            assert "An export carries no signature" in result.err
    assert result.err.endswith("The log already has delivery-1, orchestration-1, review-1.\n")
    assert audited.rows(copy, "SELECT count(DISTINCT stream) FROM events") == [(4,)]


def test_an_import_that_cannot_be_read_makes_no_log(hansard: Hansard, tmp_path: Path) -> None:
    assert hansard("import", "/missing", "--database", str(tmp_path / "new" / "log.db")).code == 2
    assert not (tmp_path / "new").exists()


def test_views_and_api_give_the_same_list(hansard: Hansard, log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lists come from current views; with outdated views or other settings, from the API."""
    commands = [("list",), ("list", "--kind", "review"), ("list", "--limit", "1")]
    asked = [hansard(*command) for command in commands]  # HANSARD_RETRY_SECONDS is set
    monkeypatch.delenv("HANSARD_RETRY_SECONDS")
    assert hansard("list", "--status", "nope").code == 2
    monkeypatch.setattr("api.cli.api_reader.connected", None)
    assert [hansard(*command) for command in commands] == asked
    assert len(asked[0].out.splitlines()) > 3


def test_outdated_views_are_not_listed(hansard: Hansard, log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HANSARD_RETRY_SECONDS")
    before = hansard("list").out
    [views] = Path(os.environ["XDG_STATE_HOME"]).rglob(f"*-{_digest(log)}/views/views.db")
    with closing(sqlite3.connect(views)) as db, db:
        db.execute("UPDATE overview SET title = 'old'")
        assert "old" not in before
    assert "old" in hansard("list").out
    with closing(sqlite3.connect(log)) as db:
        position, event = db.execute("SELECT position - 1, stream FROM events ORDER BY position DESC").fetchone()
    with closing(sqlite3.connect(views)) as db, db:
        db.execute("UPDATE progress SET position = ?, event_id = ?", [position, f"{event}:0"])
    assert hansard("list").out == before, "folded again"


def _digest(log: Path) -> str:
    return hashlib.sha256(str(log.absolute()).encode()).hexdigest()[:12]
