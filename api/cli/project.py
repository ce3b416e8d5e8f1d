"""`hansard init`, `team`: sets up a repository and its team; `doctor --try` asks each agent."""

import asyncio
import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from adapters.agents.presets.catalogue import presets
from adapters.agents.team import Member, load
from adapters.agents.team_file import FoundProgram, agents, team_file
from adapters.agents.trial import Trial, attempt
from adapters.fence.choice import Sandbox
from adapters.project import NAME
from adapters.project.discovery import Discovery, discover, names_a_team, project_file
from api.actions.projects import root_of
from api.actions.trust import grant
from api.cli import exits
from api.cli.error_words import in_words
from api.cli.exits import Failed
from api.cli.labels import sentence
from api.cli.options import Where
from api.cli.repository import run_git
from api.cli.terminal import counted, paint, put, put_json, say, visible
from api.node.settings import Settings


def _report_of(needs: Discovery) -> list[str]:
    """The findings of `init`, a line each."""
    lines = [sentence("set-up: {command}", command=command) for command in needs.setup]
    lines += [sentence("validation: {command}", command=command) for command in needs.commands]
    if needs.tests:
        lines.append(
            sentence(
                "found: {tests} in {files}", tests=counted(needs.tests, "test"), files=counted(needs.test_files, "file")
            )
        )
    if not needs.commands:
        lines.append(sentence("not found: a test command: add one to [validation] commands"))
    return lines


def init(path: Path, /, *, where: Where) -> int:
    """Write `hansard.toml` and `team.toml`, as far as they are not there, from what the repository and PATH contain."""
    root = root_of(path.resolve())
    if (root / ".git").exists():
        run_git(root, "rev-parse", "--git-dir")  # what git refuses here, each start would be refused as well
    needs, programs = discover(root), agents(os.environ)
    team_path = root / "team.toml"
    own = team_path.is_file()
    team = _write(team_path, team_file(programs, needs.registries))
    is_new = _write(root / NAME, project_file(needs, team=team or own))
    for line in _report_of(needs):
        put(visible(line))
    if named := os.environ.get("HANSARD_TEAM"):
        say(sentence("The agents are those of {path}, which HANSARD_TEAM names.", path=named))
    elif not programs and not own:
        say(sentence("No agent program on PATH. Install one (`hansard team` lists them) and run `hansard init` again."))
    if team and not named:
        _say_left_out(programs)
    if (team or own) and not is_new and not names_a_team(root):
        say(sentence('To use team.toml, add this to {name}: [delivery] team = "team.toml"', name=NAME))
    if own and is_new:  # it was there, so it may not be trusted unread
        say(
            sentence("{name} names the team.toml that was there. `hansard trust` shows both, and then asks.", name=NAME)
        )
    elif is_new:
        grant(root, where.settings(), by="init")
    return exits.OK


def _say_left_out(programs: Sequence[FoundProgram]) -> None:
    """Say which programs cannot log in, and are therefore commented out."""
    for program in programs:
        if program.lack:
            say(
                sentence(
                    "{program} is commented out in team.toml. {lack}", program=program.name, lack=in_words(program.lack)
                )
            )
    if all(program.lack for program in programs):
        say(sentence("No agent can work yet: give one its login, then remove the # before its lines in team.toml."))


def _write(path: Path, text: str) -> bool:
    """Write a new file; whether it was written."""
    if not text:
        return False
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        say(sentence("{path} already exists; not changed.", path=path))
        return False
    except OSError as error:
        raise Failed(f"{path}: {exits.reason_of(error)}.") from None
    say(sentence("Wrote {path}", path=path))
    return True


# `hansard team`: the presets, what is installed, and the agents of this team. `doctor --try` asks each of them.


def team(*, team: Path | None, json: bool) -> int:
    """List the presets, which of their programs are installed, and the agents of the team. Calls no agent."""
    settings = Where().settings(team=team)
    preset_rows = [
        {
            "preset": preset.name,
            "title": preset.title,
            "program": preset.program,
            "installed": shutil.which(preset.program),
            "versions": list(preset.versions),
            "install": preset.install,
        }
        for preset in presets()
    ]
    config = load(settings.team)
    agents = [_agent(member) for member in config.agents]
    if json:
        put_json({"presets": preset_rows, "agents": agents, "example": config.example})
    else:
        _print(preset_rows, agents, example=config.example)
    return exits.OK


def _agent(member: Member) -> dict[str, Any]:
    return {
        "name": member.name,
        "roles": list(member.roles),
        "adapter": member.adapter,
        "preset": member.preset,
        "model": member.model,
        "conversation": member.conversation,
    }


def _print(presets: list[dict[str, Any]], agents: list[dict[str, Any]], *, example: bool) -> None:
    put(sentence("Presets"))
    for row in presets:
        state = paint(sentence("installed"), "green")
        if not row["installed"]:
            state = sentence("install with: {command}", command=row["install"])
        put(f"  {row['preset']:<10} {row['title']:<20} {state}")
    put(sentence("Team: none; `hansard init` writes one. Only the scripted example:" if example else "Team"))
    for row in agents:
        how = row["preset"] or row["adapter"]
        model = f", {row['model']}" if row["model"] else ""
        put(visible(f"  {row['name']:<20} {how}{model}: {', '.join(row['roles'])}"))


def try_agents(settings: Settings, *, json: bool) -> int:
    """Ask each agent of the team one tiny question; exit code 1 where one fails."""
    team = load(settings.team)
    trials = asyncio.run(_trials(team.agents, settings.sandbox or team.sandbox or "auto", quiet=json))
    if json:
        put_json({"agents": [trial.model_dump(mode="json", by_alias=True) for trial in trials]})
    return exits.OK if all(trial.ok for trial in trials) else exits.FAILURE


async def _trials(members: tuple[Member, ...], sandbox: Sandbox, *, quiet: bool) -> list[Trial]:
    trials = []
    for member in members:
        trial = await attempt(member, sandbox)
        trials.append(trial)
        if not quiet:
            _tell(trial)
    return trials


def _tell(trial: Trial) -> None:
    mark = paint("ok  ", "green") if trial.ok else paint("fail", "red")
    words = [trial.answer if trial.ok and trial.answer else in_words(trial.sentence or trial.problem or "")]
    if trial.version:
        words.append(f"({trial.version})")
    if trial.usage.tokens is not None:
        words.append(sentence("{n} tokens", n=trial.usage.tokens))
    if trial.resumed:
        words.append(sentence("resumes"))
    put(visible(f"{mark}  {trial.name:<20} {'  '.join(words)}"))
