"""`hansard clean` deletes working folders and keeps the record."""

import time
from pathlib import Path

import pytest

from api.node.settings import Settings
from tests.api.cli.conftest import Hansard


def trees(log: Path) -> list[Path]:
    return sorted((Settings().node_dir / "workspaces").glob("*/tree-*"))


@pytest.fixture
def example(hansard: Hansard) -> str:
    result = hansard("example")
    assert result.code == 0
    return str(hansard("list", "--json").json["items"][0]["id"])


def test_a_session_that_rests_long_enough_is_cleaned_and_can_still_be_forked(
    hansard: Hansard, own_log: Path, example: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert trees(own_log)
    young = hansard("clean")
    assert (young.code, young.out, young.err) == (0, "", "Deleted the working folders of 0 sessions, 0 bytes.\n")
    now = time.time() + 31 * 86_400
    monkeypatch.setattr(time, "time", lambda: now)
    trial = hansard("clean", "--dry-run", "--json")
    [result] = trial.json["items"]
    assert (result["sessionId"], result["bytes"] > 0, trial.json["deleted"]) == (example, True, False)
    assert trees(own_log)
    output = hansard("clean")
    assert (output.code, output.out.split()[0]) == (0, example)
    assert output.err.startswith("Deleted the working folders of 1 session, ")
    assert trees(own_log) == []
    before = hansard("show", example, "--json").json
    assert hansard("fork", example, "--at", str(before["session"]["version"])).code == 0
    assert hansard("show", example, "--json").json == before
    assert hansard("verify").code == 0


def test_clean_keeps_active_and_foreign_folders(hansard: Hansard, own_log: Path, example: str) -> None:
    [tree, *_] = trees(own_log)
    strange = tree.parent.with_name("delivery-of-nobody") / "tree-0"
    strange.mkdir(parents=True)
    source = tree.parent.with_name("notes") / "tree-0"
    source.mkdir(parents=True)
    assert hansard("fork", example, "--at", "3", "--mode", "stop").code == 0
    assert [line.count("[fork]") for line in hansard("list").out.splitlines()[1:3]] == [1, 0]
    result = hansard("clean", "--days", "0")
    assert result.code == 0
    assert [line.split()[0] for line in result.out.splitlines()] == [example]
    assert (strange.is_dir(), source.is_dir()) == (True, True)


@pytest.mark.parametrize("days", ["-1", "many"])
def test_days_are_a_number_from_zero_on(hansard: Hansard, own_log: Path, days: str) -> None:
    assert hansard("clean", "--days", days).code == 2


def test_without_a_log_nothing_is_deleted(hansard: Hansard, own_log: Path) -> None:
    tree = Settings().node_dir / "workspaces" / "delivery-1" / "tree-0"
    tree.mkdir(parents=True)
    assert hansard("clean").code == 3
    assert tree.is_dir()
