"""`/lab`: judge recorded discussions again with other thresholds. No agent is asked, nothing is written."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from starlette.requests import Request
from starlette.responses import Response

from api.http.problems import of_field
from api.http.requests import caught_up, only, system
from api.system import System
from api.web.plain_text import cut
from api.web.renderer import explicit, language_of, page, render
from api.web.session.discussion import ScoreChart, chart
from domain.convergence.assessment import Metrics, course
from domain.convergence.profiles import Profile
from domain.discussion.lab import LabOutcome, LabTalk, rescore, talk
from domain.discussion.state import Discussion
from domain.session.record import kind_of
from domain.values.base import Unknown
from domain.values.sentences import Sentence
from projections.record.session import view as session_view
from projections.reports import Filters
from projections.reports.convergence import found_by

RULES: Final = {"agreement": "agreement", "stability": "stability", "stall": "stall", "weight": "agreement_weight"}
"""Sliders by name: the field of the profile that each of them moves."""
LOOKED, LISTED = 200, 40
"""Discussions among which those of the profile are looked for, and those that are judged again."""
MOST_CHARACTERS: Final = 2_000_000
"""Maximum number of discussions that are judged again."""


async def show(request: Request) -> Response:
    """GET /lab: one discussion with its score, and all of its profile"""
    only(request, "session", *RULES, "lang")
    say, inside = language_of(request), system(request)
    await caught_up(request, await asyncio.to_thread(inside.store.head))
    wanted = {name: _percent(request, name) for name in RULES}

    def build() -> str:
        ids = _choices(inside)
        session = _chosen(inside, request.query_params.get("session", ""), ids)
        result = _judged(inside, session, ids, wanted) if session else None
        choices = [(name, title(one)) for name in ids[:LISTED] if (one := _discussion(inside, name))]
        return render(request, say, "lab.html", found=result, known=choices, language=explicit(request) or "")

    return page(await asyncio.to_thread(build))


def _percent(request: Request, name: str) -> float | None:
    """A slider's position from 0 to 1; None if it was not moved."""
    text = request.query_params.get(name, "")
    if not text:
        return None
    if not (text.isascii() and text.isdecimal() and int(text[:4]) <= 100):
        raise of_field(name, Sentence("not_a_percentage"))
    return int(text) / 100


def _choices(inside: System) -> list[str]:
    with inside.reading() as db:
        return found_by(db, Filters(as_of=inside.follower.position))[:LOOKED]


def _discussion(inside: System, session_id: str) -> Discussion | None:
    session = inside.sessions.get(session_id) if kind_of(session_id) in ("review", "debate") else None
    return session if isinstance(session, Discussion) else None


def _chosen(inside: System, name: str, ids: list[str]) -> Discussion | None:
    """The named one, otherwise the newest with rounds. Raises Unknown."""
    if name:
        session = _discussion(inside, name)
        if session is None:
            raise Unknown(Sentence("session_not_found", id=name))
        return session
    candidates = (_discussion(inside, session_id) for session_id in ids)
    return next((session for session in candidates if session is not None and session.rounds), None)


# -- what is shown -----------------------------------------------------------------------------------------------------


class LabRule(NamedTuple):
    """A slider in percent: as it is now, and as it was recorded."""

    name: str
    was: int | None
    now: int


class RecordedStop(NamedTuple):
    reason: str
    round: int
    score: float | None
    choice: str


class LabEnd(NamedTuple):
    """`against` says whether it would have ended earlier, later or at the same point; `overruled` that the person
    decided against the last judgement up to there."""

    reason: str
    round: int | None
    rounds: int
    against: str
    overruled: bool


class LabRow(NamedTuple):
    id: str
    title: str
    recorded: str
    outcome: LabEnd


class LabShown(NamedTuple):
    """`stop` is where on the drawing it would end, from 0 to 1."""

    id: str
    kind: str
    title: str
    profile: Profile
    chart: ScoreChart
    stop: float | None
    recorded: RecordedStop
    outcome: LabEnd
    score: float | None
    rules: Sequence[LabRule]
    others: Sequence[LabRow]


def _judged(inside: System, session: Discussion, ids: list[str], wanted: Mapping[str, float | None]) -> LabShown:
    own = session.profile
    changes = {RULES[name]: value for name, value in wanted.items() if value is not None}
    profile = own.model_copy(update={"name": "custom", **changes})
    lab_talk = talk(session)
    outcome, metrics = rescore(lab_talk, profile), course(lab_talk.rounds, profile)
    stop = outcome.round
    return LabShown(
        id=session.id,
        kind=session.kind,
        title=title(session),
        profile=profile,
        chart=chart(session.rounds, metrics),
        stop=(stop - 1) / max(1, len(metrics) - 1) if stop and len(metrics) > 1 else 0.5 if stop else None,
        recorded=_recorded(lab_talk, course(lab_talk.rounds, own)),
        outcome=_ended(lab_talk, outcome),
        score=metrics[stop - 1].overall_score if stop else None,
        rules=[_rule(name, getattr(own, field), getattr(profile, field)) for name, field in RULES.items()],
        others=[
            LabRow(other.session_id, name, other.stop_reason or "", _ended(other, rescore(other, profile)))
            for name, other in _of_profile(inside, ids, own)
        ],
    )


def _rule(name: str, was: float | None, now: float | None) -> LabRule:
    return LabRule(name, None if was is None else round(was * 100), round((now or 0) * 100))


def title(session: Discussion) -> str:
    return cut(session_view(session).title or session.id, 80)


def _recorded(lab_talk: LabTalk, metrics: Sequence[Metrics]) -> RecordedStop:
    score = metrics[-1].overall_score if metrics else None
    return RecordedStop(lab_talk.stop_reason or "", len(lab_talk.rounds), score, lab_talk.choice or "")


def _ended(lab_talk: LabTalk, outcome: LabOutcome) -> LabEnd:
    return LabEnd(outcome.reason, outcome.round, len(lab_talk.rounds), outcome.against, bool(outcome.overruled))


def _of_profile(inside: System, ids: list[str], own: Profile) -> Iterator[tuple[str, LabTalk]]:
    """The newest discussions that were judged with the same profile, up to the limit."""
    left, count = MOST_CHARACTERS, 0
    for session_id in ids:
        session = _discussion(inside, session_id)
        if session is None or session.profile != own or not session.rounds:
            continue
        lab_talk = talk(session)
        left, count = left - sum(len(entry.content) for entry in lab_talk.rounds), count + 1
        if left < 0 or count > LISTED:
            return
        yield title(session), lab_talk
