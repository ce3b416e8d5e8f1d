"""Running git: with our own settings, without prompts, hooks or the network.

It carries no owner's mark (`adapters/processes`): it ends by itself, and killing it would leave a lock, perhaps in the
person's repository.
"""

import os
import re
import subprocess
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Final

from domain.values.base import HansardError
from domain.values.sentences import Sentence

AUTHOR: Final = {
    f"GIT_{who}_{what}": value
    for who in ("AUTHOR", "COMMITTER")
    for what, value in (("NAME", "Hansard"), ("EMAIL", "hansard@localhost"))
}
OURS: Final = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_ATTR_NOSYSTEM": "1"}
_UNFIT: Final = re.compile(r"[<>\x00-\x1f\x7f]")
_NO_ADDRESS: Final = re.compile(r"[^a-z0-9.]+")
SECONDS: Final = 300.0
_SETTINGS: Final = (
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.alternateRefsCommand=true",
    "core.attributesFile=/dev/null",
    "core.excludesFile=/dev/null",
    "core.quotePath=false",
    "core.autocrlf=false",
    "core.bigFileThreshold=16m",
    "merge.directoryRenames=false",
    "protocol.allow=never",
    "protocol.file.allow=always",
    "submodule.recurse=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "init.defaultRefFormat=files",
)


def authored_by(agent: str) -> dict[str, str]:
    """The environment that makes an agent the author of a commit: `Grace via Hansard <grace@hansard.invalid>`."""
    name = " ".join(_UNFIT.sub(" ", agent).split()) or "Agent"
    local = _NO_ADDRESS.sub("-", name.casefold()).strip("-.") or "agent"
    return {"GIT_AUTHOR_NAME": f"{name} via Hansard", "GIT_AUTHOR_EMAIL": f"{local}@hansard.invalid"}


def identity_of(agent: str | None = None) -> dict[str, str]:
    """The environment in which git finds who commits, in repositories that a program makes: the agent, or Hansard."""
    author = {"GIT_AUTHOR_NAME": "Hansard", "GIT_AUTHOR_EMAIL": "hansard@hansard.invalid"}
    if agent is not None:
        author = authored_by(agent)
    return author | {name.replace("AUTHOR", "COMMITTER"): value for name, value in author.items()}


def git(
    args: Iterable[str],
    *,
    cwd: Path,
    env: Mapping[str, str] | None = None,
    stdin: bytes | IO[bytes] = b"",
    output: IO[bytes] | int = subprocess.PIPE,
) -> bytes:
    """The output of git; WorkspaceError with its error message. `given` is its input: bytes, or a file."""
    return answered(args, cwd=cwd, env=env, data=stdin, output=output, codes=(0,)).stdout or b""


def answered(
    args: Iterable[str],
    *,
    cwd: Path,
    env: Mapping[str, str] | None = None,
    data: bytes | IO[bytes] = b"",
    output: IO[bytes] | int = subprocess.PIPE,
    codes: Collection[int],
    seconds: float = SECONDS,
) -> subprocess.CompletedProcess[bytes]:
    """The output of git with its exit code, one of `codes`; WorkspaceError with its error message for any other, and
    after so many seconds."""
    words, whole = [*args], _environment(OURS if env is None else env)
    command = _named(words)
    settings = [word for setting in _SETTINGS for word in ("-c", setting)]
    try:
        done = subprocess.run(
            ["git", *settings, *words],
            cwd=cwd,
            env=whole,
            input=data if isinstance(data, bytes) else None,
            stdin=None if isinstance(data, bytes) else data,
            stdout=output,
            stderr=subprocess.PIPE,
            timeout=seconds,
        )
    except subprocess.TimeoutExpired as error:
        raise WorkspaceError(Sentence("git_too_slow", command=command, number=seconds)) from error
    except OSError as error:
        raise WorkspaceError(Sentence("git_not_started", command=command, detail=error.strerror)) from error
    if done.returncode not in codes:
        complaint = " ".join(done.stderr.decode(errors="replace").split())[-500:]
        raise WorkspaceError(Sentence("git_failed", command=command, detail=complaint or done.returncode))
    return done


def _named(words: Sequence[str]) -> str:
    """The command itself, after the options of git."""
    rest = iter(words)
    for word in rest:
        if word == "-c":
            next(rest)
        elif not word.startswith("-"):
            return word
    return "git"


def in_theirs(
    args: Iterable[str],
    folder: Path,
    *,
    stdin: bytes = b"",
    output: IO[bytes] | int = subprocess.PIPE,
    codes: Collection[int] = (0,),
    seconds: float = SECONDS,
    env: Mapping[str, str] | None = None,
) -> bytes:
    """Git in the person's repository: their own settings apply (`safe.directory`), but none of their hooks and monitors
    runs. Filters do, where files of a checkout are read or written: `person.inert_git` leaves them out."""
    own = {name: os.environ[name] for name in ("HOME", "XDG_CONFIG_HOME") if name in os.environ} | dict(env or {})
    return answered(args, cwd=folder, env=own, data=stdin, output=output, codes=codes, seconds=seconds).stdout or b""


def settings_of(folder: Path, name: str, *, kind: str = "") -> str | None:
    """The person's setting of that name; None without one. Those that we pass to git do not count."""
    words = ["config", "--show-scope", "-z", *([f"--type={kind}"] if kind else []), "--get-all", name]
    parts = os.fsdecode(in_theirs(words, folder, codes=(0, 1))).split("\0")
    values = [value for scope, value in zip(parts[::2], parts[1::2], strict=False) if scope != "command"]
    return values[-1] if values else None


def all_settings(folder: Path, names: str, *, kind: str = "") -> dict[str, str]:
    """The person's settings whose names fit the pattern, by their names: sections and keys in small letters."""
    words = ["config", "--show-scope", "-z", *([f"--type={kind}"] if kind else []), "--get-regexp", names]
    parts = os.fsdecode(in_theirs(words, folder, codes=(0, 1))).split("\0")
    entries = (
        entry.partition("\n") for scope, entry in zip(parts[::2], parts[1::2], strict=False) if scope != "command"
    )
    return {name: value for name, _, value in entries}


def committed(folder: Path, path: str) -> bytes | None:
    """A file as the person's checked-out commit has it; None if it does not."""
    try:
        return in_theirs(["cat-file", "blob", f"HEAD:{path}"], folder)
    except WorkspaceError:
        return None


def note_on(folder: Path, ref: str, commit: str) -> bytes | None:
    """The note on a commit; None if there is none."""
    output = in_theirs(["notes", f"--ref={ref}", "list", commit], folder, codes=(0, 1))
    return in_theirs(["cat-file", "blob", line(output)], folder) if output.strip() else None


def branch_at(folder: Path, branch: str) -> str | None:
    """The commit of a branch in the person's repository; None if there is no such branch."""
    try:
        return line(in_theirs(["rev-parse", "--verify", "--quiet", f"refs/heads/{branch}"], folder))
    except WorkspaceError:
        return None


def _environment(env: Mapping[str, str]) -> dict[str, str]:
    """No prompts, no network, no locks for reading."""
    quiet = {"LC_ALL": "C", "GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0", "GIT_NO_LAZY_FETCH": "1"}
    return {"PATH": os.environ.get("PATH", os.defpath), **quiet, **AUTHOR, **env}


def line(output: bytes) -> str:
    return output.decode().strip()


# Paths from outside, and the error for everything that a workspace refuses.


def confine(path: str) -> str:
    """The normalized path, if it stays below its base folder (promise S14): not absolute, no `..`, drive, backslash or
    control character, and no `.git` in any spelling that some file system accepts."""
    parts = [part for part in path.split("/") if part not in ("", ".")]
    if not parts:
        raise DoesNotFit(Sentence("path_names_no_file", path=path))
    if path.startswith("/") or "\\" in path or re.match(r"[A-Za-z]:", parts[0]):
        raise DoesNotFit(Sentence("path_not_relative", path=path))
    if ".." in parts:
        raise DoesNotFit(Sentence("path_leaves_workspace", path=path))
    if any(unicodedata.category(character) in ("Cc", "Cs") for character in path):
        raise DoesNotFit(Sentence("path_has_bad_characters", path=path))
    if any(is_of_git(part) for part in parts):
        raise DoesNotFit(Sentence("path_belongs_to_git", path=path))
    if len(path.encode()) > 4096 or any(len(part.encode()) > 255 for part in parts):
        raise DoesNotFit(Sentence("path_too_long", path=path[:80]))
    return "/".join(parts)


def is_of_git(part: str) -> bool:
    """True if some file system takes this part of a path for `.git`."""
    seen = part
    if not part.isascii():
        seen = "".join(character for character in part if unicodedata.category(character) != "Cf")
    return seen.casefold().partition(":")[0].rstrip(". ") in (".git", "git~1")


class WorkspaceError(HansardError):
    """A folder, a path or git does not allow it; the sentence says which."""

    kept_in: Path | None = None
    """The folder with what others, for example a hook, had written before all was put back."""


class Lasting(WorkspaceError):
    """Trying again does not help: the person has to change something first."""


class DoesNotFit(WorkspaceError):
    """A path, a content or a patch that comes from outside is impossible here; the folder is not to blame."""


@contextmanager
def in_a_sentence() -> Iterator[None]:
    """Turns errors of the system into errors of ours."""
    try:
        yield
    except OSError as error:
        where = f": {error.filename}" if error.filename else ""
        raise WorkspaceError(f"{error.strerror or type(error).__name__}{where}") from error
