"""`verify`, `checkpoint`, `prove`, `export`, `import`, `backup` and `doctor --all` from a user's point of view."""

import fcntl
import re
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from adapters.proof.verdict import LogFault, NamedRedaction, Verification
from adapters.store.sqlite.connection import FORMAT
from api.cli import audit
from api.node.settings import Settings
from tests.adapters import audited
from tests.api.cli.conftest import Hansard
from tests.projections.stage import Stage

HASH = re.compile(r"[0-9a-f]{16}…")


@pytest.fixture
def log(own_log: Path) -> Path:
    """A log with a delivery that has a long text, a review, an orchestration and its channel."""
    own_log.parent.mkdir()
    stage = Stage(own_log.parent)
    stage.delivers().answers("delivery-1", "p" * 20_000).answers("delivery-1", "One module.")
    stage.orchestrates().discusses()
    stage.store.close()
    return stage.store.path.rename(own_log)


def change(log: Path, statement: str) -> None:
    audited.harmed(log, statement)


# -- verify ----------------------------------------------------------------------------------------------------------


def test_intact_log_is_reported_with_its_figures(hansard: Hansard, log: Path) -> None:
    result = hansard("verify")
    events = audited.rows(log, "SELECT count(*), count(DISTINCT stream) FROM events")[0]
    assert (result.code, result.out) == (0, "")
    assert (
        HASH.sub("…", result.err)
        == f"{log} is complete and unchanged: {events[0]} events of {events[1]} streams, root …\n"
    )


def test_a_changed_event_is_named_and_the_code_is_8(hansard: Hansard, log: Path) -> None:
    words = "cast(replace(cast(plain(state) AS TEXT), 'tester', 'nobody') AS BLOB)"
    change(log, f"UPDATE events SET state = {words} WHERE position = 5")
    result = hansard("verify")
    assert result.code == 8
    assert result.out.splitlines()[0].startswith("position 5: ")
    assert "is damaged or was changed" in result.err and "the first bad position is 5" in result.err
    output = hansard("verify", "--json")
    assert (output.code, output.json["sound"], output.json["firstBad"]) == (8, False, 5)


@pytest.mark.parametrize(
    ("gone", "sentence"),
    [("= 5", "the event of position 5 is missing"), ("IN (5, 6)", "the events of positions 5 to 6 are missing")],
)
def test_events_that_are_missing_are_counted_right(hansard: Hansard, log: Path, gone: str, sentence: str) -> None:
    change(log, f"DELETE FROM events WHERE position {gone}")
    result = hansard("verify")
    assert (result.code, result.out.splitlines()[0]) == (8, f"position 5: {sentence}")


def test_faults_are_told_in_korean(hansard: Hansard, log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LC_ALL", "ko_KR.UTF-8")
    change(log, "DELETE FROM events WHERE position IN (5, 6)")
    assert hansard("verify").out.splitlines()[0] == "위치 5: 위치 5부터 6까지의 이벤트가 없음"


def test_a_file_that_does_not_open_any_more_is_a_fault_too(hansard: Hansard, log: Path) -> None:
    log.write_bytes(b"x" * 100 + log.read_bytes()[100:])
    result = hansard("verify")
    assert result.code == 8
    assert result.out == f"The log {log} cannot be opened: file is not a database.\n"


@pytest.mark.parametrize("words", [["verify"], ["doctor", "--all"], ["checkpoint"], ["export"]])
def test_looking_changes_no_byte_of_the_log(hansard: Hansard, log: Path, words: list[str]) -> None:
    change(log, "PRAGMA journal_mode=DELETE")
    before = log.read_bytes()
    assert hansard(*words).code == 0
    assert log.read_bytes() == before


@pytest.mark.parametrize("statement", ["CREATE TABLE mine (a)", None])
def test_verify_fails_on_foreign_files_and_keeps_them(hansard: Hansard, own_log: Path, statement: str | None) -> None:
    """An empty file is not a sound empty log: it may have replaced a real one."""
    own_log.parent.mkdir()
    own_log.touch()
    if statement is not None:
        change(own_log, statement)
    before = own_log.read_bytes()
    result = hansard("verify", "--json")
    assert (result.code, result.json["sound"]) == (8, False)
    why = "cannot be read: no such table: events." if statement is None else "not a Hansard log. It was not changed."
    assert why in result.json["faults"][0]["problem"]
    assert own_log.read_bytes() == before


def test_a_backup_is_verified_as_the_log_that_it_is(hansard: Hansard, log: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.db"
    assert hansard("backup", str(copy)).code == 0
    result = hansard("verify", str(copy))
    assert result.code == 0 and result.err.startswith(f"{copy} is complete and unchanged: ")
    change(copy, "UPDATE events SET state = x'00' WHERE position = 3")
    assert hansard("verify", str(copy)).code == 8
    assert hansard("verify").code == 0


def test_a_copy_of_before_the_log_went_back_has_no_views_of_its_own(
    hansard: Hansard, log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither what the folder's views were made from, nor how often the log has gone back since, is the copy's."""
    monkeypatch.setenv("HANSARD_DATA_DIR", str(tmp_path / "data"))
    assert hansard("rebuild").code == 0
    copy = tmp_path / "copy.db"
    assert hansard("backup", str(copy)).code == 0
    views = tmp_path / "data" / "views" / "views.db"
    change(views, "INSERT INTO epoch VALUES (1, 3)")
    change(views, "UPDATE witness SET hash = x'00'")
    assert hansard("verify", str(copy)).code == 0
    assert hansard("verify", str(log)).code == 8, "the log's own are compared with it, however it is named"
    assert hansard("verify").code == 8


def test_views_of_a_log_that_had_gone_back_are_compared_with_an_older_one(
    hansard: Hansard, log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HANSARD_DATA_DIR", str(tmp_path / "data"))
    assert hansard("rebuild").code == 0
    views = tmp_path / "data" / "views" / "views.db"
    change(views, "INSERT INTO epoch VALUES (1, 3)")
    change(views, "UPDATE progress SET event_id = 'another'")
    assert hansard("verify").code == 0


def test_no_log_is_not_found(hansard: Hansard, own_log: Path) -> None:
    for words in (["verify"], ["export"], ["checkpoint"], ["backup", "x.db"], ["prove", "x", "1"]):
        result = hansard(*words)
        assert (result.code, result.err) == (3, f"hansard: No log at {own_log}.\n")
    assert not own_log.exists()


def test_verify_finds_wrong_views_and_rebuild_replaces_them(hansard: Hansard, log: Path) -> None:
    hansard("list")
    assert hansard("verify").code == 0
    views = Settings().views_path
    with closing(sqlite3.connect(views, isolation_level=None)) as connection:
        connection.execute("DELETE FROM overview WHERE session_id = 'delivery-1'")
    result = hansard("verify")
    assert (result.code, result.out) == (
        8,
        f"the views {views} differ from the log: keep a copy before you replace them\n",
    )
    assert hansard("rebuild").code == 0
    assert hansard("verify").code == 0


@pytest.mark.parametrize(
    "topic", ["review.session_started", "turn.answered", "turn.requested", "delivery.phase_started"]
)
def test_a_rewritten_event_is_named_though_its_hashes_fit(hansard: Hansard, log: Path, topic: str) -> None:
    """Given views that were made before: what they know is kept, whatever is asked of the log meanwhile."""
    hansard("list")
    asked = f"SELECT max(position) FROM events WHERE topic = '{topic}'"
    [(position,)] = audited.rows(log, asked)
    stream, version = audited.rewritten(log, position, '"actor":"', '"actor":"not-')
    named = f"position {position}: {stream} version {version} was rewritten, with a new hash"
    for _ in range(2):
        result = hansard("verify")
        assert (result.code, any(line.startswith(named) for line in result.out.splitlines())) == (8, True)
        assert f"Keep a copy of {log} and of the views {Settings().views_path}" in result.err
        assert hansard("verify", "--json").json["firstBad"] == position
        assert hansard("list").code == 0
        refused = hansard("rebuild")
        assert (refused.code, refused.out.startswith(named)) == (8, True)
        assert "Nothing was rebuilt" in refused.err and "they are the evidence" in refused.err


def test_views_that_end_with_a_rewritten_event_still_show_what_it_was(hansard: Hansard, log: Path) -> None:
    hansard("list")
    [(position,)] = audited.rows(log, "SELECT max(position) FROM events")
    stream, version = audited.rewritten(log, int(str(position)), '"actor":"', '"actor":"not-')
    shown = audited.rows(Settings().views_path, "SELECT * FROM overview")
    assert hansard("message", "Add a logout page", "--detach").code == 0
    assert set(shown) <= set(audited.rows(Settings().views_path, "SELECT * FROM overview"))
    assert f"position {position}: {stream} version {version} was rewritten" in hansard("verify").out


def test_every_rewritten_session_is_named_by_its_first_event(hansard: Hansard, log: Path) -> None:
    hansard("list")
    firsts = audited.rows(log, "SELECT min(position), stream FROM events WHERE version IN (2, 3) GROUP BY stream")
    for position, _ in firsts:
        audited.rewritten(log, int(str(position)), '"actor":"', '"actor":"not-')
    lines = [line for line in hansard("verify").out.splitlines() if line.startswith("position ")]
    assert [line.split()[1:5] for line in lines] == [
        [f"{position}:", str(stream), "version", "2"] for position, stream in sorted(firsts)
    ]


def test_an_event_with_another_hash_is_not_papered_over(hansard: Hansard, log: Path) -> None:
    hansard("list")
    words = "cast(replace(cast(plain(state) AS TEXT), 'tester', 'nobody') AS BLOB)"
    change(log, f"UPDATE events SET state = {words} WHERE position = 5")
    result = hansard("rebuild")
    assert (result.code, result.out.startswith("position 5: ")) == (8, True)
    assert "Nothing was rebuilt" in result.err


def test_views_that_a_person_deletes_are_built_again_from_the_log_as_it_is(hansard: Hansard, log: Path) -> None:
    hansard("list")
    audited.rewritten(log, 5, '"actor":"', '"actor":"not-')
    for path in Settings().views_path.parent.glob("views.db*"):
        path.unlink()
    assert hansard("rebuild").code == 0
    assert hansard("verify").code == 0


def test_a_log_that_was_restored_and_used_since_is_not_called_rewritten(
    hansard: Hansard, log: Path, tmp_path: Path
) -> None:
    assert hansard("backup", str(tmp_path / "copy.db")).code == 0
    assert hansard("message", "Gone", "--detach").code == 0
    assert hansard("list").code == 0
    shutil.copy(tmp_path / "copy.db", log)
    assert hansard("message", "New", "--detach").code == 0
    assert hansard("list").code == 0
    result = hansard("verify")
    assert (result.code, result.out) == (0, "")


def test_views_that_are_no_database_are_a_sentence(hansard: Hansard, log: Path) -> None:
    Settings().views_path.parent.mkdir(parents=True)
    Settings().views_path.write_bytes(b"no database at all, and long enough" * 100)
    result = hansard("verify")
    assert result.code == 8
    assert "cannot be read (file is not a database): delete the file, and they are rebuilt" in result.out


def test_unreadable_views_are_reported_and_say_nothing_about_the_log(hansard: Hansard, log: Path) -> None:
    """With a folder in place of the views, the log can still be verified."""
    views = Settings().views_path
    views.mkdir(parents=True)
    result = hansard("verify")
    assert (result.code, result.out) == (0, "")
    unchecked, proved = result.err.splitlines()
    assert unchecked == f"The views could not be checked: {views}: unable to open database file."
    assert proved.startswith(f"{log} is complete and unchanged: ")
    output = hansard("verify", "--json").json
    assert (output["sound"], output["faults"]) == (True, [])
    assert output["viewsUnchecked"] == f"{views}: unable to open database file."
    views.rmdir()
    assert hansard("verify", "--json").json["viewsUnchecked"] is None


def test_unopenable_log_is_not_reported_as_changed(hansard: Hansard, own_log: Path) -> None:
    own_log.mkdir(parents=True)
    result = hansard("verify")
    assert (result.code, result.out) == (1, "")
    assert result.err == f"hansard: The log {own_log} cannot be opened: unable to open database file.\n"


def test_views_beside_which_nothing_can_be_written_are_checked_all_the_same(
    hansard: Hansard, log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hansard("list")
    views = Settings().views_path
    connect = sqlite3.connect

    def refuse(database: str, **options: Any) -> sqlite3.Connection:
        if str(database).endswith(f"{views.name}?mode=ro") or database == views:
            raise sqlite3.OperationalError("unable to open database file")
        connection: sqlite3.Connection = connect(database, **options)
        return connection

    monkeypatch.setattr(sqlite3, "connect", refuse)
    result = hansard("verify", "--json")
    assert (result.code, result.json["viewsUnchecked"]) == (0, None)


def test_an_event_that_cannot_be_read_is_damage_and_never_not_found(hansard: Hansard, log: Path) -> None:
    change(log, "UPDATE events SET topic = 'foo.bar' WHERE stream = 'review-1' AND version = 2")
    for words in (["show"], ["events"], ["worklog"], ["explain"], ["cancel"]):
        result = hansard(*words, "review-1")
        assert (result.code, result.out) == (1, "")
        assert "(version 2 of review-1) cannot be read: There is no event type 'foo.bar'." in result.err
        assert "`hansard verify` says whether it was changed" in result.err
        assert "Try again" not in result.err
    assert hansard("show", "delivery-1").code == 0
    assert hansard("show", "review-none").code == 3


def test_doctor_reports_known_problems_without_reading_the_whole_log(hansard: Hansard, log: Path) -> None:
    """The doctor reads the newest events and the problems recorded while folding the views."""

    def doctor_record() -> dict[str, Any]:
        output = hansard("doctor", "--json")
        [record] = [item for item in output.json["items"] if item["name"] == "record"]
        return {"code": output.code, **record}

    assert doctor_record()["mark"] == "ok"
    position = audited.rows(log, "SELECT position FROM events WHERE stream = 'review-1' AND version = 2")[0][0]
    change(log, "UPDATE events SET topic = 'foo.bar' WHERE stream = 'review-1' AND version = 2")
    result = doctor_record()
    assert (result["code"], result["mark"]) == (1, "fail")
    assert f"position {position} (version 2 of review-1) cannot be read" in result["found"]
    hansard("list")
    change(log, "UPDATE events SET topic = 'turn.requested' WHERE stream = 'review-1' AND version = 2")
    result = doctor_record()
    assert (result["code"], result["mark"]) == (1, "fail")
    assert result["found"].startswith(f"event at position {position}: DamagedEvent: ")
    assert "hansard rebuild" in result["advice"]


def test_the_doctor_finds_noise_anywhere_in_the_log(hansard: Hansard, log: Path) -> None:
    """A page used neither by the newest events nor by the views."""
    [(page,)] = audited.rows(log, "SELECT rootpage FROM sqlite_schema WHERE name = 'receipts'")
    with log.open("r+b") as file:
        file.seek((page - 1) * 4_096)
        file.write(b"\xa5" * 4_096)
    result = hansard("doctor", "--json")
    [record] = [item for item in result.json["items"] if item["name"] == "record"]
    assert (result.code, record["mark"]) == (1, "fail"), record
    assert "hansard verify" in record["advice"]


def test_what_a_damaged_log_says_never_reaches_the_terminal_raw(capsys: pytest.CaptureFixture[str]) -> None:
    redacted = NamedRedaction(position=3, session_id="review-1", digest="d" * 64, actor="person:ann", reason="\x1b[2J")
    found = Verification(redacted=[redacted], faults=[LogFault(2, "the type is '\x1b]0;x'")])
    assert audit._tell(found, "hansard.db", json=False) == 8
    out = capsys.readouterr().out
    assert "\x1b" not in out and out.count("⟦U+001B⟧") == 2


# -- checkpoints and proofs ------------------------------------------------------------------------------------------


@pytest.fixture
def note(hansard: Hansard, log: Path, tmp_path: Path) -> Path:
    path = tmp_path / "checkpoint.txt"
    path.write_text(hansard("checkpoint").out, encoding="utf-8")
    return path


def test_a_checkpoint_shows_that_the_end_was_cut_off_with_its_traces(hansard: Hansard, log: Path, note: Path) -> None:
    assert hansard("verify", "--checkpoint", str(note)).code == 0
    change(log, "DELETE FROM turns WHERE stream = 'review-1'")
    change(log, "DELETE FROM events WHERE stream = 'review-1'")
    change(log, "UPDATE sqlite_sequence SET seq = (SELECT max(position) FROM events) WHERE name = 'events'")
    assert hansard("verify").code == 0, "the log is sound in itself"
    result = hansard("verify", "--checkpoint", str(note))
    assert result.code == 8
    assert re.fullmatch(r"the log has been cut: \d+ events were signed, \d+ are there\n", result.out)


def test_a_checkpoint_is_read_with_its_own_key_only(hansard: Hansard, note: Path, tmp_path: Path) -> None:
    key = hansard("checkpoint", "--public-key").out.strip()
    assert hansard("verify", "--checkpoint", str(note), "--public-key", key).code == 0
    hansard("backup", str(tmp_path / "other.db"))
    other = hansard("checkpoint", "--public-key", "--database", str(tmp_path / "other.db")).out.strip()
    result = hansard("verify", "--checkpoint", str(note), "--public-key", other)
    assert (result.code, result.err) == (8, f"hansard: {note}: The checkpoint is not signed with this key.\n")
    assert hansard("verify", "--checkpoint", str(tmp_path / "nowhere")).code == 2


def test_what_is_no_checkpoint_or_key_says_nothing_about_the_log(hansard: Hansard, note: Path, tmp_path: Path) -> None:
    other = tmp_path / "notes.txt"
    other.write_text("Buy milk.\n")
    result = hansard("verify", "--checkpoint", str(other))
    assert (result.code, result.out, result.err) == (2, "", f"hansard: {other}: This is not a checkpoint.\n")
    for words in (("--checkpoint", str(note)), ("--proof", str(other))):
        result = hansard("verify", *words, "--public-key", "xx")
        assert (result.code, result.out) == (2, "")
        assert result.err.startswith("hansard: This is not a public key: ")


def test_verifying_makes_no_key(hansard: Hansard, log: Path, tmp_path: Path) -> None:
    (tmp_path / "note").write_text("x")
    result = hansard("verify", "--checkpoint", str(tmp_path / "note"))
    assert result.code == 2
    assert "There is no signing key" in result.err
    assert not (log.with_name(f"{log.name}.d") / "signing.key").exists()


def test_nothing_damaged_is_signed(hansard: Hansard, log: Path) -> None:
    change(log, "UPDATE events SET topic = 'turn.failed' WHERE position = 4")
    for words in (["checkpoint"], ["prove", "delivery-1", "1"]):
        result = hansard(*words)
        assert (result.code, result.out) == (8, "")
        assert "The event at position 4 has been changed" in result.err


def test_a_proof_holds_without_the_log(hansard: Hansard, log: Path, tmp_path: Path) -> None:
    key = hansard("checkpoint", "--public-key").out.strip()
    proof = tmp_path / "proof.json"
    proof.write_text(hansard("prove", "delivery-1", "3").out, encoding="utf-8")
    events = audited.rows(log, "SELECT count(*) FROM events")[0][0]
    shutil.rmtree(log.parent)
    result = hansard("verify", "--proof", str(proof), "--public-key", key)
    assert (result.code, result.err) == (0, f"Proved: the event is one of the {events} signed events.\n")
    assert hansard("verify", "--proof", str(proof)).code == 2
    proof.write_text(proof.read_text().replace("Ada", "Eve").replace("planner", "plannet"), encoding="utf-8")
    result = hansard("verify", "--proof", str(proof), "--public-key", key)
    assert (result.code, result.err) == (
        8,
        "hansard: Not proved: The proof does not lead from the event to the checkpoint.\n",
    )
    for words in ("", "{}", "[" * 9_999, '{"a":1,"a":2}', "Infinity"):
        proof.write_text(words)
        result = hansard("verify", "--proof", str(proof), "--public-key", key)
        assert (result.code, result.err.startswith("hansard: Not proved: ")) == (8, True), words


def test_missing_version_cannot_be_proved(hansard: Hansard, log: Path) -> None:
    result = hansard("prove", "delivery-1", "999")
    assert (result.code, result.err) == (3, "hansard: There is no version 999 of delivery-1.\n")


# -- export, import, backup ------------------------------------------------------------------------------------------


def test_a_session_goes_from_one_log_to_another(
    hansard: Hansard, log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    exported = hansard("export", "delivery-1")
    file, other = tmp_path / "session.jsonl", str(tmp_path / "other.db")
    file.write_text(exported.out, encoding="utf-8")
    result = hansard("import", str(file), "--database", other)
    assert result.code == 0
    assert re.fullmatch(r"Imported \d+ events of 1 session\.\nAn export carries no signature: .*\n", result.err)
    assert hansard("export", "--database", other).out == exported.out
    assert hansard("verify", "--database", other).code == 0
    assert hansard("cancel", "delivery-1", "--database", other).code == 0
    monkeypatch.setenv("HANSARD_DATABASE", f"sqlite:///{other}")
    assert hansard("show", "delivery-1", "--json").json["session"]["status"] == "cancelled"


def test_incomplete_import_exits_with_8(hansard: Hansard, log: Path, tmp_path: Path) -> None:
    file, other = tmp_path / "session.jsonl", tmp_path / "other.db"
    file.write_text(hansard("export").out.rpartition('{"manifest"')[0], encoding="utf-8")
    result = hansard("import", str(file), "--database", str(other))
    assert result.code == 8
    assert result.err == "hansard: Nothing was imported. The file is cut off: there is no manifest at its end.\n"
    assert hansard("list", "--json", "--database", str(other)).json["items"] == []
    assert hansard("import", str(tmp_path / "nowhere"), "--database", str(other)).code == 2


def test_import_refuses_existing_sessions(hansard: Hansard, log: Path, tmp_path: Path) -> None:
    file = tmp_path / "all.jsonl"
    file.write_text(hansard("export").out, encoding="utf-8")
    result = hansard("import", str(file))
    assert result.code == 4
    assert "Nothing was imported. The log already has delivery-1, orchestration-1, review-1." in result.err
    assert hansard("verify").code == 0


def test_an_unknown_session_is_not_exported(hansard: Hansard, log: Path) -> None:
    result = hansard("export", "delivery-nobody")
    assert (result.code, result.out, result.err) == (3, "", "hansard: There is no session 'delivery-nobody'.\n")


def test_a_backup_is_a_log(hansard: Hansard, log: Path, tmp_path: Path) -> None:
    target = tmp_path / "backup.db"
    result = hansard("backup", str(target))
    assert (result.code, result.out) == (0, "")
    assert result.err.startswith(f"Copied the log to {target}: ")
    assert result.err.endswith(" events. The copy is complete and unchanged.\n")
    assert hansard("verify", "--database", str(target)).code == 0
    assert hansard("export", "--database", str(target)).out == hansard("export").out
    assert hansard("backup", str(target)).code == 4
    before = target.stat().st_ino
    assert hansard("backup", "--replace", str(target)).code == 0
    assert target.stat().st_ino != before and hansard("verify", "--database", str(target)).code == 0
    assert hansard("backup", str(tmp_path / "no" / "where.db")).code == 2


def test_a_backup_removes_what_a_killed_one_left_and_nothing_else(hansard: Hansard, log: Path, tmp_path: Path) -> None:
    """Given drafts of two backups to the same target, of which one still runs, and files that only look alike."""
    target = tmp_path / "backup.db"
    killed, running = tmp_path / ".backup.db.0123abcd", tmp_path / ".backup.db.89ab4567"
    beside = [killed.with_name(f"{killed.name}{end}") for end in ("-wal", "-shm")]
    others = [tmp_path / name for name in (".backup.db.notes", ".other.db.0123abcd", "backup.db.0123abcd")]
    for path in (killed, running, *beside, *others):
        path.write_text("x")
    with running.open() as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        assert hansard("backup", str(target)).code == 0
    assert sorted(tmp_path.glob("*backup.db*")) == sorted([target, running, others[0], others[2]])
    assert others[1].exists()


def test_a_backup_replaces_nothing_but_a_good_one_by_a_good_one(hansard: Hansard, log: Path, tmp_path: Path) -> None:
    target, other = tmp_path / "backup.db", tmp_path / "notes.txt"
    other.write_text("mine")
    assert hansard("backup", str(target)).code == 0
    kept = target.read_bytes()
    for existing in (other, log, tmp_path):
        assert hansard("backup", "--replace", str(existing)).code == 4, existing
    assert other.read_text() == "mine"
    used = target.with_name("backup.db-wal")
    used.write_bytes(b"x")
    assert hansard("backup", "--replace", str(target)).code == 4
    used.unlink()
    audited.harmed(log, "UPDATE events SET hash = randomblob(32) WHERE position = 3")
    result = hansard("backup", "--replace", str(target))
    assert (result.code, "The log is damaged, so nothing was copied" in result.err) == (8, True)
    assert target.read_bytes() == kept and sorted(path.name for path in tmp_path.glob("*backup*")) == ["backup.db"]


def test_a_backup_never_replaces_another_database(hansard: Hansard, log: Path, tmp_path: Path) -> None:
    foreign, unrelated, longer = (tmp_path / f"{name}.db" for name in ("foreign", "unrelated", "longer"))
    with closing(sqlite3.connect(foreign, isolation_level=None)) as connection:
        connection.execute("CREATE TABLE photos (name TEXT)")
    assert hansard("review", "some text", "--detach", "--database", str(unrelated)).code == 0
    assert hansard("backup", str(longer)).code == 0
    assert hansard("cancel", "delivery-1", "--database", str(longer)).code == 0
    for path in (foreign, unrelated, longer):
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        before = path.read_bytes()
        result = hansard("backup", "--replace", str(path))
        assert (result.code, path.read_bytes() == before) == (4, True), path
        assert result.err.startswith(f"hansard: {path} is not an earlier copy of this log, so it was not replaced.\n")
    assert list(tmp_path.glob(".*.db.*")) == []


def test_a_backup_replaces_an_earlier_copy_after_more_events(hansard: Hansard, log: Path, tmp_path: Path) -> None:
    target = tmp_path / "backup.db"
    assert hansard("backup", str(target)).code == 0
    assert hansard("cancel", "delivery-1").code == 0
    assert hansard("backup", "--replace", str(target)).code == 0
    assert hansard("export", "--database", str(target)).out == hansard("export").out


# -- doctor --all ----------------------------------------------------------------------------------------------------


def test_the_doctor_says_that_every_history_loads(hansard: Hansard, log: Path) -> None:
    result = hansard("doctor", "--all")
    assert (result.code, result.err) == (0, "")
    count = audited.rows(log, "SELECT count(DISTINCT stream) FROM events")[0][0]
    assert re.search(rf"ok +histories +{count} can be loaded and would be decided the same way today\n", result.out)
    assert "histories" not in hansard("doctor").out


def test_doctor_names_unreadable_events_and_changed_decisions(hansard: Hansard, log: Path) -> None:
    change(log, "UPDATE events SET topic = 'turn.vanished' WHERE stream = 'review-1' AND version = 2")
    change(
        log,
        """UPDATE events SET state = cast(replace(cast(plain(state) AS TEXT), '"planning"', '"review"') AS BLOB)"""
        " WHERE stream = 'delivery-1' AND version = 1",
    )
    result = hansard("doctor", "--all", "--json")
    failed = {item["name"]: item["found"] for item in result.json["items"] if item["mark"] == "fail"}
    assert result.code == 1
    loading = "version 2, turn.vanished, does not load: DamagedEvent: The event at position "
    assert failed.pop("review-1").startswith(loading)
    assert "cannot be read: There is no event type 'turn.vanished'." in failed.pop("record")
    assert failed == {
        "delivery-1": "version 1 would differ today: StartDelivery records a different delivery.session_started",
    }


@pytest.mark.parametrize(
    ("topic", "before", "after", "found"),
    [
        ("channel.message_started", "implement", "complement", "leads to StartOrchestration"),
        (
            "channel.session_noted",
            '"message":',
            '"role":"planner","message":',
            "records a different channel.session_noted",
        ),
        ("channel.session_noted", '"claims":true', '"claims":false', "leads to NoteSession"),
    ],
)
def test_doctor_replays_channels_and_their_consequences(
    hansard: Hansard, own_log: Path, topic: str, before: str, after: str, found: str
) -> None:
    own_log.parent.mkdir()
    stage = Stage(own_log.parent)
    stage.says("orchestration-1", "implement src/a.py and then test it", "telegram")
    stage.store.close()
    stage.store.path.rename(own_log)
    assert hansard("doctor", "--all").code == 0
    state = f"cast(replace(cast(plain(state) AS TEXT), '{before}', '{after}') AS BLOB)"
    change(own_log, f"UPDATE events SET state = {state} WHERE topic = '{topic}'")
    result = hansard("doctor", "--all", "--json")
    failed = [item["found"] for item in result.json["items"] if item["mark"] == "fail"]
    assert result.code == 1
    assert len(failed) == 1 and found in failed[0]


def test_the_doctor_changes_nothing(hansard: Hansard, log: Path) -> None:
    before = audited.exported(log)
    hansard("doctor", "--all")
    assert audited.exported(log) == before


def test_the_doctor_needs_no_log(hansard: Hansard, own_log: Path) -> None:
    assert re.search(r"ok +histories +no log yet", hansard("doctor", "--all").out)
    assert not own_log.exists()


def test_help_names_exit_code_8(hansard: Hansard) -> None:
    words = " ".join(hansard("help", "--all").out.split())
    assert "8 failed check (verify, replay --assert, import, proofs)" in words


def test_rebuild_names_unreadable_events(hansard: Hansard, log: Path) -> None:
    change(log, "UPDATE events SET topic = 'foo.bar' WHERE stream = 'review-1' AND version = 2")
    result = hansard("rebuild")
    assert result.code == 8
    assert re.search(
        r"^missing .*The event at position \d+ \(version 2 of review-1\) cannot be read", result.err, re.MULTILINE
    )
    change(log, "UPDATE events SET topic = 'turn.requested' WHERE stream = 'review-1' AND version = 2")
    assert hansard("rebuild").code == 0


def test_a_damaged_log_is_not_backed_up(hansard: Hansard, log: Path, tmp_path: Path) -> None:
    with closing(sqlite3.connect(log, isolation_level=None)) as connection:
        connection.execute("UPDATE events SET state = CAST('{}' AS BLOB) WHERE position = 5")
    result = hansard("backup", str(tmp_path / "backup.db"))
    assert (result.code, "The log is damaged, so nothing was copied" in result.err) == (8, True)
    assert list(tmp_path.glob("*backup.db*")) == list(tmp_path.glob(".*backup.db*")) == []


def test_the_log_of_a_newer_version_is_refused_unchanged(hansard: Hansard, log: Path) -> None:
    with closing(sqlite3.connect(log, isolation_level=None)) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (FORMAT,)
        connection.execute("PRAGMA user_version = 99")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    before = log.read_bytes()
    for words in (["list"], ["verify"], ["rebuild"], ["export"], ["serve", "--port", "0"]):
        result = hansard(*words)
        assert (result.code, f"has format 99; this Hansard knows format {FORMAT}" in result.err) == (1, True), words
    assert log.read_bytes() == before
