"""`show` of a session that stopped reads why from the log, and starts no application for it."""

import json
from pathlib import Path

import pytest

from api.system import System
from tests.api.cli.conftest import Hansard


def test_why_a_session_stopped_is_shown_without_the_application(
    hansard: Hansard, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scenario = tmp_path / "scenario.json"
    scenario.write_text(json.dumps({"replies": {"planner": [{"error": "crash"}] * 9}}), encoding="utf-8")
    words = ("run", "-t", "x", "--test", "true", "--no-baseline", "--fresh", "--scenario", str(scenario))
    assert hansard(*words).code == 1
    session_id = hansard("list", "--json").json["items"][0]["id"]
    monkeypatch.delenv("HANSARD_RETRY_SECONDS")
    with_application = hansard("show", session_id)
    assert "evidence" in with_application.out

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("the application was started")

    monkeypatch.setattr(System, "__init__", refuse)
    assert hansard("show", session_id) == with_application
