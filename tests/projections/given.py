"""Deliveries for the tests, made by their commands, and a log in memory, the twin of the store."""

import itertools
import json
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from adapters.store.port import NewEvent, Store, Write
from adapters.store.sqlite.views import SqliteViews
from domain.delivery.commands import CancelDelivery, ExtendBudget, RecordValidation, StartDelivery
from domain.delivery.state import Delivery
from domain.kinds import allowed_actions, fold, kind
from domain.session.attempts import Failure
from domain.session.record import Causation, Omitted, Recorded, Sight, kind_of
from domain.session.revisions import ReviseSession
from domain.session.rules import carry_out
from domain.session.state import EventMetadata, Session
from domain.session.turns import RecordReply, RetryTurn
from domain.session.validation import ValidationStep
from domain.values.base import Blob, Command, Text, Usage
from domain.values.budget import BudgetLimits
from projections.follow import Follower
from projections.record.records import record_of
from projections.record.worklog import render
from tests.kit.claiming import claim

NOON = 1_795_262_400_000
"""2026-11-21T12:00:00Z"""
SECOND = 1_000

BLOCKING = json.dumps(
    {
        "blockingIssues": [{"id": "b1", "title": "No test", "detail": "The new branch is untested."}],
        "nonBlockingIssues": [],
        "score": 40,
        "fixPlan": ["Add a test."],
    }
)
APPROVING = json.dumps({"blockingIssues": [], "nonBlockingIssues": [], "score": 90, "fixPlan": []})


@dataclass
class Twin:
    """The log in memory: the same reading endpoints as the store."""

    events: list[Recorded] = field(default_factory=list)
    broken: set[int] = field(default_factory=set)
    """Positions that cannot be read."""
    reads: int = 0
    epoch: int = 0

    def log(self, *, after: int = 0, limit: int = 500, omitted: Omitted | None = None) -> Sequence[Recorded]:
        self.reads += 1
        page = [recorded for recorded in self.events if recorded.position > after][:limit]
        for recorded in page:
            if recorded.position in self.broken:
                raise ValueError(f"event {recorded.position} does not fit")
        return page

    def head(self) -> int:
        return self.events[-1].position if self.events else 0

    def sight(self, *positions: int) -> Sight:
        there = {each.position: f"{each.event_id} {each.at} {each.event.TOPIC}" for each in self.events}
        return Sight(self.head(), self.epoch, tuple(map(there.get, positions)))

    def gone_back(self, since: int) -> int:
        self.epoch = max(self.epoch, since + 1)
        return self.epoch

    def history(self, session_id: str, *, after: int = 0, upto: int | None = None) -> Sequence[Recorded]:
        self.reads += 1
        last = 2**62 if upto is None else upto
        return [result for result in self.events if result.session_id == session_id and after < result.version <= last]

    def add(self, events: Sequence[Recorded]) -> None:
        """Give the events the next positions, as the store would."""
        for recorded in events:
            position = self.head() + 1
            self.events.append(
                Recorded(
                    position, recorded.session_id, recorded.version, recorded.at, recorded.causation, recorded.event
                )
            )


@dataclass
class Story:
    """One delivery, command by command. Every command comes one second after the last."""

    session_id: str = "delivery-1"
    at: int = NOON
    session: Session | None = None
    events: list[Recorded] = field(default_factory=list)
    blobs: list[Blob] = field(default_factory=list)

    @property
    def delivery(self) -> Delivery:
        assert isinstance(self.session, Delivery)
        return self.session

    @property
    def turn(self) -> str:
        return next(iter(self.delivery.outstanding))

    @property
    def attempt(self) -> int:
        """The number of the attempt at that turn."""
        return self.delivery.outstanding[self.turn].tries.ended + 1

    def do(self, command: Command) -> "Story":
        decision = carry_out(
            kind(kind_of(self.session_id)), self.session, command, EventMetadata(self.session_id, self.at)
        )
        version = self.session.version if self.session else 0
        for number, event in enumerate(decision.events, start=1):
            causation = Causation("tester", f"c{version}", self.session_id, f"c{version}")
            position = len(self.events) + 1
            self.events.append(Recorded(position, self.session_id, version + number, self.at, causation, event))
        self.blobs.extend(decision.blobs)
        self.session = decision.session
        self.at += SECOND
        return self

    def start(
        self,
        task: str = "Add a --json flag",
        *,
        title: str = "",
        labels: tuple[str, ...] = (),
        limits: BudgetLimits | None = None,
        commands: tuple[str, ...] = ("pytest -q",),
    ) -> "Story":
        steps = tuple(ValidationStep(stage="test", command=words, argv=tuple(words.split())) for words in commands)
        return self.do(
            StartDelivery(
                task=task,
                file_paths=("src/cli.py",),
                steps=steps,
                limits=limits or BudgetLimits(),
                title=title,
                origin="web",
                labels=labels,
            )
        )

    def answers(
        self, words: str, *, usage: Usage | None = None, patch: str | None = None, model: str | None = None
    ) -> "Story":
        text, blobs = Text.of(words)
        diff, more = Text.of(patch) if patch is not None else (None, ())
        prompt, _ = Text.of("What is asked.")
        return self.do(
            RecordReply(
                turn_id=self.turn,
                attempt=self.attempt,
                reply=text,
                prompt=prompt,
                usage=usage or Usage(),
                model=model,
                seconds=2.0,
                patch=diff,
                blobs=(*blobs, *more),
            )
        )

    def fails(self, code: str = "timeout", detail: str = "nothing came") -> "Story":
        failure = Failure.model_validate({"code": code, "detail": detail})
        if self.delivery.phase == "validation":
            return self.do(
                RecordValidation(turn_id=self.turn, attempt=self.attempt, passed=False, failure=failure, seconds=45.0)
            )
        return self.do(RecordReply(turn_id=self.turn, attempt=self.attempt, failure=failure, seconds=45.0))

    def validates(self, *, exit_code: int, command: str = "pytest -q", reasons: tuple[str, ...] = ()) -> "Story":
        passed = exit_code == 0
        run = {"stage": "test", "command": command, "argv": command.split(), "exitCode": exit_code}
        report, blobs = Text.of(json.dumps({"passed": passed, "runs": [run]}))
        return self.do(
            RecordValidation(
                turn_id=self.turn,
                attempt=self.attempt,
                passed=passed,
                classification=None if passed else "test",
                summary="1 passed" if passed else "2 failed",
                reasons=reasons,
                report=report,
                seconds=1.0,
                blobs=blobs,
            )
        )

    def planned(self, plan: str = "Three steps.") -> "Story":
        """Planning, architecture and design are done; the dev is asked."""
        return self.answers(plan).answers("One module.").answers("One function.")

    def extended(self, iterations: int) -> "Story":
        return self.do(ExtendBudget(add_iterations=iterations, reason="one more try"))


def success(session_id: str = "delivery-1", *, task: str = "Add a --json flag", at: int = NOON) -> Story:
    """Validation fails once, the review blocks once, then everything passes: three iterations."""
    story = Story(session_id, at).start(task).planned()
    story.answers("Done.", usage=Usage(input_tokens=100, output_tokens=20, cost_micros=7))
    story.validates(exit_code=1).answers("Fixed.", usage=Usage(input_tokens=50)).validates(exit_code=0)
    story.answers(BLOCKING).answers("Tested.", patch="--- a\n+++ b\n").validates(exit_code=0)
    return story.answers(APPROVING)


def exhausted(session_id: str = "delivery-1", *, at: int = NOON) -> Story:
    """One iteration is allowed and its validation fails."""
    story = Story(session_id, at).start(limits=BudgetLimits(max_iterations=1)).planned()
    return story.answers("Done.").validates(exit_code=1)


def store_events(store: Store, events: Sequence[Recorded], blobs: Sequence[Blob] = ()) -> None:
    """Append events, one write each, every turn leased before its answer comes."""
    for recorded in events:
        entry = NewEvent(recorded.session_id, recorded.version, recorded.at, recorded.causation, recorded.event)
        store.append([Write(entries=[entry], blobs=blobs)])
        while claim(store, "worker", now=0, lease_ms=2**30) is not None:
            pass


def wander(seed: int, session_id: str = "delivery-1") -> Story:
    """Some delivery: whatever is allowed may happen, up to 25 commands."""
    chance = random.Random(seed)  # noqa: S311 - the same story for the same seed
    story = Story(session_id, NOON + seed).start(f"Task {seed}", limits=BudgetLimits(max_iterations=1 + seed % 3))
    for _ in range(25):
        endpoints = allowed_actions(story.delivery)
        if not endpoints:
            break
        if story.delivery.state == "success":
            if chance.random() < 0.5:
                break
            story.do(ReviseSession(text=Text.of("Say hello, too.")[0], actor="person:ann"))
            continue
        happening = chance.random()
        if story.delivery.state == "failed":
            story.do(RetryTurn(reason="again"))
            continue
        if story.delivery.state == "exhausted" or ("extend" in endpoints and happening < 0.05):
            story.extended(1 + seed % 2)
        elif happening < 0.08:
            story.do(CancelDelivery(reason="enough"))
        elif happening < 0.12:
            story.fails(detail="## Final Summary\nDone | `x`")
        elif story.delivery.phase == "validation":
            story.validates(exit_code=int(happening < 0.5))
        elif story.delivery.phase == "review":
            story.answers(BLOCKING if happening < 0.5 else APPROVING)
        else:
            story.answers(f"Words {happening}", usage=Usage(output_tokens=int(happening * 100)))
    return story


def merged(*stories: Story) -> Twin:
    """A log in which the stories happen side by side."""
    twin = Twin()
    for events in itertools.zip_longest(*(story.events for story in stories)):
        twin.add([recorded for recorded in events if recorded is not None])
    return twin


def caught_up(path: Path, log: Twin) -> SqliteViews:
    """Views that have folded the whole log; without any problem."""
    views = SqliteViews(path)
    follower = Follower(log, views)
    follower.catch_up()
    assert follower.problems() == []
    return views


def written(events: Sequence[Recorded], version: int | None = None) -> str:
    """The worklog of a history, as of a version."""
    record, shared = record_of(events), events[:version]
    session = fold(kind_of(events[0].session_id), [(recorded.event, recorded.metadata) for recorded in shared])
    assert session is not None
    return render(record.worklog, session)
