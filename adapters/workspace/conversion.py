"""Makes what a person's git would have committed: filters, encodings and line endings (contract-3 §17).

Agents see the stored form of files, and their work is recorded byte for byte. Before a branch is made of it, each of
its commits is rewritten as the person's git would have made it: by the attributes and the settings at the base, never
by what an agent wrote. Where that cannot be done, no branch is made.
"""

import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple

from adapters.workspace.conversion_scratch import NOT_SET, PLAIN_FILE, Fencing, NotConverted, Rules, Scratch
from adapters.workspace.git import line
from adapters.workspace.repository import Index, Repository
from adapters.workspace.snapshot import shared_folder
from adapters.workspace.twins import replace, twin_of
from adapters.workspace.workspace import Workspace

_STORED: Final = (b"\0GITCRYPT\0", b"version https://git-lfs.github.com/spec/")
"""The beginning of content that a filter has cleaned already."""


def converted(workspace: Workspace, commit: str, fencing: Fencing) -> str:
    """The state as the person's git would have committed it, with its commits. Raises NotConverted."""
    if workspace.repository is None or workspace.conversion is None:
        return commit
    repository = Repository(workspace.home / "repo.git")
    repository.check(commit)
    shared = shared_folder(Path(workspace.repository), bare=workspace.bare)
    base = workspace.original or workspace.base()
    twin = twin_of(repository, base) if workspace.filters else None
    converter = Converter(
        repository,
        base,
        workspace.conversion,
        shared,
        fencing,
        filters=workspace.filters,
        shown=_differing(repository, base, twin) if twin else {},
    )
    return converter.converted(commit)


class _Entry(NamedTuple):
    """A file of a commit that the base has not, or has otherwise."""

    path: str
    mode: str
    blob: str


class _Form(NamedTuple):
    """A file of the base: the blob that git stores, and the one that a checkout shows."""

    mode: str
    stored: str
    shown: str


def _differing(repository: Repository, base: str, twin: str) -> dict[str, _Form]:
    """The files that a checkout shows otherwise than git stores them."""
    words = ("diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", base, twin)
    parts = iter(os.fsdecode(repository.stored.run(*words)).split("\0"))
    forms: dict[str, _Form] = {}
    for facts in filter(None, parts):
        mode, _, stored, shown, _ = facts.removeprefix(":").split(" ")
        forms[next(parts)] = _Form(mode, stored, shown)
    return forms


@dataclass(frozen=True, slots=True)
class Converter:
    """Rewrites commits of one workspace. `facts` are from `conversion_of`; `shared` is the git folder of the person's
    repository, of which filters see what does not belong to git itself. With `filters`, agents saw what a checkout
    shows: of the base, these files differ, `shown`."""

    repository: Repository
    base: str
    facts: Mapping[str, Any]
    shared: Path | None
    fencing: Fencing
    filters: bool = False
    shown: Mapping[str, _Form] = field(default_factory=dict)
    _blobs: dict[tuple[str, str], str] = field(default_factory=dict)

    def converted(self, commit: str) -> str:
        """The commit as the person's git would have made it; itself where nothing is to be converted. Raises
        NotConverted."""
        words = ["rev-list", "--reverse", "--topo-order", f"{self.base}..{commit}"]
        commits = self.repository.run(*words).decode().split()
        changed = {each: list(self._changed(each)) for each in commits}
        paths = {entry.path for entries in changed.values() for entry in entries} | self.shown.keys()
        if not (commits and paths):
            return commit
        with tempfile.TemporaryDirectory(prefix="convert-", dir=self.repository.path) as made:
            stored = self.repository.stored
            scratch = Scratch(Path(made), stored, self.base, self.facts, self.shared, self.fencing)
            rules = scratch.rules(sorted(paths))
            if not any(self._concerns(rule) for rule in rules.values()):
                return commit
            if not self.filters:
                self._refuse_edits(changed[commits[-1]], rules, scratch)
            mapped: dict[str, str] = {}
            for each in commits:
                mapped[each] = self._rewritten(each, self._replaced(changed[each], rules, scratch), mapped)
            scratch.give_back()
        if self.filters:
            self._add_twins(mapped)
        return mapped[commit]

    def _changed(self, commit: str) -> Iterator[_Entry]:
        """Returns what differs from the base, as the agents saw it; files that are gone, or are none any more, have no
        blob."""
        words = iter(
            os.fsdecode(
                self.repository.run("diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", self.base, commit)
            ).split("\0")
        )
        for facts in words:
            if facts:
                _, mode, _, blob, _ = facts.removeprefix(":").split(" ")
                yield _Entry(next(words), mode, blob if mode.startswith(PLAIN_FILE) else "")

    def _replaced(self, changed: Sequence[_Entry], rules: Mapping[str, Rules], scratch: Scratch) -> Iterator[_Entry]:
        """The files of a commit whose stored form is another one."""
        for entry in changed:
            if entry.blob and (new := self._stored(entry, rules, scratch)) != entry.blob:
                yield entry._replace(blob=new)
        touched = {entry.path for entry in changed}
        for path, form in self.shown.items():
            if path not in touched:
                yield _Entry(path, form.mode, form.stored)

    def _concerns(self, rule: Rules) -> bool:
        return any(value not in NOT_SET for value in rule.values()) or self.facts["autocrlf"] in ("true", "input")

    def _refuse_edits(self, entries: Sequence[_Entry], rules: Mapping[str, Rules], scratch: Scratch) -> None:
        """Only a new file can be converted: of one that was there, agents saw the stored form."""
        edited = [
            entry.path
            for entry in entries
            if entry.blob and _is_filtered(rules[entry.path]) and entry.path in scratch.files
        ]
        if edited:
            raise NotConverted("filtered_files_edited", edited)

    def _stored(self, entry: _Entry, rules: Mapping[str, Rules], scratch: Scratch) -> str:
        if not self._concerns(rules[entry.path]):
            return entry.blob
        key = entry.path, entry.blob
        if key not in self._blobs:
            self._blobs[key] = self._stored_blob(entry, rules, scratch)
        return self._blobs[key]

    def _stored_blob(self, entry: _Entry, rules: Mapping[str, Rules], scratch: Scratch) -> str:
        rule, before = rules[entry.path], scratch.files.get(entry.path, (None, None))[1]
        if earlier := self._stored_before(entry, rules):
            return earlier
        if not self.filters and _is_filtered(rule) and before is not None:
            return before  # edited on the way, and put back in the end
        content = self.repository.run("cat-file", "blob", entry.blob)
        if not self._needs_conversion(content, rule, before):
            return entry.blob
        if rule["filter"] not in NOT_SET:
            if content.startswith(_STORED) or self._is_stored(entry.blob, rule["filter"], scratch):
                return entry.blob
            scratch.check_driver(rule["filter"], [entry.path], "clean")
        result = scratch.cleaned(entry.path, content, rule)
        return line(self.repository.run("hash-object", "-w", "--stdin", "--no-filters", stdin=result))

    def _stored_before(self, entry: _Entry, rules: Mapping[str, Rules]) -> str | None:
        """The stored form of what the base shows, here or under a path with the same rules: a filter may answer
        otherwise each time."""
        here = [path for path in (entry.path, *self.shown) if path in self.shown]
        same = (path for path in here if self.shown[path].shown == entry.blob and rules[path] == rules[entry.path])
        return next((self.shown[path].stored for path in same), None)

    def _is_stored(self, blob: str, name: str, scratch: Scratch) -> bool:
        """True if the base has this content under the same filter."""
        paths = [path for path, (_, there) in scratch.files.items() if there == blob]
        return any(rule["filter"] == name for rule in scratch.rules(paths).values()) if paths else False

    def _needs_conversion(self, content: bytes, rule: Rules, before: str | None) -> bool:
        if rule["filter"] not in NOT_SET:
            return True
        if rule["working-tree-encoding"] not in NOT_SET and not _is_utf8(content):
            return True
        if rule["ident"] == "set" and b"$Id" in content:
            return True
        if b"\r\n" not in content or "unset" in (rule["text"], rule["crlf"]):
            return False
        automatic = rule["text"] == "auto" or rule["crlf"] == "auto"
        if not automatic and any(rule[name] not in NOT_SET for name in ("text", "crlf", "eol")):
            return True
        # git leaves the line endings of a file alone that has them in the repository
        return before is None or b"\r\n" not in self.repository.run("cat-file", "blob", before)

    def _rewritten(self, commit: str, replaced: Iterator[_Entry], mapped: Mapping[str, str]) -> str:
        """The commit with other files, on the rewritten parents; all else stays."""
        files = list(replaced)
        raw = self.repository.run("cat-file", "commit", commit)
        head, separator, message = raw.partition(b"\n\n")
        lines = []
        for each in head.split(b"\n"):
            word, _, value = each.partition(b" ")
            if word == b"tree" and files:
                each = b"tree " + self._tree(commit, files).encode()
            elif word == b"parent":
                each = b"parent " + mapped.get(value.decode(), value.decode()).encode()
            lines.append(each)
        new = b"\n".join(lines) + separator + message
        if new == raw:
            return commit
        return line(self.repository.run("hash-object", "-t", "commit", "-w", "--stdin", stdin=new))

    def _tree(self, commit: str, replaced: Sequence[_Entry]) -> str:
        with tempfile.TemporaryDirectory(prefix="index-", dir=self.repository.path) as private:
            index = Index(self.repository, Path(private) / "index")
            return index.with_files(commit, replaced)

    def _add_twins(self, mapped: Mapping[str, str]) -> None:
        """Have the rewritten commits seen here as the agents saw them."""
        for commit, new in mapped.items():
            if new != commit:
                tree = line(self.repository.run("rev-parse", "--verify", f"{commit}^{{tree}}"))
                replace(self.repository, new, tree)


def _is_filtered(rule: Rules) -> bool:
    return any(rule[name] not in NOT_SET for name in ("filter", "working-tree-encoding"))


def _is_utf8(content: bytes) -> bool:
    try:
        return "\0" not in content.decode()
    except UnicodeDecodeError:
        return False
