"""Runs one command in a folder, within its limits and its fence, and says how it ended."""

import os
import tempfile
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Protocol

from adapters.agents.activity import Activity
from adapters.agents.speech import Speech
from adapters.fence.choice import Sandbox
from adapters.fence.port import Fence, Grant
from adapters.fence.toolchains import link_into
from adapters.processes.environment import clean_environment
from adapters.processes.limits import NO_LIMITS, SystemLimits
from adapters.processes.program import Finished, run
from adapters.services.site import ProgramStart
from adapters.turns.commands.fence import Fencing
from adapters.turns.commands.limits import reason
from domain.delivery.validation import Prefixes, is_allowed, last_lines, only, reasons
from domain.session.validation import DID_NOT_EXIT, CommandRun, Ended, ValidationStep, ending
from domain.values.base import Text
from domain.values.sentences import Sentence

_ENDS: Mapping[str, Ended] = {"exit": "exited", "timeout": "timeout", "disk": "limit", "not_started": "not_started"}
SETUP: Final = "set-up"
"""The title of the line that announces a command of the set-up."""
_TAIL = 4_000
_FRESH = {"PYTHONDONTWRITEBYTECODE": "1"}  # it reuses compiled code if size and time in seconds are the same


class ValidationSettings(Protocol):
    """The limits of each command: its seconds, how much of its output is kept, the system's limits, whether it may run
    at all, and the fence, in which neither the log nor files with keys exist."""

    @property
    def validation_timeout(self) -> float: ...
    @property
    def setup_timeout(self) -> float: ...
    @property
    def output_bytes(self) -> int: ...
    @property
    def command_limits(self) -> SystemLimits: ...
    @property
    def commands_allowed(self) -> Prefixes: ...
    @property
    def sandbox(self) -> Sandbox: ...
    @property
    def log(self) -> Path | None: ...
    @property
    def keys(self) -> tuple[Path, ...]: ...


@dataclass(frozen=True, slots=True)
class CommandPlace:
    """The place where commands run: the folder, the root of its tree, a persistent home, additional variables, and the
    fence around all of it. `observe` gets their output; `checkout` is the person's own folder."""

    folder: Path
    top: Path
    home: Path
    env: Mapping[str, str]
    fencing: Fencing
    grant: Grant
    observe: Callable[[Activity], None]
    checkout: Path | None = None
    limits: SystemLimits = NO_LIMITS

    def fence(self, *more: Path) -> Fence:
        """The fence; `more` are additional writable folders."""
        return self.fencing.around(replace(self.grant, writable=(*self.grant.writable, self.home, *more)))

    def around(self, top: Path) -> ProgramStart:
        """Returns how services of this place are started, in this folder."""
        env = clean_environment(_FRESH | dict(self.env), home=self.home)
        beside = replace(self, grant=replace(self.grant, plain_user=True))
        return ProgramStart(top, env, beside.fence, self.limits)

    def also(self, extra: Mapping[str, str]) -> "CommandPlace":
        """The same with further variables."""
        return replace(self, env={**self.env, **extra})


def can_start(step: ValidationStep, finished: Finished, folder: Path) -> bool:
    """True if the program was started, or is a file of the workspace that does not exist yet: the task may add it."""
    if finished.ended != "not_started":
        return True
    program = own_program(step, folder)
    return program is not None and not program.exists()


def own_program(step: ValidationStep, folder: Path) -> Path | None:
    """The program, if it is named by a path in the workspace, where agents can write and correct it."""
    program = Path(os.path.normpath(folder / step.argv[0]))
    return program if "/" in step.argv[0] and program.is_relative_to(folder) else None


def output_of(finished: Finished) -> str:
    return f"{finished.stdout}\n{finished.stderr}"


def reasons_of(run: CommandRun, finished: Finished) -> tuple[str, ...]:
    """The lines that say why a command failed, otherwise the end of its output, otherwise how it ended."""
    if finished.ended == "not_started":
        return (str(finished.detail),)
    if run.no_tests:
        return (str(ending(run)),)
    output = output_of(finished)
    return reasons(output) or (last_lines(output) if run.ended == "exited" else ()) or (str(ending(run)),)


async def run_step(
    step: ValidationStep,
    place: CommandPlace,
    settings: ValidationSettings,
    *,
    seconds: float | None = None,
    anything: bool = False,
    title: str | None = None,
) -> Finished:
    """The rule of a validation (rule 8): its exit code counts, whatever it prints; the end of the output is kept.

    `seconds` is its limit if that differs from the validation's; `anything` skips the list of allowed commands; `title`
    is that of the line that announces it.
    """
    if not anything and not is_allowed(step.argv, settings.commands_allowed):
        # It may have been recorded when more was allowed, or under other settings.
        detail = Sentence("command_not_allowed_here", detail=only(settings.commands_allowed))
        return Finished(None, "", "", truncated=False, seconds=0.0, ended="not_started", detail=detail)
    place.observe(Activity(kind="notice", title=title, text=f"$ {step.command}"))
    place.home.mkdir(parents=True, exist_ok=True)  # for each command, because one may have removed it
    link_into(place.home)
    output = Speech(place.observe)
    with tempfile.TemporaryDirectory(prefix="hansard-", ignore_cleanup_errors=True) as scratch, ExitStack() as after:
        after.callback(output.flush)
        return await run(
            step.argv,
            cwd=place.folder,
            env=clean_environment(_FRESH | {"TMPDIR": scratch} | dict(place.env), home=place.home),
            wall_seconds=settings.validation_timeout if seconds is None else seconds,
            output_bytes=settings.output_bytes,
            keep_ends=True,
            limits=settings.command_limits,
            fence=place.fence(Path(scratch)),
            on_output=lambda text: output.say("notice", text),
        )


def run_of(step: ValidationStep, finished: Finished, settings: ValidationSettings) -> CommandRun:
    cause = reason(finished, settings.validation_timeout, settings.command_limits)
    ended = _ENDS[finished.ended]
    by_limit = cause is not None and cause.certain
    return CommandRun(
        stage=step.stage,
        command=step.command,
        argv=step.argv,
        exit_code=DID_NOT_EXIT if finished.exit_code is None or by_limit else finished.exit_code,
        seconds=round(finished.seconds, 3),
        ended="limit" if by_limit and ended == "exited" else ended,
        reason=cause.words if cause else "",
        stdout=Text.of(finished.stdout)[0],
        stderr=Text.of(finished.stderr or (finished.detail if ended == "not_started" else ""))[0],
        truncated=finished.truncated,
        tail=(finished.stdout + finished.stderr)[-_TAIL:],
    )
