"""Whether the agents of the team are at hand: their programs, or the workers that come for their turns."""

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Final

from api.cli.doctor import Finding
from api.cli.terminal import counted
from domain.values.base import HansardError

_POSTS: Final = {
    "a delivery": ("planner", "architect", "designer", "dev", "reviewer"),
    "an orchestration": ("planner", "judge", "assistant"),
}
"""The roles that sessions of a kind need. In reviews and debates the first agent of the team stands in."""

if TYPE_CHECKING:
    from adapters.agents.team import Team
    from api.settings import Settings


def the_team(settings: "Settings") -> Iterator[Finding]:
    """The team file, and for each agent that is a program, whether that program is there."""
    from adapters.agents.team import load

    try:
        team = load(settings.team)
    except HansardError as error:
        yield Finding("fail", "team", str(error), "Mend the file, or leave HANSARD_TEAM out for the example team.")
        return
    if team.example:
        advice = "Name your team file with HANSARD_TEAM; agents that do real work stand there."
        yield Finding("warn", "team", "no team file: the scripted example team answers and changes nothing", advice)
        return
    yield Finding("ok", "team", f"{settings.team}: {counted(len(team.agents), 'agent')}")
    yield from posts(team)
    yield from programs(team)
    yield from externals(team, settings.database_path)


def posts(team: "Team") -> Iterator[Finding]:
    """Of which roles nobody is, that sessions of a kind need: in those nobody stands in for anybody."""
    missing = {kind: [role for role in roles if team.agent_for(role) is None] for kind, roles in _POSTS.items()}
    lacking = "; ".join(f"for {kind}: {', '.join(roles)}" for kind, roles in missing.items() if roles)
    if lacking:
        advice = "Give agents these roles if you want such sessions: without, they wait for somebody who has them."
        yield Finding("warn", "roles", f"missing {lacking}", advice)


def programs(team: "Team") -> Iterator[Finding]:
    from adapters.agents.command import Settings as Program
    from adapters.processes import clean_environment, resolve_secrets

    path = clean_environment()["PATH"]
    for member in team.agents:
        if not isinstance(member.settings, Program):
            continue
        program = member.settings.argv[0]
        try:
            own = resolve_secrets(member.settings.env).get("PATH", path)
        except ValueError as error:
            yield Finding("fail", f"agent {member.name}", str(error), "Set it where Hansard runs.")
            continue
        found = shutil.which(program, path=own)
        name = f"agent {member.name}"
        if found is None:
            advice = "Install it, or give its absolute path in the team file."
            yield Finding("fail", name, f"{program} is not found", advice)
        else:
            yield Finding("ok", name, found)


def externals(team: "Team", log: Path) -> Iterator[Finding]:
    """For each agent who comes for its turns, how many wait for it."""
    for member in team.agents:
        if member.adapter != "external":
            continue
        turns = _turns_of(member.name, log)
        waiting, held = turns.get("queued", 0), turns.get("running", 0)
        found = f"external; turns waiting for its worker: {waiting}, at its worker: {held}"
        if waiting and not held:
            advice = "Start its worker: it claims turns at POST /api/turns/claim of a `hansard serve` on this log."
            yield Finding("warn", f"agent {member.name}", found, advice)
        else:
            yield Finding("ok", f"agent {member.name}", found)


def _turns_of(agent: str, log: Path) -> dict[str, int]:
    """How many turns of the agent wait and run; none in a log that cannot be read, of which others tell."""
    query = (
        "SELECT state, count(*) FROM turns WHERE work = 'ask' AND agent = ? COLLATE NOCASE"
        " AND state IN ('queued', 'running') GROUP BY state"
    )
    if not log.is_file():
        return {}
    try:
        with closing(sqlite3.connect(f"{log.absolute().as_uri()}?mode=ro", uri=True)) as connection:
            return dict(connection.execute(query, (agent,)).fetchall())
    except sqlite3.Error:
        return {}
