"""A git directory that only we write to: its configuration, hooks and attributes are ours."""

import fcntl
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Final

from adapters.workspace.folders import make_readable, plain_files
from adapters.workspace.git import OURS, WorkspaceError, answered, authored_by, git, line
from adapters.workspace.recording_rules import RecordingRules, anchored, literal, tracked_inside, withheld
from domain.values.sentences import Sentence

PATCH_BYTES: Final = 4_194_304
"""A patch is cut here, at the end of a line, with a last line that says so."""

EVERYWHERE: Final = RecordingRules()
_PASSED_OVER: Final = b"Ignoring path "
"""What git says of a file that no index can hold."""
_ASKED: Final = 1_000
"""As many paths are looked up at once."""
GITLINK: Final = b"160000 "
_COMMIT: Final = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Repository:
    """Commits, and an index for each folder; a state is the full id of a commit in here."""

    path: Path
    replaces: bool = field(default=True, kw_only=True)
    """Whether commits are read as their twins, where they have any (`shown_form`)."""

    @property
    def stored(self) -> "Repository":
        """The same, with every commit as it was made."""
        return Repository(self.path, replaces=False)

    def run(
        self,
        *args: str,
        tree: Path | None = None,
        index: Path | None = None,
        stdin: bytes | IO[bytes] = b"",
        env: Mapping[str, str] | None = None,
        output: IO[bytes] | int = subprocess.PIPE,
    ) -> bytes:
        """The output of git. It uses `tree` as its working tree, and ignores that tree's own `.git`."""
        whole = self._environment(tree, index) | dict(env or {})
        return git(args, cwd=tree or self.path, env=whole, stdin=stdin, output=output)

    def answered(
        self,
        *args: str,
        codes: Collection[int],
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        data: bytes = b"",
    ) -> subprocess.CompletedProcess[bytes]:
        whole = self._environment() | dict(env or {})
        return answered(args, cwd=cwd or self.path, env=whole, data=data, codes=codes)

    def _environment(self, tree: Path | None = None, index: Path | None = None) -> dict[str, str]:
        places = {"GIT_DIR": self.path, "GIT_WORK_TREE": tree, "GIT_INDEX_FILE": index}
        exact = {} if self.replaces else {"GIT_NO_REPLACE_OBJECTS": "1"}
        return {name: str(value) for name, value in places.items() if value is not None} | OURS | exact

    def write(self, name: str, text: str) -> None:
        (self.path / name).parent.mkdir(parents=True, exist_ok=True)
        (self.path / name).write_text(text, "utf-8", "surrogateescape")

    def exclude(self, paths: Iterable[str]) -> None:
        """Ignore these paths of the top level from now on."""
        lines = "".join(f"{anchored(path)}\n" for path in paths)
        for name in ("info/exclude", "given/info/exclude"):
            if (self.path / name).is_file():
                with (self.path / name).open("a", encoding="utf-8", errors="surrogateescape") as file:
                    file.write(lines)

    def check(self, state: str) -> None:
        """Raises WorkspaceError if the state is not recorded here."""
        try:
            if not _COMMIT.fullmatch(state):
                raise WorkspaceError("not an id")
            self.run("cat-file", "-e", _commit(state))
        except WorkspaceError:
            raise WorkspaceError(Sentence("workspace_state_not_found", state=state)) from None

    @contextmanager
    def knowing(self, *states: str) -> Iterator[None]:
        """Work on these states. They are only checked if it fails, because they are nearly always known."""
        for state in states:
            if not _COMMIT.fullmatch(state):
                self.check(state)
        try:
            yield
        except WorkspaceError:
            for state in states:
                self.check(state)
            raise

    def record(self, tree: str, *, message: str, parents: Collection[str], author: str = "") -> str:
        """The tree as a commit on its parents, by an agent if one is named."""
        text = message.replace("\0", "\N{REPLACEMENT CHARACTER}").encode(errors="replace")
        on = [word for parent in parents for word in ("-p", parent)]
        env = authored_by(author) if author else {}
        return line(self.run("commit-tree", tree, *on, "-F", "-", stdin=text, env=env))

    def follow(self, tree: str, *, message: str, parent: str | None, author: str = "") -> str:
        """The tree as a commit on its parent; the parent itself if nothing changed."""
        if parent is None:
            return self.record(tree, message=message, parents=(), author=author)
        with self.knowing(parent):
            if line(self.run("rev-parse", "--verify", f"{_commit(parent)}^{{tree}}")) == tree:
                return parent
        return self.record(tree, message=message, parents=(parent,), author=author)

    def changed_files(self, before: str, after: str) -> tuple[str, ...]:
        """The paths that differ, sorted; a renamed file is both."""
        with self.knowing(before, after):
            states = _commit(before), _commit(after)
            names = self.run("diff-tree", "-r", "-z", "--name-only", "--no-renames", *states)
        return tuple(name.decode(errors="replace") for name in names.split(b"\0") if name)

    def patch(self, before: str, after: str, first: Sequence[str] = (), *, renames: bool = False) -> str:
        """A unified diff, of the `first` files first; for a binary file, it only says that it differs. At most
        `PATCH_BYTES`. A renamed file is one with `renames`, which what is recorded is not."""
        plain = ["--no-ext-diff", "--no-textconv", "--no-color", "--submodule=short"]
        plain.append("--find-renames" if renames else "--no-renames")
        form = ["-p", "-r", "--full-index", "--src-prefix=a/", "--dst-prefix=b/", *plain]
        with tempfile.TemporaryFile() as whole, tempfile.NamedTemporaryFile() as order, self.knowing(before, after):
            order.write("".join(f"{literal(path)}\n" for path in first).encode(errors="replace"))
            order.flush()
            command = ["diff-tree", *form, f"-O{order.name}", _commit(before), _commit(after)]
            git(command, cwd=self.path, env=self._environment(), output=whole)
            size = whole.seek(0, os.SEEK_END)
            whole.seek(0)
            head = whole.read(PATCH_BYTES)
        if size <= PATCH_BYTES:
            return head.decode(errors="replace")
        lines = head[: head.rfind(b"\n") + 1]
        return lines.decode(errors="replace") + f"[cut here: {len(lines)} of {size} bytes]\n"

    def whole_patch(self, before: str, after: str) -> bytes:
        """A unified diff from which git can make every file byte for byte, also binary ones."""
        form = ("-p", "-r", "--binary", "--full-index", "--src-prefix=a/", "--dst-prefix=b/", "--no-ext-diff")
        with self.knowing(before, after):
            more = ("--no-textconv", "--no-color", "--no-renames", "--submodule=short")
            return self.run("diff-tree", *form, *more, _commit(before), _commit(after))

    def texts(self, files: Sequence[tuple[str, str]], *, longest: int) -> dict[tuple[str, str], str]:
        """The texts of those of these files, each a state and a path, that are there, up to `longest` bytes each."""
        places = [file for file in dict.fromkeys(files) if "\n" not in file[1]][:_ASKED]
        if not places:
            return {}
        with self.knowing(*dict.fromkeys(state for state, _ in places)):
            names = b"".join(os.fsencode(f"{state}:{path}\n") for state, path in places)
            facts = self.run("cat-file", "--batch-check=%(objecttype) %(objectsize) %(objectname)", stdin=names)
            blobs = dict(_blobs(places, facts, longest))
            output = self.run("cat-file", "--batch", stdin="".join(f"{blob}\n" for blob in blobs.values()).encode())
        texts, at = {}, 0
        for file in blobs:
            head = output.index(b"\n", at)
            size = int(output[at:head].split()[2])
            texts[file] = output[head + 1 : head + 1 + size].decode(errors="replace")
            at = head + size + 2
        return texts

    @contextmanager
    def index(self, name: str) -> "Iterator[Index]":
        """The index of that name, as a copy that replaces it on success: a process killed meanwhile
        leaves no lock. Its time is kept: git needs it to notice a change within the same tick."""
        saved = self.path / f"index-{name}"
        with tempfile.TemporaryDirectory(prefix="index-", dir=self.path) as private:
            index = Index(self, Path(private) / "index")
            if saved.exists():
                shutil.copy2(saved, index.path)
            yield index
            if index.path.exists():
                index.path.replace(saved)


@dataclass(frozen=True, slots=True)
class Index:
    """The index of git, which remembers the files of one folder."""

    repository: Repository
    path: Path

    def record(self, tree: Path, rules: RecordingRules = EVERYWHERE) -> tuple[str, ...]:
        """Add the files as they are. Never with `git add`, which would run git inside nested repositories. Only files
        that differ from the last recorded ones are read. `rules` say which new ones are added. Returns those whose
        names git refuses."""
        with ThreadPoolExecutor(1) as pool:
            changing = pool.submit(self._changed, tree)
            others = self._added(tree, rules)
            changed = changing.result()
        make_readable(tree, (*changed, *others))
        present = set(plain_files(tree, changed))
        gone = [path for path in changed if path not in present]
        paths = [*present, *plain_files(tree, others)]
        if gone:
            self._run("update-index", "-z", "--force-remove", "--stdin", tree=tree, stdin=b"\0".join(gone))
        if paths:
            return self._add(tree, paths)
        return ()

    def submodules(self, places: Sequence[str]) -> list[str]:
        """Those of these places in which a submodule is recorded."""
        if not (places and self.path.exists()):
            return list(places)
        rows = self._run("--literal-pathspecs", "ls-files", "-z", "--stage", "--", *places).split(b"\0")
        there = {os.fsdecode(row.partition(b"\t")[2]) for row in rows if row.startswith(GITLINK)}
        return [place for place in places if place in there]

    def forget(self, tree: Path, paths: Sequence[str]) -> None:
        """Record these no more."""
        if paths:
            gone = b"\0".join(map(os.fsencode, paths))
            self._run("update-index", "-z", "--force-remove", "--stdin", tree=tree, stdin=gone)

    def note(self, tree: Path) -> None:
        """Remember the files as they are, without recording what is in them."""
        paths = list(plain_files(tree, self._new_files(tree)))
        self._run("update-index", "-z", "--info-only", "--add", "--stdin", tree=tree, stdin=b"\0".join(paths))

    def differing(self, tree: Path) -> list[bytes]:
        """The files that are changed, gone, or new and not ignored."""
        return [*self._changed(tree), *self._new_files(tree)]

    def _add(self, tree: Path, paths: Sequence[bytes]) -> tuple[str, ...]:
        """Add these files, and return those that git passes over because of their names."""
        words = ("update-index", "-z", "--add", "--remove", "--replace", "--stdin")
        env = {"GIT_WORK_TREE": str(tree), "GIT_INDEX_FILE": str(self.path)}
        done = self.repository.answered(*words, codes=(0,), env=env, cwd=tree, data=b"\0".join(paths))
        if _PASSED_OVER not in done.stderr:
            return ()
        there = set(plain_files(tree, paths))
        return tuple(os.fsdecode(path) for path in there.difference(self._run("ls-files", "-z").split(b"\0")))

    def restore(self, tree: Path, commit: str, *, settled: bool, keep: Iterable[str] | None = None) -> bool:
        """Bring the files to that state; whether they already were. Of the ignored ones all stay, or those to `keep`.
        Only where the index is `settled` it is left as it is then: written in the same second as the files, it would
        have git read them again each time."""
        with ThreadPoolExecutor(1) as pool:
            cleaning = pool.submit(self.clean, tree, keep)
            same = self._holds(tree, commit) and not self._changed(tree)
            cleaning.result()
        if not (same and settled):
            self._run("read-tree", "--reset", "-u", commit, tree=tree)
        if not same:  # what is ignored may differ now
            self.clean(tree, keep)
        return same

    def _holds(self, tree: Path, commit: str) -> bool:
        """True if it is that state that git remembers."""
        if not self.path.exists():
            return False
        return not self._run("diff-index", "--cached", "-z", "--name-only", commit, tree=tree)

    def clean(self, tree: Path, keep: Iterable[str] | None = (), *, only: Iterable[str] = ()) -> None:
        """Delete everything unknown, including files that the project ignores, but not those to `keep`; None keeps all
        that are ignored. `only` names where."""
        ignored = [] if keep is None else ["-x", *(f"--exclude={anchored(path)}" for path in keep)]
        self._run("--literal-pathspecs", "clean", "-ffdq", *ignored, "--", *only, tree=tree)

    def contents(self, tree: Path) -> set[str]:
        """The files that git knows, and their folders."""
        output = self._run("ls-files", "-z", tree=tree)
        result = set[str]()
        for path in output.split(b"\0")[:-1]:
            name = os.fsdecode(path)
            while name and name not in result:
                result.add(name)
                name = name.rpartition("/")[0]
        return result

    def entries(self) -> list[bytes]:
        """Mode, id, stage and path of each entry."""
        return self._run("ls-files", "-z", "--stage").split(b"\0")

    def mixed(self, commit: str, other: str, paths: Sequence[str]) -> str:
        """The tree of a commit with these paths as in the other commit. Needs no working tree."""
        self._run("read-tree", commit)
        there = self.repository.run("--literal-pathspecs", "ls-tree", "-r", "-z", "--full-tree", other, "--", *paths)
        gone = b"".join(b"0 " + b"0" * len(commit) + b"\t" + os.fsencode(path) + b"\0" for path in paths)
        self._run("update-index", "-z", "--index-info", stdin=gone + there)
        return self.write_tree()

    def with_files(self, commit: str, files: Iterable[tuple[str, str, str]]) -> str:
        """The tree of a commit with these files, each a path, a mode and a blob. Needs no working tree."""
        self._run("read-tree", commit)
        rows = b"".join(os.fsencode(f"{mode} {blob}\t{path}\0") for path, mode, blob in files)
        self._run("update-index", "-z", "--index-info", stdin=rows)
        return self.write_tree()

    def with_content(self, commit: str, tree: Path, paths: Iterable[str]) -> str:
        """The tree of a commit in which these files are as they are below `tree`."""
        self._run("read-tree", commit)
        names = b"".join(os.fsencode(path) + b"\0" for path in paths)
        self._run("update-index", "-z", "--stdin", tree=tree, stdin=names)
        return self.write_tree()

    def write_tree(self) -> str:
        return line(self._run("write-tree"))

    def has_new(self, tree: Path) -> bool:
        """True if there are unknown files."""
        return bool(self._run("ls-files", "-z", "--others", "--exclude-standard", tree=tree))

    def new(self, tree: Path) -> tuple[str, ...]:
        """The files and folders that are unknown and not ignored by the project."""
        return self._others(tree, "--exclude-standard")

    def unrecorded(self, tree: Path) -> tuple[str, ...]:
        """The files and folders that are unknown, ignored or not."""
        return self._others(tree)

    def has_unrecorded(self, tree: Path) -> bool:
        """True if there are unknown files, ignored or not; empty folders do not count."""
        return bool(self._run("ls-files", "-z", "--others", "--directory", "--no-empty-directory", tree=tree))

    def _others(self, tree: Path, *options: str) -> tuple[str, ...]:
        output = self._run("ls-files", "-z", "--others", "--directory", *options, tree=tree)
        return tuple(os.fsdecode(path).rstrip("/") for path in output.split(b"\0") if path)

    def _changed(self, tree: Path) -> list[bytes]:
        """The known files, without submodules, that may have changed or disappeared."""
        if not self.path.exists():
            return []
        output = self._run("diff-files", "-z", "--name-only", "--no-renames", "--ignore-submodules=all", tree=tree)
        return list(dict.fromkeys(path for path in output.split(b"\0") if path))

    def _added(self, tree: Path, rules: RecordingRules) -> list[bytes]:
        """The unknown files that are to be recorded: new ones, and those that are ignored but tracked by the agents'
        own git."""
        new = rules.recorded(self.repository, self._new_files(tree, rules.patterns()))
        if rules.base is None:
            return new
        in_sight = {*new, *self._run("ls-files", "-z").split(b"\0")}
        forced, put = tracked_inside(self.repository, tree, in_sight), withheld(self.repository)
        return [*new, *sorted(path for path in forced if path not in put)]

    def _new_files(self, tree: Path, never: Sequence[str] = ()) -> list[bytes]:
        """The files that are unknown and not ignored by the project, also inside repositories that an agent has
        created."""
        patterns = [f"--exclude={pattern}" for pattern in never]
        output = self._run("ls-files", "-z", "--others", *patterns, "--exclude-standard", tree=tree)
        new = [path for path in output.split(b"\0") if path]
        files = [path for path in new if not path.endswith(b"/")]
        for nested in (path for path in new if path.endswith(b"/")):
            inside = Index(self.repository, self.path.with_name("none"))._new_files(tree / os.fsdecode(nested), never)
            files += [nested + path for path in inside]
        return files

    def _run(self, *args: str, tree: Path | None = None, stdin: bytes = b"") -> bytes:
        return self.repository.run(*args, tree=tree, index=self.path, stdin=stdin)


def _blobs(files: Sequence[tuple[str, str]], facts: bytes, longest: int) -> Iterator[tuple[tuple[str, str], str]]:
    """The object of each of these that is a file up to that size, from what `cat-file --batch-check` says of them."""
    for file, row in zip(files, facts.split(b"\n"), strict=False):
        kind, _, rest = row.partition(b" ")
        size, _, blob = rest.partition(b" ")
        if kind == b"blob" and size.isdigit() and int(size) <= longest:
            yield file, blob.decode()


def _commit(state: str) -> str:
    """The state in a form that git only reads as a commit, and never as anything else with an id."""
    return f"{state}^{{commit}}"


# -- snapshots of a shared folder ------------------------------------------------------------------------------------


_LONGEST = 64


@dataclass(frozen=True, slots=True)
class LatestSnapshot:
    """A small file that holds the latest snapshot."""

    file: int

    def latest(self) -> str | None:
        return os.pread(self.file, _LONGEST, 0).decode().strip() or None

    def go_on(self, state: str) -> str:
        """Mark the state as the latest one again."""
        os.pwrite(self.file, state.encode(), 0)  # always as long as the previous one, so never cut off
        return state


@contextmanager
def trail(path: Path) -> Iterator[LatestSnapshot]:
    """Ours alone until we leave: two snapshots at once would both follow the same one."""
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield LatestSnapshot(file)
    finally:
        os.close(file)
