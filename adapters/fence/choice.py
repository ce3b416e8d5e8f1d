"""The fence around everything that runs: validation commands, set-up and agents.

`bwrap` where bubblewrap works, otherwise `landlock` where the kernel supports it, otherwise `none`. What a level cannot
prevent is listed in `gaps`, which is recorded with the turn.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from adapters.fence.bubblewrap import Bubblewrap, bubblewrap_works
from adapters.fence.landlock import Landlock, landlock_version
from adapters.fence.port import Confined, Fence, Gap, Grant, Level, Unfenced
from domain.values.base import HansardError
from domain.values.sentences import Sentence

Sandbox = Literal["auto", "required", "off"]


@dataclass(frozen=True, slots=True)
class Refusing:
    """No program is started, because what its settings ask for cannot be enforced."""

    grant: Grant
    level: Level = "landlock"
    gaps: tuple[Gap, ...] = ()

    def confine(self, argv: Sequence[str], *, cwd: Path, env: Mapping[str, str]) -> Confined:
        has_list = not isinstance(self.grant.network, str)
        raise ValueError(Sentence("list_not_enforced" if has_list else "services_not_fenced"))

    def refusal(self, exit_code: int | None, stderr: str) -> str | None:
        return None


class NoFence(HansardError):
    """`sandbox = "required"`, and this machine has neither bubblewrap nor Landlock."""

    def __init__(self) -> None:
        super().__init__(
            'sandbox = "required", but neither bubblewrap nor Landlock works here. Install bubblewrap, or set '
            'sandbox = "auto" to run without a fence.'
        )


def available() -> Level:
    """The strongest level that works on this machine."""
    if bubblewrap_works():
        return "bwrap"
    return "landlock" if landlock_version() > 0 else "none"


def fenced_by(sandbox: Sandbox) -> str:
    """The fence under this setting, as a text for people."""
    level: Level = "none" if sandbox == "off" else available()
    match level:
        case "bwrap":
            return "bubblewrap: validation commands and agents see their workspace, not your files or this log"
        case "landlock":
            return "Landlock: limits files, but not processes or all sockets; with bubblewrap the fence would be whole"
        case "none":
            return "none: agents and validation commands may do whatever this account may do"


def gaps_of(sandbox: Sandbox) -> tuple[Gap, ...]:
    """The gaps for validation commands, which have no network, under this setting."""
    return choose(sandbox)(Grant()).gaps


def choose(sandbox: Sandbox) -> Callable[[Grant], Fence]:
    """The fence for programs under this setting. Raises `NoFence`."""
    level: Level = "none" if sandbox == "off" else available()
    if level == "none" and sandbox == "required":
        raise NoFence
    fences: dict[Level, Callable[[Grant], Fence]] = {"bwrap": Bubblewrap, "landlock": Landlock, "none": Unfenced}
    if sandbox == "required":
        return _landlock_in_full if level == "landlock" else _bubblewrap_in_full
    return fences[level]


def _landlock_in_full(grant: Grant) -> Fence:
    """The fence where a list of hosts must be enforced, and a loopback of its own: Landlock can do neither."""
    return Landlock(grant) if isinstance(grant.network, str) and grant.loopback is None else Refusing(grant)


def _bubblewrap_in_full(grant: Grant) -> Fence:
    """The fence where services must be on a loopback of their own."""
    return Bubblewrap(grant) if grant.loopback != "machine" else Refusing(grant, level="bwrap")
