"""Errors as the program's last words: a sentence for the person, an exit code for the script."""

from collections.abc import Sequence
from pathlib import Path

from cyclopts import CycloptsError

from api.cli import exits
from api.cli.commands import COMMANDS
from api.cli.error_words import in_words, words_of
from api.cli.help.misuse import misuse
from api.cli.labels import sentence
from api.cli.terminal import say
from domain.values.base import HansardError, Invalid, Refused, Stale, Unknown


def report(error: Exception, words: Sequence[str]) -> int | None:
    """Print an error of ours, of the command line or of the system; its exit code. None for a defect of the program."""
    match error:
        case CycloptsError():
            usage = sentence("`hansard {command}--help` shows the usage.", command=_named(words))
            return _complain(misuse(error, [verb.name for verb in COMMANDS], words), usage, code=exits.USAGE)
        case exits.Failed():
            return _complain(*str(error).splitlines(), code=error.code)
        case Invalid():
            places = ((at, in_words(detail)) for at, detail in error.errors.items())
            return _complain(*(f"{at}: {detail}" if at else detail for at, detail in places), code=exits.USAGE)
        case HansardError():
            return _complain(*words_of(error).splitlines(), code=of_error(error))
        case FileNotFoundError() if _has_lost_its_folder():
            return _complain(sentence("The current folder no longer exists. Change to another one."), code=exits.USAGE)
        case OSError() if error.strerror:
            parts = (error.filename, exits.reason_of(error))
            return _complain(": ".join(str(part) for part in parts if part), code=exits.FAILURE)
        case _:
            return None


def report_defect(error: Exception) -> int:
    """Print an unforeseen error and return the exit code."""
    problem = sentence("Unexpected error ({type}): {error}", type=type(error).__name__, error=error)
    return _complain(problem, sentence("Set HANSARD_DEBUG=1 for a traceback."), code=exits.FAILURE)


def of_error(error: HansardError) -> int:
    """The exit code for an error of the inner rooms."""
    match error:
        case Unknown():
            return exits.NOT_FOUND
        case Refused() | Stale():
            return exits.REFUSED
        case Invalid():
            return exits.USAGE
        case _:
            return exits.FAILURE


def _complain(*sentences: str, code: int) -> int:
    for number, line in enumerate(sentences):
        if number == 0:
            say(line, label="hansard:")
        else:
            say(f"  {line.strip()}")
    return code


def _named(words: Sequence[str]) -> str:
    """The command that was meant, and a space; nothing if it is none of ours."""
    first = next(iter(words), "")
    return f"{first} " if first in {verb.name for verb in COMMANDS} else ""


def _has_lost_its_folder() -> bool:
    try:
        Path.cwd()
    except FileNotFoundError:
        return True
    return False
