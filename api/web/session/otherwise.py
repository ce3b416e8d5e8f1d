"""`/sessions/{id}/fork`: try it differently. Where a fork begins, what is different in it, and what it costs."""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from adapters.store.texts import whole
from api.actions.recast import members_for
from api.system import System
from api.web.model import money
from api.web.plain_text import cut
from api.web.session.answer_forms import AnswerForm, prefilled
from domain.convergence.profiles import PROFILES
from domain.discussion.state import Discussion
from domain.session.record import Recorded
from domain.session.state import Session
from domain.session.turns import TurnAnswered, TurnRequested, is_agent_turn
from domain.values.base import HansardError
from domain.values.words import Words
from projections.record.cuts import cuts
from projections.views.past import Cut

CHOICES: Final = {"review": ("apply_fix", "skip"), "debate": ("accept", "revise")}
_MORE: Final = {"delivery": ("addIterations", 20), "orchestration": ("addRounds", 50)}
_READ: Final = 20_000
_TITLE: Final = 120
_LISTED: Final = 200
ROLES: Final = 10
"""So many roles can get another agent on one form."""


class RoleModel(NamedTuple):
    """An agent that was asked from a version on, and with which model."""

    role: str
    agent: str
    model: str
    is_first: bool = True
    """True if no role before it has the same agent: a model is chosen for an agent, once."""


class ForkPlace(NamedTuple):
    """A cut in words; `recorded` is the beginning of what was answered there."""

    version: int
    words: str
    recorded: str
    chosen: bool


class ForkForm(NamedTuple):
    """A fork at version `at`; `event` is the one that was named. `asks` is the question that can be answered
    otherwise, `others` those that are open besides; `budget` is the field that gives more, and the most. `members` are
    the agents that have a role; `cost` and `turns` are those of what would be done again."""

    at: int
    event: int | None
    is_start: bool
    exact: bool
    places: Sequence[ForkPlace]
    all: Sequence[ForkPlace]
    asks: Cut | None
    others: Sequence[Cut]
    answer: AnswerForm | None
    decides: Sequence[str]
    budget: tuple[str, int] | None
    profiles: Sequence[str]
    profile: str
    roles: Sequence[RoleModel]
    members: Mapping[str, Sequence[str]]
    cost: str
    turns: int
    title: str


def otherwise(inside: System, now: Session, at: int | None, turn_id: str, say: Words) -> ForkForm:
    """Everything that the form shows for a fork at the cut that belongs to this event."""
    history = inside.store.history(now.id)
    every = list(cuts(history))
    place = _chosen(every, at)
    open_there = [row for row in every if row.version == place.version and row.asks]
    one = next((row for row in open_there if row.turn_id == turn_id), open_there[0] if open_there else None)
    later = [recorded.event for recorded in history if recorded.version > place.version]
    paid = [event for event in later if isinstance(event, TurnAnswered) and is_agent_turn(event)]
    costs = [event.usage.cost_micros for event in paid if event.usage.cost_micros is not None]
    return ForkForm(
        at=place.version,
        event=at,
        is_start=place.version == _named(every)[0].version,
        exact=at is None or at == place.version,
        places=_places(every, place, say),
        all=[_place(row, say, chosen=False) for row in _named(every)[-_LISTED:]],
        asks=one,
        others=[row for row in open_there if row is not one],
        answer=_answer(inside, history, one) if one else None,
        decides=_decides(inside, now, place),
        budget=_MORE.get(now.kind),
        profiles=tuple(PROFILES) if isinstance(now, Discussion) else (),
        profile=now.profile.name if isinstance(now, Discussion) else "",
        roles=_roles_from(history, place.version)[:ROLES],
        members={row.role: _members(inside, now, row) for row in _roles_from(history, place.version)},
        cost=money(sum(costs)) if sum(costs) else "",
        turns=len(paid),
        title=cut(now.title or now.id, _TITLE),
    )


def _named(every: Sequence[Cut]) -> list[Cut]:
    """The cuts where something can be different: one for each question, where it is first open."""
    last = every[-1].version if every else 0
    rows = [row for row in every if row.asks or row.needs or row.version == last]
    first: dict[tuple[str | None, int | None], Cut] = {}
    for row in rows:
        first.setdefault((row.turn_id, None if row.turn_id else row.version), row)
    return list({row.version: row for row in reversed(first.values())}.values())[::-1]


def _chosen(every: Sequence[Cut], at: int | None) -> Cut:
    """The cut at this version, else the last one before it; the first one where there is none."""
    named = _named(every)
    exact = next((row for row in every if row.version == at), None)
    if exact is not None and (exact.asks or exact.needs or exact.version == every[-1].version):
        return exact
    before = [row for row in named if at is not None and row.version < at]
    return before[-1] if before else named[0]


def _places(every: Sequence[Cut], place: Cut, say: Words) -> list[ForkPlace]:
    """The beginning, the cut that is chosen, those beside it, and the end."""
    named = _named(every)
    if place not in named:  # a question that is asked once more: the cut that was chosen stands for its first one
        named = sorted([*(row for row in named if row.turn_id != place.turn_id), place], key=lambda row: row.version)
    here = max(number for number, row in enumerate(named) if row.version <= place.version)
    wanted = {0, here - 1, here, here + 1, len(named) - 1}
    return [_place(row, say, chosen=number == here) for number, row in enumerate(named) if number in wanted]


def _place(row: Cut, say: Words, *, chosen: bool) -> ForkPlace:
    if row.asks:
        words = say.fill("fork_before_answer", {"who": row.asks})
    elif row.needs:
        words = say("fork_before_decision")
    else:
        words = say("fork_at_the_end")
    prose = (row.recorded or "").partition("```")[0].partition("{")[0]  # what is written for programs is not shown
    return ForkPlace(row.version, words, cut(" ".join(prose.split()), 90), chosen)


def _answer(inside: System, history: Sequence[Recorded], row: Cut) -> AnswerForm:
    """Returns what was answered to the question, and the form for another answer."""
    events = [recorded.event for recorded in history]
    [request] = [event for event in events if isinstance(event, TurnRequested) and event.turn_id == row.turn_id]
    answered = [event for event in events if isinstance(event, TurnAnswered) and event.turn_id == row.turn_id]
    try:
        text = whole(inside.store, answered[-1].reply) if answered else ""
    except HansardError:
        text = row.recorded or ""
    return prefilled(request.reads, text[:_READ], judged=request.expects)


def _decides(inside: System, now: Session, place: Cut) -> tuple[str, ...]:
    """The decisions that a fork at that version can be given."""
    if isinstance(now, Discussion):
        then = inside.sessions.get(now.id, place.version)
        return CHOICES.get(now.kind, ()) if isinstance(then, Discussion) and then.choices else ()
    if not place.needs:
        return ()
    then = inside.sessions.get(now.id, place.version)
    children = [inside.sessions.get(child) for child in then.open_children] if then else []
    kinds = {child.kind for child in children if isinstance(child, Discussion)}
    return CHOICES.get(kinds.pop(), ()) if len(kinds) == 1 else ()


def _roles_from(history: Sequence[Recorded], version: int) -> list[RoleModel]:
    """The agents that are asked from that version on, each role once, with the model that answered last."""
    models: dict[str, str] = {}
    settled: dict[str, int] = {}
    for recorded in history:
        event = recorded.event
        if isinstance(event, TurnAnswered):
            settled[event.turn_id] = recorded.version
            models[event.agent] = event.model or models.get(event.agent, "")
    roles: dict[str, RoleModel] = {}
    for recorded in history:
        event = recorded.event
        if not isinstance(event, TurnRequested) or event.work != "ask":
            continue
        if settled.get(event.turn_id, version + 1) > version:
            agents = {row.agent for row in roles.values()}
            row = RoleModel(event.role, event.agent, models.get(event.agent, ""), event.agent not in agents)
            roles.setdefault(event.role, row)
    return list(roles.values())


def _members(inside: System, now: Session, row: RoleModel) -> list[str]:
    """The agents of the team that have the role."""
    if now.scenario is not None:
        return []
    members = members_for(now, inside.team)
    fit = [member.name for member in members if row.role in member.roles]
    return fit or [member.name for member in members]
