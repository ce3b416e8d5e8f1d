"""POST /api/policies/lab: recorded discussions judged again by other profiles (`domain/lab`). No agent is called.

It reads the record and changes nothing; under an `Idempotency-Key` it answers with what the record said then.
"""

import asyncio
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Final, Literal

from pydantic import Field, PlainValidator, StrictInt, WithJsonSchema
from starlette.requests import Request
from starlette.responses import Response

from api.actions.bodies import Short
from api.http.idempotency import remember_answers
from api.http.requests import caught_up, raw_body, read, read_object, system
from api.routes.policies.bodies import Name, PolicyBody, ProfileName
from api.routes.spans import SCHEMA as SPAN_END
from api.routes.spans import span
from api.routes.views import answer
from api.system import System
from domain.convergence.profiles import Profile, Thresholds, named
from domain.discussion.lab import LabOutcome, LabTalk, Tally, rescore, talk, tally
from domain.discussion.state import Discussion
from domain.session.record import kind_of
from domain.values.base import Invalid, Unknown, Value
from domain.values.sentences import Sentence
from projections.reports import Filters
from projections.reports.convergence import found_by

MOST: Final = 500
USUAL: Final = 100
MOST_PROFILES: Final = 10
MOST_CHARACTERS: Final = 20_000_000
"""Characters that are read in one experiment, each profile by itself; later discussions are left out."""
KINDS: Final = ("review", "debate")


def _as_given(value: object) -> object:
    return value


# `named` itself says what a profile may be, in one sentence instead of one for each type.
AnyProfile = Annotated[Any, PlainValidator(_as_given, json_schema_input_type=ProfileName | Thresholds)]


When = Annotated[Short, WithJsonSchema(SPAN_END)]


class LabQuery(PolicyBody):
    """Which discussions, newest first. Forks are left out because they share their source's rounds."""

    kind: Literal["review", "debate"] | None = None
    label: Annotated[str, Field(min_length=1, max_length=64)] | None = None
    since: When | None = Field(default=None, alias="from", description="begun at or after this date or instant")
    until: When | None = Field(default=None, alias="to", description="begun before this instant, or until this date")


class LabBody(PolicyBody):
    """Recorded discussions, by id or by a query (all of them where neither is given), and profiles to try on them."""

    profiles: Annotated[list[AnyProfile], Field(min_length=1, max_length=MOST_PROFILES)]
    session_ids: Annotated[list[Name], Field(min_length=1, max_length=MOST)] | None = None
    query: LabQuery | None = None
    limit: Annotated[StrictInt, Field(ge=1, le=MOST)] | None = Field(
        default=None, description=f"at most so many; {USUAL} where there is a query, else as many as are named"
    )


class Tried(Value):
    """A profile, and its name in the outcomes."""

    name: str
    profile: Profile


class RecordedEnd(Value):
    """How the discussion really ended; null where it has not, and where nothing was decided."""

    profile: str
    rounds: int
    stop_reason: str | None
    choice: str | None
    decided_by: Literal["person", "expired", "cancelled"] | None


class LabItem(Value):
    """A discussion: how it ended, and what each profile would have made of it."""

    session_id: str
    kind: Literal["review", "debate"]
    strategy: str
    title: str
    recorded: RecordedEnd
    outcomes: tuple[LabOutcome, ...]


class LabAnswer(Value):
    """`leftOut` counts what was found and is not among the items: past the limit, or too much to read at once."""

    as_of: int = Field(description="the position of the log up to which discussions were looked for")
    profiles: tuple[Tried, ...]
    items: tuple[LabItem, ...]
    totals: tuple[Tally, ...]
    left_out: int


@remember_answers
async def policy_lab(request: Request) -> Response:
    """POST /api/policies/lab: When would other profiles have stopped recorded discussions?"""
    body = read(LabBody, read_object(await raw_body(request)))
    profiles = _profiles(body.profiles)
    inside = system(request)
    head = await asyncio.to_thread(inside.store.head)
    filters = _filters(body, head)
    await caught_up(request, head)
    result = await asyncio.to_thread(_experiment, inside, body, profiles, filters)
    return answer(result)


def _experiment(inside: System, body: LabBody, profiles: Sequence[Tried], filters: Filters) -> LabAnswer:
    ids = list(dict.fromkeys(body.session_ids or ())) or _session_ids(inside, filters)
    limit = body.limit or (MOST if body.session_ids else USUAL)
    talks = list(_bounded(_talks(inside, ids[:limit]), len(profiles)))
    items = tuple(_item(lab_talk, profiles) for lab_talk in talks)
    outcomes = [outcome for item in items for outcome in item.outcomes]
    return LabAnswer(
        as_of=filters.as_of or 0,
        profiles=tuple(profiles),
        items=items,
        totals=tuple(tally(tried.name, outcomes) for tried in profiles),
        left_out=len(ids) - len(items),
    )


def _item(lab_talk: LabTalk, profiles: Sequence[Tried]) -> LabItem:
    return LabItem.model_validate(
        {
            "session_id": lab_talk.session_id,
            "kind": lab_talk.kind,
            "strategy": lab_talk.strategy,
            "title": lab_talk.title,
            "recorded": RecordedEnd(
                profile=lab_talk.profile,
                rounds=len(lab_talk.rounds),
                stop_reason=lab_talk.stop_reason,
                choice=lab_talk.choice,
                decided_by=lab_talk.decided_by,
            ),
            "outcomes": tuple(rescore(lab_talk, tried.profile, tried.name) for tried in profiles),
        }
    )


# -- which discussions ---------------------------------------------------------------------------------------------


def _filters(body: LabBody, head: int) -> Filters:
    if body.query is not None and body.session_ids is not None:
        raise Invalid({"/query": Sentence("query_and_sessions")})
    query = body.query or LabQuery()
    since, until = span(query.since, query.until, "/query")
    return Filters(since=since, until=until, kind=query.kind, label=query.label, as_of=head)


def _session_ids(inside: System, filters: Filters) -> list[str]:
    with inside.reading() as db:
        return found_by(db, filters)


def _talks(inside: System, ids: Sequence[str]) -> Iterator[LabTalk]:
    """Raises Unknown for what is no session, Invalid for one that is no discussion."""
    for place, session_id in enumerate(ids):
        session = inside.sessions.get(session_id) if kind_of(session_id) in KINDS else None
        if isinstance(session, Discussion):
            yield talk(session)
        elif session is None and kind_of(session_id) in KINDS:
            raise Unknown(Sentence("session_not_found", id=session_id))
        else:
            raise Invalid({f"/sessionIds/{place}": Sentence("not_a_discussion")})


def _bounded(talks: Iterator[LabTalk], profiles: int) -> Iterator[LabTalk]:
    left = MOST_CHARACTERS
    for lab_talk in talks:
        left -= profiles * sum(len(entry.content) for entry in lab_talk.rounds)
        if left < 0:
            return
        yield lab_talk


# -- which profiles ------------------------------------------------------------------------------------------------


def _profiles(entries: Sequence[Any]) -> list[Tried]:
    """Named ones by their id, thresholds as `custom@1`; of several with one name the second is `…#2`."""
    trials: list[Tried] = []
    seen: Counter[str] = Counter()
    for place, wanted in enumerate(entries):
        profile = _profile(place, wanted)
        seen[profile.id] += 1
        number = seen[profile.id]
        trials.append(Tried(name=profile.id if number == 1 else f"{profile.id}#{number}", profile=profile))
    return trials


def _profile(place: int, wanted: Any) -> Profile:
    pointer = f"/profiles/{place}"
    if not isinstance(wanted, str | Mapping):
        raise Invalid({pointer: Sentence("not_a_profile")})
    try:
        return named(wanted)
    except Invalid as error:
        errors = {pointer + at.removeprefix("/profile"): detail for at, detail in error.errors.items()}
        raise Invalid(errors) from None
