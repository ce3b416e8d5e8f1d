"""Reads the effects of a patch on a path beside its lines: modes, binary and empty files, renames. Git says it above
the hunks."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final, Literal, NamedTuple, get_args

from domain.provenance.patches import PatchHunk, body_of, head_of, name_in, named_by, names_of

PathWord = Literal["renamed", "binary", "empty", "link", "submodule", "mode", "added", "deleted", "modified"]
PATH_WORDS: Final[tuple[PathWord, ...]] = get_args(PathWord)
_INDEX: Final = re.compile(r"index ([0-9a-f]+)\.\.([0-9a-f]+)(?: (\d+))?")
_BINARY: Final = ("Binary files ", "GIT binary patch")
_KINDS: Final[Mapping[str, PathWord]] = {"120000": "link", "160000": "submodule"}


class PathNote(NamedTuple):
    """One thing to say of a path; `old` and `new` are modes, and `old` the old name of a renamed file."""

    what: PathWord
    old: str = ""
    new: str = ""


@dataclass(frozen=True, slots=True)
class PathEffect:
    """Modes and blobs are empty where the patch does not say them."""

    created: bool = False
    deleted: bool = False
    binary: bool = False
    renamed_from: str = ""
    old_mode: str = ""
    new_mode: str = ""
    old_blob: str = ""
    new_blob: str = ""

    def with_head(self, line: str) -> "PathEffect":
        """The same with what one more line above the hunks says."""
        word, _, rest = line.rpartition(" ")
        match word:
            case "new file mode":
                return replace(self, created=True, new_mode=rest)
            case "deleted file mode":
                return replace(self, deleted=True, old_mode=rest)
            case "old mode":
                return replace(self, old_mode=rest)
            case "new mode":
                return replace(self, new_mode=rest)
        if match := _INDEX.fullmatch(line):
            old, new = (match[3], match[3]) if match[3] else (self.old_mode, self.new_mode)
            return replace(self, old_blob=match[1], new_blob=match[2], old_mode=old, new_mode=new)
        if line.startswith("rename from "):
            return replace(self, renamed_from=name_in(line.removeprefix("rename from ")))
        return replace(self, binary=True) if line.startswith(_BINARY) else self

    def then(self, after: "PathEffect") -> "PathEffect":
        """Both, one after the other, as one change."""
        return PathEffect(
            created=self.created and not after.deleted,
            deleted=after.deleted and not self.created,
            binary=self.binary or after.binary,
            renamed_from=self.renamed_from or after.renamed_from,
            old_mode=self.old_mode or ("" if self.created else after.old_mode),
            new_mode=after.new_mode or ("" if after.deleted else self.new_mode),
            old_blob=self.old_blob or after.old_blob,
            new_blob=after.new_blob or self.new_blob,
        )

    @property
    def changes_mode(self) -> bool:
        return bool(self.old_mode and self.new_mode) and self.old_mode != self.new_mode

    @property
    def keeps_bytes(self) -> bool:
        """True if the content is known to be afterwards as it was."""
        return bool(self.old_blob) and self.old_blob == self.new_blob

    @property
    def changes_nothing(self) -> bool:
        """True if the path is afterwards as it was, or if it was only there in between."""
        if self.created or self.deleted or self.renamed_from or self.changes_mode:
            return False
        return self.old_blob == self.new_blob

    def notes(self, *, lines: bool) -> tuple[PathNote, ...]:
        """Everything to say of it; where its `lines` are shown, only what they do not say."""
        notes = [PathNote("renamed", self.renamed_from)] if self.renamed_from else []
        if self.binary:
            notes.append(PathNote("binary"))
        if (self.created or self.deleted) and not (self.binary or lines):
            notes.append(PathNote("empty"))
        if kind := _KINDS.get(self.new_mode or self.old_mode):
            notes.append(PathNote(kind))
        if self.changes_mode:
            notes.append(PathNote("mode", self.old_mode, self.new_mode))
        if not lines and (self.created or self.deleted):
            notes.append(PathNote("added" if self.created else "deleted"))
        return tuple(notes or ([] if lines else [PathNote("modified")]))


UNKNOWN_EFFECT: Final = PathEffect()


class PatchPart(NamedTuple):
    """A hunk, or with no lines what a patch does to a whole path."""

    hunk: PatchHunk
    change: PathEffect

    @property
    def notes(self) -> tuple[PathNote, ...]:
        return () if self.hunk.lines else self.change.notes(lines=False)


def parts(patch: Iterable[str]) -> Iterator[PatchPart]:
    """Every hunk, and a part without lines for each path that has no hunk or whose mode or name changes as well."""
    lines = iter(patch)
    path, change, bare = "", PathEffect(), False
    for line in lines:
        if names := names_of(line):
            if bare:
                yield whole(path, change)
            path, change, bare = names[1], PathEffect(), True
        elif head := head_of(line):
            if bare and (change.changes_mode or change.renamed_from):
                yield whole(path, replace(change, binary=False))
            bare = False
            yield PatchPart(PatchHunk(path, tuple(body_of(head, lines))), change)
        elif line.startswith("+++ ") and not bare:
            path = name_in(line[4:]).partition("/")[2]
        elif bare:
            change = change.with_head(line)
            path = named_by(("", path), line)[1]
    if bare:
        yield whole(path, change)


def whole(path: str, change: PathEffect) -> PatchPart:
    """A part without lines."""
    return PatchPart(PatchHunk(path, ()), change)


def renamed_paths(changes: Mapping[str, PathEffect], renames: Iterable[tuple[str, str]]) -> dict[str, PathEffect]:
    """The new paths of those renames, given as the old and the new path, that a patch shows as two changes; with the
    one that they are together."""
    joined = {}
    for old, new in renames:
        before, after = changes.get(old), changes.get(new)
        if before is None or after is None or not (before.deleted and after.created):
            continue
        joined[new] = PathEffect(
            binary=before.binary or after.binary,
            renamed_from=old,
            old_mode=before.old_mode,
            new_mode=after.new_mode,
            old_blob=before.old_blob,
            new_blob=after.new_blob,
        )
    return joined
