"""The program: its commands, and how errors become a sentence and an exit code."""

import os
import signal
import sys
from collections.abc import Sequence
from typing import Final, NamedTuple

from cyclopts import App, CycloptsError, Group, Parameter

from api.cli import exits
from api.cli.terminal import Full, OneLine, log_to_stderr, say

WORK: Final = Group("Put the team to work", sort_key=1)
STEER: Final = Group("Decide and steer", sort_key=2)
READ: Final = Group("Read", sort_key=3)
PAST: Final = Group("Look back and prove", sort_key=4)
CARE: Final = Group("Serve and take care", sort_key=5)
OTHER: Final = Group("Options", sort_key=6)

HELP: Final = """The official record of what a team of coding agents does.

Start with `hansard example`, or in your repository:

    hansard run -t "Add a --version flag" -f src/cli.py --test "pytest -q"
    hansard review --diff

Commands open the log directly; no server is needed. With --server URL (or HANSARD_SERVER) they use that server."""

EPILOGUE: Final = """Results go to stdout, progress to stderr. NO_COLOR is honoured.

Exit codes: 0 ok, 1 failure, 2 usage, 3 not found, 4 refused or stale, 5 not allowed, 6 waiting for you
(a decision or a checkpoint), 7 budget or rounds exhausted, 8 failed check (verify, replay --assert, import, proofs),
130 interrupted."""


class CliCommand(NamedTuple):
    """A command by name: where it is, and its line in `hansard --help`."""

    name: str
    place: str
    group: Group
    help: str


COMMANDS: Final = (
    CliCommand("run", "run:run", WORK, "Have the team deliver a task, and watch it to the end."),
    CliCommand(
        "orchestrate", "orchestrate:orchestrate", WORK, "Give the team a request; it plans and works in rounds."
    ),
    CliCommand("message", "message:message", WORK, "Say something to the team, as in a chat."),
    CliCommand("review", "review:review", WORK, "Have a text, or your uncommitted changes, reviewed."),
    CliCommand("debate", "review:debate", WORK, "Have a plan debated before work begins."),
    CliCommand("example", "run:example", WORK, "Run the example delivery to see how it works."),
    CliCommand("inbox", "inbox:inbox", STEER, "List what needs your decision."),
    CliCommand("decide", "steer:decide", STEER, "Decide a review or a debate."),
    CliCommand("allow", "allowing:allow", STEER, "Allow what a session asks you for."),
    CliCommand("deny", "allowing:deny", STEER, "Deny what a session asks you for."),
    CliCommand("continue", "orchestrate:continue_", STEER, "Resume a paused orchestration."),
    CliCommand("reset", "orchestrate:reset", STEER, "End an orchestration for good."),
    CliCommand("watch", "steer:watch", STEER, "Follow a session live."),
    CliCommand("resume", "steer:resume", STEER, "Run a session in this process until it ends."),
    CliCommand("extend", "steer:extend", STEER, "Give a session more budget, or more rounds."),
    CliCommand("cancel", "steer:cancel", STEER, "Cancel a session."),
    CliCommand("apply", "results:apply", STEER, "Apply a session's changes to your checkout, uncommitted."),
    CliCommand("merge", "results:merge", STEER, "Merge a session's changes into the current branch."),
    CliCommand("land", "landing:land", STEER, "Merge finished branches one by one, each validated on the merge."),
    CliCommand("pr", "results:pr", STEER, "Push a session's branch and open a pull request."),
    CliCommand("retry", "steer:retry", STEER, "Retry a waiting or failed turn."),
    CliCommand("list", "listing:list_sessions", READ, "List sessions, newest first."),
    CliCommand("show", "read:show", READ, "Show a session, now or at an earlier version."),
    CliCommand("events", "read:events", READ, "List a session's events, or follow them."),
    CliCommand("changes", "results:changes", READ, "Show what a session has changed."),
    CliCommand("worklog", "read:worklog", READ, "Print a session's worklog."),
    CliCommand("report", "read:report", READ, "Report on all sessions: outcomes, costs, decisions."),
    CliCommand("replay", "past:replay", PAST, "Replay a past session, or check it against today's rules."),
    CliCommand("fork", "past:fork", PAST, "Start a new session from a version of another."),
    CliCommand("diff", "past:diff", PAST, "Show where two sessions diverge."),
    CliCommand("blame", "blame:blame", PAST, "Show which turn wrote each line of a file."),
    CliCommand("trace", "provenance:trace", PAST, "Print an Agent Trace record of a session's result."),
    CliCommand("explain", "past:explain", PAST, "Explain why a session is in its state."),
    CliCommand("lab", "lab:lab", PAST, "Try other convergence profiles on past discussions."),
    CliCommand("verify", "audit:verify", PAST, "Verify that the log is complete and unchanged."),
    CliCommand("checkpoint", "audit:checkpoint", PAST, "Print a signed checkpoint of the log."),
    CliCommand("prove", "audit:prove", PAST, "Prove that one event is in the log."),
    CliCommand("attest", "provenance:attest", PAST, "Print a signed statement of what a session did."),
    CliCommand("export", "log:export", PAST, "Write sessions as JSON Lines."),
    CliCommand("import", "log:import_sessions", PAST, "Import exported sessions."),
    CliCommand("serve", "serve:serve", CARE, "Serve the page and the API, and run turns."),
    CliCommand("worker", "serve:worker", CARE, "Run turns only, next to a server on the same log."),
    CliCommand("mcp", "mcp:mcp", CARE, "Serve Hansard's actions to another agent (MCP, stdio)."),
    CliCommand("init", "project:init", CARE, "Create hansard.toml and team.toml for a repository."),
    CliCommand("trust", "project:trust", CARE, "Trust the settings in a repository's hansard.toml."),
    CliCommand("team", "team:team", CARE, "List presets, installed programs and your team's agents."),
    CliCommand("doctor", "doctor:doctor", CARE, "Check that everything Hansard needs is in place."),
    CliCommand("key", "keys:key", CARE, "Create, list and revoke API keys."),
    CliCommand("backup", "log:backup", CARE, "Copy the log while it is in use."),
    CliCommand("migrate", "migrate:migrate", CARE, "Copy the log to PostgreSQL, or back to a file."),
    CliCommand("redact", "redact:redact", CARE, "Remove a leaked text from the log."),
    CliCommand("rebuild", "log:rebuild", CARE, "Rebuild the views from the log."),
    CliCommand("clean", "log:clean", CARE, "Delete working folders that are no longer needed."),
)


FLAGS_WITH_STRATEGY: Final = ("--review", "--plan-review", "--work-review")
"""Options that take a strategy or nothing: `--review`, `--review=red-team`."""


def program(called: str = "") -> App:
    """The command line, with nothing imported that it may not need; the command that is `called` tells more itself."""
    app = App(
        name="hansard",
        help=HELP,
        help_epilogue=EPILOGUE,
        help_format="markdown",
        version=_version,
        suppress_keyboard_interrupt=False,
        default_parameter=Parameter(negative=(), show_default=False),
    )
    for place, verb in enumerate(COMMANDS):
        line = None if verb.name == called else verb.help
        app.command(f"api.cli.{verb.place}", name=verb.name, group=verb.group, help=line, sort_key=place)
    if not called or called.startswith("-"):
        completion = "Install shell completion for bash, zsh or fish."
        app.register_install_completion_command(name="--install-completion", help=completion, group=OTHER)
    for flag in ("--help", "--version"):
        app[flag].group = OTHER
    return app


def _version() -> str:
    from importlib.metadata import version

    return version("hansard")


def main(argv: Sequence[str] | None = None) -> int:
    """Carry out a command line (default: this process's); the exit code."""
    _prepare()
    return carry_out(sys.argv[1:] if argv is None else argv)


def carry_out(argv: Sequence[str]) -> int:
    """The same inside a process that has its own signals, streams and log."""
    words = list(argv)
    try:
        return _call(words)
    except CycloptsError as error:
        return _complain(str(error), f"`hansard {_named(words)}--help` shows the usage.", code=exits.USAGE)
    except KeyboardInterrupt:
        return exits.INTERRUPTED
    except BrokenPipeError:
        return _reader_left()
    except Exception as error:  # the outermost: the user gets a sentence, HANSARD_DEBUG=1 a traceback
        code = _report(error)
        if code is not None:
            return code
        if os.environ.get("HANSARD_DEBUG"):
            raise
        sentence = f"Unexpected {type(error).__name__}: {error}"
        return _complain(sentence, "Set HANSARD_DEBUG=1 for a traceback.", code=exits.FAILURE)


def _report(error: Exception) -> int | None:
    """Print an error of ours, or of the system; its exit code. None for a defect of the program."""
    if isinstance(error, exits.Failed):
        return _complain(*str(error).splitlines(), code=error.code)
    from domain.values.base import HansardError, Invalid
    from domain.values.sentences import sentence_of

    if isinstance(error, Invalid):
        places = ((at, exits.in_words(detail)) for at, detail in error.errors.items())
        return _complain(*(f"{at}: {detail}" if at else detail for at, detail in places), code=exits.USAGE)
    if isinstance(error, HansardError):
        return _complain(*exits.in_words(sentence_of(error)).splitlines(), code=exits.of_error(error))
    if isinstance(error, OSError) and error.strerror:
        return _complain(": ".join(str(part) for part in (error.filename, error.strerror) if part), code=exits.FAILURE)
    return None


def _call(words: list[str]) -> int:
    try:
        words = [os.fsencode(word).decode() for word in words]  # people type UTF-8, whatever the locale calls it
    except UnicodeError:
        return _complain("The arguments are not valid UTF-8.", code=exits.USAGE)
    answer = program(next(iter(words), ""))(
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
    """SIGTERM ends it like Ctrl-C; UTF-8 whatever the locale; the log's own warnings on one line each."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_DFL:  # under nohup it is not
            signal.signal(number, _end)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    log_to_stderr(Full() if os.environ.get("HANSARD_DEBUG") else OneLine())


def _named(words: Sequence[str]) -> str:
    """The command that was meant, and a space; nothing if it is none of ours."""
    first = next(iter(words), "")
    return f"{first} " if first in {verb.name for verb in COMMANDS} else ""


def _complain(*sentences: str, code: int) -> int:
    for number, sentence in enumerate(sentences):
        if number == 0:
            say(sentence, label="hansard:")
        else:
            say(f"  {sentence.strip()}")
    return code


def _reader_left() -> int:
    """The reader of our output is gone; nothing more may be flushed into the closed pipe."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return exits.BROKEN_PIPE
