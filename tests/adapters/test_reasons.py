"""What a limit had to do with a command's end: the limit, its value, the setting."""

import pytest

from adapters.processes.limits import SystemLimits
from adapters.processes.output import Ended
from adapters.processes.program import Finished
from adapters.turns.commands.limits import reason

ALL = SystemLimits(memory_bytes=512, cpu_seconds=60, processes=100, file_bytes=1_000)
CPU = "limit of CPU time (60 s; HANSARD_COMMAND_CPU_SECONDS)"
FILE = "limit of file size (1000 bytes; HANSARD_COMMAND_FILE_BYTES)"
MEMORY = "limit of memory (512 bytes; HANSARD_COMMAND_MEMORY_BYTES)"
PROCESSES = "limit of processes (100; HANSARD_COMMAND_PROCESSES)"


def finished(code: int | None, output: str = "", ended: Ended = "exit") -> Finished:
    return Finished(code, "", output, truncated=False, seconds=5.0, ended=ended)


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (-24, f"was stopped by its {CPU}"),
        (152, f"was stopped by its {CPU}"),
        (-25, f"was stopped by its {FILE}"),
        (153, f"was stopped by its {FILE}"),
    ],
)
def test_a_signal_of_the_system_names_the_limit(code: int, words: str) -> None:
    assert reason(finished(code, "MemoryError"), 9, ALL) == (words, True)
    assert reason(finished(code), 9, SystemLimits()) is None, "it was not we who have set it"


@pytest.mark.parametrize(
    ("code", "output", "words"),
    [
        (-9, "", CPU),
        (137, "", CPU),
        (1, "OSError: [Errno 27] File too large", FILE),
        (1, "dd: error writing 'big': File too large", FILE),
        (1, "Error: EFBIG: file too large, write", FILE),
        (1, "MemoryError", MEMORY),
        (134, "terminate called after throwing an instance of 'std::bad_alloc'", MEMORY),
        (1, "fork: Cannot allocate memory", MEMORY),
        (1, "sh: 0: Cannot fork", PROCESSES),
        (1, "RuntimeError: can't start new thread", PROCESSES),
        (1, "fork: Resource temporarily unavailable", PROCESSES),
    ],
)
def test_the_error_output_shows_that_a_program_was_refused_something(code: int, output: str, words: str) -> None:
    assert reason(finished(code, output), 9, ALL) == (f"ended with exit code {code}, perhaps by its {words}", False)
    assert reason(finished(code, output), 9, SystemLimits()) is None


@pytest.mark.parametrize(
    ("code", "output"),
    [(0, "MemoryError"), (1, "AssertionError"), (1, "413: File too large"), (-11, ""), (24, "")],
)
def test_other_ends_have_no_such_reason(code: int, output: str) -> None:
    assert reason(finished(code, output), 9, ALL) is None


def test_the_clock_returns_the_set_time() -> None:
    """5 seconds with the grace, of 3."""
    words = "was stopped by its limit of time (3 s; HANSARD_VALIDATION_SECONDS)"
    assert reason(finished(None, "MemoryError", "timeout"), 3.0, ALL) == (words, True)


def test_what_never_began_reached_no_limit() -> None:
    assert reason(finished(None, "", "not_started"), 3.0, ALL) is None
