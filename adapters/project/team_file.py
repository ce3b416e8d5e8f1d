"""Writes the team file of `hansard init` for the agent programs on PATH."""

import json
import shutil
from collections.abc import Mapping

PROGRAMS = ("claude", "codex", "gemini", "opencode", "qwen", "copilot", "aider")
"""Agent programs that have a preset with the same name."""


def agents(env: Mapping[str, str]) -> tuple[str, ...]:
    """The agent programs on PATH."""
    return tuple(name for name in PROGRAMS if shutil.which(name, path=env.get("PATH")))


def team_file(programs: tuple[str, ...]) -> str:
    """The text of `team.toml` for these agent programs: the second one, if any, reviews the work of the first."""
    if not programs:
        return ""
    first, *rest = programs
    blocks = [
        _agent(first, () if not rest else ("planner", "architect", "designer", "dev", "judge", "assistant", "custom"))
    ]
    if rest:
        blocks.append(_agent(rest[0], ("reviewer", "critic", "coder", "synthesizer")))
    return "\n".join(blocks)


def _agent(program: str, roles: tuple[str, ...]) -> str:
    named = f"roles = {json.dumps(list(roles))}\n" if roles else ""
    return f'[[agents]]\nname = "{program.capitalize()}"\npreset = "{program}"\n{named}'
