"""Makes what a person's checkout shows of a commit, for agents and validation (`[workspace] filters = true`).

The person's filters run once for all files of a commit, and what they show becomes the commit's twin (`twins`).
"""

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from adapters.fence.choice import Sandbox, choose
from adapters.workspace.conversion_scratch import NOT_SET, Fencing, NotConverted, Rules, Scratch
from adapters.workspace.git import Lasting, line
from adapters.workspace.repository import Index, Repository
from adapters.workspace.snapshot import shared_folder
from adapters.workspace.twins import Show, replace, twin_of
from adapters.workspace.workspace import Workspace
from domain.values.sentences import Sentence, sentence_of


class NotShown(Lasting):
    """The person's filters cannot produce the files that agents are to see."""


def shower(sandbox: Sandbox) -> Show:
    """Runs the person's filters in such a fence."""

    def shown(repository: Repository, commit: str, facts: Mapping[str, Any], top: Path, bare: bool) -> str | None:
        return show(repository, commit, facts, shared_folder(top, bare=bare), choose(sandbox))

    return shown


def show_all(workspace: Workspace, commits: Sequence[str], fencing: Fencing) -> None:
    """Have commits of the person's repository seen as their checkout would show them, if the agents of this workspace
    see everything so. Raises NotShown."""
    if workspace.filters and workspace.conversion is not None and workspace.repository is not None:
        shared = shared_folder(Path(workspace.repository), bare=workspace.bare)
        for commit in commits:
            show(Repository(workspace.home / "repo.git"), commit, workspace.conversion, shared, fencing)


def show(
    repository: Repository, commit: str, facts: Mapping[str, Any], shared: Path | None, fencing: Fencing
) -> str | None:
    """Have a commit seen as the person's checkout would show it. Returns its twin; None where both are the same.
    Raises NotShown."""
    if twin := twin_of(repository, commit):
        return twin
    stored = repository.stored
    with tempfile.TemporaryDirectory(prefix="show-", dir=repository.path) as made:
        try:
            scratch = Scratch(Path(made), stored, commit, facts, shared, fencing)
            rules = scratch.rules(list(scratch.files))
            named = {path: rule["filter"] for path, rule in rules.items() if _has_filter(scratch, rule)}
            for name in sorted(set(named.values())):
                scratch.check_driver(name, [path for path in named if named[path] == name], "smudge")
            paths = [path for path, rule in rules.items() if path in named or _is_converted(rule, facts)]
            if not paths:
                return None
            shown = Path(made) / "shown"
            scratch.checked_out(stored, paths, shown, named.values())
        except NotConverted as error:
            raise NotShown(Sentence("checkout_not_shown", detail=sentence_of(error))) from error
        index = Index(stored, Path(made) / "index")
        tree = index.with_content(commit, shown, paths)
    if tree == line(stored.run("rev-parse", "--verify", f"{commit}^{{tree}}")):
        return None
    return replace(repository, commit, tree)


def _has_filter(scratch: Scratch, rule: Rules) -> bool:
    """True if the person's git runs a program for it when it checks a file out."""
    return rule["filter"] not in NOT_SET and bool(scratch.commands(rule["filter"], "smudge"))


def _is_converted(rule: Rules, facts: Mapping[str, Any]) -> bool:
    """True if git itself may show a file otherwise than it stores it."""
    if rule["working-tree-encoding"] not in NOT_SET or rule["ident"] == "set":
        return True
    if "unset" in (rule["text"], rule["crlf"]):
        return False
    if rule["eol"] not in NOT_SET:
        return rule["eol"] == "crlf"
    is_text = any(rule[name] not in NOT_SET for name in ("text", "crlf"))
    return facts["autocrlf"] == "true" or (is_text and facts["autocrlf"] == "false" and facts["eol"] == "crlf")
