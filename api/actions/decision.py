"""A person's decision of a review or debate."""

import asyncio
from typing import Annotated, Literal

from pydantic import Field, StrictInt

from api.actions.answers import Receipt
from api.actions.bodies import Body, Digest, Reason
from api.actions.call import ActionCall, Intent
from api.actions.declaration import FormOf, Tool, action
from api.node.session_answers import waiting_child
from domain.discussion.state import Discussion
from domain.session.children import Decide
from domain.session.state import Session
from domain.values.base import Invalid
from domain.values.sentences import Sentence


class Decision(Body):
    """A person's decision."""

    decision: Literal["apply_fix", "skip", "revise", "accept"]
    rationale: Reason = ""
    version: Annotated[StrictInt, Field(ge=1)] | None = Field(
        default=None,
        description="the version of the review or debate that is answered; rejected if there is a newer one",
    )
    seen: Digest | None = Field(default=None, description="of what is decided on; required where several decide")


@action(
    "/api/sessions/{id}/decision",
    scope="decide",
    body=Decision,
    answer=Receipt,
    summary="Decide a review or a debate",
    description="The id of the review or debate, or of the session that waits for it; `version` is of the "
    "review or debate. Its view lists the `choices`. Only the first decision counts; others are "
    "rejected.",
    example={"decision": "skip", "rationale": "known, and planned for later"},
    form=FormOf(("decision", "rationale", "seen")),
    tools=(
        Tool(
            "decide",
            "Decide a review (apply_fix, skip) or a debate (revise, accept). `seen`: of the item in the inbox.",
        ),
    ),
)
async def decide(call: ActionCall[Decision]) -> Intent:
    """Decide a review or debate, named directly or through the parent that waits for it."""
    body = call.body
    session_id = await asyncio.to_thread(_decided, call)
    command = Decide(
        choice=body.decision, rationale=body.rationale, actor=call.actor, version=body.version, seen=body.seen
    )
    return Intent(session_id, command)


def _decided(call: ActionCall[Decision]) -> str:
    """Returns the session that decides or refuses: the only child that waits for a decision, otherwise the session
    itself.

    The writer handles repeated keys, and parents that have changed since `If-Match`. Raises Invalid.
    """
    load = call.system.sessions.get
    session, child = load(call.session), None
    if session is None:
        return call.session
    if not isinstance(session, Discussion) and call.version in (None, session.version) and call.receipt() is None:
        child = waiting_child(session, load)
    _require_seen(load(child) if child else session, call.body)
    return child or session.id


def _require_seen(session: Session | None, body: Decision) -> None:
    """Raises Invalid: if several people decide, each must say what they have seen."""
    if body.seen is not None or not isinstance(session, Discussion):
        return
    if session.choices and session.decisions and session.decisions.approvers > 1:
        raise Invalid({"/seen": Sentence("decision_without_seen", kind=session.kind)})
