"""Sessions that people comment on and revise, with a server that is killed at each event of the log.

Each story has an ending (by success, by a used-up budget, by a failed turn, …), after which, or while it still runs, a
person comments, settles, and requests changes. The person sends every command twice under one key, as a client does
whose answer was lost.
"""

import asyncio
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Final, Literal, NamedTuple

from adapters.agents.port import Reply, Turn
from adapters.agents.team import Member
from adapters.writer.writer import CommandEnvelope
from domain.delivery.commands import StartDelivery
from domain.orchestration.commands import StartOrchestration
from domain.orchestration.events import Employee, OrchestrationRequest
from domain.session.attempts import Failure, RetryPolicy
from domain.session.comments import AddComment, ChangeComment, Comment
from domain.session.record import Recorded
from domain.session.revisions import ReviseSession, Revision
from domain.session.state import Session
from domain.values.base import Command, Refused, Text
from domain.values.budget import BudgetLimits
from tests.simulator.agents import USAGE, Performer, said
from tests.simulator.weather import CALM, Weather
from tests.simulator.world import EMPLOYEES, STEP, World

Ending = Literal["success", "budget", "no_progress", "turn_failed", "done", "checkpoint", "partial", "direct"]
DELIVERIES: Final[tuple[Ending, ...]] = ("success", "budget", "no_progress", "turn_failed")
ENDINGS: Final[tuple[Ending, ...]] = (*DELIVERIES, "done", "checkpoint", "partial", "direct")
ANN: Final = "person:ann"
RESTS: Final = ("success", "failed", "done", "checkpoint", "partial")
_ASKED: Final = re.compile(r"Comment (c\d+) of ann")


class Step(NamedTuple):
    """What the person does: once the session has stopped, or as soon as this many turns were asked for."""

    command: Command
    turns: int | None = None


@dataclass(frozen=True, slots=True)
class Story:
    """An ending, and what the person does about it."""

    seed: int
    ending: Ending
    steps: tuple[Step, ...]

    @classmethod
    def of(cls, seed: int) -> "Story":
        drawn = Random(f"revised:{seed}")  # noqa: S311 - no secret
        ending = drawn.choice(ENDINGS)
        return cls(seed, ending, tuple(_steps(drawn)))

    @property
    def session(self) -> str:
        """The session's id, which names its kind."""
        return f"{'delivery' if self.ending in DELIVERIES else 'orchestration'}-{self.seed}"


def words_of(command: Command) -> Iterator[str]:
    """What the person says with a command."""
    match command:
        case AddComment():
            yield command.text
        case ReviseSession():
            yield from (each.text for each in command.remarks)
            if command.text.length:
                yield command.text.head


def _steps(drawn: Random) -> Iterator[Step]:
    made, ended = 0, set[str]()
    for number in range(drawn.randint(1, 3)):
        for _ in range(drawn.randint(0, 3)):
            made += 1
            yield Step(_comment(drawn, f"Remark {made}, once and for all."))
        if made and drawn.random() < 0.4 and (name := f"c{drawn.randint(1, made)}") not in ended:
            status = drawn.choice(("resolved", "withdrawn", "open"))
            ended |= {name} if status != "open" else set()
            yield Step(ChangeComment(comment_id=name, status=status, reason="Because I say so.", actor=ANN))
        remarks = tuple(
            _comment(drawn, f"With request {number}, remark {each}.") for each in range(drawn.randint(0, 2))
        )
        text, _ = Text.of(f"Request {number} of ann, in her own words.")
        yield Step(ReviseSession(text=text, remarks=remarks, actor=ANN))
        made += len(remarks)
        if drawn.random() < 0.5:  # another one, while agents are at work on the first
            text, _ = Text.of(f"Also, {number} times over.")
            yield Step(ReviseSession(text=text, actor=ANN), turns=drawn.randint(1, 2))


def _comment(drawn: Random, text: str) -> AddComment:
    if drawn.random() < 0.5:
        return AddComment(text=text, actor=ANN)
    return AddComment(text=text, path="work.txt", line=1, end_line=1, quote=("version 0: fine",), actor=ANN)


@dataclass(slots=True)
class Answering(Performer):
    """An agent that leads its session to its ending, then answers comments: what it says depends on the comment."""

    ending: Ending = "success"

    def _answer(self, turn: Turn) -> Reply:
        failure = self._failure(turn)
        if failure is not None:
            return Reply(usage=USAGE, failure=failure)
        text, files = self._said(turn)
        if turn.comments:
            text += "\n" + json.dumps({"comments": [self._answer_to(each) for each in turn.comments]})
        handle = turn.agent_session or f"{turn.session_id}/{turn.agent}/{turn.role}"
        return Reply(text, USAGE, files, handle, model="simulated", resumed=turn.agent_session is not None)

    def _answer_to(self, name: str) -> dict[str, object]:
        """A claim that names what changed, a refusal, or an answer. In every fifth story the claim names nothing."""
        answer = ("fixed", "declined", "answered")[int(name[1:]) % 3]
        if answer != "fixed":
            return {"id": name, "answer": answer, "words": f"About {name}."}
        changed = (
            [] if self.weather.seed % 5 == 0 else ["work.txt", *(f"{agent.lower()}.txt" for agent, _ in EMPLOYEES)]
        )
        return {"id": name, "answer": answer, "words": "", "changed": changed}

    def _failure(self, turn: Turn) -> Failure | None:
        revised = "ann" in turn.prompt
        if self.ending == "turn_failed" and turn.role == "reviewer" and not revised:
            return Failure(code="refused", detail="Not today.")
        return None

    def _said(self, turn: Turn) -> tuple[str, dict[str, str]]:
        files, revised = self._files(turn), bool(_ASKED.search(turn.prompt)) or "in her own words" in turn.prompt
        written = files.get("work.txt", b"").decode()
        match turn.role, turn.reads:
            case _, "subtasks" | "direct_answer" if self.ending != "direct":
                return _plan(checkpoint=self.ending == "checkpoint"), {}
            case (_, "direct_answer") | ("assistant", _):
                return "Answered.", {"work.txt": f"{written}answer {len(written.splitlines())}\n"}
            case (_, "verdicts") | ("judge", _):
                return _verdicts(turn, passed=self.ending != "partial" or revised), {}
            case "reviewer", "review_artifact":
                blocks = self.ending == "no_progress" and not revised
                return _review(blocked=blocks), {}
            case "dev", _:
                if self.ending in ("budget", "no_progress") and not revised:
                    return "The code is written.", {
                        "work.txt": "version 0: BUG\n" if self.ending == "budget" else "x\n"
                    }
                lines = written.replace("BUG", "gone")
                return "The code is written.", {"work.txt": f"{lines}version {len(lines.splitlines())}: fine\n"}
            case _:
                return said(turn, files)


def _plan(*, checkpoint: bool) -> str:
    subtasks = [
        {"agent": agent, "role": role, "task": f"{agent} works", "start_phase": 3, "end_phase": 3}
        | {"verification": {"affected_files": [f"{agent}.txt".lower()]}}
        | ({"checkpoint": True} if checkpoint else {})
        for agent, role in EMPLOYEES
    ]
    return json.dumps({"subtasks": subtasks})


def _verdicts(turn: Turn, *, passed: bool) -> str:
    found = [re.fullmatch(r"(.*)#(s\d+)", each) for each in turn.expects]
    who = [
        {"agent": match[1], "subtask": match[2]} if match else {"agent": name}
        for name, match in zip(turn.expects, found, strict=True)
    ]
    return json.dumps({"verdicts": [each | {"pass": passed, "feedback": "seen"} for each in who], "allDone": False})


def _review(*, blocked: bool) -> str:
    issue = {"id": "b1", "title": "Name it better", "detail": "The name says nothing."}
    return json.dumps({"blockingIssues": [issue] if blocked else [], "nonBlockingIssues": [], "score": 80})


@dataclass(slots=True)
class RevisedWorld(World):
    """One session with its story. `trouble`: the server is killed at each event."""

    story: Story = field(default_factory=lambda: Story.of(0))
    refused: dict[str, str] = field(default_factory=dict)
    said: list[str] = field(default_factory=list)
    """The person's words in commands that were accepted."""
    _struck: asyncio.Event = field(default_factory=asyncio.Event)

    def _performer(self, member: Member) -> Performer:
        return Answering(member, self.weather, self.workspaces, self.asked, ending=self.story.ending)

    def _starts(self) -> Iterator[tuple[str, Command]]:
        yield self.story.session, _start(self.story.ending)

    async def _story(self) -> None:
        main = asyncio.current_task()
        assert main is not None
        main.set_name("main")
        server = self._serve()
        await self._twice(_start(self.story.ending), "start", starts=True)
        person = asyncio.create_task(self._says())
        person.set_name("person")
        while not person.done():
            assert not self.breakage.found, self.breakage.found
            await asyncio.sleep(1)
            if self.trouble and self._struck.is_set():
                self._struck.clear()
                await self._kill(server)
                server = self._serve()
        await person
        await self._kill(server)
        self._look()

    def _serve(self) -> "asyncio.Task[None]":
        server = World._serve(self)
        self._writer.listeners.append(self._strike)
        return server

    def _strike(self) -> None:
        """kill -9, right after something was recorded: what runs ends where it waits next."""
        if not self.trouble or self._struck.is_set():
            return
        self._struck.set()
        main = {task for task in asyncio.all_tasks() if task.get_name() in ("person", "main")}
        for task in asyncio.all_tasks() - main:
            task.cancel()

    async def _says(self) -> None:
        """Take one step after the other, each at its moment."""
        for number, step in enumerate(self.story.steps):
            wanted = self._turns() + (step.turns or 10**6)
            while not self._rests() and self._turns() < wanted:
                await self._next()
            await self._twice(step.command, f"step-{number}")
        while not self._rests():
            await self._next()

    async def _next(self) -> None:
        """Wait until something was recorded."""
        seen = len(self.log.rows)
        while len(self.log.rows) == seen:  # noqa: ASYNC110 - virtual time costs nothing
            await asyncio.sleep(1)

    async def _twice(self, command: Command, key: str, *, starts: bool = False) -> None:
        envelope = CommandEnvelope(self.story.session, command, ANN, key, starts, key=f"ann {key}", fingerprint=key)
        for _ in range(2):
            try:
                await self._writer.do(envelope)
            except Refused as refused:
                self.refused[key] = str(refused)
        self.said += [] if key in self.refused else words_of(command)

    def _session(self) -> Session:
        session = self._writer.load(self.story.session)
        assert session is not None
        return session

    def _turns(self) -> int:
        return sum(each.event.TOPIC == "turn.requested" for each in self.events())

    def _rests(self) -> bool:
        session = self._session()
        return not session.outstanding and session.status in RESTS

    def events(self) -> Sequence[Recorded]:
        return self.store.history(self.story.session)

    @property
    def end(self) -> Session:
        return self._session()


def _start(ending: Ending) -> Command:
    retry = RetryPolicy()
    if ending in DELIVERIES:
        limits = BudgetLimits(max_iterations=1 if ending == "budget" else 6)
        return StartDelivery(
            task="Write the work", steps=(STEP,), limits=limits, retry=retry, baseline=True, no_progress_limit=1
        )
    if ending == "direct":
        return StartOrchestration(opening=OrchestrationRequest(prompt="Say it", triage="direct", retry=retry))
    employees = tuple(Employee(name=name, role=role) for name, role in EMPLOYEES)
    rounds = 1 if ending == "partial" else 3
    opening = OrchestrationRequest(
        prompt="Build the shop", employees=employees, triage="orchestrate", retry=retry, max_rounds=rounds
    )
    return StartOrchestration(opening=opening)


class End(NamedTuple):
    """What has become of a story, without times and ids of attempts."""

    status: str
    files: dict[str, bytes]
    comments: tuple[Comment, ...]
    revisions: tuple[Revision, ...]
    happened: tuple[str, ...]


def told(story: Story, *, trouble: bool) -> tuple[RevisedWorld, End]:
    """Run a story to its end."""
    world = RevisedWorld(Weather(story.seed, CALM), trouble=trouble, story=story)
    world.run()
    session = world.end
    comments, revisions = session.comments.all, tuple(each._replace(at=0) for each in session.revisions)
    happened = tuple(each.event.TOPIC for each in world.events())
    files = world.outcomes[story.session].files
    return world, End(session.status, files, tuple(map(_timeless, comments)), revisions, happened)


def _timeless(comment: Comment) -> Comment:
    change = comment.newest_change
    return comment.changed(at="", newest_change=change and change.changed(at=""))
