"""The program: its commands, and how a command line is carried out."""

import os
import signal
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from api.cli import exits
from api.cli.commands import ABOUT, COMMANDS, EPILOGUE, GROUPS, OPTIONS, OTHER, korean, page
from api.cli.labels import sentence
from api.cli.stderr_log import Full, OneLine, log_to_stderr
from api.cli.terminal import put

if TYPE_CHECKING:  # `--help` comes without them
    from cyclopts import App


FLAGS_WITH_STRATEGY: Final = ("--review", "--plan-review", "--work-review")
"""Options that take a strategy or nothing: `--review`, `--review=red-team`."""
_COMPLETION: Final = "--install-completion"
_HELP: Final = frozenset({"--help", "-h"})
_SPELLINGS: Final = {"-h": "--help", "-v": "--version", "-V": "--version", "version": "--version"}
"""What people type at a first word, and how the program calls it."""


def program(words: Sequence[str] = ()) -> "App":
    """The command line for these words, with nothing imported that it may not need."""
    from cyclopts import App, Group, Parameter

    called = next(iter(words), "")
    groups = {name: Group(name, sort_key=place) for place, name in enumerate((*GROUPS, OTHER))}
    wording = korean() if not _HELP.isdisjoint(words) else {}
    app = App(
        name="hansard",
        help=ABOUT,
        help_epilogue=wording.get("epilogue", EPILOGUE),
        help_format="markdown",
        version=_version,
        suppress_keyboard_interrupt=False,
        default_parameter=Parameter(negative=(), show_default=False),
    )
    for place, verb in enumerate(COMMANDS):
        line = wording.get(f"page.{verb.name}") if verb.name == called else verb.help
        app.command(f"api.cli.{verb.place}", name=verb.name, group=groups[verb.group], help=line, sort_key=place)
    if not called or called.startswith("-"):
        help_line = dict(OPTIONS)[_COMPLETION]
        app.register_install_completion_command(name=_COMPLETION, help=help_line, group=groups[OTHER])
    for flag in ("--help", "--version"):
        app[flag].group = groups[OTHER]
    if wording:
        from api.cli.help.korean import KoreanHelp

        app.help_formatter = KoreanHelp(wording)
    return app


def _version() -> str:
    from importlib.metadata import version

    return version("hansard")


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command line (default: this process's). Returns the exit code."""
    _prepare()
    return carry_out(sys.argv[1:] if argv is None else argv)


def carry_out(argv: Sequence[str]) -> int:
    """The same inside a process that has its own signals, streams and log."""
    words = _meant(argv)
    try:
        if not words or words[0] == "--help":
            put(page(everything="--all" in words))
            return exits.OK
        return _call(words)
    except KeyboardInterrupt:
        return exits.INTERRUPTED
    except BrokenPipeError:
        return _reader_left()
    except Exception as error:  # the outermost: the user gets a sentence, HANSARD_DEBUG=1 a traceback
        from api.cli.complaint import report, report_defect

        code = report(error, words)
        if code is not None:
            return code
        if os.environ.get("HANSARD_DEBUG"):
            raise
        return report_defect(error)


def _meant(argv: Sequence[str]) -> list[str]:
    """The command line in the program's own words: `help run` is `run --help`."""
    first, *rest = argv or [""]
    if first in ("help", "--help", "-h"):
        named = [word for word in rest if not word.startswith("-")]
        return [*named, "--help"] if named else ["--help", *rest]
    return [_SPELLINGS.get(first, first), *rest] if argv else []


def _call(words: list[str]) -> int:
    try:
        words = [os.fsencode(word).decode() for word in words]  # people type UTF-8, whatever the locale calls it
    except UnicodeError:
        raise exits.Failed(sentence("The arguments are not valid UTF-8."), code=exits.USAGE) from None
    answer = program(words)(
        _explicit_flags(words), exit_on_error=False, print_error=False, result_action="return_value"
    )
    return answer if isinstance(answer, int) else exits.OK


def _explicit_flags(words: Sequence[str]) -> list[str]:
    """The command line with `=true` after options without a value, so that the next word is not taken as theirs."""
    end = list(words).index("--") if "--" in words else len(words)
    return [f"{word}=true" if word in FLAGS_WITH_STRATEGY and at < end else word for at, word in enumerate(words)]


def _end(*_: object) -> None:
    """As Ctrl-C does, also where that is for others only: in the background of a script it is ignored."""
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        return signal.raise_signal(signal.SIGINT)
    import asyncio

    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        raise KeyboardInterrupt from None
    loop.call_soon_threadsafe(_interrupt)  # between its tasks, not in the midst of one
    return None


def _interrupt() -> None:
    raise KeyboardInterrupt


def _prepare() -> None:
    """SIGTERM ends it like Ctrl-C, and so does SIGHUP at a terminal; UTF-8 whatever the locale; the log's own warnings
    on one line each."""
    closing = _end if _has_terminal() else _ignore
    for number, act in (
        (signal.SIGTERM, _end),
        (signal.SIGHUP, closing),
        (signal.SIGUSR1, _ignore),
        (signal.SIGUSR2, _ignore),
    ):
        if signal.getsignal(number) is signal.SIG_DFL:  # under nohup it is not
            signal.signal(number, act)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    log_to_stderr(Full() if os.environ.get("HANSARD_DEBUG") else OneLine())


def _has_terminal() -> bool:
    """Returns whether there is a terminal that may be closed; a service has none."""
    try:
        os.close(os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY))
    except OSError:
        return False
    return True


def _ignore(*_: object) -> None:
    """Does nothing, unlike SIG_IGN not in the programs that are started either."""


def _reader_left() -> int:
    """The reader of our output is gone; nothing more may be flushed into the closed pipe."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return exits.BROKEN_PIPE
