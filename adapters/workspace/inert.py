"""Git in a person's repository, so that nothing that the repository names is executed."""

import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

from adapters.workspace.git import all_settings, in_theirs

_TEXT_SETTINGS: Final = r"^core\.(autocrlf|eol|attributesfile)$"
"""Decide the bytes of a checked-out file, and name no program."""
_INERT: Final = ("clean=", "smudge=", "process=", "required=false")


class Git(Protocol):
    """Runs git in one checkout. Raises WorkspaceError for an exit code that is not expected."""

    def __call__(
        self, *words: str, data: bytes = b"", codes: Collection[int] = (0,), env: Mapping[str, str] | None = None
    ) -> bytes: ...


@dataclass(frozen=True, slots=True)
class InertGit:
    """Git with the person's line endings and encodings, and without anything that their repository could name to be
    executed: no hook, no filter, no monitor."""

    top: Path
    settings: tuple[str, ...]

    def __call__(
        self, *words: str, data: bytes = b"", codes: Collection[int] = (0,), env: Mapping[str, str] | None = None
    ) -> bytes:
        return in_theirs([*self.settings, *words], self.top, stdin=data, codes=codes, env=env)


def inert_git(top: Path) -> InertGit:
    """Reads once which drivers and line endings the checkout has configured."""
    texts = all_settings(top, _TEXT_SETTINGS, kind="path")
    settings = [word for name, value in texts.items() if value for word in ("-c", f"{name}={value}")]
    for driver in sorted(drivers(InertGit(top, ()))):
        settings += [word for inert in _INERT for word in ("-c", f"filter.{driver}.{inert}")]
    return InertGit(top, tuple(settings))


def drivers(git: Git) -> frozenset[str]:
    """The filters that the settings of the checkout give a program."""
    names = ("config", "--name-only", "-z", "--get-regexp", r"^filter\..*\.(clean|smudge|process)$")
    listing = os.fsdecode(git(*names, codes=(0, 1))).split("\0")
    return frozenset(name.partition(".")[2].rpartition(".")[0] for name in listing if name)
