"""The turns of a record as readers see them, as of a version."""

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from domain.provenance.patches import line_counts
from domain.session.activity import ActivityRecorded, ToolUse
from domain.session.past_commands import Whole
from domain.values.base import DomainEvent, Text, Usage, iso
from projections.engine.ports import Histories
from projections.record.turns import Attempt, TurnEntry, Turns
from projections.views.turns import (
    ActivityFrame,
    ToolCounts,
    TurnDetail,
    TurnFile,
    TurnState,
    TurnSummary,
)


class Running(NamedTuple):
    """The present state of a running turn: the attempt that holds it, since when, and what it did so far."""

    attempt: int | None = None
    since: int | None = None
    waits: bool = False
    frames: tuple[ActivityFrame, ...] = ()


QUEUED: Final = Running()


def turns_upto(turns: Turns, version: int) -> list[TurnEntry]:
    """The turns that were requested by then, in order; a person's turn is not run."""
    entries = (entry for entry in turns.values() if entry.version <= version and entry.work != "wait")
    return sorted(entries, key=lambda entry: entry.version)


def ended(entry: TurnEntry, version: int) -> list[Attempt]:
    """The attempts that had ended by then."""
    return [attempt for attempt in entry.attempts if attempt.version <= version]


def is_open(entry: TurnEntry, version: int) -> bool:
    return entry.status(version) not in ("answered", "failed", "cancelled")


def summary(log: Histories, whole: Whole, session_id: str, entry: TurnEntry, version: int, now: Running) -> TurnSummary:
    """A turn in a list; `now` is used if it has not ended."""
    attempts, open_ = ended(entry, version), is_open(entry, version)
    last = attempts[-1] if attempts else None
    orchestrated = session_id.partition("-")[0] != "delivery"
    since = now.since if open_ else None if last is None else _began(last)
    return TurnSummary(
        turn_id=entry.turn_id,
        work=entry.work,
        agent=entry.agent,
        role="validation" if entry.work == "validate" else entry.role,
        phase=entry.phase,
        round=entry.number or None if orchestrated else None,
        iteration=None if orchestrated else entry.number or None,
        status=_state(entry, version, now),
        attempt=(now.attempt if open_ else None) or (last.number if last else 0),
        requested_at=iso(entry.requested_at),
        started_at=None if since is None else iso(since),
        ended_at=None if open_ or last is None else iso(last.ended_at),
        seconds=round(sum(attempt.seconds for attempt in attempts), 3) if attempts else None,
        usage=_total(attempt.usage for attempt in attempts),
        model=last.model if last else None,
        by=last.by if last else None,
        resumed=last.resumed if last else None,
        fence=last.fence if last else None,
        fence_gaps=last.fence_gaps if last else (),
        refused_hosts=last.refused_hosts if last else (),
        files=_files(log, whole, session_id, last),
        tools=_tools(attempts, now.frames if open_ else ()),
    )


def detail(log: Histories, whole: Whole, session_id: str, entry: TurnEntry, version: int, now: Running) -> TurnDetail:
    """The turn with its texts."""
    attempts = ended(entry, version)
    event = _event(log, session_id, attempts[-1].version) if attempts else None
    texts = {name: _whole(whole, getattr(event, name, None)) for name in ("prompt", "reply", "patch")}
    return TurnDetail(
        **dict(summary(log, whole, session_id, entry, version, now)),
        **texts,
        failure=getattr(event, "failure", None),
        activity=activity(log, session_id, entry, version, now),
    )


def activity(
    log: Histories, session_id: str, entry: TurnEntry, version: int, now: Running
) -> tuple[ActivityFrame, ...]:
    """Returns what it did: for a running turn, everything that is still known, otherwise the recorded tools."""
    if is_open(entry, version) and now.frames:
        return now.frames
    uses: list[tuple[str, ToolUse]] = []
    for attempt in ended(entry, version):
        if attempt.activity is not None:
            event = _event(log, session_id, attempt.activity.version)
            assert isinstance(event, ActivityRecorded), "the record was made from this event"
            uses.extend((iso(attempt.ended_at), use) for use in event.tools)
    return tuple(_frame(seq, at, use) for seq, (at, use) in enumerate(uses, start=1))


def transcript(log: Histories, session_id: str, entry: TurnEntry, version: int) -> Text | None:
    """The transcript of the last program that printed anything."""
    for attempt in reversed(ended(entry, version)):
        if attempt.activity is not None and attempt.activity.transcript is not None:
            event = _event(log, session_id, attempt.activity.version)
            return event.transcript if isinstance(event, ActivityRecorded) else None
    return None


def _frame(seq: int, at: str, use: ToolUse) -> ActivityFrame:
    failed = use.exit_code not in (None, 0)
    return ActivityFrame(
        seq=seq,
        at=at,
        kind="tool",
        tool=use.tool,
        title=use.title,
        paths=use.paths or None,
        status="denied" if use.denied else "failed" if failed else "completed",
        exit_code=use.exit_code,
        milliseconds=use.milliseconds,
    )


def _state(entry: TurnEntry, version: int, now: Running) -> TurnState:
    match entry.status(version):
        case "answered" | "failed" | "cancelled" as over:
            return over
        case _:
            return "waiting" if now.waits else "queued" if now.attempt is None else "running"


def _began(attempt: Attempt) -> int | None:
    return attempt.ended_at - round(attempt.seconds * 1000) if attempt.number else None


def _total(usages: Iterable[Usage]) -> Usage:
    """The sum; unknown if no attempt reported it."""
    all_usage = list(usages)
    sums = {}
    for name in Usage.model_fields:
        numbers = [number for usage in all_usage if (number := getattr(usage, name)) is not None]
        sums[name] = sum(numbers) if numbers else None
    return Usage(**sums)


def _tools(attempts: Sequence[Attempt], frames: Sequence[ActivityFrame]) -> ToolCounts:
    activities = [attempt.activity for attempt in attempts if attempt.activity is not None]
    calls = {frame.id or frame.seq: frame.status for frame in frames if frame.kind == "tool"}
    if frames:
        return ToolCounts(total=len(calls), denied=list(calls.values()).count("denied"))
    return ToolCounts(total=sum(entry.tools for entry in activities), denied=sum(entry.denied for entry in activities))


def _files(log: Histories, whole: Whole, session_id: str, last: Attempt | None) -> tuple[TurnFile, ...]:
    if last is None or not last.files:
        return ()
    event = _event(log, session_id, last.version) if last.patch else None
    counts = line_counts(_whole(whole, getattr(event, "patch", None)) or "")
    return tuple(
        TurnFile(path=change.path, added=added, removed=removed)
        for change in last.files
        for added, removed in (counts.get(change.path) or (None, None),)
    )


def _event(log: Histories, session_id: str, version: int) -> DomainEvent:
    events = log.history(session_id, after=version - 1, upto=version)
    return events[0].event


def _whole(whole: Whole, text: Text | None) -> str | None:
    return whole(text) if text is not None and text.length else None
