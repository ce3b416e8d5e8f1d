"""Tells in the form, before a session starts, where it would begin, which changes stay out, whether the programs are
there, and what similar sessions took. Nothing is started or changed, and git is only given a moment."""

import os
import shutil
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, Literal, NamedTuple

from adapters.agents.necessities import necessity
from adapters.agents.team import Member, Team
from adapters.fence.choice import available
from adapters.processes.environment import clean_environment
from adapters.project import Project
from adapters.workspace import WorkspaceError
from adapters.workspace.checkout import StartPoint, is_committed, start_point
from api.actions.projects import read_project, root_of, trust_of, within_roots, workspace_of
from api.actions.start_commands import TALKERS, steps_of
from api.system import System
from api.web.model import money
from api.web.plain_text import cut
from api.web.start_form import Values
from domain.delivery.chart import ROLES
from domain.session.validation import ValidationStep
from domain.values.base import Invalid
from domain.values.sentences import Sentence, sentence_of
from projections.sessions.similar import SimilarRuns, similar_runs

Place = Literal["new", "repository", "bare", "empty", "folder", "unusable"]
NAMED: Final = 4
"""Uncommitted files that are named."""
COMMANDS, COMMAND, NAME = 10, 200, 120
MINUTE_MS: Final = 60_000
_TALKS: Final = {"review": ("reviewer", "coder", "synthesizer"), "debate": ("critic", "planner", "synthesizer")}


class CommandCheck(NamedTuple):
    """`state`: here, missing, hidden (a program of the checkout, which the fence hides), later (not committed: the
    set-up or the task may make it)."""

    words: str
    program: str
    state: str


class AgentCheck(NamedTuple):
    """An agent with what it does; `state`: here, missing, login, or "" for one that starts no program."""

    agent: str
    roles: tuple[str, ...]
    needs: str
    state: str


class Before(NamedTuple):
    """`base` is the branch and the commit. `uncommitted` is None if it could not be found out; `where` is the folder
    that `hansard trust` needs."""

    place: Place
    folder: str = ""
    base: str = ""
    uncommitted: int | None = 0
    names: tuple[str, ...] = ()
    problem: str = ""
    untrusted: tuple[str, ...] = ()
    where: str = ""
    own: bool = False
    commands: tuple[CommandCheck, ...] = ()
    wrong: str = ""
    agents: tuple[AgentCheck, ...] = ()
    example: bool = False
    similar: Mapping[str, Any] | None = None
    settings: Mapping[str, str] = MappingProxyType({})


def before(inside: System, kind: str, values: Values, *, is_admin: bool) -> Before:
    """For what the fields hold, and somebody who may start sessions. Reads files and asks git: in a thread."""
    named = values.get("workspace", "").strip() or None
    if named and not is_admin and not inside.settings.root_folders:
        return Before("unusable", problem=Sentence("roots_needed"))
    try:
        folder = workspace_of(named, inside.settings, measured=False)
        point = start_point(folder) if folder else None
        project = read_project(folder) if folder else Project()
    except Invalid as error:
        return Before("unusable", problem=next(iter(error.errors.values())))
    except WorkspaceError as error:
        return Before("unusable", problem=sentence_of(error))
    facts = _where(inside, folder, point, project)
    if kind == "delivery":
        facts = _validated(inside, facts, values, folder, point, project)
    is_scripted = bool(values.get("scenario", "").strip())
    with inside.reading() as db:
        similar = similar_runs(db, kind, named)
    return facts._replace(
        agents=() if inside.team.example or is_scripted else tuple(_agents(inside.team, kind, values)),
        example=inside.team.example,
        similar=similar and _about(similar),
        settings=_settings(project) if kind == "delivery" else {},
    )


# -- where -------------------------------------------------------------------------------------------------------------


def _where(inside: System, folder: Path | None, point: StartPoint | None, project: Project) -> Before:
    if folder is None:
        return Before("new")
    root = root_of(folder)
    trusts = trust_of(inside.settings).covers(root, project)
    risky = () if trusts else tuple(name for name, value in project.risky.items() if value)
    about = Before("folder", folder=cut(folder.name, NAME), untrusted=risky, where=str(folder))
    if point is None:
        return about
    paths = None if point.uncommitted is None else _visible(inside, folder, point)
    return about._replace(
        place="bare" if point.bare else "repository" if point.commit else "empty",
        base=f"{cut(point.branch, NAME)}@{point.commit[:7]}" if point.branch and point.commit else _short(point),
        uncommitted=None if paths is None else len(paths),
        names=tuple(cut(path, NAME) for path in (paths or ())[:NAMED]),
    )


def _short(point: StartPoint) -> str:
    return (point.commit or "")[:7]


def _visible(inside: System, folder: Path, point: StartPoint) -> tuple[str, ...]:
    """Of a repository that is larger than the allowed folder, only what is in that folder."""
    paths = point.uncommitted or ()
    try:
        within_roots(point.top, inside.settings)
    except Invalid:
        inner = folder.resolve().relative_to(point.top).as_posix()
        return tuple(path for path in paths if path.startswith(f"{inner}/"))
    return paths


# -- validation --------------------------------------------------------------------------------------------------------


def _validated(
    inside: System, facts: Before, values: Values, folder: Path | None, point: StartPoint | None, project: Project
) -> Before:
    lines = [line for line in map(str.strip, values.get("validationCommands", "").split("\n")) if line]
    test = values.get("testCommand", "").strip() or None
    if not lines and not test and not project.validation.commands:
        return facts  # the form says at the field that one is missing
    try:
        steps = steps_of(test, lines, str(folder) if folder else None, inside.settings, project)
    except Invalid as error:
        return facts._replace(wrong=next(iter(error.errors.values())))
    env = project.environment(folder) if folder and not facts.untrusted else {}
    path = clean_environment(env)["PATH"]
    hides = point is not None and (inside.sandbox != "off" and available() != "none")
    checks = (
        CommandCheck(
            cut(step.command, COMMAND),
            cut(step.argv[0], NAME),
            _startable(step, path, folder, point, project, hides=hides),
        )
        for step in steps[:COMMANDS]
    )
    return facts._replace(commands=tuple(checks), own=bool(lines or test))


def _startable(
    step: ValidationStep, path: str, folder: Path | None, point: StartPoint | None, project: Project, *, hides: bool
) -> str:
    """Tells whether the command's program will be there, as far as one can know before the workspace is made."""
    program, has_setup = step.argv[0], bool(project.workspace.setup)
    if "/" in program and not program.startswith("/"):
        return "here" if folder is not None and _is_there(program, folder, point, project) else "later"
    location = shutil.which(program, path=path)
    if location is None:
        return "later" if has_setup else "missing"
    if hides and point is not None and Path(location).is_relative_to(point.top):
        return "later" if has_setup else "hidden"
    return "here"


def _is_there(program: str, folder: Path, point: StartPoint | None, project: Project) -> bool:
    """True if a workspace will have that file: of a repository, what is committed, copied or linked."""
    place = Path(os.path.normpath(folder.resolve() / program))
    if point is None or not place.is_file():
        return place.is_file()
    if not place.is_relative_to(point.top):
        return False
    brought = (*project.workspace.copy_paths, *project.workspace.link)
    if any(place.is_relative_to(point.top / name) for name in brought):
        return True
    return is_committed(point, place.relative_to(point.top).as_posix())


# -- who, and what it took ---------------------------------------------------------------------------------------------


def _agents(team: Team, kind: str, values: Values) -> list[AgentCheck]:
    """The agents that would be asked, each with all that it does, in the order of the work."""
    roles: dict[str, list[str]] = {}
    members: dict[str, Member] = {}
    for role, member in _posts(team, kind, values):
        members[member.name] = member
        roles.setdefault(member.name, []).append(role)
    return [_agent(members[name], tuple(dict.fromkeys(held))) for name, held in roles.items()]


def _posts(team: Team, kind: str, values: Values) -> list[tuple[str, Member]]:
    match kind:
        case "delivery":
            posts = [(role, team.agent_for(role)) for role in ROLES.values()]
        case "orchestration":
            typed = [line.rpartition(":") for line in values.get("employees", "").split("\n") if ":" in line]
            employees = [(name.strip(), role.strip()) for name, _, role in typed] or list(team.employees())
            working = [(role, team.member_for(name, role, {})) for name, role in employees]
            posts = [("planner", team.agent_for("planner")), *working, ("judge", team.agent_for("judge"))]
        case _:
            posts = [(role, team.agent_for(role) or team.agents[0]) for role in _TALKS[kind] if role in TALKERS]
    return [(role, member) for role, member in posts if member is not None]


def _agent(member: Member, roles: tuple[str, ...]) -> AgentCheck:
    needed = necessity(member)
    if needed is None:
        return AgentCheck(cut(member.name, NAME), roles, "", "")
    state = "login" if needed.problem is not None else "here" if needed.place else "missing"
    return AgentCheck(cut(member.name, NAME), roles, cut(needed.needs, NAME), state)


def _about(runs: SimilarRuns) -> dict[str, Any]:
    minutes = runs.milliseconds / MINUTE_MS
    unit, number = ("minutes", round(minutes)) if minutes >= 1 else ("seconds", max(1, runs.milliseconds // 1000))
    return {"n": runs.sessions, "unit": unit, "time": number, "cost": money(runs.cost_micros)}


def _settings(project: Project) -> dict[str, str]:
    """The repository's own values for fields that are left empty."""
    own = project.delivery
    limits: dict[str, object] = {"maxIterations": own.max_iterations or own.max_attempts, "maxMinutes": own.max_minutes}
    limits |= {
        "maxTokens": own.max_tokens,
        "maxCostMicros": own.max_cost_micros and f"{Decimal(own.max_cost_micros) / 1_000_000:f}",
    }
    lines = "\n".join(step.command for step in project.validation_steps())
    return {name: str(value) for name, value in (limits | {"validationCommands": lines}).items() if value}
