"""Writes the team file of `hansard init` for the agent programs on PATH."""

import json
import shutil
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from adapters.agents.command.settings import CommandSettings
from adapters.agents.necessities import READY, lack_of
from adapters.agents.presets.catalogue import preset
from adapters.agents.team import Member
from domain.values.network import PROVIDER

PROGRAMS = ("claude", "codex", "gemini", "opencode", "qwen", "copilot", "aider")
"""Agent programs that have a preset with the same name."""
_WORKING = ("planner", "architect", "designer", "dev", "coder", "assistant", "custom")
_JUDGING = ("reviewer", "judge", "critic", "synthesizer")
"""Roles for an agent other than the one that does the work, where there are two."""


class FoundProgram(NamedTuple):
    """An agent program on PATH, and what it would fail for: READY where nothing is known."""

    name: str
    lack: str = READY


def agents(env: Mapping[str, str]) -> tuple[FoundProgram, ...]:
    """The agent programs on PATH."""
    names = (name for name in PROGRAMS if shutil.which(name, path=env.get("PATH")))
    return tuple(FoundProgram(name, lack_of(_member(name))) for name in names)


def _member(name: str) -> Member:
    """The agent that the team file would have."""
    base = preset(name)
    assert base is not None, "every program has a preset"
    settings = CommandSettings.model_validate(base.extended({}))
    return Member(name=name, roles=("dev",), adapter="command", preset=name, settings=settings)


def team_file(programs: Sequence[FoundProgram], registries: Sequence[str] = ()) -> str:
    """The text of `team.toml`: of the programs that have a login the first works and the second, if any, reviews and
    judges. The others are commented out, with what they lack; empty where there are none at all. Each may reach its
    provider, and the registries that the set-up needs."""
    usable = [program for program in programs if not program.lack]
    roles = (_WORKING, _JUDGING) if len(usable) > 1 else ((),)
    blocks = [_agent(program.name, held, registries) for program, held in zip(usable, roles, strict=False)]
    blocks += [_commented(program, registries) for program in programs if program.lack]
    return "\n".join(blocks)


def _agent(program: str, roles: tuple[str, ...], registries: Sequence[str]) -> str:
    named = f"roles = {json.dumps(list(roles))}\n" if roles else ""
    return f'[[agents]]\nname = "{program.capitalize()}"\npreset = "{program}"\n{named}{_network(registries)}'


def _network(registries: Sequence[str]) -> str:
    return f"network = {json.dumps([PROVIDER, *registries])}\n"


def _commented(program: FoundProgram, registries: Sequence[str]) -> str:
    lines = [program.lack, *_agent(program.name, (), registries).splitlines()]
    return "".join(f"# {line}\n" for line in lines)
