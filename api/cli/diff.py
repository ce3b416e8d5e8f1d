"""What has changed in a git repository, as a text that can be reviewed."""

import os
from pathlib import Path
from typing import Final, NamedTuple

from api.cli import exits
from api.cli.exits import Failed
from api.cli.terminal import say

MOST: Final = 200_000
"""Characters of a diff that are reviewed; reviewers lose the thread of more, and so do their models."""
_NAMES: Final = 200
_KEPT_BYTES: Final = 8 * 1_048_576
_SECONDS: Final = 120.0
_OF_A_HOOK: Final = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX")
"""What git tells its hooks of the repository they run for; about another one it would be wrong."""
_PLAIN: Final = ("--no-ext-diff", "--no-textconv", "--no-color", "--find-renames", "--submodule=short")


class Changes(NamedTuple):
    """`text` is what is reviewed, `top` the folder of the repository."""

    top: Path
    title: str
    text: str


async def changes(folder: Path, *, base: str | None) -> Changes | None:
    """Staged, unstaged and new since `base` (default: the last commit); None, said to the person, when there is
    nothing. Raises Failed: no repository, no such revision."""
    top = Path((await _git(folder, "rev-parse", "--show-toplevel")).rstrip("\n"))
    since, named = await _since(top, base)
    whole = await _git(top, "diff", *_PLAIN, since, "--")
    new = [name for name in (await _git(top, "ls-files", "--others", "--exclude-standard", "-z")).split("\0") if name]
    if not whole.strip() and not new:
        say(f"Nothing to review: {top} has no changes since {named}.")
        return None
    if new:
        say(f"Of {_files(new)} only the name is reviewed; `git add -N .` puts the contents into the diff.")
    statistics = await _git(top, "diff", *_PLAIN, "--stat=100", since, "--")
    text = _told(top, named, statistics=statistics, diff=whole, new=new)
    return Changes(top, f"Changes in {top.name} since {named}", text)


async def _since(top: Path, base: str | None) -> tuple[str, str]:
    """What to compare with, and how people call it. A branch is compared with where it left `base`."""
    if base is None:
        head = await _commit(top, "HEAD")
        if head is None:
            return (await _git(top, "hash-object", "-t", "tree", os.devnull)).strip(), "the beginning"
        return head, f"the last commit ({head[:10]})"
    commit = await _commit(top, base)
    if commit is None:
        raise Failed(f"--base {base}: {top} has no such revision.", code=exits.USAGE)
    fork = (await _git(top, "merge-base", commit, "HEAD", codes=(0, 1, 128))).strip() or commit
    return fork, f"{base} ({fork[:10]})"


async def _commit(top: Path, revision: str) -> str | None:
    question = ("rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
    return (await _git(top, *question, codes=(0, 1, 128))).strip() or None


def _files(new: list[str]) -> str:
    return f"{len(new)} new files" if len(new) > 1 else f"the new file {new[0]}"


def _told(top: Path, named: str, *, statistics: str, diff: str, new: list[str]) -> str:
    """Step, action, result (S2): what is reviewed, an overview, and the diff itself as far as it goes."""
    names = [f"- {name}" for name in new[:_NAMES]]
    more = [f"- and {len(new) - _NAMES} more"] if len(new) > _NAMES else []
    parts = [
        f"Step: the changes in the repository {top.name} since {named}, staged and unstaged. "
        "They are not committed: where the repository can be looked at, it stands at its last commit.",
        f"Action:\n{statistics.rstrip() or 'No file that git knows has changed.'}",
        *(["New files that git does not know yet, by name only:\n" + "\n".join([*names, *more])] if new else []),
        *([f"Result:\n{_cut(diff)}"] if diff.strip() else []),
    ]
    return "\n\n".join(parts).replace("\0", "\N{SYMBOL FOR NULL}")


def _cut(diff: str) -> str:
    """As much as can be reviewed, up to the end of a line, and a note of what is missing."""
    if len(diff) <= MOST:
        return diff.rstrip("\n")
    kept = diff[: diff.rfind("\n", 0, MOST) + 1] or diff[:MOST]
    left = len(diff) - len(kept)
    say(f"The diff is long: the last {left:,} of its {len(diff):,} characters are left out.")
    return f"{kept.rstrip()}\n\n[The diff goes on for {left:,} characters that are left out here; see the overview.]"


async def _git(folder: Path, *words: str, codes: tuple[int, ...] = (0,)) -> str:
    """What git says, up to some megabytes. Its own settings and ignores count: it is the person's repository."""
    from adapters.processes import run

    quiet = {"LC_ALL": "C.UTF-8", "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "GIT_PAGER": "cat"}
    command = ["git", "-c", "core.quotePath=false", *words]
    env = {name: value for name, value in os.environ.items() if name not in _OF_A_HOOK or _is_here(folder)} | quiet
    done = await run(command, cwd=folder, env=env, wall_seconds=_SECONDS, output_bytes=_KEPT_BYTES)
    if done.ended == "output" or done.exit_code in codes:
        return done.stdout
    complaint = " ".join(done.stderr.split())[-500:] or done.detail or f"exit code {done.exit_code}"
    if "not a git repository" in complaint:
        raise Failed(f"{folder} is in no git repository.", code=exits.USAGE)
    raise Failed(f"git {words[0]}: {complaint}")


def _is_here(folder: Path) -> bool:
    return Path.cwd().is_relative_to(folder.resolve())
