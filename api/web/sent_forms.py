"""A form performs the same actions as the API: one body, one rule, one answer. A refused form keeps what was typed and
what was wrong with it, for the page that is shown again."""

import asyncio
import hashlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

import orjson
from starlette.requests import Request

from adapters.writer.answers import fingerprint
from api.actions.declaration import Action, ActionCall
from api.http.pipeline import filled, perform
from api.http.problems import Problem, of, problem
from api.http.requests import system
from api.system import System
from api.web.model import owner
from api.web.renderer import language_of
from api.web.sentences import told_in
from domain.discussion.state import Discussion
from domain.values.base import HansardError
from domain.values.json import checked
from domain.values.sentences import Sentence
from domain.values.words import Words


class FormOutcome(NamedTuple):
    """The endpoint's answer: a receipt, or a problem in the reader's language."""

    status: int
    answer: dict[str, Any]
    replayed: bool

    @property
    def done(self) -> bool:
        return self.status < 300


def key_of(key: str, *parts: object) -> str:
    """The idempotency key for this content: the same form sent twice is one command, a changed form another one."""
    return f"form-{hashlib.sha256(orjson.dumps([key, *parts])).hexdigest()}"


async def hand_over(
    request: Request,
    action: Action[Any],
    body: dict[str, Any],
    *,
    key: str,
    session: str = "",
    part: str = "",
    version: int | None = None,
) -> FormOutcome:
    """Perform an action for the sender of the form."""
    inside, raw = system(request), orjson.dumps(body)
    call = ActionCall(
        system=inside,
        actor=request.state.actor,
        scope=request.state.scope,
        body=None,
        session=session,
        part=part,
        version=version,
        key=key,
        fingerprint=fingerprint(b"FORM", action.path.encode(), raw),
    )
    try:
        if len(raw) > inside.settings.max_body_bytes:
            raise Problem(413, Sentence("too_large", what="body", number=inside.settings.max_body_bytes))
        answer = await perform(action, call, lambda: filled(action, call, checked(body)))
    except HansardError as error:
        answer = problem(of(error))
    replayed = answer.headers.get("idempotency-replayed") == "true"
    say = language_of(request)
    wire = told_in(say, orjson.loads(bytes(answer.body)))
    if answer.status_code == 412 and session:
        wire["meanwhile"] = await asyncio.to_thread(_meanwhile, inside, session, say)
    return FormOutcome(answer.status_code, wire, replayed)


@dataclass(frozen=True, slots=True)
class Sent:
    """`errors` are sentences by field, `words` a message about the whole, `part` what of the session it was about, and
    with `key` the same form may be sent again: the server may have succeeded unheard. Empty without a submitted form.
    """

    verb: str = ""
    session: str = ""
    values: Mapping[str, str] = field(default_factory=dict)
    errors: Mapping[str, str] = field(default_factory=dict)
    words: str = ""
    status: int = 200
    key: str = ""
    part: str = ""

    def to(self, verb: str, session: str) -> bool:
        """True if it is this form that was sent."""
        return (verb, session) == (self.verb, self.session)

    def typed(self, verb: str, session: str, name: str) -> str:
        return self.values.get(name, "") if self.to(verb, session) else ""

    def error(self, verb: str, session: str, name: str) -> str:
        return self.errors.get(name, "") if self.to(verb, session) else ""


NOTHING: Final = Sent()


def placed(problem: Mapping[str, Any], names: Collection[str]) -> tuple[dict[str, str], str]:
    """Sentences by field, with `/filePaths/1` at the field `filePaths`, counted from 1; and those about no field."""
    at: dict[str, list[str]] = {}
    elsewhere = []
    for error in problem.get("errors", ()):
        name, rest = _place(error["pointer"], names)
        before = f"{' '.join(str(int(part) + 1) if part.isdecimal() else part for part in rest)}: " if rest else ""
        if name:
            at.setdefault(name, []).append(before + error["detail"])
        else:
            elsewhere.append(error["detail"])
    return {name: "; ".join(messages) for name, messages in at.items()}, "; ".join(elsewhere)


def told_of(say: Words, outcome: FormOutcome, elsewhere: str, marked: str) -> str:
    """The message about the whole; `marked` if every error is shown at its field."""
    answer = outcome.answer
    match outcome.status:
        case 412:
            return answer.get("meanwhile") or say.of("live", "stale")
        case 409:
            return f"{say('form.refused')} {answer['detail']}"
        case _ if answer.get("errors"):
            return elsewhere or marked
        case _:
            return str(answer["detail"])


def _meanwhile(inside: System, session_id: str, say: Words) -> str:
    """The person who already decided what the sender wanted to decide; empty if no one has."""
    session = inside.sessions.get(session_id)
    decision = session.decision if isinstance(session, Discussion) else None
    if decision is None or decision.expired:
        return ""
    who, choice = owner(decision.actor) or decision.actor, say.of("choice", decision.choice)
    return say.fill("decided_meanwhile", {"who": who, "choice": choice})


def _place(pointer: str, names: Collection[str]) -> tuple[str, list[str]]:
    parts = pointer.split("/")[1:]
    for length in range(len(parts), 0, -1):
        if ".".join(parts[:length]) in names:
            return ".".join(parts[:length]), parts[length:]
    return "", parts
