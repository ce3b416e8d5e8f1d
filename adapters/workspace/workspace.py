"""A session's workspace: what its agents work on, and what they have changed there."""

import os
import posixpath
import re
import secrets
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

from adapters.workspace import leftovers
from adapters.workspace.branch import advance, tip
from adapters.workspace.branch_commits import BranchCommits, commits_up_to, head_under, keep_head
from adapters.workspace.creation import SOURCE, give_git, settings_for_programs
from adapters.workspace.entries import check_place, encoded, opened_folder, read, replace_files
from adapters.workspace.file_facts import as_checked_out, changed_since, is_as_checked_out
from adapters.workspace.folders import delete, existing_folder, is_real_folder, open_up
from adapters.workspace.git import DoesNotFit, WorkspaceError, branch_at, confine, git, in_a_sentence, in_theirs
from adapters.workspace.history import changed_files, compared
from adapters.workspace.leftovers import mark_of
from adapters.workspace.merges import integrate, merge
from adapters.workspace.notes import write_notes
from adapters.workspace.patches import LARGEST
from adapters.workspace.quarantine import Check, checked
from adapters.workspace.recording_rules import RecordingRules, withhold
from adapters.workspace.references import branch_in_use
from adapters.workspace.repository import Index, Repository, trail
from adapters.workspace.reuse import Resting, take_over
from adapters.workspace.submodules import Submodules
from adapters.workspace.unrecordable import delete_repositories, refuse
from domain.session.workspace import ChangedFile, WorkspaceChanges
from domain.values.sentences import Sentence

_SETTLING: Final = 2.0
"""Seconds after which an index is younger than the files that it lists, as git counts."""
_TRIES: Final = 5
"""How often a folder is read while others write to it."""
SLOT: Final = re.compile(r"tree-[0-9]+")


@dataclass(frozen=True, slots=True)
class Workspace:
    """One session's folders and their recorded states; a state is the id of a commit in `repo.git`."""

    home: Path
    asked: str | None
    """The folder that the session was started with."""
    repository: str | None
    """The root of the git repository that contains it."""
    prefix: str
    """Its path in there, with a slash at the end; empty at the root."""
    dirty: bool
    """The repository had uncommitted changes, which are not in the start state."""
    start: str
    branch: str | None = None
    """The branch that was checked out when the session began."""
    bare: bool = False
    """The repository has no checkout."""
    first_branch: str | None = None
    """The name that the person's git gives to the first branch of a new repository, if they named one."""
    ignored: str = ""
    """What the person's git ignored beside the `.gitignore` files."""
    conversion: Mapping[str, Any] | None = None
    """What the person's git converts files by; None in a workspace of an older version."""
    tool_folders: Sequence[str] = ()
    """The folders of tools in which the start has files."""
    submodules: Sequence[str] = ()
    """The places of submodules, which are not checked out."""
    filters: bool = False
    """Agents and validation see what the person's checkout shows, and not what git stores."""
    twin: str | None = None
    """The commit in whose form the start is seen; None where it is seen as it is stored."""
    reviewed_on: str | None = None
    """The commit below the start, if that has the person's uncommitted changes."""
    unrecordable: Sequence[str] = ()
    """The files whose names git refuses, in a folder that is edited in place: they were there before."""
    original: str | None = None
    """The last commit that the person's git has made, if the start is an earlier session's and none of those."""

    def base(self) -> str:
        """The state that everything started from."""
        return self.start

    @property
    def git_settings(self) -> Path | None:
        """The file with git's settings for the programs here; None where the person has set nothing that matters."""
        if self.first_branch is None:
            return None
        file = self._git.path / "for-programs.config"
        if not file.exists():
            draft = file.with_name(f"{file.name}.{secrets.token_hex(4)}")
            draft.write_text(settings_for_programs(self.first_branch), "utf-8", "surrogateescape")
            draft.replace(file)
        return file

    @in_a_sentence()
    def checkout(self, *, tree: str | None, slot: int, resting: Resting | None = None) -> Path:
        """The folder of this slot, brought to that state (None: the start); what the project ignores stays in it.
        A folder without git is worked in as it is, whatever the state and the slot. A new one may be taken over from
        a session that is `resting`."""
        return self._checked_out(tree, slot, resting)

    @in_a_sentence()
    def pristine(
        self,
        *,
        tree: str | None,
        slot: int,
        linked: Sequence[str] = (),
        resting: Resting | None = None,
        as_in_clone: bool = False,
    ) -> Path:
        """The same, but of what no state records only what is trusted stays, and the places of what is `linked`. If
        that was changed where the set-up made it, the folder has to be set up again. Modes and times are those of a
        fresh checkout if it is to be `as_in_clone`."""
        if self.in_place is not None:
            return existing_folder(self.in_place)
        top = self.home / f"tree-{int(slot)}"
        if as_in_clone:
            with self._plain_facts(top):
                return self._pristine(tree, slot, top, linked, resting)
        return self._pristine(tree, slot, top, linked, resting)

    def _pristine(self, tree: str | None, slot: int, top: Path, linked: Sequence[str], resting: Resting | None) -> Path:
        original = leftovers.trusted(mark_of(top))
        folder = self._checked_out(tree, slot, resting, keep=(*original.names, *linked))
        if original.names:
            with self._git.index(top.name) as index:
                gone = leftovers.tidy(index, top, original)
            self._submodules(top).empty({*original.names}.difference(gone))
        return folder

    @contextmanager
    def _plain_facts(self, top: Path) -> Iterator[None]:
        """Gives files in a working folder the modes and times of a checkout, once git is done with them. Only those are
        looked at that were changed since the last time, which is found out while git works."""
        moment = self._git.path / f"plain-{top.name}"
        draft = moment.with_name(f"{moment.name}.new")
        draft.unlink(missing_ok=True)
        draft.touch()
        with ThreadPoolExecutor(1) as pool:
            looking = pool.submit(changed_since, top, moment) if moment.exists() else None
            yield
        as_checked_out(top, None if looking is None else looking.result())
        draft.replace(moment)

    @in_a_sentence()
    def fresh(self, *, tree: str | None, slot: int) -> Path:
        """A new checkout of that state in the folder of this slot, with nothing else in it. A folder without git has
        none."""
        assert self.in_place is None, "a folder without git cannot be checked out"
        self._discard(self.home / f"tree-{int(slot)}")
        return self._checked_out(tree, slot, None)

    @in_a_sentence()
    def discard(self, folder: Path) -> None:
        """Delete a checkout from `fresh`."""
        self._discard(self.tree_of(folder))

    def _discard(self, tree: Path) -> None:
        delete(tree)
        ours = (self._git.path / f"{kind}-{tree.name}" for kind in ("index", "unsettled", "plain"))
        for file in (mark_of(tree), *ours):
            file.unlink(missing_ok=True)
        self._submodules(tree).forget()

    @in_a_sentence()
    def has_leftovers(self, folder: Path) -> bool:
        """True if the folder holds a file that no state records, ignored or not, or what no state records of its files:
        modes of folders, hard links."""
        tree = self.tree_of(folder)
        with self._git.index(tree.name) as index:
            if self._submodules(tree).filled() or index.has_unrecorded(tree):
                return True
        return not is_as_checked_out(tree)

    def _checked_out(
        self, tree: str | None, slot: int, resting: Resting | None, *, keep: Sequence[str] | None = None
    ) -> Path:
        if self.in_place is not None:
            return existing_folder(self.in_place)
        commit, folder = tree or self.start, self.home / f"tree-{int(slot)}"
        with self._git.knowing(commit):
            try:
                self._restore(folder, commit, resting, keep)
            except (OSError, WorkspaceError):
                self._git.check(commit)
                mark_of(folder).unlink(missing_ok=True)
                delete(folder)
                self._restore(folder, commit)
        with opened_folder(folder, self.prefix):
            return folder / self.prefix

    @in_a_sentence()
    def snapshot(
        self, folder: Path, *, message: str, parent: str | None, author: str = "", check: Check | None = None
    ) -> str:
        """Record the contents of the folder as a commit on `parent`; `parent` itself if nothing changed. If `check`
        raises, nothing is recorded. Raises DoesNotFit where agents have left files that no commit can hold.

        Several agents may have changed a folder that is edited in place: there, the parent is the latest snapshot, so
        that each snapshot contains all earlier ones.
        """
        tree = self.tree_of(folder)
        record = partial(self._recorded, tree, message=message, author=author, check=check)
        if self.in_place is None:
            places = open_up(tree)
            in_the_way = self._submodules(tree).changed(self.start, leftovers.trusted(mark_of(tree)).names)
            refuse([*self._rules.recorded_below(self._git, places.too_deep), *in_the_way])
            return record(tree.name, parent=parent)
        with trail(self._git.path / "trail") as so_far:
            parent = so_far.latest() or parent or self.start
            for _ in range(_TRIES - 1):
                with suppress(WorkspaceError):  # another process is writing the file that git reads
                    return so_far.go_on(record(SOURCE, parent=parent))
            return so_far.go_on(record(SOURCE, parent=parent))

    def merge(self, *, ours: str, theirs: str, message: str) -> str:
        """A commit with the contents of both: one of the two if it descends from the other (in a folder that is edited
        in place, the later one always does), otherwise a new one on both. No working tree is changed.

        WorkspaceError names the files in which both changed the same lines.
        """
        return merge(self._git, ours=ours, theirs=theirs, message=message)

    def patch(self, before: str, after: str, first: Sequence[str] = ()) -> str:
        """A unified diff, of the `first` files first; for a binary file, it only says that it differs. At most
        `PATCH_BYTES`."""
        return self._git.patch(before, after, first)

    def whole_patch(self, after: str) -> bytes:
        """A unified diff of everything that differs from the start state, from which git can make every file."""
        return self._git.whole_patch(self.start, after)

    def changes(self, after: str) -> WorkspaceChanges:
        """Everything that differs from the start state: commits, oldest first, and files with their lines."""
        return compared(self._git, self.start, after)

    def files(self, before: str, after: str) -> tuple[ChangedFile, ...]:
        """All files that differ, with their lines; a renamed file is one."""
        return changed_files(self._git, before, after)

    def texts(self, files: Sequence[tuple[str, str]], *, longest: int) -> dict[tuple[str, str], str]:
        """The texts of those of these, each a state and a path from the top of the repository, that are files."""
        return self._git.texts(files, longest=longest)

    def with_base_files(self, state: str, paths: Sequence[str]) -> str:
        """A state like that one, in which these paths are as in the start state. It is recorded nowhere else."""
        with tempfile.TemporaryDirectory(prefix="base-files-", dir=self._git.path) as private:
            index = Index(self._git, Path(private) / "index")
            return self._git.record(index.mixed(state, self.start, paths), message="", parents=(state,))

    @in_a_sentence()
    def remove_unknown(self, folder: Path, names: Sequence[str], *, keep: Sequence[str] = ()) -> None:
        """Delete these files and folders at the top, and in the folder, unless they are recorded or to `keep`."""
        tree = self.tree_of(folder)
        places = set(names) | {posixpath.join(self.prefix, name) for name in names}
        there = sorted(name for name in places if os.path.lexists(tree / name))
        if there:
            with self._git.index(tree.name) as index:
                index.clean(tree, keep, only=there)

    def changed_files(self, before: str, after: str) -> tuple[str, ...]:
        """The paths that differ, sorted; a renamed file is both."""
        return self._git.changed_files(before, after)

    @in_a_sentence()
    def write_files(self, folder: Path, files: Mapping[str, str | bytes | None]) -> tuple[str, ...]:
        """Write these contents (None: remove the file), all of them or, if one path is not allowed, none. Returns the
        normalized paths."""
        tree = self.tree_of(folder)
        contents = {
            confine(path): encoded(path, text) if isinstance(text, str) else text for path, text in files.items()
        }
        if len(contents) < len(files):
            raise DoesNotFit(Sentence("file_given_twice"))
        with opened_folder(tree, self.prefix) as root:
            replace_files(root, contents)
        return tuple(contents)

    @in_a_sentence()
    def read_file(self, folder: Path, path: str) -> bytes | None:
        """The content of a file that can be patched, None if there is none."""
        with opened_folder(self.tree_of(folder), self.prefix) as root:
            place = confine(path)
            check_place(root, place)
            return read(root, place, LARGEST)

    def publish(self, commit: str, branch: str) -> bool:
        """Create the branch in the person's repository, or move it forward; False if the source has none. Their
        checkout, index and current branch do not change; a branch that is checked out anywhere is refused."""
        if self.repository is None:
            return False
        self._git.check(commit)
        ref = f"refs/heads/{branch}"
        git(["check-ref-format", "--branch", branch], cwd=self.home)
        if (problem := branch_in_use(Path(self.repository), branch)) is not None:
            raise WorkspaceError(problem)
        self._git.run("update-ref", f"refs/hansard/{commit}", commit)
        quiet = ["--no-write-fetch-head", "--no-auto-maintenance", "--no-tags", "--no-prune"]
        origin = [str(self._git.path), f"refs/hansard/{commit}:{ref}"]
        in_theirs(["fetch", *quiet, "--no-recurse-submodules", "--", *origin], Path(self.repository))
        return True

    def write_notes(self, commit: str) -> None:
        """Record in the person's repository which lines of a published result the agents wrote."""
        if self.repository is not None:
            with suppress(WorkspaceError):  # the branch exists; its trailers contain the same information in short form
                write_notes(self._git, self.start, commit, Path(self.repository))

    def tip(self, branch: str) -> str:
        """The commit of a branch of the person's repository. Raises WorkspaceError if there is none."""
        return tip(self._git.stored, self._theirs(), branch)

    def commits_on(
        self, branch: str, *, state: str, same_form: bool, name: str = "", looks: bool = True
    ) -> BranchCommits | None:
        """Returns what people have committed on a branch of their repository on top of a state of the work; None if
        there is nothing. What was found under `name` before is returned again, whatever has become of the branch; else
        nothing without `looks`. Raises CommitsInTheWay: nothing is kept then, so that the branch is looked at again."""
        earlier = head = head_under(self._git, name) if name else None
        if head is None and looks and branch_at(self._theirs(), branch) is not None:
            head = self.tip(branch)
        if head is None:
            return None
        news = None if head == state else commits_up_to(self._git, head, branch, state=state, same_form=same_form)
        if name and earlier is None:
            keep_head(self._git, name, head)
        return news

    def integrate(self, *, onto: str, commit: str, message: str) -> str:
        """A merge commit of both; `onto` if it already contains everything. Raises MergeConflict."""
        return integrate(self._git.stored, onto=onto, commit=commit, message=message)

    def advance(self, branch: str, *, before: str, after: str) -> bool:
        """Move a branch of the person's repository; False if it moved meanwhile. Raises InTheWay."""
        return advance(self._git.stored, self._theirs(), branch, before=before, after=after)

    def _theirs(self) -> Path:
        if self.repository is None:
            raise WorkspaceError(Sentence("branch_not_found", branch="", path=self.asked))
        return Path(self.repository)

    @property
    def in_place(self) -> Path | None:
        """The person's own folder, if the agents work there: a folder without git."""
        return Path(self.asked) if self.asked is not None and self.repository is None else None

    @property
    def source(self) -> Path | None:
        """The root of the person's checkout; None for a new folder, and where there is none."""
        return Path(self.repository or self.asked) if self.asked is not None and not self.bare else None

    def is_ready(self, folder: Path) -> bool:
        """True if `mark_ready` was called since the folder was made."""
        return mark_of(self._saved_path(folder)).exists()

    @in_a_sentence()
    def mark_ready(self, folder: Path) -> None:
        """Mark the folder as set up: its new files never become part of the work."""
        tree = self.tree_of(folder)
        with self._git.index(SOURCE if self.in_place else tree.name) as index:
            self._git.exclude(leftovers.to_ignore(index, tree))
            made = () if self.in_place else self._made(index, tree)
        self._submodules(tree).remember()
        leftovers.trust(mark_of(self._saved_path(folder)), tree, made, made)

    @in_a_sentence()
    def trust(self, folder: Path) -> None:
        """Trust what no state records and is in the folder now: the baseline has made it on the untouched work."""
        if self.in_place is None:
            tree = self.tree_of(folder)
            with self._git.index(tree.name) as index:
                made = leftovers.trusted(mark_of(tree)).made
                leftovers.trust(mark_of(tree), tree, self._made(index, tree), made)
            self._submodules(tree).remember()

    def _made(self, index: Index, tree: Path) -> tuple[str, ...]:
        """Lists what no state records."""
        return (*index.unrecorded(tree), *self._submodules(tree).filled())

    def unready(self, folder: Path) -> None:
        """Have the folder set up again."""
        mark_of(self._saved_path(folder)).unlink(missing_ok=True)

    def _saved_path(self, folder: Path) -> Path:
        return self.home / SOURCE if self.in_place else self.tree_of(folder)

    @property
    def _git(self) -> Repository:
        return Repository(self.home / "repo.git")

    def _restore(
        self, folder: Path, commit: str, resting: Resting | None = None, keep: Sequence[str] | None = None
    ) -> None:
        if is_real_folder(folder):
            places = open_up(folder)
            delete(folder / ".git")
            if keep is not None:
                delete_repositories(folder, places.repositories, keep)
            self._restore_submodules(folder, keep)
        else:
            delete(folder)
            if not (resting and self.repository and take_over(self.home, folder, self.repository, resting)):
                folder.mkdir(parents=True)
        with self._git.index(folder.name) as index:
            unsettled = self._git.path / f"unsettled-{folder.name}"
            if not index.restore(folder, commit, settled=not unsettled.exists(), keep=keep):
                unsettled.touch()
            elif unsettled.exists() and time.time() - unsettled.stat().st_mtime > _SETTLING:
                unsettled.unlink()
            give_git(self._git, folder, commit, index.path)

    def _restore_submodules(self, folder: Path, keep: Sequence[str] | None) -> None:
        """Delete what agents have put into the places of submodules. What they have changed in one that the set-up
        filled cannot be put back: the set-up has to run again. (`pristine` looks at all that the set-up made.)"""
        if not self.submodules:
            return
        there, made = self._submodules(folder), leftovers.trusted(mark_of(folder)).names
        if keep is None and there.differs_from_set_up(made):
            mark_of(folder).unlink(missing_ok=True)
            there.empty(())
        there.empty(made if keep is None else keep)

    def _submodules(self, tree: Path) -> Submodules:
        """Those that the state in the folder has."""
        index = Index(self._git, self._git.path / f"index-{tree.name}")
        return Submodules(self._git, tree, index.submodules(self.submodules))

    def _recorded(
        self, tree: Path, name: str, *, message: str, parent: str | None, author: str, check: Check | None
    ) -> str:
        with checked(self._git, parent, check) as (repository, passes), repository.index(name) as index:
            if self.in_place is None:
                index.forget(tree, self._submodules(tree).removed())
            refuse(set(index.record(tree, self._rules)).difference(self.unrecordable))
            return passes(repository.follow(index.write_tree(), message=message, parent=parent, author=author))

    @property
    def _rules(self) -> RecordingRules:
        """In a folder that is edited in place, there is no base: only the rules that are there now count."""
        return RecordingRules(None if self.in_place else self.start, frozenset(self.tool_folders))

    @in_a_sentence()
    def withhold(self, paths: Sequence[str]) -> None:
        """Never record these paths from the top, nor anything below them: they come from the person's checkout."""
        withhold(self._git, paths)

    @property
    def objects(self) -> Path:
        """The path at which the git of the working trees finds the recorded states."""
        return self._git.path / "objects"

    def tree_of(self, folder: Path) -> Path:
        """The whole tree that a folder from `checkout` belongs to."""
        if self.in_place is not None:
            tree, expected = folder, self.in_place
        else:
            below = folder.relative_to(self.home).parts if folder.is_relative_to(self.home) else ()
            tree = self.home / below[0] if below and SLOT.fullmatch(below[0]) else self.home
            expected = tree / self.prefix
        if folder != expected or tree == self.home:
            raise WorkspaceError(Sentence("not_a_folder_of_the_workspace", path=folder))
        if not is_real_folder(tree):
            raise WorkspaceError(Sentence("folder_gone", path=folder))
        return tree
