"""Who changed files in a session: what the turn had to address, and who let its work pass."""

from domain.delivery.events import FixRequested, ReviewBlockingDetected
from domain.session.children import ChildClosed
from domain.session.record import Causation, Recorded
from domain.values.base import DomainEvent, Text
from projections.record.provenance import Authorship, SessionAuthors, authors
from tests.domain.test_replay import recorded
from tests.kit.replies import plan, subtask, verdicts
from tests.kit.stories import DeliveryStory, OrchestrationStory, Story

PATCH = Text.of("diff --git a/a b/a\n")[0]
WORK = {"patch": PATCH, "files": ("a",)}


def authors_in(story: Story, *more: DomainEvent) -> SessionAuthors:
    """Those of a story, after which these events are recorded for a person."""
    history = recorded(story)
    for event in more:
        version = len(history) + 1
        by = Causation("person:ann", f"x{version}", story.id, "")
        history.append(Recorded(version, story.id, version, story.at, by, event))
    return authors(story.id, history, story.whole)


def newest(found: SessionAuthors) -> Authorship:
    return [*found.turns.values()][-1]


def changed() -> DeliveryStory:
    story = DeliveryStory().designed()
    story.answer("the code", **WORK)
    story.passes()
    return story


def test_a_reviewers_findings_are_what_the_next_turn_has_to_address_until_the_validation_fails() -> None:
    story = changed()
    story.blocks("No rate limit", "No test")
    [blocked] = [each.version for each in recorded(story) if isinstance(each.event, ReviewBlockingDetected)]
    story.answer("fixed", **WORK)
    found = authors_in(story)
    assert [(each.version, each.title) for each in newest(found).findings] == [
        (blocked, "No rate limit"),
        (blocked, "No test"),
    ]
    assert next(iter(found.turns.values())).findings == ()
    story.breaks()
    story.answer("fixed again", **WORK)
    assert newest(authors_in(story)).findings == ()


def test_what_a_person_wants_fixed_is_named_by_its_first_line() -> None:
    story = changed()
    story.blocks()
    story.answer("fixed", **WORK)
    history = recorded(story)
    wanted = FixRequested(
        message="",
        role="supervisor",
        iteration=1,
        phase="review",
        child_id="review-1",
        feedback=Text.of("\n Say hi.\nx")[0],
    )
    requested = next(at for at, each in enumerate(history) if isinstance(each.event, ReviewBlockingDetected))
    history.insert(
        requested + 1, Recorded(99, story.id, 99, story.at, Causation("person:ann", "x", story.id, ""), wanted)
    )
    [finding] = newest(authors(story.id, history, story.whole)).findings
    assert (finding.version, finding.title) == (99, "Say hi.")


def test_a_persons_decision_takes_precedence_over_the_reviewers() -> None:
    story = changed()
    story.approves()
    reviewed = newest(authors_in(story))
    assert reviewed.validated_by is not None and reviewed.approved_by is not None
    closed = ChildClosed(
        child_id="review-1",
        about="delivery",
        choice="skip",
        by="person",
        synthesis=Text.of("All is well.")[0],
        feedback={},
        rounds=1,
    )
    found = newest(authors_in(story, closed)).approved_by
    assert found is not None and (found.actor, found.version) == ("person:ann", story.delivery.version + 1)
    for other in ({"choice": "apply_fix"}, {"by": "policy"}, {"about": "plan"}):
        assert newest(authors_in(story, closed.model_copy(update=other))).approved_by == reviewed.approved_by


def test_a_judge_approves_the_work_of_the_agents_that_pass_and_the_others_address_what_it_says() -> None:
    story = OrchestrationStory()
    story.answer(plan(subtask("Frontend", 3, 4), subtask("Backend", 3, 4)))
    while story.run.state == "working":
        story.works(story.asked[0], **WORK)
    story.answer(verdicts(Frontend=True, Backend=False))
    judged = authors_in(story)
    approved = {each.agent: each.approved_by is not None for each in judged.turns.values()}
    assert approved == {"Frontend": True, "Backend": False}
    while story.run.state == "working":
        story.works(story.asked[0], **WORK)
    newer = {each.agent: [finding.title for finding in each.findings] for each in authors_in(story).turns.values()}
    assert newer["Frontend"] == []
    assert len(newer["Backend"]) == 1
