"""Follow a session and its discussions until a person is needed or the session ends."""

import asyncio
from typing import Any, cast

import pytest

from api.cli.client import Api
from api.cli.watch import SessionFollower


def _events(versions: list[int]) -> list[dict[str, Any]]:
    return [{"version": version, "type": "delivery.phase_started"} for version in versions]


class _Recorded:
    """An API whose session advances by one page with every request for its events."""

    poll = 0.0

    def __init__(self, *pages: tuple[list[int], str]) -> None:
        self._pages, self._status, self._version = list(pages), "running", 0
        self.asked: list[int] = []

    async def events(self, _: str, *, after: int) -> list[dict[str, Any]]:
        self.asked.append(after)
        versions, self._status = self._pages.pop(0)
        self._version = max([self._version, *versions])
        return _events(versions)

    async def session(self, _: str) -> dict[str, Any]:
        return {"session": {"id": "delivery-1", "version": self._version, "status": self._status}}


class _Family:
    """An API with several sessions; when nothing is new, the next of `steps` (session, new state) happens."""

    poll = 0.0

    def __init__(self, *steps: tuple[str, dict[str, Any]], **sessions: dict[str, Any]) -> None:
        self._sessions = {name: {"id": name, **session} for name, session in sessions.items()}
        self._steps = list(steps)

    async def events(self, name: str, *, after: int) -> list[dict[str, Any]]:
        if name == "run" and after == self._sessions["run"]["version"] and self._steps:
            which, changes = self._steps.pop(0)
            self._sessions[which] = {"id": which, **self._sessions.get(which, {}), **changes}
        return _events(list(range(after + 1, self._sessions[name]["version"] + 1)))

    async def session(self, name: str) -> dict[str, Any]:
        return {"session": self._sessions[name]}

    async def get(self, _: str, **__: object) -> dict[str, Any]:
        return {"items": []}


class _Seen:
    def __init__(self) -> None:
        self.versions: list[int] = []
        self.statuses: list[str] = []
        self.of_children: list[tuple[str, int]] = []

    def show_events(self, events: Any) -> None:
        self.versions += [event["version"] for event in events]

    def show_status(self, session: Any) -> None:
        self.statuses.append(session["status"])

    def show_child(self, child: Any, events: Any) -> None:
        self.of_children += [(child["id"], event["version"]) for event in events]

    def show_turns(self, turns: Any) -> None:
        """Not relevant here."""


def _followed(api: object, seen: _Seen, *, name: str = "run", after: int = 0) -> SessionFollower:
    following = SessionFollower(cast(Api, api), name, after=after)
    asyncio.run(asyncio.wait_for(following.to_rest(seen), 10))
    return following


def test_following_shows_every_event_once_and_ends_when_the_session_rests() -> None:
    api, seen = _Recorded(([1, 2], "running"), ([], "running"), ([3], "failed")), _Seen()
    following = _followed(api, seen)
    assert following.session["status"] == "failed"
    assert seen.versions == [1, 2, 3]
    assert seen.statuses == ["running", "failed"]
    assert api.asked == [0, 2, 2]


def test_following_does_not_end_before_the_last_event_is_shown() -> None:
    class Ahead(_Recorded):
        async def session(self, _: str) -> dict[str, Any]:
            return {"session": {"id": "delivery-1", "version": 3, "status": "success"}}

    api, seen = Ahead(([1, 2], "running"), ([3], "success")), _Seen()
    _followed(api, seen)
    assert seen.versions == [1, 2, 3]


def test_following_a_session_that_rests_already_ends_at_once() -> None:
    api, seen = _Recorded(([], "cancelled")), _Seen()
    assert _followed(api, seen, after=7).session["status"] == "cancelled"
    assert api.asked == [7]


@pytest.mark.parametrize("status", ["checkpoint", "partial", "done", "reset", "waiting_for_decision", "decided"])
def test_every_kind_has_resting_states(status: str) -> None:
    api = _Family(run={"version": 1, "status": status, "children": []})
    assert _followed(api, _Seen()).session["status"] == status


def test_session_rests_while_its_discussion_waits_for_a_decision() -> None:
    running = {"version": 4, "status": "active", "children": ["talk"], "outstandingTurns": []}
    talk = {"version": 2, "status": "debating"}
    seen = _Seen()
    following = _followed(
        _Family(
            ("talk", {"version": 3}), ("talk", {"version": 5, "status": "waiting_for_decision"}), run=running, talk=talk
        ),
        seen,
    )
    assert following.session["status"] == "active"
    assert [item["id"] for item in following.waiting] == ["talk"]
    assert seen.of_children == [("talk", 1), ("talk", 2), ("talk", 3), ("talk", 4), ("talk", 5)]


def test_watch_waits_for_all_discussions() -> None:
    running = {"version": 4, "status": "active", "children": ["one", "two"], "outstandingTurns": []}
    waiting, talking = {"version": 1, "status": "waiting_for_decision"}, {"version": 1, "status": "reviewing"}
    api = _Family(("two", {"version": 2, "status": "decided"}), run=running, one=waiting, two=talking)
    assert [item["id"] for item in _followed(api, _Seen()).waiting] == ["one"]


def test_a_session_that_is_still_at_work_itself_does_not_rest_with_its_discussion() -> None:
    running = {"version": 4, "status": "active", "children": ["talk"], "outstandingTurns": [{"turnId": "t1"}]}
    talk = {"version": 1, "status": "waiting_for_decision"}
    seen = _Seen()
    api = _Family(("run", {"version": 5, "outstandingTurns": []}), run=running, talk=talk)
    _followed(api, seen)
    assert seen.versions == [1, 2, 3, 4, 5]


def test_after_a_decision_it_goes_on_where_it_was() -> None:
    running = {"version": 2, "status": "active", "children": ["talk"], "outstandingTurns": []}
    api = _Family(run=running, talk={"version": 1, "status": "waiting_for_decision"})
    seen = _Seen()
    following = _followed(api, seen)
    api._sessions["talk"] |= {"version": 2, "status": "decided"}
    api._sessions["run"] |= {"version": 3, "status": "done"}
    asyncio.run(asyncio.wait_for(following.to_rest(seen), 10))
    assert (seen.versions, seen.of_children) == ([1, 2, 3], [("talk", 1), ("talk", 2)])
    assert following.waiting == []


def test_following_later_does_not_repeat_earlier_rounds() -> None:
    done = {"version": 9, "status": "done", "children": ["old"]}
    seen = _Seen()
    _followed(_Family(run=done, old={"version": 6, "status": "decided"}), seen, after=7)
    assert (seen.versions, seen.of_children) == ([8, 9], [])
