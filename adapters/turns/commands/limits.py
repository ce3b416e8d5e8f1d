"""Tells which limit ended a command, if its end and its output show it."""

import re
import signal
from typing import Final, NamedTuple

from adapters.processes.limits import SystemLimits
from adapters.processes.program import Finished

_BY_SHELL: Final = 128
"""What a shell, or npm, adds to the number of the signal that ended its child."""
_LOOKED_AT: Final = 65_536
"""How many characters at the end of each stream are read: there a program says why it ended."""


class _Kind(NamedTuple):
    """`signal` ends a process that reaches the limit; `signs` are messages of programs that were refused something;
    `signals` are those that may come from the limit, or from something else."""

    name: str
    field: str
    unit: str
    signal: signal.Signals | None
    signs: re.Pattern[str] | None
    maybe: signal.Signals | None = None


_KINDS: Final = (
    _Kind("CPU time", "cpu_seconds", " s", signal.SIGXCPU, None, signal.SIGKILL),
    _Kind(
        "file size",
        "file_bytes",
        " bytes",
        signal.SIGXFSZ,
        re.compile(r"\bEFBIG\b|\[Errno 27\]|\bos error 27\b|\bwrit(?:e|ing)\b.*: File too large"),
    ),
    _Kind(
        "memory",
        "memory_bytes",
        " bytes",
        None,
        re.compile(
            r"\bMemoryError\b|\bOutOfMemory|\bENOMEM\b|\bbad_alloc\b|\bout of memory\b|\b(?:cannot|failed to) allocate"
            r"|\bfailed to map segment\b|\bnot enough space for\b|\bcould not reserve enough space\b",
            re.IGNORECASE,
        ),
    ),
    _Kind(
        "processes",
        "processes",
        "",
        None,
        re.compile(
            r"\bResource temporarily unavailable\b|\bEAGAIN\b|\bcannot fork\b"
            r"|\bcan't start new thread\b|\bunable to create (?:new )?native thread\b",
            re.IGNORECASE,
        ),
    ),
)


class Reason(NamedTuple):
    """The rest of a sentence that begins with the command. `certain`: the limit ended it."""

    words: str
    certain: bool


def reason(finished: Finished, seconds: float, limits: SystemLimits) -> Reason | None:
    """None if no limit seems to be involved. `seconds`: its time limit."""
    if finished.ended == "timeout":
        return Reason(_stopped("time", f"{seconds:g} s", "HANSARD_VALIDATION_SECONDS"), certain=True)
    if finished.ended == "disk":
        return Reason("was stopped before it took the last of the disk (HANSARD_DISK_RESERVE_BYTES)", certain=True)
    if finished.ended != "exit" or not finished.exit_code:
        return None
    held = [(kind, value) for kind in _KINDS if (value := getattr(limits, kind.field))]
    for kind, value in held:
        if _is_by(finished.exit_code, kind.signal):
            return Reason(_stopped(*_named(kind, value)), certain=True)
    output = f"{finished.stdout[-_LOOKED_AT:]}\n{finished.stderr[-_LOOKED_AT:]}"
    for kind, value in held:
        if _is_by(finished.exit_code, kind.maybe) or (kind.signs is not None and kind.signs.search(output)):
            name, shown, setting = _named(kind, value)
            words = f"ended with exit code {finished.exit_code}, perhaps by its limit of {name} ({shown}; {setting})"
            return Reason(words, certain=False)
    return None


def _named(kind: _Kind, value: int) -> tuple[str, str, str]:
    return kind.name, f"{value}{kind.unit}", f"HANSARD_COMMAND_{kind.field.upper()}"


def _stopped(name: str, shown: str, setting: str) -> str:
    return f"was stopped by its limit of {name} ({shown}; {setting})"


def _is_by(exit_code: int, number: signal.Signals | None) -> bool:
    return number is not None and exit_code in (-number, _BY_SHELL + number)
