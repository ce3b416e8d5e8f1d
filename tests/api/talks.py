"""Start, await and decide reviews and debates over HTTP."""

from typing import Any

import httpx2 as httpx

from tests.api.server import Json, session, start, until

WAITS = "waiting_for_decision"
Replies = dict[str, list[Any]]


def review(replies: Replies | None = None, **fields: Any) -> Json:
    """The body that starts a review; agents not named in `replies` give harmless answers."""
    body: Json = {"kind": "review", "subject": "Step: parser\n\nAction: read lines\n\nResult: it reads lines"}
    return body | {"scenario": {"replies": replies or {}}} | fields


def debate(replies: Replies | None = None, **fields: Any) -> Json:
    """The body that starts a debate about a plan."""
    body: Json = {"kind": "debate", "plan": "1. Copy the table. 2. Switch over."}
    return body | {"scenario": {"replies": replies or {}}} | fields


def reached(client: httpx.Client, session_id: str, *statuses: str) -> Json:
    """The session, once it has one of these statuses."""

    def there() -> Json | None:
        view = session(client, session_id)
        return view if view["status"] in statuses else None

    return until(there, what=f"{session_id} {' or '.join(statuses)}")


def waits(client: httpx.Client, body: Json) -> Json:
    """Start a review or debate and wait until it needs a decision."""
    return reached(client, start(client, body), WAITS)


def child(client: httpx.Client, parent: str, number: int = 1, *, status: str = WAITS) -> Json:
    """The parent's n-th review or debate, once it has that status."""

    def there() -> str | None:
        children = session(client, parent)["children"]
        return str(children[number - 1]) if len(children) >= number else None

    return reached(client, until(there, what=f"child {number} of {parent}"), status)


def decide(client: httpx.Client, session_id: str, decision: str, *, version: int | None = None, **headers: str) -> Any:
    """The answer to a decision; `headers` as in `if_match='"3"'`."""
    body: Json = {"decision": decision, "rationale": "It is worth it."}
    result = {name.replace("_", "-"): value for name, value in headers.items()}
    return client.post(
        f"/api/sessions/{session_id}/decision",
        json=body if version is None else body | {"version": version},
        headers=result,
    )


def decided(client: httpx.Client, session_id: str, decision: str) -> Json:
    """Decide successfully; return the receipt."""
    answer = decide(client, session_id, decision)
    assert answer.status_code == 200, answer.text
    body: Json = answer.json()
    return body
