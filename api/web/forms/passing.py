"""A form performs the same actions as the API, through the JSON that it represents: one parser, one rule, one
answer."""

import hashlib
from collections.abc import Mapping
from typing import Any, NamedTuple

import orjson
from starlette.requests import Request

from api.http.commands import Action, perform
from api.http.idempotency import ApiCall
from api.http.problems import Problem, of, problem
from api.http.requests import system
from api.web.rendering import language_of
from api.web.sentences import told_in
from domain.values.base import HansardError
from domain.values.sentences import Sentence


class FormOutcome(NamedTuple):
    """The endpoint's answer: a receipt, or a problem in the reader's language."""

    status: int
    told: dict[str, Any]
    replayed: bool

    @property
    def done(self) -> bool:
        return self.status < 300


def key_of(key: str, *parts: object) -> str:
    """The idempotency key for this content: the same form sent twice is one command, a changed form another one."""
    return f"form-{hashlib.sha256(orjson.dumps([key, *parts])).hexdigest()}"


async def hand_over(
    request: Request,
    action: Action,
    path: str,
    body: Mapping[str, Any],
    *,
    key: str,
    session: str = "",
    version: int | None = None,
) -> FormOutcome:
    """Perform an action for the sender of the form, like the API at this path."""
    inside, raw = system(request), orjson.dumps(body)
    call = ApiCall(
        system=inside,
        actor=request.state.actor,
        path=path,
        raw=raw,
        key=key,
        if_match=None if version is None else f'"{version}"',
        session=session,
        is_admin=request.state.scope == "admin",
    )
    try:
        if len(raw) > inside.settings.max_body_bytes:
            raise Problem(413, Sentence("too_large", what="body", number=inside.settings.max_body_bytes))
        answer = await perform(call, action)
    except HansardError as error:
        answer = problem(of(error))
    replayed = answer.headers.get("idempotency-replayed") == "true"
    told = told_in(language_of(request), orjson.loads(bytes(answer.body)))
    return FormOutcome(answer.status_code, told, replayed)
