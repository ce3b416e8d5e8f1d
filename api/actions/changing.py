"""Use cases about a session's changes: its scope, landing, and the fixes that a review requested."""

import asyncio
import hashlib
import logging
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final
from uuid import uuid4

import orjson
from pydantic import Field

from adapters.store.blanks import blanked
from adapters.turns.folder import ENDED
from adapters.workspace import WorkspaceError, Workspaces
from adapters.workspace.branch import NoBranch, commit_of_branch
from adapters.writer.writer import CommandEnvelope
from api.actions.command_bodies import Land, ScopeAnswer
from api.actions.projects import read_project
from api.http.guards import require
from api.http.idempotency import ApiCall, Intent
from api.http.requests import read
from api.system import System
from domain.channel.state import Channel
from domain.delivery.commands import DecideScope
from domain.delivery.state import Delivery
from domain.discussion.state import Discussion
from domain.kinds import allowed_actions
from domain.orchestration.endings import asks
from domain.orchestration.state import Orchestration
from domain.session.actions import refusal
from domain.session.children import fix_feedback
from domain.session.history import REDACTED, RedactedEvent, RedactText
from domain.session.landing import LandSession, WorkSentBack
from domain.session.state import Session
from domain.session.validation import ValidationStep
from domain.values.base import Command, HansardError, Invalid, Refused, Text, Unknown
from domain.values.sentences import Sentence, sentence_of
from projections.views.base import View

_log = logging.getLogger(__name__)


async def scope(call: ApiCall) -> Intent:
    """Allow or deny changes outside the scope of a delivery."""
    body = read(ScopeAnswer, call.fields)
    command = DecideScope(request_id=body.request_id, decision=body.decision, actor=call.actor)
    return Intent(call.session_id, command)


def may_permit(call: ApiCall, run: Session | None = None, *, channel: str = "") -> None:
    """Raises Problem 403 or Forbidden: to continue a run that waits because of changes outside its scope is to permit
    them. `channel` means its run."""
    if channel:
        conversation = call.system.writer.load(channel)
        name = conversation.current[0] if isinstance(conversation, Channel) else None
        run = call.system.sessions.get(name) if name else None
    if isinstance(run, Orchestration) and run.state == "checkpoint" and asks(run):
        require("decide", call.scope)
        if run.decisions is not None:
            run.decisions.check_listed(call.actor)


def may_cancel(call: ApiCall, session_id: str) -> None:
    """Raises Problem 403: the end of a review or debate that a session waits for decides for that session."""
    session = call.system.sessions.get(session_id)
    if isinstance(session, Discussion) and session.parent is not None and not session.ended:
        require("decide", call.scope)


async def land(call: ApiCall) -> Intent:
    """Merge the result of a finished session into a branch, if its validation passes there."""
    body = read(Land, call.fields)
    session_id = call.session_id
    return Intent(session_id, await asyncio.to_thread(_land, call, session_id, body.onto), status=202)


def _land(call: ApiCall, session_id: str, onto: str | None) -> Command:
    """A delivery's own commands must pass; for an orchestration, those of the repository."""
    session = call.system.sessions.get(session_id)
    onto = onto or (session.base.base_branch if session and session.base else None)
    if onto is None:
        raise Invalid({"/onto": Sentence("landing_without_target")})
    if session is not None and session.published and not session.outstanding:
        _check_landing(call.system, session, onto)
    steps = session.steps if isinstance(session, Delivery) else ()
    if isinstance(session, Orchestration) and session.workspace is not None:
        steps = read_project(Path(session.workspace)).validation_steps()
    return LandSession(onto=onto, steps=steps, actor=call.actor)


def _check_landing(system: System, session: Session, onto: str) -> None:
    """What can be said at once of a session whose workspace is on this machine; the turn would fail. Raises Refused if
    there is nothing to land or no repository, and Invalid for a branch that is not there."""
    if session.changes is None or not session.changes.files:
        raise refusal(session, "nothing_to_land", allowed_actions(session))
    here = Workspaces(system.settings.node_dir / "workspaces").exists(session.id)
    if not here or session.base is None or session.base.repository is None:
        return
    try:
        commit_of_branch(Path(session.base.repository), onto)
    except NoBranch as error:
        raise Invalid({"/onto": sentence_of(error)}) from None
    except WorkspaceError as error:
        raise Refused(sentence_of(error)) from None


def fix_task(review: Session | None) -> str:
    """The task of a delivery that fixes the findings of a standalone review, or redoes work that was sent back. Raises
    Invalid."""
    if isinstance(review, Delivery) and review.sent_back is not None:
        return _again(review, review.sent_back)
    if not isinstance(review, Discussion) or review.kind != "review":
        raise Invalid({"/fixes": Sentence("fixes_no_review")})
    if review.decision is None or review.decision.choice != "apply_fix":
        raise Invalid({"/fixes": Sentence("fixes_undecided")})
    feedback = fix_feedback(review.feedback or {}, review.synthesis or Text())
    return f"Fix what the review found.\n\n{feedback}\n\nWhat was reviewed:\n\n{review.subject.shown()}"


def steps_to_pass_again(fixed: Session | None) -> tuple[ValidationStep, ...]:
    """The validation of work that was sent back: what is done instead of it has to pass the same."""
    return fixed.steps if isinstance(fixed, Delivery) and fixed.sent_back is not None else ()


def _again(delivery: Delivery, sent_back: WorkSentBack) -> str:
    """What the author reads about work that no longer fits its branch."""
    why = "\n".join([sent_back.detail, *(f"- {line}" for line in sent_back.reasons)]).strip()
    parts = [
        f"This task was done once, but the result does not fit {sent_back.onto} as it is now. Do it again from here.",
        f"The task:\n\n{delivery.task}",
        f"Why it was sent back:\n\n{why}",
        f"What was changed the first time:\n\n{delivery.patch.shown()}" if delivery.patch else "",
    ]
    return "\n\n".join(filter(None, parts))


# Redaction: a long text is removed from the log, from the events that quote it, and from the views.


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


async def redact(system: System, digest: str, *, reason: str, actor: str) -> RedactionAnswer:
    """Remove the text, and record that in every session that mentions it. Raises Unknown if there is no such text."""
    text = await asyncio.to_thread(system.store.text, digest)
    if text is None or text == REDACTED:
        raise Unknown(Sentence("text_gone", digest=digest))
    quoting = await asyncio.to_thread(_quoting, system, digest, text)
    for stream, events in quoting.items():
        command = RedactText(digest=digest, reason=reason, events=events)
        await system.writer.do(CommandEnvelope(stream, command, actor, command_id=str(uuid4())))
        system.sessions.forget(stream)
        system.records.forget(stream)
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


def _quoting(system: System, digest: str, text: str) -> dict[str, tuple[RedactedEvent, ...]]:
    """By session, the events that have the text, in their new form; includes sessions that only mention it."""
    quotes: dict[str, tuple[RedactedEvent, ...]] = {}
    needles = (digest.encode(), orjson.dumps(text[:_BEGINNING])[:-1])
    for row in system.store.rows.events():
        if any(needle in row.state for needle in needles):
            state = blanked(row.state, digest)
            event = RedactedEvent(version=row.version, hash=hashlib.sha256(state).hexdigest())
            if state != row.state:
                quotes[row.stream] = (*quotes.get(row.stream, ()), event)
            elif needles[0] in row.state:
                quotes.setdefault(row.stream, ())
    return quotes


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
