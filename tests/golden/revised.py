"""Scenes of the golden logs: people want changes in results, and in work that is under way."""

import json
from collections.abc import Callable
from typing import Any, Final

from domain.delivery.chart import NEEDED
from domain.delivery.commands import CancelDelivery
from domain.session.comments import AddComment
from domain.session.revisions import ReviseSession
from domain.session.turns import RecordPackage
from domain.session.workspace import PeopleCommits, WorkspaceChanges
from domain.values.base import Text
from tests.golden.happenings import DESIGN, HEAD, MERGE, PREPARED, SHOP, changes, said
from tests.golden.scenes import validated
from tests.projections.given import APPROVING
from tests.projections.stage import Stage, plan, subtask, verdicts


def revised(stage: Stage) -> None:
    """A delivery that is revised after its end and while it works, and one that is cancelled with a queued request; a
    run, and a direct answer."""
    stage.delivers("delivery-revised", phases=NEEDED)
    _works(stage, "delivery-revised", prepared=True)
    stage.do("delivery-revised", wants("Say hello, too."))
    stage.do("delivery-revised", wants("And goodbye."))
    _works(stage, "delivery-revised")
    _works(stage, "delivery-revised")
    stage.do("delivery-revised", wants("One more.", add_iterations=1, add_minutes=5))
    stage.delivers("delivery-called-off", phases=NEEDED)
    stage.answers("delivery-called-off", "Written.", prepared=PREPARED)
    stage.do("delivery-called-off", wants("No, otherwise."))
    stage.do("delivery-called-off", CancelDelivery(reason="not needed"))
    stage.orchestrates("orchestration-revised")
    for words in (plan(subtask(start_phase=3, end_phase=3)), "Built.", verdicts(Backend=True, all_done=True)):
        stage.answers("orchestration-revised", words)
    stage.do("orchestration-revised", wants("Say hello, too.", add_rounds=2))
    stage.answers("orchestration-revised", "Built again.")
    stage.do("orchestration-revised", wants("And goodbye."))
    stage.answers("orchestration-revised", verdicts(Backend=True, all_done=True))


def answered(stage: Stage) -> None:
    """Comments that agents answer, leave as they were, and deal with in the end: in a delivery that a reviewer judges,
    in a run, and in a direct answer."""
    name = "delivery-answered"
    stage.delivers(name, phases=(*NEEDED, "review"))
    stage.answers(name, "Written.", prepared=PREPARED, tree=HEAD, **changes("src/a.py"))
    validated(stage, name)
    stage.answers(name, APPROVING)
    for number in (1, 2, 3):
        lines: dict[str, Any] = {"path": "src/a.py", "line": number, "end_line": number, "quote": ("x",)}
        stage.do(name, AddComment(text=f"Comment {number}.", head=HEAD, actor="person:ann", **lines))
    stage.do(name, wants(""))
    stage.answers(name, _says(c1="fixed", c2="fixed"), touched_comments=("c1",), base=HEAD)
    validated(stage, name)
    stage.answers(name, APPROVING)
    stage.answers(name, _says(c2="declined", c3="answered"), base=HEAD)
    validated(stage, name)
    stage.answers(name, json.dumps(json.loads(APPROVING) | {"blockingIssues": [_OBJECTION]}))
    stage.answers(name, _says(c2="fixed"), touched_comments=("c2",), base=HEAD)
    validated(stage, name)
    stage.answers(name, APPROVING)
    run = "orchestration-answers"
    stage.orchestrates(run)
    for words in (plan(subtask(start_phase=3, end_phase=3)), "Built.", verdicts(Backend=True, all_done=True)):
        stage.answers(run, words)
    stage.do(run, AddComment(text="And a test.", actor="person:ann"))
    stage.do(run, wants("", add_rounds=3))
    for words in ("Built.", verdicts(Backend=True), _says(c1="answered"), verdicts(Backend=True)):
        stage.answers(run, words)
    direct = "orchestration-direct"
    stage.orchestrates(direct, triage="direct")
    stage.answers(direct, "It is done.", tree=HEAD, **changes("src/a.py"))
    stage.do(direct, AddComment(text="And a test.", actor="person:ann"))
    stage.do(direct, wants(""))
    for words in ("Done.", "Done."):
        stage.answers(direct, words, base=HEAD)


def shared(stage: Stage) -> None:
    """A delivery whose branch people commit to: before its developer goes on, and before it is published again."""
    name = "delivery-shared"
    stage.delivers(name, repository=True, workspace=SHOP)
    stage.answers(name, "One step.", prepared=PREPARED)
    said(stage, name, *DESIGN[1:])
    stage.answers(name, "Written.", tree=HEAD, **changes("src/a.py"))
    _published(stage, name, commit=HEAD)
    stage.do(name, wants("Say hello, too."))
    first = PeopleCommits(commits=("d" * 40,), by="Ann", tree="d" * 40)
    stage.answers(name, "Written.", tree=MERGE, base=HEAD, people=first, **changes("src/a.py"))
    second = first.changed(commits=("e" * 40, "f" * 40), by="Ann, Bob", tree="f" * 40)
    later = WorkspaceChanges(head="f" * 40, commits=(HEAD, MERGE, "f" * 40))
    _published(stage, name, commit="f" * 40, people=second.changed(changes=later))


def _published(stage: Stage, name: str, **fields: Any) -> None:
    validated(stage, name)
    stage.answers(name, APPROVING)
    turn = stage.turn(name).turn_id
    stage.do(name, RecordPackage(turn_id=turn, attempt=1, branch=f"hansard/{name}", **fields))


_OBJECTION: Final = {"id": "c2", "title": "Not right", "detail": "It is wrong as it is."}


def _says(**answers: str) -> str:
    said = [{"id": name, "answer": answer, "words": "Because."} for name, answer in answers.items()]
    return f"Done.\n{json.dumps({'comments': said})}"


def wants(words: str, **amounts: int) -> ReviseSession:
    text, blobs = Text.of(words)
    return ReviseSession(text=text, blobs=blobs, actor="person:ann", **amounts)


def _works(stage: Stage, name: str, *, prepared: bool = False) -> None:
    """The developer answers, and the validation passes."""
    stage.answers(name, "Written.", **({"prepared": PREPARED} if prepared else {}))
    validated(stage, name)


SCENES: Final[dict[str, Callable[[Stage], None]]] = {"revised": revised, "answered": answered, "shared": shared}
