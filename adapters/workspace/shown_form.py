"""What a person's checkout shows of a commit, for agents and validation (`[workspace] filters = true`).

Git stores some files in another form than it shows: Git LFS pointers, ciphertext, other encodings and line endings. In
our repository, a commit can have a twin that holds the shown form; git is told to read the twin in the commit's place
(`git replace`). Ids, history and what is fetched from here stay as they are.
"""

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from adapters.workspace.conversion_scratch import NOT_SET, Fencing, NotConverted, Rules, Scratch
from adapters.workspace.git import Lasting, line
from adapters.workspace.repository import Index, Repository
from domain.values.sentences import Sentence, sentence_of

REPLACED: Final = "refs/replace/"


class NotShown(Lasting):
    """The person's filters cannot produce the files that agents are to see."""


def twin_of(repository: Repository, commit: str) -> str | None:
    """The commit that git reads in place of this one."""
    words = ("rev-parse", "--verify", "--quiet", f"{REPLACED}{commit}")
    return line(repository.answered(*words, codes=(0, 1)).stdout) or None


def replace(repository: Repository, commit: str, tree: str) -> str:
    """Have git read this tree as that of the commit. Returns the twin."""
    head, separator, message = repository.stored.run("cat-file", "commit", commit).partition(b"\n\n")
    lines = [b"tree " + tree.encode(), *head.split(b"\n")[1:]]
    whole = b"\n".join(lines) + separator + message
    twin = line(repository.run("hash-object", "-t", "commit", "-w", "--stdin", stdin=whole))
    repository.run("update-ref", f"{REPLACED}{commit}", twin)
    return twin


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


def give_twins(repository: Repository, inside: Repository) -> None:
    """Let another repository on the same objects see the same commits otherwise."""
    place = repository.path / REPLACED
    if not place.is_dir():
        return
    for entry in sorted(place.iterdir()):
        inside.write(f"{REPLACED}{entry.name}", entry.read_text("ascii"))
    inside.write("info/attributes", _AS_THEY_ARE)


_AS_THEY_ARE: Final = "* -text !eol !crlf !ident !filter !working-tree-encoding\n"
"""For the agents' own git: files have the shown form there already."""
