"""Orchestrations over HTTP: request bodies and the replies of a scripted team."""

from collections.abc import Mapping
from typing import Any

import httpx2 as httpx

from tests.api.server import PATIENCE, Json, rests, session, until

TEAM = [{"name": name, "role": name.lower()} for name in ("Frontend", "Backend", "Data", "Docs")]
ENDS = ("checkpoint", "partial", "done", "reset")


def orchestration(replies: Mapping[str, Any] | None = None, **fields: Any) -> Json:
    """The body that starts an orchestration of that team, planned by default."""
    body: Json = {"kind": "orchestration", "prompt": "Build it", "triage": "orchestrate", "employees": TEAM}
    return body | {"scenario": {"replies": dict(replies or {})}} | fields


def message(prompt: str, replies: Mapping[str, Any] | None = None, **fields: Any) -> Json:
    """The body of a message; agents without a script answer "ok"."""
    return {"prompt": prompt, "employees": TEAM, "scenario": {"replies": dict(replies or {})}} | fields


def slow(text: str = "late", ms: int = 60_000) -> Json:
    return {"text": text, "delayMs": ms}


def rested(client: httpx.Client, session_id: str, *, seconds: float = PATIENCE) -> Json:
    """The session, once it no longer runs."""

    def over() -> Json | None:
        view = session(client, session_id)
        return view if view["status"] in ENDS else None

    return until(over, what=f"the end of {session_id}", seconds=seconds, news=rests(client, session_id))


def run(client: httpx.Client, body: Json) -> Json:
    """Start a session and wait until it rests."""
    answer = client.post("/api/sessions", json=body)
    assert answer.status_code == 202, answer.text
    return rested(client, answer.json()["sessionId"])


def says(client: httpx.Client, body: Json, **headers: str) -> Json:
    """Send a message and return the answer."""
    answer = client.post("/api/message", json=body, headers=headers)
    assert answer.status_code == 200, answer.text
    data: Json = answer.json()
    return data


def agent(run: Json, name: str) -> Json:
    return next(agent for agent in run["agents"] if agent["agent"] == name)


def post(client: httpx.Client, path: str, body: Json | None = None, **headers: str) -> httpx.Response:
    return client.post(path, json=body or {}, headers=headers)
