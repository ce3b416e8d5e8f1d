"""A person's answer to what agents ask for: to use a tool, or to change files outside the scope."""

from typing import Annotated, Literal

from pydantic import Field, StrictBool

from api.actions.answers import Receipt
from api.actions.bodies import Body, Short
from api.actions.declaration import ActionCall, FormOf, Intent, Tool, action
from domain.delivery.commands import DecideScope
from domain.session.permissions import (
    DecidePermission,
)


class AnswerPermission(Body):
    """A person's answer to an agent that waits for permission."""

    request_id: Annotated[str, Field(min_length=1, max_length=500)]
    decision: Literal["allow", "deny"]
    remember: StrictBool = Field(
        default=False, description="also answer the same tool and title of the same agent for the rest of the session"
    )


class ScopeAnswer(Body):
    """Whether changes outside the scope may stay."""

    request_id: Short = Field(description="the request that is answered; `scopeRequest` of the session has it")
    decision: Literal["allow", "deny"]


@action(
    "/api/sessions/{id}/permission",
    scope="decide",
    body=AnswerPermission,
    answer=Receipt,
    summary="Allow or deny what an agent asks for",
    description="An agent waits for permission to use a tool; `requestId` is that of `turn.permission_requested`. "
    "Only the first answer counts; others are rejected.",
    example={"requestId": "delivery-0192.t2.p9", "decision": "allow"},
    form=FormOf(bound=False),
    tools=(Tool("answer_permission", "Allow or deny what an agent asks for."),),
)
async def answer_permission(call: ActionCall[AnswerPermission]) -> Intent:
    """Answer an agent that waits for permission to use a tool."""
    return Intent(call.session, DecidePermission(**call.body.model_dump(), by=call.actor))


@action(
    "/api/sessions/{id}/scope",
    scope="decide",
    body=ScopeAnswer,
    answer=Receipt,
    summary="Allow or deny changes outside the scope",
    description='For deliveries in a repository with `[scope] outside = "ask"`. Allowed paths may be changed '
    "from then on; the developer has to undo changes to denied paths in another iteration. The wait"
    " uses no budget.",
    example={"requestId": "delivery-7f3k2m9qx4.s1", "decision": "allow"},
    form=FormOf(),
    tools=(
        Tool(
            "answer_scope",
            "Allow or deny changes outside the scope of the repository (`scopeRequest` of the session).",
        ),
    ),
)
async def decide_scope(call: ActionCall[ScopeAnswer]) -> Intent:
    """Allow or deny changes outside the scope of a delivery."""
    command = DecideScope(request_id=call.body.request_id, decision=call.body.decision, actor=call.actor)
    return Intent(call.session, command)
