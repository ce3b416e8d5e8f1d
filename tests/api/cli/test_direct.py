"""Commands that read the views themselves print what the API would have answered."""

from pathlib import Path

import pytest

from api.cli import direct, inbox, listing
from domain.session.permissions import RequestPermission
from tests.api.cli.conftest import Hansard
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
    answers: list[object] = []

    def watched(*given: object) -> object:
        answers.append(direct.read_directly(*given))  # type: ignore[arg-type]
        return answers[-1]

    for module in (inbox, listing):
        monkeypatch.setattr(module, "read_directly", watched)
    found = hansard(*words)
    assert found.code == 0 and answers[0] is not None
    monkeypatch.setenv("HANSARD_POLL_SECONDS", "1")  # a setting that is judged elsewhere
    assert hansard(*words) == found
    assert answers[1:] == [None]
