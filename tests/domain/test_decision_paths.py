"""How far one has to read to follow a decision: the files that it passes, and how often it jumps from one to another.

Every decision of the golden logs is made again under a profile. What all decisions share is not counted: values,
charts, the way from the registry to the rules, the fold of each event, and that the driver asks for the next one.
"""

import statistics
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import pytest

import domain
from adapters.proof.transfer import take_in
from domain.kinds import command_of, fold, kind
from domain.session.decision import Outcome
from domain.session.past_commands import commands_in
from domain.session.record import kind_of
from domain.session.rules import carry_out
from domain.values.base import Text
from tests.golden.make import PLACE
from tests.kit import stories
from tests.kit.memory_store import MemoryStore
from tests.kit.replies import subtask
from tests.kit.stories import DeliveryStory, OrchestrationStory, Story

ROOT = str(Path(domain.__file__).parent)
DISPATCH = ("kinds.py", "session/rules.py")
"""The way from the registry to the rules, the same for every command."""
FILES, JUMPS = 6, 15
"""The most of an ordinary decision (the median)."""


class DecisionPath(NamedTuple):
    session: str
    command: str
    files: frozenset[str]
    jumps: int


class Walk:
    """A profile of one decision. A generator that is resumed is no jump, and a fold is looked at from outside."""

    def __init__(self, evolve: object) -> None:
        self.files: set[str] = set()
        self.jumps = 0
        self._evolve = getattr(evolve, "__code__", None)
        self._folding = 0

    def __call__(self, frame: FrameType, event: str, _: object) -> None:
        if frame.f_code is self._evolve:
            self._folding += {"call": 1, "return": -1}.get(event, 0)
        elif event == "call" and not self._folding and frame.f_lasti < 1:
            self._called(frame)

    def _called(self, frame: FrameType) -> None:
        place = _place(frame)
        if place is None:
            return
        self.files.add(place)
        caller = frame.f_back
        while caller is not None and (caller.f_code.co_filename == "<string>" or _hidden(caller)):
            caller = caller.f_back
        if caller is not None and _place(caller) not in (None, place):
            self.jumps += 1


def _hidden(frame: FrameType) -> bool:
    return not frame.f_code.co_filename.startswith(ROOT)


def _place(frame: FrameType) -> str | None:
    """The file of `domain/`, where it counts."""
    name = frame.f_code.co_filename
    if not name.startswith(ROOT) or name.startswith(f"{ROOT}/values/") or name.endswith("/chart.py"):
        return None
    place = name.removeprefix(f"{ROOT}/")
    return None if place in DISPATCH else place


def paths() -> Iterator[DecisionPath]:
    for log in sorted(PLACE.glob("*.jsonl")):
        with closing(MemoryStore()) as store:
            take_in(store, log.read_bytes().splitlines(keepends=True))
            for name in store.rows.streams():
                yield from _decisions(store, name)


def _decisions(store: MemoryStore, name: str) -> Iterator[DecisionPath]:
    def whole(text: Text) -> str:
        return (store.text(text.digest) if text.digest else None) or text.head

    session = None
    for recorded in commands_in(store.history(name)):
        command = command_of(recorded, session, whole)
        kind_name, metadata = kind_of(name), recorded.recorded[0].metadata
        walk = Walk(kind(kind_name).evolve)
        sys.setprofile(walk)
        try:
            carry_out(kind(kind_name), session, command, metadata)
        finally:
            sys.setprofile(None)
        yield DecisionPath(name, type(command).__name__, frozenset(walk.files), walk.jumps)
        session = fold(kind_name, ((each.event, each.metadata) for each in recorded.recorded), session)


@pytest.fixture(scope="module")
def found() -> list[DecisionPath]:
    return list(paths())


def test_an_ordinary_decision_is_read_in_few_files_and_jumps(found: list[DecisionPath]) -> None:
    assert len(found) > 80
    assert statistics.median(len(path.files) for path in found) <= FILES
    assert statistics.median(path.jumps for path in found) <= JUMPS


def judged() -> OrchestrationStory:
    """An orchestration whose two agents have worked, before the verdicts."""
    story = OrchestrationStory().planned(subtask("Backend"), subtask("Docs"))
    story.works("Backend")
    story.works("Docs")
    return story


@pytest.mark.parametrize(
    ("begin", "act", "jumps"),
    [
        (lambda: DeliveryStory().implemented(), lambda story: story.breaks(), 18),
        (lambda: DeliveryStory().in_review(), lambda story: story.blocks("Not yet"), 34),
        (judged, lambda story: story.round(Backend=True, Docs=False), 35),
    ],
    ids=["a failed validation", "a blocking review", "verdicts"],
)
def test_the_longest_decisions_jump_no_more_than_now(
    monkeypatch: pytest.MonkeyPatch, begin: Callable[[], Story], act: Callable[[Story], object], jumps: int
) -> None:
    story = begin()
    walk = Walk(kind(story.kind).evolve)

    def watched(*given: Any) -> Outcome:
        sys.setprofile(walk)
        try:
            return carry_out(*given)
        finally:
            sys.setprofile(None)

    monkeypatch.setattr(stories, "carry_out", watched)
    act(story)
    assert 5 < walk.jumps <= jumps
