"""`review` and `debate`: several agents discuss something, a person decides."""

import asyncio
import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Final, NamedTuple

from cyclopts import Group, Parameter
from cyclopts.types import ExistingDirectory

from adapters.processes.program import run
from adapters.workspace.git import WorkspaceError
from adapters.workspace.inert import inert_git
from adapters.workspace.reviewed_diff import uncommitted
from api.cli import exits
from api.cli.exits import Failed
from api.cli.labels import sentence
from api.cli.options import HERE, DebateStrategy, Fields, ReviewStrategy, TeamFile, Where
from api.cli.start import PLAIN, AsEnd, StartOptions, start
from api.cli.terminal import say
from api.cli.texts import text_or_file

MOST: Final = 200_000
"""Characters of a diff that are reviewed; reviewers lose the thread of more, and so do their models."""
_KEPT_BYTES: Final = 8 * 1_048_576
_SECONDS: Final = 120.0
_OF_A_HOOK: Final = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX")
"""What git tells its hooks of the repository they run for; about another one it would be wrong."""
_PLAIN: Final = ("--no-ext-diff", "--no-textconv", "--no-color", "--find-renames", "--submodule=short")


class RepositoryChanges(NamedTuple):
    """`text` is what is reviewed, `top` the folder of the repository."""

    top: Path
    title: str
    text: str
    reviewed: Fields | None = None
    """What is not committed, for a session that fixes it."""


async def changes(folder: Path, *, base: str | None) -> RepositoryChanges | None:
    """Staged, unstaged and new since `base` (default: the last commit); None, with a message, when there is
    nothing. Raises Failed: no repository, no such revision."""
    top = Path((await _git(folder, "rev-parse", "--show-toplevel")).rstrip("\n"))
    since, named = await _since(top, base)
    with TemporaryDirectory(prefix="hansard-") as folder_of_index:
        inert = _inert(top)
        index = await _index_with_untracked(top, Path(folder_of_index, "index"), inert)
        whole = await _git(top, *inert, "diff", *_PLAIN, since, "--", index=index)
        statistics = await _git(top, *inert, "diff", *_PLAIN, "--stat=100", since, "--", index=index)
    if not whole.strip():
        if base is None:
            say(sentence("Nothing to review: {top} has no uncommitted changes.", top=top))
        else:
            say(sentence("Nothing to review: {top} has no changes since {base}.", top=top, base=base))
        return None
    title = sentence("Uncommitted changes in {name}", name=top.name)
    if base is not None:
        title = sentence("Changes in {name} since {base}", name=top.name, base=base)
    return RepositoryChanges(top, title, _text(top, named, statistics=statistics, diff=whole), await _reviewed(top))


async def _reviewed(top: Path) -> Fields | None:

    try:
        patch = await asyncio.to_thread(uncommitted, top)
    except WorkspaceError:  # it can be reviewed all the same
        return None
    return patch and patch._asdict()


def _inert(top: Path) -> tuple[str, ...]:
    """Settings with which git executes nothing that the repository names: no filter, monitor or hook."""

    return (*inert_git(top).settings, "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null")


async def _index_with_untracked(top: Path, index: Path, inert: Sequence[str]) -> Path:
    """A copy of the index that also lists untracked files, so that a diff shows their contents. The repository's own
    index stays as it is."""
    own = top / (await _git(top, "rev-parse", "--git-path", "index")).rstrip("\n")
    if own.is_file():
        shutil.copy2(own, index)  # with its time: git compares it with the files' to find changes of the same second
    await _git(top, *inert, "add", "--intent-to-add", "--", ".", index=index)
    return index


async def _since(top: Path, base: str | None) -> tuple[str, str]:
    """The commit to compare with, and its name for people. A branch is compared with where it left `base`."""
    if base is None:
        head = await _commit(top, "HEAD")
        if head is None:
            return (await _git(top, "hash-object", "-t", "tree", os.devnull)).strip(), "the beginning"
        return head, f"the last commit ({head[:10]})"
    commit = await _commit(top, base)
    if commit is None:
        raise Failed(sentence("--base {base}: {top} has no such revision.", base=base, top=top), code=exits.USAGE)
    fork = (await _git(top, "merge-base", commit, "HEAD", codes=(0, 1, 128))).strip() or commit
    return fork, f"{base} ({fork[:10]})"


async def _commit(top: Path, revision: str) -> str | None:
    question = ("rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
    return (await _git(top, *question, codes=(0, 1, 128))).strip() or None


def _text(top: Path, named: str, *, statistics: str, diff: str) -> str:
    """Step, action, result (S2): what is reviewed, an overview, and the diff itself as far as it goes."""
    parts = [
        f"Step: the changes in the repository {top.name} since {named}: staged, unstaged and untracked files. "
        "They are not committed: a copy of the repository shows its last commit.",
        f"Action:\n{statistics.rstrip()}",
        f"Result:\n{_cut(diff)}",
    ]
    return "\n\n".join(parts).replace("\0", "\N{SYMBOL FOR NULL}")


def _cut(diff: str) -> str:
    """As much as can be reviewed, up to the end of a line, and a note of what is missing."""
    if len(diff) <= MOST:
        return diff.rstrip("\n")
    head = diff[: diff.rfind("\n", 0, MOST) + 1] or diff[:MOST]
    left = len(diff) - len(head)
    say(sentence("The diff is long: the last {left:,} of its {n:,} characters are omitted.", left=left, n=len(diff)))
    return f"{head.rstrip()}\n\n[{left:,} more characters of the diff are omitted; see the overview.]"


async def _git(folder: Path, *words: str, codes: tuple[int, ...] = (0,), index: Path | None = None) -> str:
    """The output of git, up to some megabytes. Its own settings and ignores count: it is the person's repository."""

    quiet = {"LC_ALL": "C.UTF-8", "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "GIT_PAGER": "cat"}
    command = ["git", "-c", "core.quotePath=false", *words]
    env = {name: value for name, value in os.environ.items() if name not in _OF_A_HOOK or _is_here(folder)} | quiet
    if index is not None:
        env["GIT_INDEX_FILE"] = str(index)
    done = await run(command, cwd=folder, env=env, wall_seconds=_SECONDS, output_bytes=_KEPT_BYTES)
    if done.ended == "output" or done.exit_code in codes:
        return done.stdout
    complaint = " ".join(done.stderr.split())[-500:] or done.detail or sentence("exit {code}", code=done.exit_code)
    if "not a git repository" in complaint:
        raise Failed(sentence("{folder} is not in a git repository.", folder=folder), code=exits.USAGE)
    if "must be run in a work tree" in complaint:
        raise Failed(sentence("{folder} is in a git repository without a checkout.", folder=folder), code=exits.USAGE)
    name = next(word for at, word in enumerate(words) if "-c" not in words[max(0, at - 1) : at + 1])
    raise Failed(f"git {name}: {complaint}")


def _is_here(folder: Path) -> bool:
    return Path.cwd().is_relative_to(folder.resolve())


TALK: Final = Group("Discussion options", sort_key=10)
CHANGES: Final = Group("Changes in a git repository", sort_key=5)
Rounds = Annotated[int | None, Parameter(group=TALK)]
ProfileName = Annotated[
    str | None,
    Parameter(group=TALK, help="When the discussion counts as converged: seed (the default), shipped-v3 or mysti."),
]


async def review(
    subject: Annotated[
        str | None, Parameter(allow_leading_hyphen=True, help="The text or file to review; - reads stdin.")
    ] = None,
    /,
    *,
    file: Annotated[Path | None, Parameter(help="Read the text to review from this file.")] = None,
    diff: Annotated[bool, Parameter(group=CHANGES)] = False,
    base: Annotated[str | None, Parameter(group=CHANGES)] = None,
    repo: Annotated[ExistingDirectory | None, Parameter(group=CHANGES)] = None,
    strategy: Annotated[ReviewStrategy | None, Parameter(group=TALK)] = None,
    max_rounds: Rounds = None,
    profile: ProfileName = None,
    options: StartOptions = PLAIN,
    json: AsEnd = False,
    where: Where = HERE,
    team: TeamFile = None,
) -> int:
    """Have something reviewed: a reviewer and a coder discuss it, then you decide.

        hansard review --diff

    reviews your uncommitted changes; with `--base main`, everything your branch changed. At a terminal you are asked
    whether to apply the fix or skip it; press Enter to decide later with `hansard decide`.

    Exit code: 0 decided or nothing to review, 1 cancelled, 6 waiting for your decision.

    Parameters
    ----------
    subject
        The text to review, or a file; - reads stdin.
    diff
        Review the changes of the repository: staged, unstaged and untracked files.
    base
        Changes since the branch left this revision, such as main or HEAD~3; default: the last commit.
    repo
        The repository; default: the current one.
    strategy
        review weighs strengths and weaknesses; red-team attacks it.
    max_rounds
        Maximum number of rounds, 1 to 20 [default: 3].
    """
    if diff or base is not None or repo is not None:
        if subject is not None or file is not None:
            raise Failed(sentence("Give only one of: a text, --file, --diff."), code=exits.USAGE)
        repository = await changes(repo or Path.cwd(), base=base)
        if repository is None:
            return exits.OK
    elif subject is None and file is None:
        raise Failed(sentence("Nothing to review: give a text, --file FILE, - for stdin, or --diff."), code=exits.USAGE)
    else:
        repository = RepositoryChanges(Path.cwd(), "", text_or_file(subject, file, what="subject"))
    body: Fields = {"kind": "review", "subject": repository.text, "title": repository.title, "strategy": strategy}
    body |= {"maxRounds": max_rounds, "profile": profile, "origin": "cli", "reviewed": repository.reviewed}
    return await start(where, team, options, body, json=json, here=repository.top)


async def debate(
    plan: Annotated[
        str | None,
        Parameter(allow_leading_hyphen=True, help="The plan or its file; - reads stdin."),
    ] = None,
    /,
    *,
    file: Annotated[Path | None, Parameter(help="Read the plan from this file.")] = None,
    strategy: Annotated[DebateStrategy | None, Parameter(group=TALK)] = None,
    max_rounds: Rounds = None,
    profile: ProfileName = None,
    options: StartOptions = PLAIN,
    json: AsEnd = False,
    where: Where = HERE,
    team: TeamFile = None,
) -> int:
    """Have a plan debated before work begins: a critic challenges it, a planner defends it, you decide.

        hansard debate --file plan.md --strategy perspectives

    At a terminal you are asked whether to revise or accept the plan; press Enter to decide later.

    Exit code: 0 decided, 1 cancelled, 6 waiting for your decision.

    Parameters
    ----------
    plan
        The plan to debate, or a file; - reads stdin.
    strategy
        debate challenges and defends; perspectives looks at risks, then at opportunities, then weighs both.
    max_rounds
        Maximum number of rounds, up to 20, and at least as many as the strategy needs [default: 2].
    """
    body: Fields = {"kind": "debate", "plan": text_or_file(plan, file, what="plan"), "strategy": strategy}
    body |= {"maxRounds": max_rounds, "profile": profile, "origin": "cli"}
    return await start(where, team, options, body, json=json)
