"""Following a session to its end, and asking the person for the decisions that it waits for."""

import asyncio
import shlex
from math import inf
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Final, cast

from api.cli import exits
from api.cli.activity import RunningTurns
from api.cli.client import Api
from api.cli.exits import rests
from api.cli.handover_words import to_use
from api.cli.interview import allowed, decide, is_interactive, permitted
from api.cli.labels import sentence
from api.cli.progress import Screen, Shown, screen
from api.cli.session import in_four_lines, outcome, status_words, steps
from api.cli.stall import StallWatch
from api.cli.tables import put_pairs
from api.cli.terminal import put, put_json, say
from api.cli.waits import is_paused, say_decision

if TYPE_CHECKING:
    from api.cli.answers import Event, PermissionRequestView, ResultView, Session

_REFRESH_SECONDS: Final = 1.0


class SessionFollower:
    """A session and its discussions: every event after version `after` is shown once, live.

    Of a session that is not followed from its beginning, discussions that were there already are shown from now on.
    """

    def __init__(
        self,
        api: Api,
        session_id: str,
        *,
        after: int = 0,
        patience: StallWatch | None = None,
        asks: bool = False,
        works: bool = True,
    ) -> None:
        """`asks`: it stops, too, where an agent waits for a permission that is not in `asked` yet."""
        self._api, self._patience, self._asks, self._works = api, patience, asks, works
        self.asked: set[str] = set()
        self._main = _Cursor(session_id, after=after)
        self._children: dict[str, _Cursor] = {}
        self._late = after > 0
        self._turns = RunningTurns(api)

    @property
    def session(self) -> "Session":
        """The session as it was when last asked for."""
        return self._main.session

    @property
    def waiting(self) -> "list[Session]":
        """The reviews and debates that wait for a person: the session itself, or those that it waits for."""
        seen = (self._main, *self._children.values())
        return [child.session for child in seen if child.session.get("status") == exits.WAITING]

    @property
    def permissions(self) -> "list[tuple[str, PermissionRequestView]]":
        """Permission requests that were not shown here yet, each with its session."""
        seen = (child.session for child in (self._main, *self._children.values()))
        requests = ((str(each["id"]), request) for each in seen for request in each.get("permissionRequests") or ())
        return [(name, request) for name, request in requests if request["requestId"] not in self.asked]

    async def to_rest(self, screen: Screen) -> "Session":
        """Follow until nothing more happens without a person; returns the session. Raises Failed where
        the patience is over before."""
        while True:
            moved = await self._look(screen)
            if self._rest():
                return self.session
            if self._patience:
                open_ = [child.session for child in self._children.values() if not child.over]
                await self._patience.check([self.session, *open_], moved=moved)
            if not moved:
                await asyncio.sleep(self._api.poll)

    def _rest(self) -> bool:
        if self._asks and self.permissions:
            return True
        if self._main.settled:
            return self._patience is None or not self._works or not _is_handed_over(self.session)
        children = [child.session for child in self._children.values()]
        return exits.waits_below(self.session, children) and all(child.settled for child in self._children.values())

    async def _look(self, screen: Screen) -> bool:
        """Show what is new; whether anything was."""
        version = self.session.get("version")
        events = await self._main.look(self._api)
        if self._main.looked:
            screen.show_status(self.session)
        if events:
            screen.show_events(events)
        moved = bool(events) or version != self.session.get("version")
        for child in await self._discussions():
            heard = await child.look(self._api)
            if child.looked:
                screen.show_child(child.session, heard)
            moved = moved or bool(heard)
        self._late = False
        await self._show_turns(screen)
        if not self._asks:
            self._say_how_to_answer()
        return moved

    def _say_how_to_answer(self) -> None:
        for name, request in self.permissions:
            self.asked.add(str(request["requestId"]))
            say(sentence("To answer: hansard allow {name}     hansard deny {name}", name=name))

    async def _show_turns(self, screen: Screen) -> None:
        """Prints the agents' activity between the events."""
        sessions = [self.session, *(child.session for child in self._children.values() if not child.over)]
        screen.show_turns(await self._turns.look(sessions))

    async def _discussions(self) -> list["_Cursor"]:
        """Those that are not over, or whose end was not shown yet."""
        for name in self.session.get("children") or ():
            if name not in self._children:
                self._children[name] = await self._met(name)
        return [child for child in self._children.values() if not child.over]

    async def _met(self, name: str) -> "_Cursor":
        if not self._late:
            return _Cursor(name, after=0)
        session = (await self._api.session(name))["session"]
        return _Cursor(name, after=int(session["version"]), session=session)


def _is_handed_over(session: "Session") -> bool:
    """True if its branch is being made at this moment: the session is done, and its result is not."""
    return any(turn["work"] == "package" for turn in session.get("outstandingTurns") or ())


class _Cursor:
    """One session: the version up to which it was shown, and its last known state."""

    def __init__(self, name: str, *, after: int, session: "Session | None" = None) -> None:
        self._name, self._seen, self._asked = name, after, -inf
        self.session = session or cast("Session", {})  # nothing is known before the first look
        self.looked = False

    @property
    def settled(self) -> bool:
        """It rests, and everything up to there was shown."""
        return (rests(self.session) or is_paused(self.session)) and self._seen >= int(self.session["version"])

    @property
    def over(self) -> bool:
        return self.settled and self.session["status"] != exits.WAITING

    async def look(self, api: Api) -> "list[Event]":
        """The events since the last look; `looked` says whether the session was asked for, too."""
        events = await api.events(self._name, after=self._seen)
        if events:
            self._seen = int(events[-1]["version"])
        self.looked = bool(events) or monotonic() - self._asked >= _REFRESH_SECONDS
        if self.looked:
            self.session, self._asked = (await api.session(self._name))["session"], monotonic()
        return events


async def follow_to_end(
    api: Api, session_id: str, *, after: int = 0, json: bool, works: bool = True, shown: Shown = "events"
) -> int:
    """Follows the session live until it rests; returns the exit code that its outcome has.

    A person at the terminal is asked for the decisions that it waits for, and the session continues. `works`: turns
    are worked on in this process, so that it gives up where nothing can happen any more.
    """
    asks, patience = not json and is_interactive(), StallWatch(api.system)
    following = SessionFollower(api, session_id, after=after, patience=patience, asks=asks, works=works)
    seen: set[str] = set()
    try:
        while True:
            with screen(shown) as display:
                session = await following.to_rest(display)
            if asks and await _answered(api, following):
                continue
            if not asks or not await _decided(api, following.waiting, seen):
                break
    except asyncio.CancelledError:
        say(
            sentence(
                "Stopped watching; session {session_id} was not cancelled. Watch again: hansard watch {session_id}",
                session_id=session_id,
            )
        )
        say(f"  hansard watch {session_id}     hansard resume {session_id}     hansard cancel {session_id}")
        raise
    if json:
        put_json(session)
    else:
        _put_result(session, following.waiting, seen)
        if shown != "events":
            put_pairs(in_four_lines(session))
    await _say_what_next(api, session, following.waiting)
    if following.waiting or is_paused(session):
        return exits.WAITS
    return exits.of_outcome(session)


async def _answered(api: Api, following: SessionFollower) -> bool:
    """True if the person was asked for a permission, or has judged what lies outside the scope."""
    for name, request in following.permissions:
        following.asked.add(str(request["requestId"]))
        await permitted(api, name, request)
        return True
    outside = following.session.get("scopeRequest")
    return outside is not None and await allowed(api, str(following.session["id"]), outside)


async def _decided(api: Api, waiting: "list[Session]", seen: set[str]) -> bool:
    """True if the person decided one of these; what they decide on is shown before."""
    for discussion in waiting:
        seen.add(str(discussion["id"]))
        put_pairs(outcome(discussion))
        if await decide(api, discussion):
            return True
    return False


def _put_result(session: "Session", waiting: "list[Session]", seen: set[str]) -> None:
    """The session, and what it waits for; what the person has just read is not printed again."""
    if session["id"] in seen:
        decision = session.get("decision")
        choice = [("decision", str(decision["choice"]))] if decision else []
        put_pairs([("session", str(session["id"])), ("status", status_words(session)), *choice])
        return
    put_pairs(outcome(session))
    for discussion in waiting:
        if discussion["id"] != session["id"] and discussion["id"] not in seen:
            put("")
            put_pairs(outcome(discussion))


async def _say_what_next(api: Api, session: "Session", waiting: "list[Session]") -> None:
    """The commands that continue a session that waits for a person."""
    for discussion in waiting:
        say_decision(discussion)
        await _say_steps(api, discussion)
    if waiting:
        return
    if session.get("scopeRequest"):
        say(sentence("Changed files are outside the scope. Next:"))
        say(f"  hansard allow {session['id']}     hansard deny {session['id']}")
        return
    if exits.is_held(session):
        say(sentence("No recorded answer fits from here. To have the agents asked:"))
        say(f"  hansard continue {session['id']}")
        return
    if result := session.get("result"):
        _say_result(session, result)
    lead = "Paused at a checkpoint. Next:" if session["status"] == "checkpoint" else "Next:"
    await _say_steps(api, session, sentence(lead))
    decision = session.get("decision")
    if session["kind"] == "review" and decision and decision["choice"] == "apply_fix" and session.get("parent") is None:
        say_fix(str(session["id"]))


def _say_result(session: "Session", result: "ResultView") -> None:
    """The commands for a result, each as it works from here."""
    if session["status"] in ("success", "done"):
        say(f"{sentence('To have something changed:')} hansard revise {session['id']}")
    if use := to_use(result):
        lead, command = use
        repository = Path(result["repository"] or ".")
        elsewhere = command in ("apply", "merge") and repository.is_dir() and not Path.cwd().is_relative_to(repository)
        move = f"cd {shlex.quote(str(repository))} && " if elsewhere else ""
        say(f"{sentence(lead)} {move}hansard {command} {session['id']}{' --follow' if command == 'pr' else ''}")
    if use is None or use[1] != "changes":
        say(f"{sentence('To see what was changed:')} hansard changes {session['id']}")


def say_fix(review: str) -> None:
    """The command that has the findings of a review fixed that belongs to no other session."""
    say(sentence("To have its findings fixed on a branch:"))
    say(f"  hansard run --fix {review}")


async def _say_steps(api: Api, session: "Session", lead: str = "") -> None:
    """Retry, extend, continue, reset: those that the session allows, on one line, below the lead."""
    commands = (await api.session(str(session["id"])))["availableCommands"]
    if line := steps(session, commands):
        if lead:
            say(lead)
        say("  " + "     ".join(line))
