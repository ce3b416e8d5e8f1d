"""Redaction: a long text is removed from the log, from the events that quote it, and from the views."""

import asyncio
import hashlib
import logging
from collections.abc import Iterator, Sequence
from typing import Annotated, Final
from uuid import uuid4

import orjson
from pydantic import Field, StrictStr

from adapters.store.blanks import blanked
from adapters.turns.folder import ENDED
from adapters.writer.writer import CommandEnvelope
from api.actions.bodies import Body, Digest
from api.actions.declaration import ActionCall, action
from api.system import System
from domain.session.redaction import (
    REDACTED,
    RedactedEvent,
    RedactText,
)
from domain.values.base import HansardError, Unknown
from domain.values.sentences import Sentence
from projections.views.base import View

_log = logging.getLogger(__name__)

_BEGINNING: Final = 200
"""Characters by which an event is found that has the whole text."""
_PART: Final = 24
"""Characters that a value has in common with the text, where it has a part of it. Most secrets are longer."""


class RedactionAnswer(View):
    """What was taken out of the log."""

    digest: str
    sessions: tuple[str, ...] = Field(description="those that mention the text")
    events: int = Field(description="how many events had it, or quoted its beginning")
    repeated: dict[str, tuple[int, ...]] = Field(
        description="by session, the events that still have parts of it, such as findings that were read in it"
    )
    shared: tuple[str, ...] = Field(description="those whose commits stay in the database: they have not ended")


class Redact(Body):
    """Remove a long text from the log."""

    digest: Digest = Field(description="SHA-256 of the text")
    reason: Annotated[StrictStr, Field(min_length=1, max_length=2_000)]


@action(
    "/api/redact",
    scope="admin",
    body=Redact,
    answer=RedactionAnswer,
    summary="Remove a long text from the log",
    description="For a secret that has leaked into a prompt, a reply or a transcript. The text and its beginning "
    "in the events that quote it are replaced for good; each session that mentions it records "
    "`session.text_redacted`, and `verify` names it. Copies elsewhere are not touched. On PostgreSQL, the commits "
    "of these sessions are removed from the database if the sessions have ended; `shared` names the others.",
    example={"digest": "0" * 64, "reason": "A token was printed."},
    refuses=(404, 503),
)
async def redact_text(call: ActionCall[Redact]) -> RedactionAnswer:
    """Remove a text for good."""
    return await redact(call.system, call.body.digest, reason=call.body.reason, actor=call.actor)


async def redact(system: System, digest: str, *, reason: str, actor: str) -> RedactionAnswer:
    """Remove the text, and record that in every session that mentions it. Raises Unknown if there is no
    such text, or no event names it."""
    text = await asyncio.to_thread(system.store.text, digest)
    if text is None or text == REDACTED:
        raise Unknown(Sentence("text_gone", digest=digest))
    quoting = await asyncio.to_thread(quotes, system, digest, text)
    if not quoting:
        raise Unknown(Sentence("text_unnamed", digest=digest))
    for stream, events in quoting.items():
        command = RedactText(digest=digest, reason=reason, events=events)
        await system.writer.do(CommandEnvelope(stream, command, actor, command_id=str(uuid4())))
    await asyncio.to_thread(system.follower.rebuild)
    await asyncio.to_thread(system.search.scrub)
    return RedactionAnswer(
        digest=digest,
        sessions=tuple(quoting),
        events=sum(map(len, quoting.values())),
        repeated=await asyncio.to_thread(_repeated, system, list(quoting), text),
        shared=tuple(await asyncio.to_thread(_still_shared, system, list(quoting))),
    )


def _still_shared(system: System, names: Sequence[str]) -> list[str]:
    """Remove these sessions' commits from the database, if machines share workspaces there. Returns the sessions whose
    commits stay: those that have not ended, or whose workspace cannot be fetched."""
    if system.sharing is None:
        return []
    left: list[str] = []
    for name in names:
        session = system.sessions.get(name)
        at_work = session is None or session.outstanding or session.open_children
        try:
            if session is not None and session.status in ENDED and not at_work:
                system.sharing.withdraw(name, fetch=True)
            elif system.sharing.is_shared(name):
                left.append(name)
        except HansardError as error:
            _log.warning("the commits of %s stay in the database: %s", name, error)
            left.append(name)
    return left


def quotes(system: System, digest: str, text: str) -> dict[str, tuple[RedactedEvent, ...]]:
    """By session, the events that have the text, in their new form; includes sessions that only mention it."""
    result: dict[str, tuple[RedactedEvent, ...]] = {}
    needles = (digest.encode(), orjson.dumps(text[:_BEGINNING])[:-1])
    for row in system.store.rows.events():
        if any(needle in row.state for needle in needles):
            state = blanked(row.state, digest, row.form)
            event = RedactedEvent(version=row.version, hash=hashlib.sha256(state).hexdigest())
            if state != row.state:
                result[row.stream] = (*result.get(row.stream, ()), event)
            elif needles[0] in row.state:
                result.setdefault(row.stream, ())
    return result


def _repeated(system: System, names: Sequence[str], text: str) -> dict[str, tuple[int, ...]]:
    """By session, the events that still have parts of the text. What was read in it is not removed with it: sessions
    have gone on with that."""
    result: dict[str, tuple[int, ...]] = {}
    for row in system.store.rows.events(names):
        if any(_has_part(words, text) for words in _strings(orjson.loads(row.state)["data"])):
            result[row.stream] = (*result.get(row.stream, ()), row.version)
    return result


def _has_part(words: str, text: str) -> bool:
    return any(words[at : at + _PART] in text for at in range(0, len(words) - _PART + 1, _PART // 2))


def _strings(value: object) -> Iterator[str]:
    match value:
        case str():
            yield value
        case dict():
            yield from (part for each in value.values() for part in _strings(each))
        case list():
            yield from (part for each in value for part in _strings(each))
