"""Words a result for the row of its session: what its checks leave open, and how its landing ended."""

import json
from typing import Any, Final

from domain.delivery import events as delivery
from domain.orchestration import events as orchestration
from domain.session import waits
from domain.session.forge import CommitsTaken
from domain.session.forks import SessionForked
from domain.session.landing import LANDABLE, LandingNotTried, LandingRequested, WorkLanded, WorkSentBack, unlanded_by
from domain.session.record import Recorded
from domain.session.turns import TurnAnswered
from domain.session.validation import CleanRoom, Flake
from domain.session.workspace import ResultPublished, ReviewedLines, WorkspaceChanges
from domain.values.sentences import packed
from projections.sessions.row import SessionRow

HANDOVER_EVENTS: Final = (
    TurnAnswered,
    CommitsTaken,
    delivery.AttemptStarted,
    delivery.TestsPassed,
    delivery.ValidationFailed,
    delivery.FlakySeen,
    orchestration.RoundStart,
    orchestration.RoundValidated,
    ResultPublished,
    delivery.BranchPublished,
    LandingRequested,
    WorkLanded,
    WorkSentBack,
    LandingNotTried,
    SessionForked,
)
"""Other events change nothing here."""
_UNVALIDATED: Final[dict[str, Any]] = {"validated": None, "why": None, "weakened": 0, "red": False, "flaky": {}}
_LONGEST: Final = 2_000
"""Characters of what stands against a landing; the session has all of it."""


def follow_handover(row: SessionRow, recorded: Recorded) -> None:
    """One more event of the row's session."""
    facts: dict[str, Any] = (
        json.loads(row.checked) if row.checked else {"published": False, "seen": None, **_UNVALIDATED}
    )
    match recorded.event:
        case TurnAnswered(reviewed=ReviewedLines() as reviewed):
            facts |= _seen(reviewed)
        case CommitsTaken(changes=WorkspaceChanges() as changes) if "lines" in facts:
            shown, of = facts["lines"]
            facts |= _seen(ReviewedLines(shown=shown, of=of).beside(changes))
        case TurnAnswered() | CommitsTaken():
            return
        case ResultPublished() | delivery.BranchPublished():
            facts["published"] = True
        case orchestration.RoundStart():
            facts |= _UNVALIDATED
        case delivery.AttemptStarted():
            facts |= _UNVALIDATED | {"flaky": facts["flaky"]}
        case delivery.FlakySeen() as event:
            facts["flaky"] = {**facts["flaky"], **_unknown(event.flake)}
        case delivery.TestsPassed() | delivery.ValidationFailed() as event:
            no_tests = isinstance(event, delivery.TestsPassed) and event.no_tests
            facts |= _validated(event.clean_room, len(event.weakened), no_tests=no_tests)
        case orchestration.RoundValidated() as event:
            facts |= _validated(event.clean_room, len(event.weakened), no_tests=event.no_tests)
            facts["red"] = not event.passed and not event.new_failures
            facts["flaky"] = {name: seen for flake in event.flaky for name, seen in _unknown(flake).items()}
        case _:
            _land(row, recorded)
            return
    row.checked = json.dumps(facts, ensure_ascii=False)


def _seen(reviewed: ReviewedLines) -> dict[str, Any]:
    return {"seen": reviewed.percent, "lines": [reviewed.shown, reviewed.of]}


def _validated(room: CleanRoom | None, weakened: int, *, no_tests: bool) -> dict[str, Any]:
    where = "workspace" if room is None else "clone"
    return {"validated": None if no_tests else where, "why": "no_tests" if no_tests else None, "weakened": weakened}


def _unknown(flake: Flake) -> dict[str, list[int]]:
    """Returns what is flaky only with the changes."""
    return {} if flake.known else {flake.command: [flake.failed, flake.runs]}


def _land(row: SessionRow, recorded: Recorded) -> None:
    """Says how the newest landing ended, or that another one begins."""
    if row.waits_for == "landing":
        row.go_on()
    row.unlanded = None
    match recorded.event:
        case WorkLanded() as event:
            row.landing = _landing(event.onto, "landed", commit=event.commit)
        case WorkSentBack() as event:
            status = "not_tried" if event.reason == "checkout" else "sent_back"
            row.landing = _landing(event.onto, status, reason=event.reason, paths=event.paths, detail=event.detail)
            _refused(row, event, "\n".join(event.reasons) or ", ".join(event.paths) or event.detail)
        case LandingNotTried() as event:
            more = {
                "paths": event.paths,
                "detail": event.detail,
                "sentence": json.loads(packed(event.sentence) or "null"),
            }
            row.landing = _landing(event.onto, "not_tried", reason=event.reason, **more)
            _refused(row, event, event.sentence or event.detail)


def _landing(onto: str, status: str, **more: Any) -> str:
    fields = {"onto": onto, "status": status, "commit": None, "reason": None, "paths": (), **more}
    return json.dumps({name: value for name, value in fields.items() if value != ""}, ensure_ascii=False)


def _refused(row: SessionRow, event: WorkSentBack | LandingNotTried, words: str) -> None:
    row.unlanded = unlanded_by(event)
    if row.waits_for is None:
        row.summary, row.summary_sentence = words[:_LONGEST] or None, packed(words)


def follow_unlanded(row: SessionRow, recorded: Recorded) -> None:
    """Let what came to its end wait for a person while its landing has not merged it."""
    if row.unlanded is not None and row.waits_for in (None, "checks", "forge") and row.status in LANDABLE:
        row.wait(waits.landing(row.unlanded), recorded)
