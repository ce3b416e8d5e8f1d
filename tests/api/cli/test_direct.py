"""Commands that read the views directly print the same as through the API."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from adapters.store.sqlite.connection import FORMAT
from api.cli import reader
from api.cli.options import Where
from api.node import log_files
from api.node.local_files import ANSWER, code
from api.node.log_files import LogFiles, Reading
from domain.session.permissions import RequestPermission
from tests.api.cli.conftest import Hansard
from tests.api.server import inside, start, system, until
from tests.projections.stage import Stage, critique, plan, subtask, verdicts


@pytest.fixture(autouse=True)
def plain_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HANSARD_RETRY_SECONDS")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.fixture
def log(tmp_path: Path) -> str:
    """A decision, a checkpoint and two permissions wait."""
    stage = Stage(tmp_path)
    stage.discusses("review-1", "Step: a result", max_rounds=1)
    stage.answers("review-1", critique("NEEDS_FIX", "Slow")).answers("review-1", "Make it fast.")
    for number in (1, 2):
        stage.delivers(f"delivery-{number}")
        turn = stage.turn(f"delivery-{number}")
        asks = RequestPermission(turn_id=turn.turn_id, attempt=1, tool="Bash", title="rm -rf build", paths=("build",))
        stage.do(f"delivery-{number}", asks)
    stage.orchestrates().answers("orchestration-1", plan(subtask(start_phase=3, end_phase=3, checkpoint=True)))
    stage.answers("orchestration-1", "Done.").answers("orchestration-1", verdicts(Backend=True))
    stage.store.close()
    return str(stage.store.path)


@pytest.mark.parametrize("command", [["inbox"], ["inbox", "--limit", "2"], ["list"], ["list", "--limit", "2"]])
def test_a_table_is_the_same_out_of_the_views(
    command: list[str], log: str, hansard: Hansard, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = [*command, "--database", log]
    hansard(*words)  # folds the views
    answers = _watched(monkeypatch)
    result = hansard(*words)
    assert result.code == 0 and answers[0] is not None
    monkeypatch.setenv("HANSARD_POLL_SECONDS", "1")  # a setting that is validated elsewhere
    assert hansard(*words) == result
    assert answers[1:] == [None]


@pytest.mark.parametrize("name", ["review-1", "delivery-1", "latest", "orchestration", "review"])
@pytest.mark.parametrize("form", [[], ["--json"]])
def test_a_session_is_shown_as_it_was_kept(
    name: str, form: list[str], log: str, hansard: Hansard, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ["show", name, *form, "--database", log]
    first = hansard(*words)  # keeps it
    kept = _watched(monkeypatch)
    assert hansard(*words) == first
    assert first.code == 0 and kept[0] is not None


def test_an_answer_is_not_used_after_the_session_has_changed(
    log: str, hansard: Hansard, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ["show", "delivery-1", "--database", log]
    hansard(*words)
    assert hansard("cancel", "delivery-1", "--database", log).code == 0
    assert "cancelled" in hansard(*words).out


def test_an_answer_of_other_code_or_of_another_history_is_not_used(
    log: str, hansard: Hansard, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ["show", "delivery-1", "--database", log]
    first = hansard(*words)
    kept = _watched(monkeypatch)
    monkeypatch.setattr("api.node.local_files.code", lambda: "of another release")
    assert (hansard(*words), kept) == (first, [None])
    monkeypatch.undo()


def test_a_server_keeps_answers_once_it_is_quiet(
    tmp_path: Path, hansard: Hansard, monkeypatch: pytest.MonkeyPatch
) -> None:
    with inside(tmp_path, work=False) as client:
        session_id = start(client)
        snapshots = system(client).snapshots
        until(lambda: snapshots.read(session_id, ANSWER, code()) is not None, what="the answer that is kept")
        assert client.post(f"/api/sessions/{session_id}/cancel", json={}).status_code == 200
        until(lambda: snapshots.read(session_id, ANSWER, code()).version > 3, what="the next one")  # type: ignore[union-attr]
        kept = _watched(monkeypatch)
        monkeypatch.setenv("HANSARD_DATA_DIR", str(tmp_path / "node"))
        shown = hansard("show", session_id, "--database", str(tmp_path / "hansard.db"))
        assert "cancelled" in shown.out and kept[0] is not None


def _watched(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Record what every later reading of the files returns, and None where they are not read."""
    answers: list[object] = []
    files_of, read = reader._files_of, LogFiles._read

    def looked_for(where: Where) -> LogFiles | None:
        files = files_of(where)
        if files is None:
            answers.append(None)
        return files

    def watched(files: LogFiles, reading: Reading[object]) -> object:
        answers.append(read(files, reading))
        return answers[-1]

    monkeypatch.setattr(reader, "_files_of", looked_for)
    monkeypatch.setattr(LogFiles, "_read", watched)
    return answers


@pytest.mark.parametrize("command", [["inbox"], ["list"], ["show", "delivery-1"]])
def test_the_log_of_a_newer_version_is_refused_although_its_views_are_current(
    command: list[str], log: str, hansard: Hansard
) -> None:
    words = [*command, "--database", log]
    assert hansard(*words).code == hansard(*words).code == 0
    assert log_files.FORMAT == FORMAT
    with closing(sqlite3.connect(log, isolation_level=None)) as connection:
        connection.execute(f"PRAGMA user_version = {FORMAT + 1}")
    refused = hansard(*words)
    assert (refused.code, f"has format {FORMAT + 1}" in refused.err) == (1, True)
