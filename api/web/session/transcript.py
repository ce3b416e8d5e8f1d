"""Shows what an agent did in a turn, step by step: what it said, its tools with their output, denials, waits,
attempts."""

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from adapters.agents.activity import Activity
from adapters.agents.transcripts import steps
from api.web.model import clock, owner, seconds_or_clock
from api.web.plain_text import cut
from api.web.session.context import LONG, SENTENCE, PanelContext, event_of, tame, whole
from api.web.session.validation_report import looks_bad, uncoloured
from domain.session.activity import ActivityRecorded, ToolUse
from domain.session.permissions import PermissionDecided, PermissionRequested
from domain.session.turns import AttemptFailure, TurnFailed
from projections.record.turns import Attempt, TurnEntry

READ: Final = 4_000_000
"""Characters of the transcripts of a turn that are read, the newest attempt first."""
FIRST, LAST, ATTEMPTS = 100, 200, 20
"""Steps of an attempt that are shown, from its beginning and from its end; attempts, the newest."""
LINES: Final = 40
"""Lines of an output that are shown, the last."""
SHOWN: Final = 150_000
"""Characters of all outputs of a turn; what comes after that is in the raw transcript."""
_PERMISSIONS: Final = "turn.permission_"
Row = dict[str, Any]


def transcript(context: PanelContext, entry: TurnEntry, reply: str) -> list[Row]:
    """The rows of a turn, without the reply, which its page shows below them."""
    ended = [attempt for attempt in entry.attempts if attempt.version <= context.version][-ATTEMPTS:]
    readable = _readable(ended)
    questions = _permissions(context, entry)
    rows: list[Row] = []
    for attempt in ended:
        if len(ended) > 1:
            rows.append({"kind": "attempt", "number": attempt.number, "version": attempt.version})
        rows_here = list(_did(context, attempt, read=attempt.version in readable))
        if attempt is ended[-1] and rows_here and rows_here[-1].get("words", "").strip() == reply.strip() != "":
            rows_here.pop()
        rows += _shortened(_placed(rows_here, [each for each in questions if each["attempt"] == attempt.number]))
        if attempt.failure and len(ended) > 1:
            rows.append(_failed(context, attempt))
    last = ended[-1].number if ended else 0
    rows += [each for each in questions if each["attempt"] > last]
    return _within(rows)


def _readable(attempts: Sequence[Attempt]) -> set[int]:
    """The attempts whose transcripts are read, by version."""
    room, versions = READ, set[int]()
    for attempt in reversed(attempts):
        printed = attempt.activity.transcript if attempt.activity else None
        if printed and printed.length <= room:
            room -= printed.length
            versions.add(attempt.version)
    return versions


def _did(context: PanelContext, attempt: Attempt, *, read: bool) -> Iterator[Row]:
    event = event_of(context, attempt.activity.version) if attempt.activity else None
    if not isinstance(event, ActivityRecorded):
        return
    text = whole(context, event.transcript, most=READ) if event.transcript and read else ""
    work = steps(text, event.tools_total) if text else ()
    if work is None:
        yield {"kind": "printed", "words": text.strip(), **_lines(text)}
        work = ()
    if work:
        yield from _of_steps(work, event.tools)
        return
    yield from (_of_use(use) for use in event.tools)
    if event.tools_total > len(event.tools):
        yield {"kind": "left", "count": event.tools_total - len(event.tools)}


def _of_steps(work: Iterable[Activity], uses: Iterable[ToolUse]) -> Iterator[Row]:
    """The output of the program; durations and denials as they were recorded."""
    recorded: dict[tuple[str, str], deque[ToolUse]] = defaultdict(deque)
    for use in uses:
        recorded[use.tool, use.title].append(use)
    for seen in work:
        if seen.kind == "tool":
            same = recorded[seen.tool or "other", seen.title or ""]
            yield _of_call(seen, same.popleft() if same else ToolUse())
        elif seen.kind != "permission" and (words := (seen.text or "").strip()):
            more = {"html": tame(words, LONG)} if seen.kind == "message" else _lines(words)
            yield {"kind": seen.kind, "words": words, **more}


def _of_call(seen: Activity, use: ToolUse) -> Row:
    code = use.exit_code if seen.exit_code is None else seen.exit_code
    return {
        "kind": "tool",
        "tool": seen.tool or "other",
        "title": cut(seen.title or seen.tool or "", SENTENCE),
        "denied": use.denied or seen.status == "denied",
        "failed": seen.status == "failed" or bool(code),
        "code": code,
        "took": _seconds(use.milliseconds),
        **_lines(seen.text or ""),
    }


def _of_use(use: ToolUse) -> Row:
    return {
        "kind": "tool",
        "tool": use.tool,
        "title": cut(use.title or use.tool, SENTENCE),
        "denied": use.denied,
        "failed": bool(use.exit_code),
        "code": use.exit_code,
        "took": _seconds(use.milliseconds),
        **_lines(""),
    }


def _seconds(milliseconds: int | None) -> str:
    return f"{milliseconds / 1000:.1f} s" if milliseconds else ""


def _lines(text: str) -> Row:
    """The end of an output; what looks like an error is marked."""
    lines = uncoloured(text).rstrip().split("\n") if text.strip() else []
    end = [cut(line, SENTENCE) for line in lines[-LINES:]]
    return {"lines": [(line, looks_bad(line)) for line in end], "before": max(0, len(lines) - LINES)}


def _failed(context: PanelContext, attempt: Attempt) -> Row:
    """The end of an attempt, and what came next."""
    event = event_of(context, attempt.version)
    assert isinstance(event, AttemptFailure), "only failed attempts have a failure"
    tried = None if isinstance(event, TurnFailed) else event
    return {
        "kind": "failed",
        "version": attempt.version,
        "failure": attempt.failure,
        "detail": cut(context.worded(attempt.detail), SENTENCE),
        "seconds": seconds_or_clock(round(attempt.seconds * 1000)),
        "until": (tried and tried.retry_at) or "",
        "next": tried.next if tried else "",
        "agent": cut((tried and tried.fallback_agent) or "", 60),
    }


# -- what people were asked --------------------------------------------------------------------------------------------


def _permissions(context: PanelContext, entry: TurnEntry) -> list[Row]:
    """The questions to people in this turn, each with its answer."""
    last = entry.attempts[-1].version if entry.attempts else context.version
    questions: dict[str, Row] = {}
    for each in context.record.entries[entry.version : min(context.version, last)]:
        if each.turn_id != entry.turn_id or not each.topic.startswith(_PERMISSIONS):
            continue
        match event_of(context, each.version):
            case PermissionRequested() as event:
                questions[event.request_id] = {
                    "kind": "permission",
                    "attempt": event.attempt,
                    "version": each.version,
                    "tool": event.tool,
                    "title": cut(event.title, SENTENCE),
                    "at": each.at,
                    "decision": "",
                    "by": "",
                    "after": "",
                }
            case PermissionDecided() as event if event.request_id in questions:
                question = questions[event.request_id]
                question["decision"], question["by"] = event.decision, owner(event.by)
                question["after"] = clock(each.at - question["at"])
    return list(questions.values())


def _placed(rows: list[Row], questions: Iterable[Row]) -> list[Row]:
    """Each question before the call that it was about, else at the end."""
    for question in questions:
        about = (question["tool"], question["title"])
        calls = [place for place, row in enumerate(rows) if (row.get("tool"), row.get("title")) == about]
        free = [place for place in calls if place == 0 or rows[place - 1]["kind"] != "permission"]
        rows.insert(next((place for place in free if rows[place]["kind"] == "tool"), len(rows)), question)
    return rows


# -- what there is room for --------------------------------------------------------------------------------------------


def _shortened(rows: list[Row]) -> list[Row]:
    more = len(rows) - FIRST - LAST
    return rows if more <= 0 else [*rows[:FIRST], {"kind": "left", "count": more}, *rows[-LAST:]]


def _within(rows: list[Row]) -> list[Row]:
    """Outputs as long as there is room for them, those of failed calls first."""
    room = SHOWN
    for row in sorted((row for row in rows if row.get("lines")), key=lambda row: not row.get("failed")):
        size = sum(len(line) for line, _ in row["lines"])
        if size > room:
            row["before"], row["lines"] = row["before"] + len(row["lines"]), []
        else:
            room -= size
    return rows
