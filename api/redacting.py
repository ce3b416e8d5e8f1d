"""Redaction: a long text is removed from the log, from the events that quote it, and from the views."""

import asyncio
import hashlib
from uuid import uuid4

from adapters.store.mapper import blanked
from adapters.writer.writer import CommandEnvelope
from api.system import System
from domain.session.redaction import REDACTED, RedactedEvent, RedactText
from domain.values.base import Unknown
from domain.values.sentences import Sentence


async def redact(system: System, digest: str, *, reason: str, actor: str) -> dict[str, object]:
    """Remove the text, and record that in every session that mentions it. Raises Unknown if there is no such text."""
    quoting = await asyncio.to_thread(_quoting, system, digest)
    if not quoting:
        raise Unknown(Sentence("text_gone", digest=digest))
    for stream, events in quoting.items():
        command = RedactText(digest=digest, reason=reason, events=events)
        await system.writer.do(CommandEnvelope(stream, command, actor, command_id=str(uuid4())))
    await asyncio.to_thread(system.follower.rebuild)
    return {"digest": digest, "sessions": list(quoting), "events": sum(map(len, quoting.values()))}


def _quoting(system: System, digest: str) -> dict[str, tuple[RedactedEvent, ...]]:
    """By session, the events that quote the text in their new form; includes sessions that only mention it."""
    if system.store.text(digest) in (None, REDACTED):
        return {}
    found: dict[str, tuple[RedactedEvent, ...]] = {}
    needle = digest.encode()
    for row in system.store.rows.events():
        if needle in row.state:
            state = blanked(row.state, digest)
            event = RedactedEvent(version=row.version, hash=hashlib.sha256(state).hexdigest())
            found[row.stream] = (*found.get(row.stream, ()), *((event,) if state != row.state else ()))
    return found
