"""A session as the outside sees it, at any version."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from domain.delivery.state import Delivery
from domain.kinds import fold
from domain.session.redaction import TextRedacted
from domain.values.base import Usage
from domain.values.budget import BudgetLimits
from projections.record.session import view
from projections.record.sessions import STRIDE, Sessions
from tests.projections.given import Story, Twin, exhausted, merged, success, wander


def test_a_running_delivery() -> None:
    story = Story().start("Fix it", limits=BudgetLimits(max_iterations=3, max_minutes=10, max_tokens=1_000))
    story.answers("A plan.", usage=Usage(input_tokens=5))
    assert view(story.delivery).wire() == {
        "id": "delivery-1",
        "kind": "delivery",
        "status": "running",
        "title": "Fix it",
        "version": 8,
        "createdAt": "2026-11-21T12:00:00.000Z",
        "updatedAt": "2026-11-21T12:00:01.000Z",
        "origin": "web",
        "labels": [],
        "parent": None,
        "children": [],
        "forkedFrom": None,
        "forkedAt": None,
        "owner": None,
        "repository": None,
        "held": False,
        "outstandingTurns": [
            {
                "turnId": "delivery-1.t2",
                "work": "ask",
                "agent": "architect",
                "role": "architect",
                "phase": "architecture",
                "round": None,
                "requestedAt": "2026-11-21T12:00:01.000Z",
            }
        ],
        "lastError": None,
        "workspace": None,
        "fence": None,
        "fenceGaps": [],
        "refusedHosts": [],
        "task": "Fix it",
        "filePaths": ["src/cli.py"],
        "validationCommands": [{"stage": "test", "command": "pytest -q"}],
        "maxAttempts": 3,
        "currentPhase": "architecture",
        "phaseStatuses": {
            "planning": "completed",
            "architecture": "running",
            "design": "pending",
            "implementation": "pending",
            "validation": "pending",
            "review": "pending",
            "packaging": "pending",
        },
        "iteration": 0,
        "attempt": 0,
        "budget": {
            "maxIterations": 3,
            "maxMinutes": 10,
            "startedAt": "2026-11-21T12:00:00.000Z",
            "deadlineAt": "2026-11-21T12:10:00.000Z",
            "elapsedMs": 1_000,
            "remainingIterations": 3,
            "reason": None,
            "tokens": 5,
            "maxTokens": 1_000,
        },
        "artifactRefs": {"planning": "delivery-1.a1"},
        "feedback": None,
        "finalSummary": None,
        "result": None,
        "report": None,
        "reason": None,
    }


def test_an_exhausted_delivery_says_by_what() -> None:
    result = view(exhausted().delivery).wire()
    assert (result["status"], result["finalSummary"]) == ("failed", "failed_budget_exhausted")
    assert result["budget"] == {
        "maxIterations": 1,
        "maxMinutes": 45,
        "startedAt": "2026-11-21T12:00:00.000Z",
        "deadlineAt": "2026-11-21T12:45:00.000Z",
        "elapsedMs": 5_000,
        "remainingIterations": 0,
        "reason": "iterations",
        "unknownTurns": 4,
    }
    assert result["feedback"] == "Validation failed at iteration 1 (test).\n2 failed"


def test_a_failed_delivery_says_why() -> None:
    result = view(Story().start().fails("crash", "exit 3").delivery).wire()
    assert (result["status"], result["lastError"]) == ("failed", "exit 3")


@pytest.mark.parametrize("seed", range(10))
def test_a_session_at_a_version_is_the_fold_of_the_history_up_to_there(seed: int) -> None:
    story = wander(seed)
    sessions = Sessions(merged(story))
    for number in [len(story.events), 1, *range(len(story.events), 0, -1)]:
        expected = fold("delivery", ((result.event, result.metadata) for result in story.events[:number]))
        assert sessions.get("delivery-1", number) == expected


def test_what_is_new_is_folded_onto_what_is_known() -> None:
    story, log = success(), Twin()
    sessions = Sessions(log)
    log.add(story.events[:3])
    assert sessions.get("delivery-1") == fold(
        "delivery", ((result.event, result.metadata) for result in story.events[:3])
    )
    log.add(story.events[3:])
    assert sessions.get("delivery-1") == story.delivery


def test_what_this_process_has_decided_is_not_folded_again() -> None:
    story, log = success(), merged(success())
    early = fold("delivery", ((each.event, each.metadata) for each in story.events[:30]))
    sessions = Sessions(log, memory=lambda _: early)
    assert sessions.get("delivery-1", 30) is early
    assert sessions.get("delivery-1", 20) == Sessions(log).get("delivery-1", 20)
    assert sessions.get("delivery-1") == story.delivery
    assert Sessions(log, memory=lambda _: story.delivery).get("delivery-1") is story.delivery


def test_a_state_from_before_a_redaction_is_not_continued() -> None:
    story, log = success(), Twin()
    log.add(story.events)
    quoting = replace(story.delivery, task="the secret")
    last = story.events[-1]
    removed = TextRedacted(digest="0" * 64, reason="a key")
    log.add([last._replace(position=last.position + 1, version=last.version + 1, event=removed)])
    session = Sessions(log, memory=lambda _: quoting).get("delivery-1")
    assert isinstance(session, Delivery) and session.task == story.delivery.task


def test_a_known_version_needs_no_reading() -> None:
    log = merged(success())
    sessions = Sessions(log)
    sessions.get("delivery-1")
    before = log.reads
    assert sessions.get("delivery-1", 66) is sessions.get("delivery-1", 66)
    assert log.reads == before


def test_a_step_through_a_long_history_folds_at_most_64_events(monkeypatch: pytest.MonkeyPatch) -> None:
    story = Story().start(limits=BudgetLimits(max_iterations=20)).planned()
    for _ in range(19):
        story.answers("Done.").validates(exit_code=1)
    log = merged(story)
    sessions = Sessions(log)
    sessions.get("delivery-1", len(story.events))
    folded = []
    history = log.history

    def counted(session_id: str, *, after: int = 0, upto: int | None = None) -> object:
        run = history(session_id, after=after, upto=upto)
        folded.append(len(run))
        return run

    monkeypatch.setattr(log, "history", counted)
    for version in range(len(story.events), 0, -7):
        assert sessions.get("delivery-1", version) is not None
    assert len(story.events) > 200
    assert max(folded) < 64


def test_only_steps_through_the_history_keep_states_on_the_way() -> None:
    """A session that grows and is only shown as it is now takes no more memory each time."""
    story, log = Story().start(limits=BudgetLimits(max_iterations=20)).planned(), Twin()
    for _ in range(19):
        story.answers("Done.").validates(exit_code=1)
    sessions, last = Sessions(log), len(story.events)
    log.add(story.events)
    assert sessions.get("delivery-1") is not None
    before = log.reads
    assert sessions.get("delivery-1", last - last % STRIDE) is not None
    assert log.reads == before + 1, "it was not kept"
    assert sessions.get("delivery-1", STRIDE) is not None
    assert log.reads == before + 1, "it was kept on the way"


@pytest.mark.parametrize("version", [-1, 0, 67, 10_000])
def test_an_unknown_version_is_none(version: int) -> None:
    assert Sessions(merged(success())).get("delivery-1", version) is None


@pytest.mark.parametrize("session_id", ["delivery-2", "", "unknown-1"])
def test_an_unknown_session_is_none(session_id: str) -> None:
    assert Sessions(merged(success())).get(session_id) is None


def test_only_so_many_sessions_are_kept() -> None:
    log = merged(success("delivery-1"), success("delivery-2"), success("delivery-3"))
    sessions = Sessions(log, capacity=2)
    for name in ("delivery-1", "delivery-2", "delivery-3", "delivery-1"):
        result = sessions.get(name)
        assert result is not None
        assert (result.id, result.version) == (name, 66)
    before = log.reads
    sessions.get("delivery-2", 66)
    assert log.reads == before + 1


def test_many_threads_read_the_same_session() -> None:
    story = success()
    sessions = Sessions(merged(story))
    versions = [number % 66 + 1 for number in range(200)]
    with ThreadPoolExecutor(4) as pool:
        result = list(pool.map(lambda version: sessions.get("delivery-1", version), versions * 4))
    known = [fold("delivery", ((e.event, e.metadata) for e in story.events[:version])) for version in range(1, 67)]
    assert result == [known[version - 1] for version in versions * 4]
