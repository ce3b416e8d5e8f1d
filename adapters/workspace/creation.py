"""Creates a workspace: our own repository with the contents of the person's folder at that time."""

import json
import os
import re
import shutil
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

from adapters.workspace.borrowed_objects import (
    fetch_missing,
    is_partial,
    keep_borrowed,
    link_objects,
    mark_partial,
    promisor,
)
from adapters.workspace.conversion_facts import conversion_of
from adapters.workspace.git import AUTHOR, SECONDS, WorkspaceError, git, in_theirs, line
from adapters.workspace.inert import inert_git
from adapters.workspace.merges import merge
from adapters.workspace.person import WHOLE_INDEX, copy_index
from adapters.workspace.recording_rules import RecordingRules, persons_rules, special_folders
from adapters.workspace.references import branch_of, pack, shown, take, visible_references, work_branch
from adapters.workspace.repository import Index, Repository
from adapters.workspace.reviewed_diff import ReviewedPatch, add_reviewed, uncommitted
from adapters.workspace.twins import REPLACED, Show, give_twins, twin_of
from domain.values.sentences import Sentence

SOURCE: Final = "source"
"""The index of a folder that is edited in place."""

_ATTRIBUTES: Final = "* -text !eol !crlf !ident !filter !diff !merge !working-tree-encoding !whitespace\n"
"""Overrides every `.gitattributes`: contents are recorded and restored byte for byte, and no diff is hidden."""
_PATTERN: Final = re.compile(r"[\\*?\[\] ]")
"""Characters that need escaping in such a line."""
_SHA256: Final = 64
_USAGE: Final = 129
"""The exit code of git where it does not know a question: versions before 2.41, of this one."""
_BARE: Final = "must be run in a work tree"


@dataclass(frozen=True, slots=True)
class _Place:
    """The place of a folder in the person's git repository."""

    top: Path
    prefix: str
    index: Path
    exclude: Path
    bare: bool = False
    """It has no checkout."""


class Earlier(NamedTuple):
    """The result of an earlier session: its repository, the commit, and the branch that it was published as. `stored`
    says whether the commit is as the person's git would have made it."""

    repository: Path
    commit: str
    branch: str | None
    stored: bool = True


def create(
    home: Path,
    source: str | None,
    private: Sequence[Path] = (),
    earlier: Earlier | None = None,
    show: Show | None = None,
    reviewed: ReviewedPatch | None = None,
) -> None:
    """Create `repo.git`, completely or not at all. `private`: our own files, which are left out of a folder. A person's
    folder without git is edited in place, so nothing `earlier` has to be added. `show` makes the form that a
    checkout shows, if agents are to see that. `reviewed` are uncommitted changes of the person to start with."""
    home.mkdir(parents=True, exist_ok=True)
    place = None if source is None else place_of(Path(source))
    with tempfile.TemporaryDirectory(prefix="new-", dir=home) as made:
        repository = Repository(Path(made) / "repo.git")
        facts: dict[str, Any] = {
            "asked": source,
            "repository": None,
            "prefix": "",
            "dirty": False,
            "branch": None,
            "first_branch": _first_branch(home if source is None else Path(source)),
        }
        if place is None:
            facts["start"], facts["unrecordable"] = _begin(
                repository, None if source is None else Path(source), private
            )
        else:
            facts |= {"repository": str(place.top), "prefix": place.prefix, "start": _copy(repository, place)}
            facts["branch"] = branch_of(place.top)
            facts["conversion"] = conversion_of(place.top, place.exclude.parent)
            facts["ignored"] = persons_rules(place.top, place.exclude)
            facts["bare"] = place.bare
            _exclude(repository, facts)
            facts["dirty"] = not place.bare and _is_dirty(repository, place, str(facts["start"]))
            repository.write("info/attributes", _ATTRIBUTES)
            if reviewed is not None:
                facts |= _start_with(repository, place, reviewed)
        if earlier is not None and (place is not None or source is None):
            _go_on(repository, facts, earlier)
        if place is not None and show is not None and "original" not in facts:
            twin = show(repository, str(facts["start"]), facts["conversion"], place.top, place.bare)
            facts |= {"filters": True, "twin": twin}
        if place is not None:
            facts["tool_folders"], facts["submodules"] = special_folders(repository, facts["start"])
            _exclude(repository, facts)
        repository.write("hansard.json", json.dumps(facts))
        settle(repository.path, home / "repo.git")


def _start_with(repository: Repository, place: _Place, reviewed: ReviewedPatch) -> dict[str, Any]:
    """Start with changes that were reviewed; what the checkout has beyond them makes it dirty."""
    start = add_reviewed(repository, place.top, reviewed)
    repository.run("update-ref", "refs/hansard/base", start)
    now = None if place.bare else uncommitted(place.top)
    is_dirty = now is not None and now.patch != reviewed.patch
    return {"start": start, "reviewed_on": reviewed.commit, "original": reviewed.commit, "dirty": is_dirty}


def _first_branch(folder: Path) -> str | None:
    """The name that the person's git gives to the first branch of a new repository; None where they named none."""
    return line(in_theirs(["config", "--get", "init.defaultBranch"], folder, codes=(0, 1))) or None


def settings_for_programs(first_branch: str) -> str:
    """A file of git's settings for the programs in a workspace, in place of the system's, which it includes."""
    system = line(in_theirs(["var", "GIT_CONFIG_SYSTEM"], Path("/"), codes=(0, 1, _USAGE))) or "/etc/gitconfig"
    quoted = first_branch.replace("\\", "\\\\").replace('"', '\\"')
    return f'[include]\n\tpath = {system}\n[init]\n\tdefaultBranch = "{quoted}"\n'


def _go_on(repository: Repository, facts: dict[str, Any], earlier: Earlier) -> None:
    """Start with the earlier result, unless the folder already contains all of it: merged or squashed."""
    ref = f"refs/hansard/{earlier.commit}"
    Repository(earlier.repository).run("update-ref", ref, earlier.commit)
    repository.run("fetch", "--quiet", "--no-tags", "--update-shallow", str(earlier.repository), f"{ref}:{ref}")
    start = str(facts["start"])
    if not _has(repository, start, earlier.commit):
        facts |= {"start": earlier.commit, "branch": earlier.branch or facts["branch"]}
        if not earlier.stored:
            facts |= _form_of(repository, earlier)
        repository.run("update-ref", "refs/hansard/base", earlier.commit)


def _form_of(repository: Repository, earlier: Earlier) -> dict[str, Any]:
    """The form in which an earlier session has recorded its work, which this one goes on with: whether agents saw what
    a checkout shows, and the last commit that the person's git has made."""
    facts = json.loads((earlier.repository / "hansard.json").read_text(encoding="utf-8"))
    original = facts.get("original") or facts["start"]
    if twin_of(Repository(earlier.repository), original):
        name = f"{REPLACED}{original}"
        repository.run("fetch", "--quiet", "--no-tags", str(earlier.repository), f"{name}:{name}")
    return {"original": original, "filters": facts.get("filters", False)}


def _exclude(repository: Repository, facts: Mapping[str, Any]) -> None:
    """Have git ignore what is not recorded. Workspaces of an older version have no facts about it."""
    rules = RecordingRules(tool_folders=frozenset(facts.get("tool_folders", ())))
    repository.write("info/exclude", rules.exclude_text(facts.get("ignored", "")))


def clone_with(repository: Repository, facts: Mapping[str, Any]) -> bool:
    """Copy the person's repository, like `found`, if it is on this machine and has the commit that the workspace
    started from."""
    if facts["repository"] is None:
        return False
    try:
        place = place_of(Path(facts["asked"]))
        if place is None or str(place.top) != facts["repository"]:
            return False
        in_theirs(["cat-file", "-e", f"{facts['start']}^{{commit}}"], place.top)
        _copy(repository, place)
        repository.check(facts["start"])
    except (OSError, WorkspaceError):
        shutil.rmtree(repository.path, ignore_errors=True)
        return False
    repository.write("info/attributes", _ATTRIBUTES)
    _exclude(repository, facts)
    return True


def begin_shallow(repository: Repository, facts: Mapping[str, Any]) -> None:
    """A repository for commits from elsewhere; their ids have the format of the start's."""
    form = "sha256" if len(facts["start"]) == _SHA256 else "sha1"
    new = ["init", "--quiet", "--bare", "--template=", f"--object-format={form}", str(repository.path)]
    git(new, cwd=repository.path.parent)
    repository.write("info/attributes", _ATTRIBUTES)
    _exclude(repository, facts)


def _has(repository: Repository, start: str, commit: str) -> bool:
    """True if merging the commit would change nothing."""
    try:
        merged = merge(repository, ours=start, theirs=commit, message="merge")
    except WorkspaceError:
        return False
    return not repository.changed_files(start, merged)


def give_git(repository: Repository, folder: Path, commit: str, index: Path) -> None:
    """A repository for the agents in this folder, created where they cannot reach it and only then moved in."""
    with tempfile.TemporaryDirectory(prefix="git-", dir=repository.path.parent) as made:
        inside = Repository(Path(made) / ".git")
        shutil.copytree(given_git(repository), inside.path)
        inside.write("objects/info/alternates", f"{repository.path / 'objects'}\n")
        give_twins(repository, inside)
        inside.run("update-ref", "HEAD", commit)  # the branch that HEAD names, which need not exist yet
        shutil.copy2(index, inside.path / "index")
        inside.path.rename(folder / ".git")


def given_git(repository: Repository) -> Path:
    """The git directory that agents get a copy of; created on first use, completely or not at all."""
    copy = repository.path / "given"
    if copy.exists():
        return copy
    with tempfile.TemporaryDirectory(prefix="given-", dir=repository.path) as made:
        form = line(repository.run("rev-parse", "--show-object-format"))
        visible = visible_references(repository)
        branch = f"--initial-branch={work_branch(visible)}"
        git(["init", "--quiet", "--template=", branch, f"--object-format={form}", made], cwd=repository.path)
        inside = Repository(Path(made) / ".git")
        pack(inside, visible, repository)
        if (repository.path / "shallow").exists():
            shutil.copy2(repository.path / "shallow", inside.path / "shallow")
        if is_partial(repository):
            mark_partial(inside)
        inside.write("info/exclude", (repository.path / "info/exclude").read_text("utf-8", "surrogateescape"))
        with (inside.path / "config").open("a", encoding="utf-8") as file:
            file.write(f"[user]\n\tname = {AUTHOR['GIT_AUTHOR_NAME']}\n\temail = {AUTHOR['GIT_AUTHOR_EMAIL']}\n")
        settle(inside.path, copy)
    return copy


def settle(made: Path, place: Path) -> None:
    """Move the complete directory to its place."""
    try:
        made.rename(place)
    except OSError:
        if not place.exists():  # otherwise another process was faster, and its version counts
            raise


def _begin(repository: Repository, folder: Path | None, private: Sequence[Path]) -> tuple[str, tuple[str, ...]]:
    """A new repository that starts with the contents of the folder, without our own files; empty without a folder.
    Returns the start, and the files whose names git refuses."""
    git(["init", "--quiet", "--bare", "--template=", str(repository.path)], cwd=repository.path.parent)
    repository.write("info/attributes", _ATTRIBUTES)
    repository.write("info/exclude", RecordingRules().exclude_text(_ours(folder.resolve(), private) if folder else ""))
    with repository.index(SOURCE) as index:
        refused = () if folder is None else index.record(folder)
        return repository.record(index.write_tree(), message="Start", parents=()), refused


def _ours(folder: Path, private: Iterable[Path]) -> str:
    """The lines that make git ignore our own files if they are in the folder itself."""
    below = (path.resolve() for path in private)
    names = (path.relative_to(folder).as_posix() for path in below if folder in path.parents)
    return "".join("/" + _PATTERN.sub(r"\\\g<0>", name) + "*\n" for name in names)


def _copy(repository: Repository, place: _Place) -> str:
    """A repository that starts with the commit that is checked out there, or empty if there is none yet."""
    remote = promisor(place.top)
    branch = branch_of(place.top)
    wanted = shown(place.top, branch)
    head = line(in_theirs(["rev-parse", "--verify", "--quiet", "HEAD"], place.top, codes=(0, 1)))
    if remote is None:
        try:
            _clone(repository, place)
        except WorkspaceError:  # git may have just cleaned up, so that files vanish while they are copied
            _clone(repository, place, "--no-local")
        repository.run("config", "--remove-section", "remote.origin")
    else:
        _link(repository, place)
    repository.write("HEAD", f"ref: refs/heads/{branch}\n" if branch else f"{head}\n")
    take(repository, place.top, wanted)
    if head:
        start = line(repository.run("rev-parse", "--verify", "--quiet", "HEAD^{commit}"))
    else:
        start = repository.record(line(repository.run("mktree")), message="Start", parents=())
    if remote is not None and not fetch_missing(repository, remote, _tips(repository, start)):
        mark_partial(repository)
    keep_borrowed(repository, _tips(repository, start))
    repository.run("update-ref", "refs/hansard/base", start)
    return start


def _clone(repository: Repository, place: _Place, *more: str) -> None:
    options = ["--bare", "--quiet", "--single-branch", "--no-tags", "--template=", *more]
    in_theirs(["clone", *options, "--", str(place.top), str(repository.path)], repository.path.parent)


def _link(repository: Repository, place: _Place) -> None:
    """Clones a partial clone as `git clone` would: it copies what is there."""
    question = ["rev-parse", "--path-format=absolute", "--show-object-format", "--git-path", "shallow"]
    form, shallow = os.fsdecode(in_theirs(question, place.top)).split("\n")[:2]
    new = ["init", "--quiet", "--bare", "--template=", f"--object-format={form}", str(repository.path)]
    git(new, cwd=repository.path.parent)
    link_objects(place.top, repository)
    if Path(shallow).is_file():
        shutil.copy2(shallow, repository.path / "shallow")


def _tips(repository: Repository, start: str) -> list[str]:
    """The start, and what git shows beside it."""
    names = repository.run("for-each-ref", "--format=%(objectname)").decode().split()
    return list(dict.fromkeys([start, *names]))


def place_of(folder: Path, *, seconds: float = SECONDS) -> _Place | None:
    """None if the folder is in no git repository. Raises WorkspaceError, worded as by `check`."""
    question = ["--show-toplevel", "--show-prefix", "--git-path", "index", "--git-path", "info/exclude"]
    try:
        output = in_theirs(["rev-parse", "--path-format=absolute", *question], folder, seconds=seconds)
    except WorkspaceError as error:
        if "not a git repository (or any" in str(error):
            return None
        if _BARE in str(error):
            return _bare(folder, error)
        raise WorkspaceError(Sentence("repository_unreadable", detail=error)) from error
    top, prefix, index, exclude = os.fsdecode(output).split("\n")[:4]
    return _Place(Path(top), prefix, Path(index), Path(exclude))


def _bare(folder: Path, error: WorkspaceError) -> _Place:
    """A bare repository itself; a folder in one cannot be worked in. Raises WorkspaceError."""
    words = ["--is-bare-repository", "--absolute-git-dir"]
    is_bare, top = os.fsdecode(in_theirs(["rev-parse", *words], folder)).split("\n")[:2]
    if is_bare != "true" or Path(top) != folder.resolve():
        raise WorkspaceError(Sentence("repository_bare")) from error
    return _Place(Path(top), "", Path(top) / "index", Path(top) / "info" / "exclude", bare=True)


def _is_dirty(repository: Repository, place: _Place, start: str) -> bool:
    """Returns whether the checkout differs from its commit, asked with a copy of its index, with the person's line
    endings and encodings, and with nothing executed. An index that we cannot read counts as a difference."""
    with tempfile.TemporaryDirectory(prefix="index-", dir=repository.path) as private:
        index = Index(repository, Path(private) / "index")
        try:
            copy_index(place.top, place.index, index.path)
            with ThreadPoolExecutor(1) as pool:
                asking = pool.submit(index.has_new, place.top)
                return _differs(place.top, index.path, start) or asking.result()
        except WorkspaceError:
            return True


def _differs(top: Path, index: Path, commit: str) -> bool:
    """Returns whether a known file differs. Those with another time are only read if there are any."""
    git, env = inert_git(top), {"GIT_INDEX_FILE": str(index)}
    question = (*WHOLE_INDEX, "diff-index", "--name-only", "--ignore-submodules=all", commit, "--")
    if not git(*question, env=env):
        return False
    git(*WHOLE_INDEX, "update-index", "-q", "--refresh", codes=(0, 1), env=env)
    return bool(git(*question, env=env))
