"""Work that changed nothing is said to be that before anything else (contract-3 §17)."""

import pytest

from domain.delivery.chart import NEEDED
from domain.delivery.events import SessionFinished
from domain.orchestration.events import CheckpointReached, Completed
from domain.session.turns import RecordPackage, TurnRequested
from domain.session.workspace import ChangedFile, WorkspaceChanges, WorkspacePrepared
from domain.values.base import Text
from tests.kit.replies import plan, subtask
from tests.kit.stories import DeliveryStory, OrchestrationStory

BASE = WorkspacePrepared(repository="/repository", base_branch="main", base_commit="c0")
CHANGED = WorkspaceChanges(head="c1", files=(ChangedFile(path="a.py", status="modified", added=1, removed=1),))
UNDONE = WorkspaceChanges(head="c2", files=())


def delivered(*changes: WorkspaceChanges | None) -> DeliveryStory:
    """A delivery whose developer left these changes, one iteration after the other."""
    story = DeliveryStory(repository=True, workspace="/repository")
    story.answer("the plan", prepared=BASE)
    for words in ("the architecture", "the design"):
        story.answer(words)
    tree = None
    for number, change in enumerate(changes):
        head = change.head if change else None
        story.answer("the code", base=tree, tree=head, changes=change, patch=Text.of("+x")[0] if change else None)
        tree = head or tree
        if number < len(changes) - 1:
            story.breaks(f"{number} failed")
    story.passes()
    story.approves()
    return story


def finish(story: DeliveryStory) -> SessionFinished:
    [finished] = [event for event in story.events if isinstance(event, SessionFinished)]
    return finished


@pytest.mark.parametrize("changes", [(None,), (CHANGED, UNDONE), (UNDONE,), (None, None)])
def test_a_delivery_that_leaves_no_changed_file_succeeds_without_a_branch(
    changes: tuple[WorkspaceChanges | None, ...],
) -> None:
    story = delivered(*changes)
    assert story.delivery.status == "success"
    assert finish(story).code == story.delivery.code == "no_change"
    assert str(story.delivery.final_summary).startswith("Nothing was changed. Success on iteration")
    assert not [event for event in story.events if isinstance(event, TurnRequested) and event.work == "package"]


@pytest.mark.parametrize("changes", [(CHANGED,), (None, CHANGED), (UNDONE, CHANGED)])
def test_a_delivery_with_a_changed_file_has_a_branch(changes: tuple[WorkspaceChanges | None, ...]) -> None:
    story = delivered(*changes)
    assert story.turn.work == "package"
    story.when(RecordPackage(turn_id=story.turn.turn_id, attempt=1, branch="hansard/delivery-1", commit="c9"))
    assert finish(story).code is None and story.delivery.code is None
    assert "Nothing was changed" not in str(story.delivery.final_summary)


def test_a_delivery_without_a_known_base_claims_nothing() -> None:
    story = DeliveryStory(phases=NEEDED)
    story.answer("the code")
    story.passes()
    assert finish(story).code is None


def orchestrated(
    change: WorkspaceChanges | None, *, prepared: bool = True, scenario: Text | None = None, **fields: object
) -> OrchestrationStory:
    story = OrchestrationStory(repository=True, workspace="/repository", scenario=scenario)
    story.answer(plan(subtask("Backend", start_phase=3, end_phase=3, **fields)), prepared=BASE if prepared else None)
    head = change.head if change else None
    story.works("Backend", tree=head, changes=change)
    story.round(all_done=True, Backend=True)
    return story


def test_a_run_whose_planned_work_changed_nothing_says_so_at_its_end() -> None:
    story = orchestrated(None)
    [completed] = [event for event in story.events if isinstance(event, Completed)]
    assert (completed.reason, story.run.reason, story.run.status) == ("no_change", "no_change", "done")
    assert not [event for event in story.events if isinstance(event, TurnRequested) and event.work == "package"]


def test_a_run_says_so_at_a_checkpoint_and_no_longer_when_it_goes_on() -> None:
    story = orchestrated(None, checkpoint=True)
    [reached] = [event for event in story.events if isinstance(event, CheckpointReached)]
    assert (reached.reason, story.run.reason) == ("no_change", "no_change")


def test_scripted_agents_that_need_no_folder_have_changed_nothing() -> None:
    story = orchestrated(None, prepared=False, scenario=Text.of("{}")[0])
    assert (story.run.status, story.run.reason) == ("done", "no_change")


@pytest.mark.parametrize(
    "story", [orchestrated(CHANGED), orchestrated(None, prepared=False)], ids=["changed", "no base"]
)
def test_other_runs_do_not(story: OrchestrationStory) -> None:
    assert (story.run.status, story.run.reason) == ("done", None)


def test_a_direct_answer_is_an_answer() -> None:
    story = OrchestrationStory(triage="direct")
    story.answer("42", prepared=BASE)
    assert (story.run.status, story.run.reason) == ("done", None)
