"""Words a session's pull request for its row, and says whether it waits for a person."""

import json
from typing import Any, Final

from domain.session import waits
from domain.session.forge import (
    CHECKS_RESTS,
    ChecksEnded,
    CommitsTaken,
    FollowBegun,
    ForgeEvent,
    ForgeFound,
    ForgeLost,
    ForgePosted,
    IssueLinked,
    PostRequested,
    PullRequestClosed,
    PullRequestMerged,
    PullRequestOpened,
    PullRequestReopened,
    PullRequestRequested,
    PullRequestRested,
    Pushed,
    PushRequested,
)
from domain.session.forks import SessionForked
from domain.session.landing import LANDABLE
from domain.session.pull_request import FORGE
from domain.session.record import Recorded
from domain.session.revisions import RevisionRequested
from projections.engine.ports import Database
from projections.sessions.row import SessionRow

FORGE_EVENTS: Final = (ForgeEvent, RevisionRequested, SessionForked)
"""Other events change nothing here."""
_DONE: Final = frozenset({"success", "done"})
_NONE: Final[dict[str, Any]] = {
    "number": None,
    "url": None,
    "state": None,
    "head": None,
    "checks": None,
    "rest": None,
    "push": None,
    "hold": None,
    "base": None,
    "lost": None,
    "follow": False,
    "issue": False,
    "last": None,
}


def follow_pull_request(row: SessionRow, recorded: Recorded) -> None:
    """One more event of the row's session."""
    event = recorded.event
    if isinstance(event, SessionForked):
        row.pull_request = row.pulling = None
        return
    if row.pull_request is None and not isinstance(event, PullRequestRequested | IssueLinked):
        return
    before: dict[str, Any] = json.loads(row.pull_request) if row.pull_request else dict(_NONE)
    now = before | _changed(before, recorded)
    row.pull_request = json.dumps(now, ensure_ascii=False)
    row.pulling = None if now["state"] == "merged" and not now["issue"] else 1
    if isinstance(event, PullRequestMerged):
        fields = {"onto": now["base"] or "", "status": "landed", "commit": event.commit, "reason": None, "paths": ()}
        row.landing, row.unlanded = json.dumps(fields, ensure_ascii=False), None
    if row.waits_for in ("checks", "forge") and _rest(now) != _rest(before):
        row.go_on()


def follow_rest(row: SessionRow, recorded: Recorded) -> None:
    """Lets what came to its end wait for a person while nothing more is done about its pull request."""
    if row.waits_for is None and row.status in LANDABLE and row.pull_request is not None:
        rest = _rest(json.loads(row.pull_request))
        if rest is not None:
            row.wait(waits.forge(rest), recorded)


def pull_request_of(row: SessionRow) -> dict[str, Any] | None:
    """The pull request for a list; None where none was asked for. One that is not open yet is there once the work is
    done."""
    if row.pull_request is None:
        return None
    now: dict[str, Any] = json.loads(row.pull_request)
    if now["number"] is None and row.status not in _DONE:
        return None
    shown = {name: now[name] for name in ("number", "url", "checks")}
    return {**shown, "state": now["state"] or "none", "rest": _rest(now), "unavailable": now["lost"]}


def open_sessions(db: Database) -> tuple[str, ...]:
    """Return the sessions whose pull request is not over, the oldest first."""
    rows = db.execute("SELECT session_id FROM overview WHERE pulling IS NOT NULL ORDER BY created", ()).fetchall()
    return tuple(str(name) for (name,) in rows)


def _rest(now: dict[str, Any]) -> str | None:
    if now["state"] == "closed":
        return "closed" if now["follow"] else None
    rest: str | None = now["rest"] or now["hold"]
    return rest


def _changed(before: dict[str, Any], recorded: Recorded) -> dict[str, Any]:
    """Returns what the event changes."""
    match recorded.event:
        case PullRequestRequested(base=base, follow=follow):
            return {"base": base, "rest": None, "hold": None, "follow": follow}
        case IssueLinked(base=base):
            return {"base": base, "follow": True, "issue": True}
        case FollowBegun():
            return {"follow": True}
        case PostRequested(post_id=name) if before["state"] == "merged":
            return {"last": name}
        case ForgePosted(post_id=name) if before["last"] == name:
            return {"issue": False}
        case PushRequested(commit=commit, hold=hold):
            return {"push": commit, "hold": hold}
        case PullRequestRested(why=why):
            return {"rest": why, "hold": None}
        case PullRequestOpened(number=number, url=url, head=head):
            return {"number": number, "url": url, "head": head, "state": "open"}
        case Pushed() as event:
            return _pushed(event, before)
        case CommitsTaken(published=published):
            return {} if published == before["push"] else {"hold": None}
        case ChecksEnded(head=head, conclusion=conclusion) if head == before["head"]:
            rest = None if conclusion == "success" and before["rest"] in CHECKS_RESTS else before["rest"]
            return {"checks": conclusion, "rest": rest}
        case PullRequestMerged():
            return {"state": "merged", "rest": None, "hold": None}
        case PullRequestClosed():
            return {"state": "closed", "rest": None, "hold": None}
        case PullRequestReopened():
            return {"state": "open"}
        case RevisionRequested(by=by) if not by.startswith(FORGE):
            return {"rest": None}
        case ForgeLost(why=why):
            return {"lost": why}
        case ForgeFound():
            return {"lost": None}
    return {}


def _pushed(event: Pushed, before: dict[str, Any]) -> dict[str, Any]:
    moved = {"head": event.head or before["head"], "checks": None}
    if event.forced:
        return {**moved, "rest": "forced_push", "hold": None}
    return {**moved, "hold": None} if event.push_id is not None else moved
