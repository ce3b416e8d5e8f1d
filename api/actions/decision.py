"""A person's decision of a review or debate."""

import asyncio
from typing import Annotated, Literal

from pydantic import Field, StrictInt, StrictStr

from api.actions.answers import Receipt
from api.actions.bodies import Body, Digest, Reason
from api.actions.comments import CommentText, Line, check_place
from api.actions.declaration import ActionCall, FormOf, Intent, Tool, action
from api.node.session_answers import waiting_child
from api.system import System
from domain.discussion.state import Discussion
from domain.session.children import Decide
from domain.session.comments import LONGEST_PATH
from domain.session.state import Session
from domain.session.team_decisions import DecisionComment
from domain.values.base import Invalid
from domain.values.sentences import Sentence


class Remark(Body):
    """A remark with a decision: on lines of a file, on a file, or on the whole."""

    text: CommentText
    path: Annotated[StrictStr, Field(min_length=1, max_length=LONGEST_PATH)] | None = None
    line: Line | None = Field(default=None, description="the line, from 1; without it the remark is about the file")
    end_line: Line | None = Field(default=None, description="the last line; default: `line`")


class Decision(Body):
    """A person's decision."""

    decision: Literal["apply_fix", "skip", "revise", "accept"]
    rationale: Reason = ""
    version: Annotated[StrictInt, Field(ge=1)] | None = Field(
        default=None,
        description="the version of the review or debate that is answered; rejected if there is a newer one",
    )
    seen: Digest | None = Field(default=None, description="of what is decided on; required where several decide")
    comments: Annotated[list[Remark], Field(max_length=100)] | None = Field(
        default=None, description="remarks that the agents get with it, as yours"
    )


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
    form=FormOf(("decision", "rationale", "seen", "comments")),
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
    session_id, comments = await asyncio.to_thread(_decided, call), _comments(body)
    await asyncio.to_thread(_check_places, call.system, session_id, comments)
    command = Decide(
        choice=body.decision,
        rationale=body.rationale,
        actor=call.actor,
        version=body.version,
        seen=body.seen,
        comments=comments,
    )
    return Intent(session_id, command)


def _comments(body: Decision) -> tuple[DecisionComment, ...]:
    """Raises Invalid for lines of no file, and for a last line before the first."""
    comments = body.comments or []
    for place, each in enumerate(comments):
        if each.line is not None and each.path is None:
            raise Invalid({f"/comments/{place}/line": Sentence("comment_line_without_path")})
        if each.end_line is not None and each.line is None:
            raise Invalid({f"/comments/{place}/endLine": Sentence("comment_end_without_line")})
        if each.end_line is not None and each.line is not None and each.end_line < each.line:
            raise Invalid({f"/comments/{place}/endLine": Sentence("comment_end_before_line", line=each.line)})
    return tuple(DecisionComment(**each.model_dump()) for each in comments)


def _check_places(system: System, session_id: str, comments: tuple[DecisionComment, ...]) -> None:
    """Raises Invalid for a file or a line that the work under review does not have, as far as it is on this machine."""
    session = system.sessions.get(session_id)
    if not isinstance(session, Discussion) or not session.choices:  # the rules refuse it
        return
    parent = system.sessions.get(session.parent) if session.parent else None
    work = parent or session
    for number, each in enumerate(comments):
        if each.path is not None:
            check_place(system, work, each.path, each.line, each.end_line, at=f"/comments/{number}")


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
