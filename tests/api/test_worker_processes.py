"""A session uses the agents it names, whatever other processes work on the same log (K-36)."""

import html
from pathlib import Path

from starlette.testclient import TestClient

from tests.api.server import Json, delivery, inside, start, until

AGENT = '[[agents]]\nname = "{name}"\nroles = ["planner", "architect", "designer", "dev", "reviewer"]\n{adapter}\n'
SAYS = 'adapter = "scripted"\nsettings = {{ scenario = {{ replies = {{ planner = [{{ text = "{words}" }}] }} }} }}'


def team(folder: Path, name: str) -> Path:
    """One agent for all roles, whose plan is `The plan of <name>.`"""
    path = folder / f"{name}.toml"
    path.write_text(AGENT.format(name=name, adapter=SAYS.format(words=f"The plan of {name}.")))
    return path


def waits(client: TestClient, session_id: str) -> Json:
    """The session's only open turn."""
    session = client.get(f"/api/sessions/{session_id}").json()["session"]
    [turn] = session["outstandingTurns"]
    return dict(turn)


def worked_on(client: TestClient) -> None:
    """Run another session to its end, so that every worker has looked for open turns."""
    session_id = start(client, delivery())
    until(
        lambda: client.get(f"/api/sessions/{session_id}").json()["session"]["status"] in ("success", "failed"),
        what="the end of another session",
    )


def planned(client: TestClient, session_id: str) -> str:
    """The planner's answer, once it is there."""
    events = f"/api/sessions/{session_id}/events"
    answered = until(
        lambda: next((e for e in client.get(events).json()["items"] if e["type"] == "turn.answered"), None),
        what="the plan",
    )
    assert answered["actor"] == "agent:Ada"
    return str(answered["data"]["reply"]["head"])


def test_no_other_agent_replaces_the_one_that_a_session_names(tmp_path: Path) -> None:
    with inside(tmp_path, team=team(tmp_path, "Ada"), work=False) as client:
        session_id = start(client, delivery(scenario=None))
    for settings in ({}, {"team": team(tmp_path, "Bea")}):
        with inside(tmp_path, **settings) as client:
            worked_on(client)
            turn = waits(client, session_id)
            assert (turn["agent"], turn["elsewhere"]) == ("Ada", True)
            assert "not in this server's team; a process whose team file includes this agent runs it" in html.unescape(
                client.get(f"/sessions/{session_id}?lang=en").text
            )
    with inside(tmp_path, team=team(tmp_path, "Ada")) as client:
        assert planned(client, session_id) == "The plan of Ada."


def test_first_team_takes_a_session_without_a_team(tmp_path: Path) -> None:
    """The first team to arrive takes a session that was started without a team."""
    with inside(tmp_path, work=False) as client:
        session_id = start(client, delivery(scenario=None))
    with inside(tmp_path, team=team(tmp_path, "Ada")) as client:
        events = until(
            lambda: [
                event
                for event in client.get(f"/api/sessions/{session_id}/events").json()["items"]
                if event["type"] == "turn.answered"
            ],
            what="the plan",
        )
        assert (events[0]["actor"], events[0]["data"]["reply"]["head"]) == ("agent:planner", "The plan of Ada.")
