"""Renders a shared record as one HTML file: a pure function of the record, so that the file can be rendered again."""

import base64
import hashlib
from collections.abc import Iterator
from contextlib import suppress
from importlib.resources import files
from typing import Any, Final

from eventsourcing.persistence import StoredEvent
from markupsafe import Markup

from adapters.store.mapper import decode
from adapters.store.seal import beginning
from api.share.shared_record import PackedRecord, SharedRecord, filled
from api.web.plain_text import cut
from api.web.renderer import fragment
from api.web.sentences import words
from domain.kinds import fold
from domain.session.activity import ActivityRecorded
from domain.session.record import Recorded, kind_of
from domain.session.redaction import REDACTED
from domain.session.state import Session
from domain.session.turns import TurnAnswered, TurnFailed
from domain.values.base import HansardError, Text, iso
from projections.record import worklog
from projections.record.describe import describe, person
from projections.record.records import record_of
from projections.record.session import title_of, view
from projections.record.status import outcome

START: Final = '<script type="application/zlib" id="record">'
END: Final = "</script>"
_LONG: Final = 60_000
_LINE: Final = 400


def rendered_file(record: SharedRecord, packed: PackedRecord) -> str:
    """The file, byte for byte the same for the same record, which is also in it as `packed`."""
    say = words(record.language)
    style, script = _asset("share.css"), _asset("share.js")
    return fragment(
        say,
        None,
        "share.html",
        policy=f"default-src 'none'; style-src '{_source(style)}'; script-src '{_source(script)}'; "
        "base-uri 'none'; form-action 'none'",
        style=Markup(style),  # noqa: S704 - ours
        script=Markup(script),  # noqa: S704 - ours
        record=packed.text,
        signature=packed.signature,
        redacted=REDACTED,
        language=record.language,
        proof=record,
        left_out=record.left_out,
        cuts=[event.version for event in record.events if event.cut],
        **_shown(record),
    )


def _asset(name: str) -> str:
    return (files("api.share") / name).read_text("utf-8")


def _source(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def events_of(record: SharedRecord) -> list[Recorded]:
    """The events that can be read, in order; a cut one may not be."""
    events = []
    for event in record.events:
        state = filled(event, record.texts, beginning)
        with suppress(HansardError):
            events.append(decode(StoredEvent(record.session, event.version, event.type, state), event.version))
    return events


def _shown(record: SharedRecord) -> dict[str, Any]:
    events = events_of(record)
    session = _folded(record, events)
    by_version = {event.version: event for event in events}
    it = view(session).wire() if session is not None else {}
    return {
        "id": record.session,
        "kind": kind_of(record.session),
        "title": title_of(session.title, str(it.get("title") or "")) if session else record.session,
        "status": str(it.get("status") or ""),
        "summary": cut(outcome(it, record.language), _LINE),
        "version": record.events[-1].version,
        "rows": [_row(by_version.get(event.version), event.version, event.type, record) for event in record.events],
        "turns": list(_turns(record, events)),
        "worklog": _worklog(record, events, session),
    }


def _folded(record: SharedRecord, events: list[Recorded]) -> Session | None:
    try:
        return fold(kind_of(record.session), ((each.event, each.metadata) for each in events))
    except Exception:
        if _is_complete(record, events):
            raise
        return None  # a cut event that cannot be read may be one that others need; the list is still there


def _is_complete(record: SharedRecord, events: list[Recorded]) -> bool:
    """True if every event can be read, so that nothing excuses what fails."""
    return len(events) == len(record.events)


def _row(recorded: Recorded | None, version: int, topic: str, record: SharedRecord) -> dict[str, Any]:
    if recorded is None:
        named = describe(topic, {}, record.language)
        return {"version": version, "at": "", "actor": "", "type": topic, "words": named, "cut": True}
    data = recorded.event.model_dump(mode="json", by_alias=True)
    actor = recorded.causation.actor
    return {
        "version": version,
        "at": iso(recorded.at)[:19].replace("T", " "),
        "actor": cut(person(actor, record.language), 60),
        "type": topic,
        "words": cut(describe(topic, data, record.language, actor=actor), _LINE),
        "cut": record.events[version - 1].cut,
    }


def _turns(record: SharedRecord, events: list[Recorded]) -> Iterator[dict[str, Any]]:
    """Every turn that ended: who, and what was said and changed; prompts and transcripts where they are in the file."""
    transcripts = {
        each.event.turn_id: _whole(record, each.event.transcript)
        for each in events
        if isinstance(each.event, ActivityRecorded) and each.event.transcript is not None
    }
    for each in events:
        event = each.event
        if not isinstance(event, TurnAnswered | TurnFailed):
            continue
        patch = event.patch if isinstance(event, TurnAnswered) else None
        yield {
            "version": each.version,
            "id": event.turn_id.rpartition(".")[2],
            "agent": cut(event.agent, 60),
            "role": cut(event.role, 60),
            "failed": isinstance(event, TurnFailed),
            "reply": _whole(record, event.reply),
            "prompt": _whole(record, event.prompt),
            "patch": _whole(record, patch) if patch else "",
            "transcript": transcripts.get(event.turn_id, ""),
        }


def _whole(record: SharedRecord, text: Text) -> str:
    words_of_it = record.texts.get(text.digest, text.head) if text.digest else text.head
    return cut(words_of_it, _LONG)


def _worklog(record: SharedRecord, events: list[Recorded], session: Session | None) -> str:
    if session is None:
        return ""
    try:
        return worklog.render(record_of(events).worklog, session, language=record.language)
    except Exception:
        if _is_complete(record, events):
            raise
        return ""  # as above
