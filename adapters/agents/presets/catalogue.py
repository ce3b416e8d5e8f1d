"""Presets: how to call well-known agents, one TOML file each. A team file names one and may extend its settings.

A file contains the program's name, how to install it, the tested versions, the `settings` of the `command` adapter, and
under `private` what a private home needs: a login by key, and initial files.
"""

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any, Final

from pydantic import Field

from domain.checks.instruction_files import COMMON
from domain.values.base import Value

NAMES: Final = ("claude", "codex", "gemini", "opencode", "qwen", "copilot", "aider")
_MERGED: Final = ("env", "home_files", "usage_paths")


class Preset(Value):
    """One program. The settings are checked when an agent is created from them."""

    name: str
    title: str
    program: str
    install: str
    versions: tuple[str, ...] = Field(description="versions that were tried")
    instructions: tuple[str, ...] = Field(
        default=(), description="files of a repository that the program obeys; a folder ends with a slash"
    )
    settings: dict[str, Any]
    private: dict[str, Any] = Field(default_factory=dict)

    def extended(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """The settings with those of the team file: tables are merged, everything else is replaced."""
        private = settings.get("home", self.settings.get("home", "private")) == "private"
        merged = {**self.settings, **(self.private if private else {})}
        for name in _MERGED:
            both = {**self.settings.get(name, {}), **merged.get(name, {}), **_table(settings.get(name))}
            if both:
                merged[name] = both
        return {
            **merged,
            **{name: value for name, value in settings.items() if name not in _MERGED or not _table(value)},
        }


def _table(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


@cache
def preset(name: str) -> Preset | None:
    """The preset of that name."""
    if name not in NAMES:
        return None
    table = tomllib.loads(files("adapters.agents.presets").joinpath(f"{name}.toml").read_text(encoding="utf-8"))
    return Preset.model_validate({"name": name, **table})


def presets() -> tuple[Preset, ...]:
    """All presets, in the order of the list."""
    return tuple(each for name in NAMES if (each := preset(name)))


@cache
def instruction_names() -> tuple[str, ...]:
    """The files that some agent program obeys, those of all presets among them."""
    return tuple(dict.fromkeys((*COMMON, *(name for each in presets() for name in each.instructions))))
