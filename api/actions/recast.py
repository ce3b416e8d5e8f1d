"""The agents and models that are asked in a fork in place of those of its source."""

from collections.abc import Collection, Mapping, Sequence
from typing import get_args

from adapters.agents.scripted import Scenario
from adapters.agents.team import DeliveryRole, Member, Team
from api.actions.start_commands import TALKERS
from domain.discussion.state import Discussion
from domain.orchestration.state import Orchestration
from domain.session.fork_rules import renamed
from domain.session.record import Recorded
from domain.session.state import Session
from domain.session.turns import TurnRequested
from domain.values.base import Invalid
from domain.values.sentences import Sentence


def recasting(
    wanted: Mapping[str, str], wanted_models: Mapping[str, str], source: Session, members: Sequence[Member]
) -> tuple[dict[str, str], dict[str, str]]:
    """The agents by role and the models by agent, each as these members are called. Raises Invalid for those that
    cannot be asked."""
    problems: dict[str, Sentence] = {}
    agents, models = dict[str, str](), dict[str, str]()
    roles = roles_of(source)
    for role, name in wanted.items():
        member = _named(members, name)
        fit = [each.name for each in members if role in each.roles]
        if role not in roles:
            problems[f"/agents/{_escaped(role)}"] = Sentence("not_one_of", choices=list(roles))
        elif member is None or (fit and member.name not in fit):
            names = fit or [each.name for each in members]
            problems[f"/agents/{_escaped(role)}"] = Sentence("not_one_of", choices=names)
        else:
            agents[role] = member.name
    for name, model in wanted_models.items():
        member = _named(members, name)
        if member is None:
            names = [each.name for each in members]
            problems[f"/model/{_escaped(name)}"] = Sentence("not_one_of", choices=names)
        elif not member.takes_models:
            problems[f"/model/{_escaped(name)}"] = Sentence("agent_takes_no_model", name=member.name)
        else:
            models[member.name] = model
    if problems:
        raise Invalid(problems)
    return agents, models


def roles_of(source: Session) -> tuple[str, ...]:
    """The roles in which agents are asked in a session of this kind, and in its reviews and debates."""
    own: tuple[str, ...] = ()
    if isinstance(source, Orchestration):
        own = ("planner", "judge", "assistant", *(employee.role for employee in source.employees))
    elif not isinstance(source, Discussion):
        own = get_args(DeliveryRole)
    return tuple(dict.fromkeys((*own, *TALKERS)))


def moved_requests(
    history: list[Recorded], source: Session, agents: dict[str, str], fork_id: str
) -> tuple[TurnRequested, ...]:
    """The questions that wait for an agent whose role passes to another. Those who work on a subtask keep their name:
    who stands in for them changes."""
    employees = {employee.role for employee in source.employees} if isinstance(source, Orchestration) else set()
    return tuple(
        renamed(event, source=source.id, fork=fork_id)
        for recorded in history
        if isinstance(event := recorded.event, TurnRequested)
        and event.work == "ask"
        and event.turn_id in source.outstanding
        and event.role not in employees
        and agents.get(event.role, event.agent) != source.outstanding[event.turn_id].agent
    )


def members_for(source: Session, team: Team) -> Sequence[Member]:
    """The agents that may be asked in the session's place: the examples never replace a team."""
    return () if team.example and source.crew else team.agents


def scripted_members(source: Session, spoken: Collection[str]) -> Sequence[Member]:
    """The agents of a session with a script of its own, which replaces a team: those of its roles, and those that the
    script has replies for. Each may stand in for any other."""
    employees = [employee.name for employee in source.employees] if isinstance(source, Orchestration) else []
    names: dict[str, str] = {}
    for name in (*employees, *roles_of(source), *spoken):
        names.setdefault(name.casefold(), name)
    return [Member(name=name, roles=(), adapter="scripted", settings=Scenario()) for name in names.values()]


def _named(members: Sequence[Member], name: str) -> Member | None:
    return next((member for member in members if member.name.casefold() == name.casefold()), None)


def _escaped(name: str) -> str:
    """The name as a part of a JSON pointer."""
    return name.replace("~", "~0").replace("/", "~1")
