"""The token of our account: from a variable, or from a program that a person has logged in with. It is bound to the one
host that it was given for, and shows itself to nobody."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from adapters.forge.port import ForgeRepository
from adapters.forge.remotes import hostname
from adapters.forge.settings import BadForge, ForgeSettings
from adapters.processes.program import run
from adapters.references import MASK, Secrets
from domain.values.sentences import Sentence

_ONE_LINE: Final = re.compile(r"[!-~]{1,4096}")
_OF_KIND: Final = {
    "github": re.compile(r"gh[opsur]_|github_pat_"),
    "gitlab": re.compile(r"gl(?:pat|oas|dt|rt|cbt|ptt|ft|imt|agent|soat)-"),
}
"""How tokens of each kind of forge begin, by which one that is meant for the other kind is noticed."""
_SECONDS: Final = 20.0
_COMMANDS: Final[Mapping[str, tuple[str, ...]]] = {
    "gh": ("gh", "auth", "token", "--hostname"),
    "glab": ("glab", "config", "get", "token", "--host"),
}
"""What prints the token of a host, which is the next word."""
_PROGRAM_OF: Final = {"github": "gh", "gitlab": "glab"}


@dataclass(frozen=True, slots=True)
class ForgeToken:
    """A token, and the host name that it is for."""

    host: str
    _value: str = field(repr=False)

    def headers(self) -> Mapping[str, str]:
        """The header that shows it."""
        return {"Authorization": f"Bearer {self._value}"}

    def masked(self, text: str) -> str:
        """The text without the token."""
        return Secrets.of({"token": self._value}).scrub(text)

    def __str__(self) -> str:
        return MASK


async def token_for(
    repository: ForgeRepository, settings: ForgeSettings, *, at_terminal: bool, environment: Mapping[str, str]
) -> ForgeToken | None:
    """The token for the repository's host; None where none was given for it. Without `token` in the settings, a
    person's own login with `gh` or `glab` is used at their terminal, and nowhere else. Raises BadForge where the one
    that is named cannot be had."""
    if settings.is_for(repository) and settings.token is not None:
        return await _named(repository, settings.token, environment)
    if not at_terminal:
        return None
    value = await _printed(_PROGRAM_OF[repository.kind], repository, environment)
    return ForgeToken(hostname(repository.host), value) if value and _fits(value, repository) else None


async def _named(repository: ForgeRepository, source: str, environment: Mapping[str, str]) -> ForgeToken:
    if source.startswith("env:"):
        name = source.removeprefix("env:")
        value = environment.get(name, "").strip()
        if not value:
            raise BadForge(Sentence("secret_missing_in_env", name="forge.toml token", given=name))
    else:
        value = await _printed(source, repository, environment)
        if not value:
            raise BadForge(Sentence("forge_program_has_no_login", program=source, host=repository.host))
    if not _fits(value, repository):
        raise BadForge(Sentence("forge_token_unfit", source=source, kind=_NAMES[repository.kind], host=repository.host))
    return ForgeToken(hostname(repository.host), value)


_NAMES: Final = {"github": "GitHub", "gitlab": "GitLab"}


def _fits(value: str, repository: ForgeRepository) -> bool:
    """A token of the other kind of forge is not sent."""
    others = (begins for kind, begins in _OF_KIND.items() if kind != repository.kind)
    return _ONE_LINE.fullmatch(value) is not None and not any(begins.match(value) for begins in others)


async def _printed(program: str, repository: ForgeRepository, environment: Mapping[str, str]) -> str:
    """Returns what a person's program prints as the token of the host; empty if it is not there, or not logged in. It
    runs with the person's own environment, in their home: it is theirs."""
    home = Path.home()
    argv = (*_COMMANDS[program], repository.host)
    done = await run(argv, cwd=home, env=dict(environment), wall_seconds=_SECONDS, output_bytes=65_536)
    return done.stdout.strip() if done.exit_code == 0 else ""


def here() -> Mapping[str, str]:
    """The environment of this process."""
    return dict(os.environ)
