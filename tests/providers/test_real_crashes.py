"""A server that is killed while a real program works: the turn is asked again, and the work is done."""

from pathlib import Path

import pytest

from tests.api.server import ended, events, only, serving, start, until
from tests.providers.deliveries import delivery, left_running, team
from tests.providers.stub import Provider, Step

pytestmark = pytest.mark.agents

SECONDS = 600.0
"""A busy machine starts some of them slowly."""


def test_a_server_killed_during_a_turn_continues_after_a_restart(
    program: str, provider: Provider, repository: Path, tmp_path: Path
) -> None:
    provider.rules = delivery(developer=Step(hang=300))
    with serving(tmp_path, team=team(repository, program, provider.url), retry_seconds=0.01) as server:
        body = {"task": "Fix add", "filePaths": ["calc.py"], "validationCommands": ["python3 test_calc.py"]}
        session_id = start(server.client, {**body, "workspace": str(repository), "maxIterations": 2})
        # Not the request for a title, which some programs send first.
        [developer] = [rule for rule in provider.rules if "developer" in rule.words]
        until(lambda: developer.taken == 1, what="the developer's turn", seconds=SECONDS)
        server.kill()
        server.start()
        result = ended(server.client, session_id, seconds=SECONDS)
        assert result["status"] == "success", result["finalSummary"]
        assert [each["path"] for each in result["result"]["files"]] == ["calc.py"]
        turns = [each for each in only(events(server.client, session_id), "turn.answered") if each["agent"] == "Agent"]
        assert [turn["role"] for turn in turns] == ["planner", "architect", "designer", "dev", "reviewer"]
    assert left_running(tmp_path) == []
