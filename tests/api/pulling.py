"""External workers over HTTP: a team that waits for them, and their claims, heartbeats and results."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx2 as httpx

from adapters.agents.port import Turn
from adapters.agents.scripted import harmless
from tests.api.server import Json, delivery, start, until

EVERYBODY = (
    *("planner", "architect", "designer", "dev", "reviewer", "judge", "assistant", "coder", "critic", "synthesizer"),
    *("frontend", "backend", "data", "docs"),
)
Work = Callable[[Json], Json]


def team(folder: Path, *roles: str, limits: str = "") -> Path:
    """A team file: Remote, external, has these roles (else all), and scripted Local the others."""
    wanted = roles or EVERYBODY
    others = [role for role in EVERYBODY if role not in wanted]
    local = f'[[agents]]\nname = "Local"\nroles = {others}\nadapter = "scripted"\n' if others else ""
    path = folder / "team.toml"
    remote = f'[[agents]]\nname = "Remote"\nroles = {list(wanted)}\nadapter = "external"\n'
    path.write_text(f"[limits]\n{limits}\n{remote}{local}")
    return path


def begin(client: httpx.Client, **fields: Any) -> str:
    """Start a delivery with the team of the file."""
    body = delivery(**fields)
    del body["scenario"]
    return start(client, body)


def claim(client: httpx.Client, *, wait: float = 10, **wish: Any) -> Json:
    """Claim a turn; fails if there is none."""
    answer = client.post("/api/turns/claim", json={"waitSeconds": wait, **wish})
    assert answer.status_code == 200, answer.text
    body: Json = answer.json()
    return body


def nothing(client: httpx.Client, *, wait: float = 0, **wish: Any) -> None:
    """Check that there is no turn to claim."""
    answer = client.post("/api/turns/claim", json={"waitSeconds": wait, **wish})
    assert (answer.status_code, answer.content) == (204, b""), answer.text


def endpoint(turn: Json, name: str) -> str:
    return f"/api/turns/{turn['turnId']}/{name}"


def result(client: httpx.Client, turn: Json, text: str = "ok", **fields: Any) -> Any:
    """The answer to a result."""
    return client.post(endpoint(turn, "result"), json={"text": text, "attempt": turn["lease"]["attempt"], **fields})


def beat(client: httpx.Client, turn: Json) -> Any:
    """The answer to a heartbeat."""
    return client.post(endpoint(turn, "heartbeat"), json={"attempt": turn["lease"]["attempt"]})


def lost(answer: Any, reason: str) -> str:
    """The text of a refusal with that reason."""
    assert answer.status_code == 409, answer.text
    body: Json = answer.json()
    assert body["reason"] == reason
    return str(body["detail"])


def well(turn: Json) -> Json:
    """A result with which every session succeeds."""
    asked = Turn(
        turn_id=turn["turnId"],
        session_id=turn["sessionId"],
        attempt=turn["lease"]["attempt"],
        agent=turn["agent"],
        role=turn["role"],
        prompt=turn["prompt"],
        reads=turn["reads"],
        expects=tuple(turn["expects"]),
    )
    return {"text": harmless(asked), "agentSession": f"thread of {turn['agent']}"}


def work(client: httpx.Client, over: Callable[[], bool], do: Work = well) -> list[Json]:
    """Claim and answer turns until the session ends; return the turns."""
    done: list[Json] = []

    def step() -> bool:
        answer = client.post("/api/turns/claim", json={"waitSeconds": 0.2})
        if answer.status_code == 200:
            turn: Json = answer.json()
            handed = client.post(endpoint(turn, "result"), json={"attempt": turn["lease"]["attempt"], **do(turn)})
            assert handed.status_code == 200, handed.text
            done.append(turn)
        return over()

    until(step, what="the end of the work", seconds=40)
    return done
