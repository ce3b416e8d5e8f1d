"""A check that those who would do the work are there, before anything of it is recorded."""

import os
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final, NamedTuple

from adapters.agents.announcement import Announcement, announcement_of, parse
from adapters.agents.necessities import READY
from adapters.agents.presets.catalogue import presets
from adapters.agents.team import Team
from api.actions.bodies import Start
from api.actions.projects import unfit_team, untrusted_team
from api.actions.refusals import AgentNotReady, NoTeam
from api.system import System
from domain.delivery.chart import ROLES
from domain.delivery.commands import StartDelivery
from domain.discussion.commands import StartDiscussion
from domain.orchestration.commands import StartOrchestration
from domain.orchestration.decide import is_planned
from domain.orchestration.events import OrchestrationRequest
from domain.session.children import DiscussionBrief
from domain.values.sentences import Sentence

StartCommand = StartDelivery | StartOrchestration | StartDiscussion
_FIRST: Final = {"review": "reviewer", "debate": "critic"}
"""Who speaks first, by the kind of discussion."""


def require_team(system: System, body: Start) -> None:
    """Raises NoTeam where only the scripted example team would answer and it was not asked for."""
    if system.team.example and not system.settings.example and body.scenario is None:
        folder = body.workspace or body.started_in
        untrusted = untrusted_team(Path(folder), system.settings) if folder else None
        raise NoTeam(
            installed_programs(), untrusted=untrusted, unfit=None if untrusted is None else unfit_team(untrusted)
        )


def installed_programs() -> tuple[str, ...]:
    """The programs of all presets that are on PATH."""
    path = os.environ.get("PATH")
    return tuple(preset.program for preset in presets() if shutil.which(preset.program, path=path))


class AgentRoster(NamedTuple):
    """Names of agents: those that are certain to be asked, and those that may be."""

    certain: tuple[str, ...] = ()
    perhaps: tuple[str, ...] = ()


def require_agents(system: System, roster: AgentRoster, *, anyway: bool) -> tuple[Sentence, ...]:
    """Returns warnings about agents that may fail. Raises AgentNotReady for agents that are certain to be asked and
    known to fail wherever turns run, unless the caller wants it `anyway`."""
    places = _places(system)
    failing = {name: lack for name in roster.certain if (lack := _lack(places, name, all))}
    if failing and not anyway:
        raise AgentNotReady(failing)
    names = (*roster.certain, *roster.perhaps)
    return tuple(
        Sentence("agent_perhaps_not_ready", agent=name, problem=lack)
        for name in names
        if (lack := _lack(places, name, any))
    )


def roster_of(command: StartCommand, team: Team) -> AgentRoster:
    """The agents that the command will ask; none where a scenario or the example team answers."""
    match command:
        case StartDelivery():
            crew, scripted = command.crew, command.scenario
            certain = [ROLES[phase] for phase in command.phases]
            perhaps = [*_FIRST.values(), "coder", "synthesizer"] if command.review else []
            fallback = command.retry.fallback
        case StartOrchestration(opening=opening):
            crew, scripted = opening.crew, opening.scenario
            certain, perhaps = _of_a_run(opening)
            fallback = opening.retry.fallback
        case StartDiscussion(topic=topic):
            crew, scripted = topic.crew, topic.scenario
            certain, perhaps = _of_a_talk(topic)
            fallback = topic.retry.fallback
    if scripted is not None or team.example:
        return AgentRoster()
    named = {role: member.name for role, name in crew.items() if (member := team.named(name)) is not None}
    sure = tuple(dict.fromkeys(named[role] for role in certain if role in named))
    later = (*(named[role] for role in perhaps if role in named), *fallback)
    return AgentRoster(sure, tuple(name for name in dict.fromkeys(later) if name not in sure))


def _of_a_run(opening: OrchestrationRequest) -> tuple[list[str], list[str]]:
    """The roles that a request asks for sure, and perhaps: its plan decides which employees work."""
    if not is_planned(opening):
        return ["assistant"], []
    employees = [employee.name for employee in opening.employees]
    return ["planner", "judge", *(employees if len(employees) == 1 else ())], employees


def _of_a_talk(topic: DiscussionBrief) -> tuple[list[str], list[str]]:
    """The one who speaks first is asked for sure; the others if there is something to answer."""
    kind = "review" if topic.strategy in ("review", "red-team") else "debate"
    return [_FIRST[kind]], ["coder", "synthesizer"] if kind == "review" else ["planner", "synthesizer"]


def _places(system: System) -> list[Announcement | None]:
    """Returns what is known of the agents wherever turns run; None for a process that says nothing."""
    elsewhere = [parse(node.agents) for node in system.node.others() if node.agents or node.role == "worker"]
    return [announcement_of(system.team), *elsewhere] if system.works else elsewhere


def _lack(places: Iterable[Announcement | None], name: str, count: Callable[[Iterable[str]], bool]) -> Sentence | None:
    """Returns what the agent lacks, in all places or in any of them as `count` says; None if that is nothing. A process
    of another team runs none of its turns, so it does not count."""
    lacks = [READY if place is None else place[name] for place in places if place is None or name in place]
    return next((lack for lack in lacks if isinstance(lack, Sentence)), None) if lacks and count(lacks) else None
