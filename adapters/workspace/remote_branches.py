"""Branches at a forge: pushes as fast-forwards only, fetches, and merges of what others have pushed.

Git runs in the workspace's own repository, so that nothing that the person's repository names is executed; the person's
own settings say how the forge is reached (ssh, credential helpers). No token of ours is ever passed to it.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final, Literal, NamedTuple
from urllib.parse import urlsplit

from adapters.workspace.bases import based_on
from adapters.workspace.git import WorkspaceError, answered, in_theirs, line
from adapters.workspace.merges import merge
from adapters.workspace.repository import Repository
from adapters.workspace.workspace import Workspace
from domain.checks.ci_settings import ci_files
from domain.session.workspace import WorkspaceChanges
from domain.values.sentences import Sentence

PushOutcome = Literal["pushed", "overtaken", "refused", "away"]
"""It is there; somebody was faster; the forge takes no such push; it did not answer."""
_SECONDS: Final = 120.0
_NETWORK: Final = ("https", "ssh", "git+ssh")
_QUIET: Final = ("--no-tags", "--no-write-fetch-head", "--no-auto-maintenance", "--no-recurse-submodules", "--quiet")
_INHERITED: Final = ("HOME", "XDG_CONFIG_HOME", "SSH_AUTH_SOCK", "SSH_AGENT_PID", "XDG_RUNTIME_DIR")
_MOST: Final = 250
"""Commits of others that are named."""


class PushEnd(NamedTuple):
    """The end of a push; `detail` is what git said."""

    outcome: PushOutcome
    detail: str = ""


@dataclass(frozen=True, slots=True)
class RemoteBranches:
    """The branches of a forge's repository, as far as a workspace needs them."""

    workspace: Workspace
    url: str

    @property
    def _git(self) -> Repository:
        return Repository(self.workspace.home / "repo.git", replaces=False)

    def push(self, commit: str, branch: str) -> PushEnd:
        """Push the commit as the branch, if that is a fast-forward."""
        self._git.check(commit)
        words = ["push", "--porcelain", "--no-verify", "--no-signed", "--recurse-submodules=no", "--", self.url]
        done = self._run([*words, f"{commit}:refs/heads/{branch}"])
        output = done.stdout.decode(errors="replace")
        if done.returncode == 0:
            return PushEnd("pushed")
        detail = " ".join((done.stderr or done.stdout).decode(errors="replace").split())[-500:]
        rejected = next((row for row in output.splitlines() if row.startswith("!")), "")
        if "[rejected]" in rejected:
            return PushEnd("overtaken", detail)
        return PushEnd("refused" if "[remote rejected]" in rejected else "away", detail)

    def fetch(self, branch: str) -> str:
        """Fetch the branch. Returns its commit. Raises WorkspaceError."""
        ref = f"refs/forge/{branch}"
        done = self._run(["fetch", *_QUIET, "--", self.url, f"+refs/heads/{branch}:{ref}"])
        if done.returncode:
            detail = " ".join(done.stderr.decode(errors="replace").split())[-500:]
            raise WorkspaceError(Sentence("git_failed", command="fetch", detail=detail or done.returncode))
        return line(self._git.run("rev-parse", "--verify", ref))

    def descends(self, commit: str, ancestor: str) -> bool:
        """Return whether the commit has the ancestor in its history; both are here."""
        return self._git.answered("merge-base", "--is-ancestor", ancestor, commit, codes=(0, 1, 128)).returncode == 0

    def between(self, before: str, after: str) -> tuple[str, ...]:
        """The commits that `after` has and `before` has not, the oldest first."""
        ids = self._git.run("rev-list", "--reverse", f"--max-count={_MOST}", after, f"^{before}").decode().split()
        return tuple(ids)

    def changed(self, before: str, after: str) -> tuple[str, ...]:
        """The paths that differ."""
        return self._git.changed_files(before, after)

    def changed_settings(self, before: str, after: str, base: str) -> tuple[str, ...]:
        """The settings of the CI, with what they include, that differ between two commits, without those that are as in
        the base."""
        changed = set(self.changed(before, after))
        if base != before:
            changed &= set(self.changed(base, after))
        if not changed:
            return ()
        each = (ci_files(changed, self._names(commit), partial(self._text, commit)) for commit in (before, after))
        return tuple(sorted(frozenset().union(*each)))

    def _names(self, commit: str) -> tuple[str, ...]:
        names = self._git.run("ls-tree", "-r", "-z", "--name-only", "--full-tree", commit).split(b"\0")
        return tuple(name.decode(errors="replace") for name in names if name)

    def _text(self, commit: str, path: str) -> str | None:
        lines = self.file_lines(commit, path)
        return None if lines is None else "\n".join(lines)

    def merged(self, ours: str, theirs: str, branch: str) -> tuple[str, WorkspaceChanges]:
        """Both in one commit, which is the session's branch from now on, and all changes since the base. Raises
        WorkspaceError where both changed the same lines, or where the branch cannot be moved."""
        head = merge(self._git, ours=ours, theirs=theirs, message="Merge commits from the pull request\n")
        self.workspace.publish(head, branch)
        return head, self.workspace.changes(head)

    def with_base(self, ours: str, base: str, name: str) -> tuple[str, tuple[str, ...]]:
        """The work with the base branch in it, as a commit, and the files in which both sides changed the same lines:
        they have both, marked."""
        words = ["--write-tree", "-z", "--no-messages", "--name-only", "--allow-unrelated-histories", ours, base]
        done = self._git.answered("merge-tree", *words, codes=(0, 1))
        tree, *paths = done.stdout.rstrip(b"\0").split(b"\0")
        head = self._git.record(tree.decode(), message=f"Merge {name}\n", parents=(ours, base))
        self._git.run("update-ref", f"refs/hansard/{head}", head)
        return head, tuple(sorted({path.decode(errors="replace") for path in paths}))

    def based_on(self, base: str, head: str) -> WorkspaceChanges:
        """The changes of the work, which are counted from this commit of the base branch from now on."""
        return based_on(self.workspace, base).changes(head)

    def file_lines(self, commit: str, path: str) -> list[str] | None:
        """The lines of a file; None if the commit or the file is not here."""
        blob = self._git.answered("cat-file", "blob", f"{commit}:{path}", codes=(0, 1, 128))
        return blob.stdout.decode(errors="replace").splitlines() if blob.returncode == 0 else None

    def _run(self, words: Sequence[str]) -> "_Done":
        allowed = [*_NETWORK, *(["http"] if _is_here(self.url) else [])]
        settings = [f"protocol.{name}.allow=always" for name in allowed]
        settings += [
            "http.followRedirects=false",
            "push.followTags=false",
            "push.gpgSign=false",
            "push.default=nothing",
        ]
        options = [word for setting in settings for word in ("-c", setting)]
        own = {name: os.environ[name] for name in _INHERITED if name in os.environ}
        env = {**own, "GIT_DIR": str(self._git.path), "GIT_NO_REPLACE_OBJECTS": "1", "SSH_ASKPASS_REQUIRE": "never"}
        done = answered([*options, *words], cwd=self._git.path, env=env, codes=range(256), seconds=_SECONDS)
        return _Done(done.returncode, done.stdout or b"", done.stderr or b"")


class _Done(NamedTuple):
    returncode: int
    stdout: bytes
    stderr: bytes


def _is_here(url: str) -> bool:
    """Return whether the address is on this machine, where http is enough."""
    return (urlsplit(url).hostname or "") in ("127.0.0.1", "localhost", "::1")


def remote_address(repository: Path, name: str = "origin") -> str | None:
    """The address of the repository's remote, as it is written there; None without one."""
    output = in_theirs(["config", "--get", f"remote.{name}.url"], repository, codes=(0, 1))
    return line(output) or None


def has_login(url: str) -> bool:
    """Return whether the address has a password or token in it."""
    parts = urlsplit(url)
    return bool(parts.password) or (parts.scheme in ("http", "https") and bool(parts.username))
