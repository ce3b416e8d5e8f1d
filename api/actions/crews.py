"""Who takes part in a session: its employees, and who has which role, by the names of the team."""

from collections.abc import Iterable

from adapters.agents.team import Team
from api.actions.bodies import Conversation
from domain.orchestration.events import Employee
from domain.values.base import Invalid
from domain.values.sentences import Sentence
from domain.values.words import folded

TALKERS = ("reviewer", "coder", "critic", "planner", "synthesizer")


def employees_of(body: Conversation, team: Team) -> tuple[Employee, ...]:
    if body.employees is None:
        return tuple(Employee(name=name, role=role) for name, role in team.employees())
    names = [folded(employee.name) for employee in body.employees]
    twins = {
        f"/employees/{place}/name": Sentence("employee_name_taken")
        for place, name in enumerate(names)
        if name in names[:place]
    }
    if twins:
        raise Invalid(twins)
    return tuple(Employee(name=employee.name, role=employee.role.strip().lower()) for employee in body.employees)


def _crew(team: Team, roles: Iterable[str]) -> dict[str, str]:
    """Who takes which role: the team's own names, recorded with the session."""
    members = {role: team.agent_for(role) for role in roles}
    return {role: member.name for role, member in members.items() if member is not None}


def stand_ins(team: Team, employees: Iterable[Employee]) -> dict[str, str]:
    """Who is asked for each employee: a request may call them as it likes."""
    members = {employee.name: team.member_for(employee.name, employee.role, {}) for employee in employees}
    return {name: member.name for name, member in members.items() if member is not None}


def everybody(team: Team, *roles: str) -> dict[str, str]:
    """Who has these roles, and who reviews and debates: the first agent if none does (S2: the main model)."""
    talkers = [role for role in TALKERS if role not in roles]
    return dict.fromkeys(talkers, team.agents[0].name) | _crew(team, (*talkers, *roles))
