"""What happened, event by event."""

from typing import Any

from projections.record import timeline
from projections.record.records import record_of
from projections.record.turns import Entry
from tests.projections.given import NOON, Story, exhausted, merged, success


def around(story: Story, at: int, **wanted: Any) -> list[timeline.Happened]:
    wanted = {"before": 500, "after": 500, "newest": len(story.events)} | wanted
    return timeline.around(record_of(story.events), merged(story), story.session_id, at, **wanted)


def highlights(story: Story) -> list[str]:
    return [result.entry.topic for result in around(story, 1, highlights=True)]


def test_an_event_has_its_place_and_the_event_itself() -> None:
    story = Story().start().answers("A plan.")
    asked, answered = around(story, 3, before=1, after=1)
    assert asked.entry == Entry(3, NOON, "turn.requested", "planner", "planning", None, "delivery-1.t1", False)
    assert answered.entry == Entry(4, NOON + 1000, "turn.answered", "planner", "planning", None, "delivery-1.t1", False)
    assert [result.recorded.event.TOPIC for result in (asked, answered)] == ["turn.requested", "turn.answered"]


def test_the_events_that_matter_are_highlighted() -> None:
    assert highlights(success()) == [
        "delivery.session_started",
        "delivery.attempt_started",
        "delivery.validation_failed",
        "delivery.attempt_started",
        "delivery.tests_passed",
        "delivery.review_blocking_detected",
        "delivery.attempt_started",
        "delivery.tests_passed",
        "delivery.review_approved",
        "delivery.session_finished",
    ]


def test_the_event_that_is_shown_is_listed_whatever_the_filter() -> None:
    story = success()
    asked = next(each.entry for each in around(story, 1) if each.entry.topic == "turn.requested")
    important = [each.entry.version for each in around(story, asked.version, highlights=True)]
    both = [each.entry.version for each in around(story, asked.version, highlights=True, shown=asked.version)]
    assert asked.version not in important
    assert both == sorted([*important, asked.version])
    assert not timeline.is_wanted(asked, (), highlights=True)


def test_budget_and_failure_are_highlighted_too() -> None:
    assert highlights(exhausted().extended(1).fails()) == [
        "delivery.session_started",
        "delivery.attempt_started",
        "delivery.validation_failed",
        "delivery.budget_exhausted",
        "delivery.session_finished",
        "delivery.budget_extended",
        "delivery.attempt_started",
        "turn.failed",
        "delivery.phase_failed",
        "delivery.session_finished",
    ]


def test_a_window_goes_around_a_version_and_never_beyond_the_newest() -> None:
    story = success()
    assert [result.entry.version for result in around(story, 10, before=2, after=3)] == [9, 10, 11, 12, 13]
    assert [result.entry.version for result in around(story, 10, before=2, after=3, newest=11)] == [9, 10, 11]
    assert [result.entry.version for result in around(story, 10, before=20, after=0, newest=3)] == [1, 2, 3]


def test_as_many_turns_of_the_roles_are_found() -> None:
    result = around(success(), 40, before=2, after=2, roles=("dev",))
    assert [each.entry.role for each in result] == ["dev"] * 4
    assert all(each.recorded.version == each.entry.version for each in result)


def test_the_busiest_role_comes_first() -> None:
    assert timeline.roles(record_of(success().events))[:3] == ["test", "dev", "reviewer"]
