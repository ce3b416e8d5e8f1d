"""What the tests of real programs share: the team, what the stub answers, and what is read from the record."""

import contextlib
import json
import os
from pathlib import Path
from typing import Any

import pytest

from api.cli.main import carry_out
from tests.providers.programs import settings
from tests.providers.stub import Provider, Rule, Step, Usage

CALL = Usage(fresh=1_000, cached=200, output=50)
APPROVED = json.dumps({"blockingIssues": [], "nonBlockingIssues": [], "score": 95, "fixPlan": []})
FIX = "sed -i 's/a - b/a + b/' calc.py"
RUN = ["run", "-t", "Fix add", "-f", "calc.py", "--test", "python3 test_calc.py", "--max-iterations", "2"]
Json = dict[str, Any]


def says(text: str) -> Step:
    return Step(text=text, usage=CALL)


def runs(command: str) -> Step:
    return Step(shell=command, usage=CALL)


def delivery(**first: Step) -> list[Rule]:
    """The rules of a delivery whose developer fixes the test; `first` is answered once before, by role."""
    rules = {
        "planner": [says("Plan: fix the sign in add.")],
        "architect": [says("Keep it as it is.")],
        "designer": [says("Change - to +.")],
        "developer": [runs(FIX), says("Fixed the sign.")],
        "reviewer": [says(APPROVED)],
    }
    return [
        Rule(f"You are the {role}", [first[role], *steps] if role in first else steps) for role, steps in rules.items()
    ]


def team(folder: Path, name: str, url: str, *, more: str = "") -> str:
    """The path of a team file with this program alone; `more` is said of the agent."""
    path = folder.parent / "team.toml"
    limits = "timeout_seconds = 600\nidle_seconds = 300"  # a busy machine starts some of them slowly
    path.write_text(
        f'[[agents]]\nname = "Agent"\npreset = "{name}"\n{more}[agents.settings]\n{limits}\n{settings(name, url)}\n'
    )
    return str(path)


def events(capsys: pytest.CaptureFixture[str]) -> list[Json]:
    capsys.readouterr()
    assert carry_out(["events", "latest", "--json"]) == 0
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def data(found: list[Json], topic: str) -> list[Json]:
    return [event["data"] for event in found if event["type"] == topic]


def answered(found: list[Json]) -> list[Json]:
    return [event for event in data(found, "turn.answered") if event.get("usage") and event["agent"] == "Agent"]


def counted(turns: list[Json], provider: Provider) -> None:
    """What was recorded is what the provider counted, except for titles and the like, which no program reports."""
    side = sum(usage.input for _, usage in provider.calls if usage.fresh == 10)
    assert sum(turn["usage"]["inputTokens"] for turn in turns) == provider.input_tokens() - side
    assert sum(turn["usage"]["cachedTokens"] for turn in turns) == sum(usage.cached for _, usage in provider.calls)


def left_running(folder: Path) -> list[str]:
    """Processes that were started below the folder."""
    result = []
    for path in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if int(path.name) != os.getpid() and f"HOME={folder}".encode() in (path / "environ").read_bytes():
                result.append((path / "cmdline").read_bytes().replace(b"\0", b" ").decode())
    return result
