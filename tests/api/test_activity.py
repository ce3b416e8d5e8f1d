"""What an agent does, kept and live (contract-2 §11)."""

from pathlib import Path
from typing import Any

from tests.api.server import delivery, events, inside, session, start, until

PYTEST = {"kind": "tool", "tool": "execute", "title": "pytest -q", "exitCode": 1, "status": "failed"}


def busy(**more: Any) -> dict[str, Any]:
    """A delivery whose planner runs the tests before it answers."""
    return delivery({"planner": [{"text": "A plan.", "activity": [PYTEST | {"afterMs": 5}], **more}]})


def test_what_an_attempt_did_is_recorded_just_before_its_end(tmp_path: Path) -> None:
    with inside(tmp_path) as client:
        name = start(client, busy())
        until(lambda: session(client, name)["status"] == "success", what="success")
        history = events(client, name)
        [place] = [at for at, event in enumerate(history) if event["type"] == "turn.activity_recorded"]
        data, end = history[place]["data"], history[place + 1]
        assert data["tools"][0] | {"tool": "execute", "title": "pytest -q", "exitCode": 1} == data["tools"][0]
        assert (data["toolsTotal"], data["denied"], data["attempt"]) == (1, 0, 1)
        assert (end["type"], end["data"]["turnId"]) == ("turn.answered", data["turnId"])
        assert client.get(f"/api/sessions/{name}/replay").json()["difference"] is None
        assert client.get(f"/api/sessions/{name}/explain").status_code == 200
        assert client.get(f"/sessions/{name}?tab=turns").status_code == 200
