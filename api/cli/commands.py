"""The commands by name, and the page that `hansard --help` prints: made here, because the library that parses the
arguments takes longer to import than anyone wants to wait for a page that never changes."""

import os
import shutil
import textwrap
import unicodedata
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Final, NamedTuple

from api.cli.terminal import paint

WORK: Final = "Put the team to work"
STEER: Final = "Decide and steer"
READ: Final = "Read"
PAST: Final = "Look back and prove"
CARE: Final = "Serve and maintain"
GROUPS: Final = (WORK, STEER, READ, PAST, CARE)
OTHER: Final = "Options"

ABOUT: Final = """The official record of what a team of coding agents does.

Start with `hansard example`, or in your repository:

    hansard run -t "Add a --version flag" -f src/cli.py
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
    group: str
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
    CliCommand("decide", "decide:decide", STEER, "Decide a review or a debate."),
    CliCommand("allow", "permissions:allow", STEER, "Approve an agent's request, or changes outside the scope."),
    CliCommand("deny", "permissions:deny", STEER, "Refuse an agent's request, or changes outside the scope."),
    CliCommand("continue", "message:continue_", STEER, "Resume a paused orchestration."),
    CliCommand("reset", "message:reset", STEER, "End an orchestration for good."),
    CliCommand("watch", "steer:watch", STEER, "Follow a session live."),
    CliCommand("resume", "steer:resume", STEER, "Run a session in this process until it ends."),
    CliCommand("extend", "steer:extend", STEER, "Give a session more budget, or more rounds."),
    CliCommand("revise", "revision:revise", STEER, "Request changes to a session's result."),
    CliCommand("cancel", "steer:cancel", STEER, "Cancel a session."),
    CliCommand("comment", "comments:comment", STEER, "Comment on a session's result, or on lines of it."),
    CliCommand("apply", "merge:apply", STEER, "Apply a session's changes to your checkout, uncommitted."),
    CliCommand("merge", "merge:merge", STEER, "Merge a session's changes into the current branch."),
    CliCommand("land", "landing:land", STEER, "Merge finished branches one by one, each validated on the merge."),
    CliCommand("pr", "pull_request:pr", STEER, "Push a session's branch and open a pull request."),
    CliCommand("retry", "steer:retry", STEER, "Retry a waiting or failed turn."),
    CliCommand("list", "session_list:list_sessions", READ, "List sessions, newest first."),
    CliCommand("show", "show:show", READ, "Show a session, now or at an earlier version."),
    CliCommand("events", "events:events", READ, "List a session's events, or follow them."),
    CliCommand("changes", "changes:changes", READ, "Show what a session has changed."),
    CliCommand("findings", "findings:findings", READ, "List what was found in a session's work, and how it stands."),
    CliCommand("comments", "comments:comments", READ, "List the comments on a result, or settle one."),
    CliCommand("worklog", "events:worklog", READ, "Print a session's worklog."),
    CliCommand("report", "report:report", READ, "Report on all sessions: outcomes, costs, decisions."),
    CliCommand("replay", "replay:replay", PAST, "Replay a past session, or check it against today's rules."),
    CliCommand("cuts", "cuts:cuts", PAST, "List where a fork of a session can begin."),
    CliCommand("fork", "fork:fork", PAST, "Start a new session from a version of another."),
    CliCommand("diff", "diff:diff", PAST, "Show where two sessions diverge."),
    CliCommand("blame", "blame:blame", PAST, "Show which turn wrote each line of a file."),
    CliCommand("trace", "trace:trace", PAST, "Print an Agent Trace record of a session's result."),
    CliCommand("explain", "explain:explain", PAST, "Explain why a session is in its state."),
    CliCommand("lab", "lab:lab", PAST, "Try other convergence profiles on past discussions."),
    CliCommand("verify", "verbs.audit:verify", PAST, "Verify that the log is complete and unchanged."),
    CliCommand("checkpoint", "verbs.audit:checkpoint", PAST, "Print a signed checkpoint of the log."),
    CliCommand("prove", "verbs.prove:prove", PAST, "Prove that one event is in the log."),
    CliCommand("share", "verbs.share:share", PAST, "Write a session as one HTML file to show."),
    CliCommand("attest", "verbs.attest:attest", PAST, "Print a signed statement of what a session did."),
    CliCommand("export", "verbs.transfer:export", PAST, "Write sessions as JSON Lines."),
    CliCommand("import", "verbs.transfer:import_sessions", PAST, "Import exported sessions."),
    CliCommand("serve", "verbs.serve:serve", CARE, "Serve the page and the API, and run turns."),
    CliCommand("worker", "verbs.serve:worker", CARE, "Run turns only, next to a server on the same log."),
    CliCommand("mcp", "verbs.mcp:mcp", CARE, "Serve Hansard's actions to another agent (MCP, stdio)."),
    CliCommand("init", "verbs.project:init", CARE, "Create hansard.toml and team.toml for a repository."),
    CliCommand("trust", "trust:trust", CARE, "Trust the settings in a repository's hansard.toml."),
    CliCommand("team", "verbs.project:team", CARE, "List presets, installed programs and your team's agents."),
    CliCommand("doctor", "verbs.doctor:doctor", CARE, "Check that everything Hansard needs is in place."),
    CliCommand("key", "verbs.keys:key", CARE, "Create, list and revoke API keys."),
    CliCommand("backup", "verbs.transfer:backup", CARE, "Copy the log while it is in use."),
    CliCommand("restore", "verbs.restoration:restore", CARE, "Put a copy in place of the log."),
    CliCommand("migrate", "verbs.migrate:migrate", CARE, "Copy the log to PostgreSQL, or back to a file."),
    CliCommand("redact", "redact:redact", CARE, "Remove a leaked text from the log."),
    CliCommand("rebuild", "verbs.rebuild:rebuild", CARE, "Rebuild the views from the log."),
    CliCommand("clean", "verbs.clean:clean", CARE, "Delete working folders that are no longer needed."),
)


FIRST: Final = frozenset(
    ("init", "run", "review", "orchestrate", "inbox", "decide", "watch", "show", "changes", "merge", "serve", "doctor")
)
"""The commands that `hansard --help` shows: those that a person needs in the first week."""
MORE: Final = """All commands: `hansard help --all`. One command: `hansard COMMAND --help`."""

OPTIONS: Final = (
    ("--help (-h)", "Display this message and exit."),
    ("--install-completion", "Install shell completion for bash, zsh or fish."),
    ("--version", "Display application version."),
)
_USAGE: Final = "Usage: hansard COMMAND"
_MOST: Final = 100
"""Cells that a line takes at most: wider lines are hard to read."""
_EDGE: Final = 4
"""Cells of a box's edges and their blanks."""
_LEAST: Final = 40


def page(*, everything: bool = False) -> str:
    """The program's help, as wide as the terminal: the first commands, or all commands and the exit codes."""
    width, say = max(_LEAST, min(_MOST, shutil.get_terminal_size().columns)), korean()
    commands = [each for each in COMMANDS if everything or each.name in FIRST]
    groups = [(group, [(each.name, each.help) for each in some]) for group, some in groupby(commands, _group)]
    boxes = (
        "\n".join(
            _box(say.get(f"help.{title}", title), [(name, say.get(f"help.{name}", line)) for name, line in rows], width)
        )
        for title, rows in (*groups, (OTHER, OPTIONS))
    )
    usage, about = say.get("usage", _USAGE), say.get("about", ABOUT)
    end = say.get("epilogue", EPILOGUE) if everything else say.get("more", MORE)
    return "\n\n".join((usage, _prose(about, width), "\n".join(boxes), _prose(end, width)))


def korean() -> dict[str, str]:
    """The help at a Korean terminal, by key; empty at an English one, which needs no catalogue."""
    chosen = next(filter(None, (os.environ.get(name) for name in ("LC_ALL", "LC_MESSAGES", "LANG"))), "")
    if not chosen.lower().startswith("ko"):
        return {}
    from domain.values.words import words

    return dict(words("ko", "api.cli.help").messages)


def _group(verb: CliCommand) -> str:
    return verb.group


def _prose(text: str, width: int) -> str:
    """Paragraphs, filled; those that are indented are commands and stay as they are."""
    paragraphs = text.replace("`", "").split("\n\n")
    return "\n\n".join(each if each.startswith(" ") else "\n".join(_lines(each, width)) for each in paragraphs)


def _lines(text: str, width: int) -> list[str]:
    """The text in lines of at most this many cells; a Korean letter takes two."""
    if text.isascii():
        return textwrap.wrap(text, width)
    lines: list[str] = [""]
    for word in text.split():
        longer = f"{lines[-1]} {word}".strip()
        if _cells(longer) <= width:
            lines[-1] = longer
        else:
            lines.append(word)
    return lines


def _cells(text: str) -> int:
    return len(text) + sum(unicodedata.east_asian_width(letter) in "WF" for letter in text)


def _box(title: str, rows: Sequence[tuple[str, str]], width: int) -> Iterable[str]:
    """The rows in two columns, with a frame and a title."""
    names = max(len(name) for name, _ in rows)
    room = width - _EDGE - names - 2
    yield f"╭─ {title} {'─' * (width - _cells(title) - 5)}╮"
    for name, text in rows:
        for number, line in enumerate(_lines(text, room)):
            shown = paint(name.ljust(names), "cyan") if number == 0 else " " * names
            yield f"│ {shown}  {line}{' ' * (room - _cells(line))} │"
    yield f"╰{'─' * (width - 2)}╯"
