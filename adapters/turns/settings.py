"""Settings of a worker: its times, its limits and its fence."""

from dataclasses import dataclass
from pathlib import Path

from adapters.fence.choice import Sandbox
from adapters.processes.limits import NO_LIMITS, SystemLimits
from adapters.workspace import Room
from domain.delivery.validation import Prefixes


# Settings of a worker: its times, limits and fence.
@dataclass(frozen=True, slots=True)
class WorkerSettings:
    """Times in seconds. `slots` turns run at the same time. `poll` limits every wait for something that may happen
    unnoticed."""

    slots: int = 8
    lease: float = 60.0
    heartbeat: float = 15.0
    poll: float = 1.0
    retry: float = 0.5
    validation_timeout: float = 600.0
    setup_timeout: float = 900.0
    output_bytes: int = 1_048_576
    disk_reserve: int = 0
    command_limits: SystemLimits = NO_LIMITS
    commands_allowed: Prefixes = ()
    log: Path | None = None
    keys: tuple[Path, ...] = ()
    """The file of the log and those with keys, which no program may see."""
    room: Room | None = None
    sandbox: Sandbox = "auto"
