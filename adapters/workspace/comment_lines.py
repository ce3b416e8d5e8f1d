"""Finds where the lines of comments are now: read from the repository, found as `domain/provenance/line_places`
says."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NamedTuple

from adapters.workspace.git import WorkspaceError, in_theirs
from adapters.workspace.history import statuses
from adapters.workspace.lines import MOST_MIB, CommitNotHere, file_at, holder_of, split_lines
from domain.provenance.line_places import (
    NEAR,
    FileLines,
    LinePlace,
    LineRun,
    beside,
    longest_run,
    moved_whole,
    places_of,
)
from domain.session.comments import Comment, CommentPlace, Whereabouts
from domain.session.state import Session
from domain.values.sentences import Sentence

MOST_OTHERS: Final = 200
"""Other changed files that are searched for lines that were moved."""
MOST_OTHER_BYTES: Final = 1_048_576
_RENAMES: Final = ("-r", "-z", "--find-renames", "--no-ext-diff", "--no-textconv", "--name-status")
_UNKNOWN: Final = Whereabouts()
"""Nothing is known where the commits are not on this machine."""


class TurnStates(NamedTuple):
    """The work as a turn has changed it: the commits before and after, and the files that differ."""

    before: str
    after: str
    files: Collection[str]


def whereabouts_of(
    folders: Iterable[Path], session: Session, comments: Collection[Comment], *, head: str | None = None
) -> dict[str, Whereabouts]:
    """Returns where each of these comments' lines stand in the newest state of the session's work, or in that of
    `head`. `folders` are repositories that may have its commits."""
    head, folders = head or session.newest_head, tuple(folders)
    groups: dict[str, list[Comment]] = defaultdict(list)
    for comment in comments:
        commit = _commit_of(session, comment)
        if comment.path is not None and commit is not None:
            groups[commit].append(comment)
    result = {comment.comment_id: _UNKNOWN for comment in comments}
    for commit, members in groups.items():
        with suppress(WorkspaceError):
            states = _States.of(folders, commit, head) if head else None
            result |= {each.comment_id: _whereabouts(states, each) for each in members if states}
    return result


def touched_in(
    folders: Iterable[Path], session: Session, comments: Collection[Comment], turn: TurnStates
) -> tuple[str, ...]:
    """Returns the comments whose lines a turn has changed, moved or removed. Where the lines were already gone, it asks
    whether their place has changed; for a comment on a file, whether the file has; for one on the whole, any file."""
    folders = tuple(folders)
    places = whereabouts_of(folders, session, comments, head=turn.before)
    with suppress(WorkspaceError):
        states, seen = _States.of(folders, turn.before, turn.after), _Seen(folders, session, turn.before)
        return tuple(
            each.comment_id for each in comments if _is_touched(states, seen, each, places[each.comment_id], turn)
        )
    return ()


class _Seen(NamedTuple):
    """Reads what has become of a session's work between a comment and a turn."""

    folders: Sequence[Path]
    session: Session
    before: str

    def states(self, comment: Comment) -> "_States | None":
        """Returns the changes since a comment was made; None where its commit is not here."""
        commit = _commit_of(self.session, comment)
        with suppress(WorkspaceError):
            return _States.of(self.folders, commit, self.before) if commit else None
        return None


def _commit_of(session: Session, comment: Comment) -> str | None:
    """Returns the commit that has the lines of a comment."""
    return session.base.base_commit if session.base and comment.side == "old" else comment.head


def _is_touched(states: "_States", seen: _Seen, comment: Comment, place: Whereabouts, turn: TurnStates) -> bool:
    if comment.path is None:
        return bool(turn.files)
    now, before = place.now, None
    if now is not None and now.line is not None:
        return states.has_changed(now.path, now.line - 1, (now.end_line or now.line) - 1)
    if comment.line is not None:
        before = seen.states(comment)
    if before is None or comment.line is None:
        return (now.path if now else comment.path) in turn.files
    return states.has_filled(before, comment.path, comment.line - 1, (comment.end_line or comment.line) - 1)


def _whereabouts(states: "_States", comment: Comment) -> Whereabouts:
    """Lines of the base that the work has removed are not outdated: the comment is about that."""
    assert comment.path is not None, "only comments on files stand anywhere"
    may_be_gone = comment.side == "old"
    if comment.line is None:
        path = states.path_now(comment.path)
        return Whereabouts(now=path and CommentPlace(path=path), outdated=path is None and not may_be_gone)
    first, last = comment.line - 1, (comment.end_line or comment.line) - 1
    run = longest_run(states.places(comment.path, range(first, last + 1)), first, last)
    if run is None:
        return Whereabouts(outdated=not may_be_gone)
    now = CommentPlace(path=run.path, line=run.first + 1, end_line=run.last + 1)
    return Whereabouts(now=now, outdated=run.last - run.first < last - first)


@dataclass
class _States:
    """Two states of a repository, and what was read of the files that differ."""

    folder: Path
    before: str
    after: str
    names: Mapping[str, str | None]
    """The new path of each path that differs; None if the file is gone."""
    lines: dict[tuple[str, str], Sequence[str]] = field(default_factory=dict)
    near: dict[str, dict[int, LinePlace]] = field(default_factory=dict)
    """The places of each file's lines in the file itself, where they were looked for."""
    anywhere: dict[str, dict[int, LinePlace]] = field(default_factory=dict)
    """The same in all files that differ."""

    @classmethod
    def of(cls, folders: Sequence[Path], before: str, after: str) -> "_States":
        """Raises WorkspaceError if no repository has both."""
        folder = _holder_of_both(folders, before, after)
        if before == after:
            return cls(folder, before, after, {})
        names: dict[str, str | None] = {}
        for path, status, old in statuses(in_theirs(["diff-tree", *_RENAMES, before, after], folder)):
            names[old or path] = None if status == "deleted" else path
        return cls(folder, before, after, names)

    def path_now(self, path: str) -> str | None:
        """The path of the file in the newer state; None if it is gone."""
        with suppress(WorkspaceError):
            file_at(self.folder, self.after, now := self.names.get(path, path) or path)
            return now
        return None

    def places(self, path: str, wanted: Collection[int]) -> dict[int, LinePlace]:
        """The places of the lines of a file that still stand; all of them in a file that did not change."""
        if path not in self.names:
            return {line: LinePlace(path, line) for line in wanted}
        if path not in self.near:
            self.near[path] = _places_in(self._file(path))
        if all(line in self.near[path] for line in wanted):
            return self.near[path]
        if path not in self.anywhere:
            others = [self._file(other) for other in self._others(path)]
            self.anywhere[path] = _places_in(self._file(path), others)
        return self.anywhere[path]

    def has_changed(self, path: str, first: int, last: int) -> bool:
        """Returns whether lines of a file are not all there any more, stand apart, or have changed places with others
        near them."""
        if path not in self.names:
            return False
        places = self.places(path, range(first, last + 1))
        run = longest_run(places, first, last)
        if run is None or run.last - run.first < last - first:
            return not self._still_said(path, first, last)
        if run.path != self.names[path] or not self._is_same(path, first, run):
            return True
        within = {line: place.number for line, place in places.items() if place.path == run.path}
        above = (within[line] for line in range(first - NEAR, first) if line in within)
        below = (within[line] for line in range(last + 1, last + NEAR + 1) if line in within)
        return any(number > run.first for number in above) or any(number < run.last for number in below)

    def has_filled(self, earlier: "_States", path: str, first: int, last: int) -> bool:
        """Returns whether something else stands now where lines were that the earlier states have lost: between the
        nearest lines around them that stand in all three. Of a file that was gone, whether it is back."""
        here = earlier.path_now(path)
        if here is None:
            return self.path_now(path) is not None
        if here not in self.names:
            return False
        file = self._file(here)
        above = self._stands(earlier, path, range(first - 1, -1, -1)) or (-1, -1)
        below = self._stands(earlier, path, range(last + 1, earlier.length(path)))
        below = below or (len(file.before), len(file.after))
        return file.before[above[0] + 1 : below[0]] != file.after[above[1] + 1 : below[1]]

    def length(self, path: str) -> int:
        """The number of lines that a file had in the older state."""
        return len(self._file(path).before)

    def _stands(self, earlier: "_States", path: str, lines: Iterable[int]) -> tuple[int, int] | None:
        """Return the numbers, before and after, of the first of these lines that both files have."""
        here = earlier.path_now(path)
        assert here is not None, "lines are looked for in files that are there"
        for line in lines:
            before = earlier.places(path, [line]).get(line)
            after = self.places(here, [before.number]).get(before.number) if before and before.path == here else None
            if before is not None and after is not None and after.path == self.names[here]:
                return before.number, after.number
        return None

    def _is_same(self, path: str, first: int, run: LineRun) -> bool:
        """Returns whether lines that were found again are the same, blanks included."""
        file = self._file(path)
        before, after = file.before[first : first + run.last - run.first + 1], file.after[run.first : run.last + 1]
        return list(before) == list(after)

    def _still_said(self, path: str, first: int, last: int) -> bool:
        """Returns whether the file says each of these lines as often as before: what is too plain to be followed has
        not been changed by what happened beside it."""
        file = self._file(path)
        before, after = Counter(file.before), Counter(file.after)
        return all(after[line] >= before[line] for line in file.before[first : last + 1])

    def _file(self, path: str) -> FileLines:
        now = self.names[path]
        self._read([(self.before, path), *([(self.after, now)] if now else [])])
        after = self.lines.get((self.after, now), ()) if now else ()
        return FileLines(now or path, self.lines.get((self.before, path), ()), after)

    def _others(self, path: str) -> list[str]:
        """The other files that differ and are still there, read all at once."""
        others = [other for other, now in self.names.items() if now is not None and other != path][:MOST_OTHERS]
        self._read(
            [pair for other in others for pair in ((self.before, other), (self.after, self.names[other] or other))]
        )
        return others

    def _read(self, wanted: Iterable[tuple[str, str]]) -> None:
        """Read these files of their states; those that are no text, or too large, have no lines."""
        new = [pair for pair in wanted if pair not in self.lines and "\n" not in pair[1]]
        if not new:
            return
        names = "".join(f"{state}:{path}\n" for state, path in new).encode("utf-8", "surrogateescape")
        output = in_theirs(["cat-file", "--batch-check=%(objecttype) %(objectsize)"], self.folder, stdin=names)
        sizes = [line.split() for line in output.decode(errors="replace").splitlines()]
        most = MOST_MIB * 2**20 if len(new) <= 2 else MOST_OTHER_BYTES
        fit = [pair for pair, about in zip(new, sizes, strict=True) if about[0] == "blob" and int(about[1]) <= most]
        self.lines |= dict.fromkeys(new, ()) | dict(zip(fit, self._contents(fit), strict=True))

    def _contents(self, files: Sequence[tuple[str, str]]) -> Iterator[Sequence[str]]:
        names = "".join(f"{state}:{path}\n" for state, path in files).encode("utf-8", "surrogateescape")
        output, at = in_theirs(["cat-file", "--batch"], self.folder, stdin=names), 0
        for _ in files:
            head = output.index(b"\n", at)
            size = int(output[at:head].split()[2])
            content = output[head + 1 : head + 1 + size]
            yield () if b"\0" in content else split_lines(content)
            at = head + size + 2


def _places_in(file: FileLines, others: Sequence[FileLines] = ()) -> dict[int, LinePlace]:
    places = places_of(file, others)
    if (path := moved_whole(file, others, places)) is not None:
        return {line: LinePlace(path, line) for line in range(len(file.before))}
    return places | beside(file, places)


def _holder_of_both(folders: Sequence[Path], before: str, after: str) -> Path:
    """The first of these repositories that has both commits. Raises CommitNotHere."""
    for folder in folders:
        with suppress(WorkspaceError):
            holder_of([folder], before)
            return holder_of([folder], after)
    raise CommitNotHere(Sentence("comment_commit_not_here", commit=before[:10]))
