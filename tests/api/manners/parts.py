"""Helpers for the tests of the API's conventions."""

import threading
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import httpx2 as httpx
from starlette.testclient import TestClient

from tests.api.server import (
    Json,
    delivery,
)

SILENT = {"planner": [{"text": "late", "delayMs": 86_400_000}]}
"""A team that does not answer for a day: the session stays at version 3."""
START = delivery(SILENT)
SECRET = "sk-live-3c1f9d"


def problem(answer: httpx.Response, status: int) -> Json:
    """The problem document of the answer, checked against RFC 9457."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    body: Json = answer.json()
    assert body["status"] == status
    assert body["type"] == f"/docs#problem-{status}"
    assert body["title"] and body["detail"] and isinstance(body["title"], str)
    assert "Traceback" not in answer.text
    assert 'File "' not in answer.text
    return body


def pointers(answer: httpx.Response) -> list[str]:
    """The invalid fields of a 422 answer."""
    body = problem(answer, 422)["errors"]
    assert all(entry["detail"] for entry in body)
    return [entry["pointer"] for entry in body]


def key() -> dict[str, str]:
    return {"Idempotency-Key": str(uuid.uuid4())}


def posted(client: TestClient, body: bytes, path: str = "/api/sessions", **headers: str) -> httpx.Response:
    return client.post(path, content=body, headers={"Content-Type": "application/json"} | headers)


def together(pool: ThreadPoolExecutor, ways: int, ask: Callable[[], httpx.Response]) -> list[httpx.Response]:
    return [future.result() for future in [pool.submit(ask) for _ in range(ways)]]


def after(
    barrier: threading.Barrier, client: httpx.Client, path: str, body: Json, headers: dict[str, str]
) -> httpx.Response:
    barrier.wait()
    return client.post(path, json=body, headers=headers)
