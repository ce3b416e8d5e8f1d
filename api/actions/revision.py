"""Changes that a person wants in the result of a session, which goes on with them."""

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Final

from pydantic import Field, StrictInt, StrictStr
from pydantic.alias_generators import to_camel

from adapters.turns.people_commits import own_branch
from adapters.workspace import WorkspaceError
from adapters.workspace.references import branch_in_use
from api.actions.answers import Receipt
from api.actions.bodies import Body, Words
from api.actions.comments import MakeComment, remark
from api.actions.declaration import ActionCall, FormOf, Intent, Tool, action
from domain.session.comments import MOST_COMMENTS, AddComment
from domain.session.record import kind_of
from domain.session.revision_rules import not_revisable
from domain.session.revisions import ReviseSession
from domain.values.base import Invalid, Refused, Text
from domain.values.budget import Iterations, Minutes
from domain.values.sentences import Sentence

CommentId = Annotated[StrictStr, Field(min_length=1, max_length=40, pattern=r"^c[0-9]+$")]


class Revise(Body):
    """What has to change in the result."""

    text: Words | None = Field(default=None, description="what has to change, in a person's words")
    comments: Annotated[list[CommentId | MakeComment], Field(max_length=MOST_COMMENTS)] | None = Field(
        default=None, description="comments by their ids, or new ones; without it, those that are open"
    )
    add_iterations: Iterations | None = Field(
        default=None, description="more iterations of a delivery; 2 where it has stopped"
    )
    add_minutes: Minutes | None = Field(default=None, description="more minutes of a delivery; 15 where it has stopped")
    add_rounds: Annotated[StrictInt, Field(ge=1, le=50)] | None = Field(
        default=None, description="more rounds of an orchestration; as many as at its start where it has stopped"
    )


@action(
    "/api/sessions/{id}/revise",
    scope="decide",
    body=Revise,
    answer=Receipt,
    summary="Request changes to a result",
    description="The same session goes on, on the same branch. One that still runs takes the request up with its next "
    "turn that writes. A finished delivery gets 2 more iterations and 15 more minutes; so does one whose work is "
    "approved but that has none left for the request. 422 without words or open comments; 409 while somebody has the "
    "branch of the result checked out, which could not move forward then.",
    example={"text": "Keep the old option as an alias."},
    status=202,
    form=FormOf(("text",), again=True),
    tools=(Tool("revise", "Request changes to a session's result; it goes on with them."),),
)
async def revise_session(call: ActionCall[Revise]) -> Intent:
    """Have a session go on with what a person wants changed in its result."""
    body = call.body
    _check_amounts(kind_of(call.session), body)
    remarks = await asyncio.to_thread(_remarks, call)
    await asyncio.to_thread(_check_branch, call)
    text, blobs = Text.of(body.text or "")
    command = ReviseSession(
        text=text,
        comments=None if body.comments is None else tuple(each for each in body.comments if isinstance(each, str)),
        remarks=remarks,
        actor=call.actor,
        add_iterations=body.add_iterations,
        add_minutes=body.add_minutes,
        add_rounds=body.add_rounds,
        blobs=blobs,
    )
    return Intent(call.session, command, status=202)


def _remarks(call: ActionCall[Revise]) -> tuple[AddComment, ...]:
    """The new comments, with their lines. Raises Invalid where nothing asks for anything."""
    session, comments = call.system.sessions.get(call.session), call.body.comments
    if session is None or call.receipt() is not None:
        return ()
    if not (call.body.text or comments or (comments is None and session.comments.open)):
        raise Invalid({"/text": Sentence("revision_without_words")})
    remarks = []
    for place, each in enumerate(comments or ()):
        if isinstance(each, str):
            if problem := not_revisable(session, each):
                raise Invalid({f"/comments/{place}": problem})
        elif session.takes_comments:
            try:
                remarks.append(remark(call.system, session, each, actor=call.actor))
            except Invalid as invalid:
                raise Invalid({f"/comments/{place}{at}": why for at, why in invalid.errors.items()}) from None
    return tuple(remarks)


def _check_branch(call: ActionCall[Revise]) -> None:
    """Refuses at once what would only fail at its end: a branch moves forward only while nobody has it checked out, and
    a checkout is the person's. Raises Refused."""
    session = call.system.sessions.get(call.session)
    branch = own_branch(session) if session is not None and call.receipt() is None else None
    if session is None or branch is None or session.base is None or session.base.repository is None:
        return
    problem = None
    with suppress(WorkspaceError):  # of another machine, or gone: what is in the way is said when it is published
        problem = branch_in_use(Path(session.base.repository), branch, "revision_of_checked_out_branch")
    if problem is not None:
        raise Refused(problem)


_AMOUNTS: Final[Mapping[str, tuple[str, ...]]] = {
    "delivery": ("add_iterations", "add_minutes"),
    "orchestration": ("add_rounds",),
}


def _check_amounts(kind: str, body: Revise) -> None:
    """Raises Invalid at each amount that this kind of session does not have."""
    fit = _AMOUNTS.get(kind)
    if fit is None:  # refused as a whole
        return
    amounts = body.model_dump(exclude={"text", "comments"}, exclude_none=True)
    sentence = Sentence("field_of_another_kind", kind=kind, fields=[to_camel(name) for name in fit])
    strange = {f"/{to_camel(name)}": sentence for name in amounts if name not in fit}
    if strange:
        raise Invalid(strange)
