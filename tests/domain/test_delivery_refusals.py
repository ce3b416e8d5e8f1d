"""What a delivery does not allow: every command in every state, late answers, and cancelling (P17, P18; K-17)."""

from collections.abc import Callable, Iterator

import pytest

from domain.delivery.chart import PHASES, Phase
from domain.delivery.commands import CancelDelivery, RecordValidation
from domain.delivery.decide import allowed_actions
from domain.delivery.events import SessionFinished
from domain.kinds import KINDS, kind
from domain.session.actions import refusal
from domain.session.revisions import ReviseSession
from domain.session.rules import carry_out
from domain.session.state import EventMetadata
from domain.session.turns import ExpireTurn, RecordPackage, RecordReply, RetryTurn, TurnCancelled
from domain.values.base import Command, Refused, Text
from tests.kit.stories import MINUTE, START, DeliveryStory, extension, start, topics

RUNNING: tuple[str, ...] = PHASES
ENDED = ("success", "failed", "exhausted", "cancelled")


def test_each_command_of_a_person_has_an_action_and_a_refusal_of_its_own() -> None:
    for each in KINDS.values():
        actions = [command.ACTION for command in each.from_people]
        assert all(actions) and len(set(actions)) == len(actions)
        assert Command.REFUSAL not in {command.REFUSAL for command in each.from_people}


@pytest.mark.parametrize("state", [*RUNNING, *ENDED])
def test_a_person_has_a_command_for_each_action_of_a_delivery(state: str) -> None:
    actions = set(allowed_actions(story_in(state).delivery))
    assert actions <= {command.ACTION for command in KINDS["delivery"].from_people}


def story_in(state: str) -> DeliveryStory:
    """A delivery in that state of its chart."""
    story = DeliveryStory(iterations=1, repository=True)
    if state == "failed":
        story.fail()
    elif state == "cancelled":
        story.when(CancelDelivery(reason="enough"))
    elif state == "exhausted":
        story.in_review().blocks()
    else:
        while story.delivery.state != state:
            _go_on(story)
    assert story.delivery.state == state
    return story


def _go_on(story: DeliveryStory) -> None:
    match story.delivery.state:
        case "validation":
            story.passes()
        case "review":
            story.approves()
        case "packaging":
            story.when(RecordPackage(turn_id=story.turn.turn_id, attempt=1))
        case _:
            story.answer()


def _subclasses(kind: type[Command]) -> Iterator[type[Command]]:
    for each in kind.__subclasses__():
        yield each
        yield from _subclasses(each)


def test_every_commands_refusal_has_words_about_any_session() -> None:
    story = DeliveryStory()
    for each in _subclasses(Command):
        refused = refusal(story.delivery, each.REFUSAL, ())
        assert "{" not in str(refused), each.__name__


def turn_of(story: DeliveryStory) -> str:
    """The turn that is waited for, else the one that was settled last."""
    return story.request.turn_id


COMMANDS: dict[str, Callable[[DeliveryStory], Command]] = {
    "start": lambda story: start(),
    "cancel": lambda story: CancelDelivery(reason="enough"),
    "extend": lambda story: extension(add_iterations=1),
    "reply": lambda story: RecordReply(turn_id=turn_of(story), attempt=1),
    "validation": lambda story: RecordValidation(turn_id=turn_of(story), attempt=1, passed=True),
    "package": lambda story: RecordPackage(turn_id=turn_of(story), attempt=1),
    "expire": lambda story: ExpireTurn(turn_id=turn_of(story)),
    "retry": lambda story: RetryTurn(reason="once more"),
    "revise": lambda story: ReviseSession(text=Text.of("Change it.")[0]),
    "unknown": lambda story: Command(),
}
ASKS = {"cancel", "extend", "reply", "expire", "revise"}
LEGAL = {
    "planning": ASKS,
    "architecture": ASKS,
    "design": ASKS,
    "implementation": ASKS,
    "validation": {"cancel", "extend", "validation", "expire", "revise"},
    "review": ASKS,
    "packaging": {"cancel", "extend", "package", "revise"},
    "exhausted": {"extend", "revise"},
    "success": {"revise"},
    "failed": {"retry"},
    "cancelled": set(),
}
OPEN: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(RUNNING, ("cancel", "extend", "revise")),
    "exhausted": ("extend", "revise"),
    "success": ("revise",),
    "failed": ("retry",),
    "cancelled": (),
}


@pytest.mark.parametrize("state", [*RUNNING, *ENDED])
@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_runs_or_is_refused_with_the_allowed_actions(state: str, command: str) -> None:
    story = story_in(state)
    if command == "expire":
        story.at += 46 * MINUTE
    if command in LEGAL[state]:
        assert story.when(COMMANDS[command](story)) != []
    else:
        refusal = story.refused(COMMANDS[command](story))
        assert str(refusal).endswith(".") and " " in str(refusal)
        assert refusal.allowed == OPEN[state]


@pytest.mark.parametrize("state", [*RUNNING, *ENDED])
def test_the_listed_actions_are_the_allowed_ones(state: str) -> None:
    assert allowed_actions(story_in(state).delivery) == OPEN[state]


@pytest.mark.parametrize("command", [name for name in COMMANDS if name != "start"])
def test_nothing_is_done_to_a_session_that_does_not_exist(command: str) -> None:
    words = COMMANDS[command](DeliveryStory())
    with pytest.raises(Refused):
        carry_out(kind("delivery"), None, words, EventMetadata("delivery-2", START))


# -- cancelling ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("phase", PHASES)
def test_cancelling_cancels_the_open_turn_and_skips_the_rest(phase: Phase) -> None:
    story = story_in(phase)
    turn_id = story.turn.turn_id
    recorded = story.when(CancelDelivery(reason="wrong task"))
    left = PHASES[PHASES.index(phase) :]
    assert topics(recorded) == [
        "turn.cancelled",
        *["delivery.phase_skipped"] * len(left),
        "delivery.session_finished",
    ]
    done = PHASES[: PHASES.index(phase)]
    assert story.phases() == {**dict.fromkeys(done, "completed"), **dict.fromkeys(left, "skipped")}
    [cancelled, *_, finished] = recorded
    assert isinstance(cancelled, TurnCancelled)
    assert (cancelled.turn_id, cancelled.reason, cancelled.attempt) == (turn_id, "cancelled", 0)
    assert isinstance(finished, SessionFinished)
    assert (finished.status, finished.final_summary) == ("cancelled", "cancelled: wrong task")
    assert (story.delivery.state, story.delivery.status, story.delivery.outstanding) == ("cancelled", "cancelled", {})


def test_cancelling_without_a_reason_says_only_that() -> None:
    story = DeliveryStory()
    story.when(CancelDelivery())
    assert story.delivery.final_summary == "cancelled"


@pytest.mark.parametrize(
    ("state", "sentence"),
    [
        ("success", "A delivery in the state success cannot be cancelled."),
        ("failed", "A delivery in the state failed cannot be cancelled."),
        ("cancelled", "A delivery in the state cancelled cannot be cancelled. Nothing is allowed now."),
        ("exhausted", "A delivery in the state failed (exhausted) cannot be cancelled."),
    ],
)
def test_what_has_ended_is_not_cancelled(state: str, sentence: str) -> None:
    assert str(story_in(state).refused(CancelDelivery())) == sentence


# -- late and wrong answers ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("state", [state for state in RUNNING if state != "planning"])
def test_an_answer_to_a_turn_that_is_settled_changes_nothing(state: str) -> None:
    story = story_in(state)
    refusal = story.refused(story.reply("again", turn_id="delivery-1.t1"))
    assert str(refusal) == "Turn delivery-1.t1 is settled or was never requested; its answer changes nothing."
    assert refusal.allowed == ("cancel", "extend", "revise")


@pytest.mark.parametrize("end", ["cancelled", "failed", "exhausted", "success"])
def test_an_answer_after_the_end_changes_nothing(end: str) -> None:
    """K-17."""
    story = story_in(end)
    last = turn_of(story)
    refusal = story.refused(story.reply("late", turn_id=last))
    assert str(refusal) == f"Turn {last} is settled or was never requested; its answer changes nothing."


def test_a_turn_that_was_never_requested_is_not_answered() -> None:
    story = DeliveryStory()
    story.refused(story.reply("?", turn_id="delivery-1.t99"))


def test_a_stopped_turn_cannot_be_answered_after_the_delivery_continues() -> None:
    """The second asking is another turn: what the first one says does not count for it."""
    story = story_in("implementation")
    stopped = story.turn.turn_id
    story.when(ExpireTurn(turn_id=stopped), after=46 * MINUTE)
    story.extend(add_minutes=30)
    assert story.turn.turn_id != stopped
    story.refused(story.reply("late", turn_id=stopped))


def test_a_reply_is_not_accepted_as_a_validation() -> None:
    """An agent's statement never replaces the result of the commands."""
    story = story_in("validation")
    turn_id = story.turn.turn_id
    refusal = story.refused(story.reply("All tests pass!"))
    assert str(refusal) == f"Turn {turn_id} waits for an outcome of the work 'validate', not 'ask'."


def test_a_validation_is_not_accepted_as_a_review() -> None:
    story = story_in("review")
    story.refused(story.validated(passed=True))
    story.approves()
    assert story.delivery.state == "packaging"


def test_at_most_one_turn_is_open_and_none_after_the_end() -> None:
    for phase in RUNNING:
        assert len(story_in(phase).delivery.outstanding) == 1
    for state in ENDED:
        assert story_in(state).delivery.outstanding == {}
        assert story_in(state).delivery.ended
