"""Objects that the person's repository does not hold itself: borrowed from another one, or still at the remote.

A workspace must not depend on either: agents cannot reach the other repository, nor use the person's logins. So what
is borrowed is packed into the workspace's own repository, and what a partial clone lacks is fetched into it, from where
the checkout would fetch it. Of the settings of the person's repository only the address and headers of HTTP count
there: no program, no proxy and no certificate that it names is used.
"""

import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from adapters.workspace.git import Lasting, WorkspaceError, answered, in_theirs, line
from adapters.workspace.repository import Repository
from domain.values.sentences import Sentence

MOST: Final = 50_000
"""So many missing objects of the history are fetched. Of a longer one, only those of the commits that agents compare
with: everything would be more than the person ever wanted on this machine."""
SECONDS: Final = 1_800.0
_ROUNDS: Final = 50
"""A clone without trees shows what it lacks one level at a time."""
_PROTOCOLS: Final = ("file", "http", "https", "ssh")
_PASSED_ON: Final = (
    *("HOME", "XDG_CONFIG_HOME", "SSH_AUTH_SOCK", "GIT_SSH", "GIT_SSH_COMMAND", "GIT_SSL_CAINFO", "GIT_SSL_CAPATH"),
    *("SSL_CERT_FILE", "SSL_CERT_DIR", "ALL_PROXY", "HTTPS_PROXY", "NO_PROXY"),
    *("all_proxy", "https_proxy", "http_proxy", "no_proxy"),
)
_NAME: Final = "origin"
"""Our copy's name for the remote."""


class Remote(NamedTuple):
    """The place from which a partial clone fetches what it lacks: its address, and the settings that reach it."""

    url: str
    settings: tuple[tuple[str, str], ...]


def check_complete(folder: Path) -> None:
    """Raises Lasting where the repository lacks what is checked out, or borrows it from a repository that is gone."""
    head = line(in_theirs(["rev-parse", "--verify", "--quiet", "HEAD"], folder, codes=(0, 1)))
    if not head:
        return
    gone = [str(place) for place in _lenders(folder) if not place.is_dir()]
    try:
        in_theirs(["cat-file", "-e", f"{head}^{{commit}}"], folder)
        if gone and promisor(folder) is None:
            in_theirs(["rev-list", "--objects", "--quiet", head], folder)
    except WorkspaceError as error:
        lacking = Sentence("lender_gone", paths=", ".join(gone)) if gone else Sentence("commit_gone", commit=head[:10])
        raise Lasting(lacking) from error


def _lenders(folder: Path) -> Iterator[Path]:
    """The folders of objects that the repository borrows from."""
    objects = _objects(folder)
    lent = objects / "info" / "alternates"
    if lent.is_file():
        for each in lent.read_text("utf-8", "surrogateescape").splitlines():
            if each[:1] not in ("", "#", '"'):
                yield objects / each


def _objects(folder: Path) -> Path:
    place = in_theirs(["rev-parse", "--path-format=absolute", "--git-path", "objects"], folder)
    return Path(os.fsdecode(place).rstrip("\n"))


def promisor(folder: Path) -> Remote | None:
    """The remote that has promised the missing objects of a partial clone; None for any other repository."""
    settings = _settings(folder, r"^(extensions\.partialclone|remote\..*\.promisor)$")
    names = [value for key, value in settings if key == "extensions.partialclone"]
    names += [key.removeprefix("remote.").removesuffix(".promisor") for key, value in settings if value == "true"]
    for name in names:
        url = line(in_theirs(["config", "--get", f"remote.{name}.url"], folder, codes=(0, 1)))
        if url:
            return Remote(
                _absolute(url, folder), tuple(_settings(folder, r"^(http\.(.*\.)?extraheader|url\..*\.insteadof)$"))
            )
    return None


def _settings(folder: Path, pattern: str) -> list[tuple[str, str]]:
    output = in_theirs(["config", "--local", "-z", "--get-regexp", pattern], folder, codes=(0, 1))
    rows = (row.partition("\n") for row in output.decode(errors="surrogateescape").split("\0") if row)
    return [(key, value) for key, _, value in rows]


def _absolute(url: str, folder: Path) -> str:
    """A relative address counts from the person's folder, not from ours."""
    return os.path.normpath(folder / url) if url.startswith(("./", "../")) else url


def link_objects(source: Path, repository: Repository) -> None:
    """Make every object file of the person's repository one of ours, without a copy where the file system allows it.
    `git clone` would ask for all objects of a partial clone that is shallow, too."""
    objects = _objects(source)
    shutil.copytree(objects, repository.path / "objects", copy_function=_linked, dirs_exist_ok=True)
    lent = objects / "info" / "alternates"
    if lent.is_file():
        lines = lent.read_text("utf-8", "surrogateescape").splitlines()
        absolute = [each if each[:1] in ("", "#", "/", '"') else os.path.normpath(objects / each) for each in lines]
        ours = repository.path / "objects" / "info" / "alternates"
        ours.unlink()
        ours.write_text("".join(f"{each}\n" for each in absolute), "utf-8", "surrogateescape")


def _linked(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


def keep_borrowed(repository: Repository, tips: Sequence[str]) -> None:
    """Pack what these commits need into the repository itself, so that it depends on no other one."""
    alternates = repository.path / "objects" / "info" / "alternates"
    if not alternates.exists():
        return
    names = "".join(f"{tip}\n" for tip in tips).encode()
    pack = str(repository.path / "objects" / "pack" / "pack")
    repository.run("pack-objects", "--quiet", "--revs", "--missing=allow-any", pack, stdin=names)
    alternates.unlink()


def fetch_missing(repository: Repository, remote: Remote, tips: Sequence[str]) -> bool:
    """Fetch what these commits lack; False where only their files were fetched, and parts of the history are still
    missing. Raises WorkspaceError where the remote does not give them."""
    _fetch_all(repository, remote, ["--no-walk", *tips], None)
    return _fetch_all(repository, remote, [*tips], None if (repository.path / "shallow").exists() else MOST)


def _fetch_all(repository: Repository, remote: Remote, span: Sequence[str], most: int | None) -> bool:
    fetched = 0
    for _ in range(_ROUNDS):
        missing = _missing(repository, span)
        if not missing:
            return True
        fetched += len(missing)
        if most is not None and fetched > most:
            return False
        _fetch(repository, remote, missing)
    return False


def _missing(repository: Repository, span: Sequence[str]) -> list[str]:
    question = ["rev-list", "--objects", "--missing=print", "--no-object-names", "--stdin"]
    options = [word for word in span if word.startswith("--")]
    names = "".join(f"{word}\n" for word in span if not word.startswith("--")).encode()
    rows = repository.run(*question, *options, stdin=names).decode().splitlines()
    return [row[1:] for row in rows if row.startswith("?")]


def _fetch(repository: Repository, remote: Remote, ids: Sequence[str]) -> None:
    options = ["--no-tags", "--no-write-fetch-head", "--no-auto-maintenance", "--no-recurse-submodules", "--quiet"]
    command = ["fetch", *options, "--filter=blob:none", "--stdin", _NAME]
    data = "".join(f"{id}\n" for id in ids).encode()
    try:
        answered(
            [*_quiet(), f"--git-dir={repository.path}", "-c", "fetch.negotiationAlgorithm=noop", *command],
            cwd=repository.path,
            env=_outside(remote),
            data=data,
            codes=(0,),
            seconds=SECONDS,
        )
    except WorkspaceError as error:
        raise WorkspaceError(Sentence("objects_not_fetched", url=remote.url, detail=error)) from error


def _quiet() -> Iterator[str]:
    for protocol in _PROTOCOLS:
        yield from ("-c", f"protocol.{protocol}.allow=always")


def _outside(remote: Remote) -> Mapping[str, str]:
    """The environment for the one call that leaves this machine: the person's logins, and our copy's own remote. The
    settings go in variables, because others can read a command line, and a header may be a password."""
    settings = [
        (f"remote.{_NAME}.url", remote.url),
        (f"remote.{_NAME}.promisor", "true"),
        ("core.repositoryFormatVersion", "1"),
        ("extensions.partialClone", _NAME),
        *remote.settings,
    ]
    env = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    env["GIT_CONFIG_COUNT"] = str(len(settings))
    for number, (key, value) in enumerate(settings):
        env |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    return env | {"GIT_SSH_COMMAND": env.get("GIT_SSH_COMMAND", "ssh -oBatchMode=yes")} if "GIT_SSH" not in env else env


def mark_partial(repository: Repository) -> None:
    """Have git know that objects may be missing. No address: nothing is fetched later."""
    repository.run("config", "core.repositoryFormatVersion", "1")
    repository.run("config", "extensions.partialClone", _NAME)
    repository.run("config", f"remote.{_NAME}.promisor", "true")


def is_partial(repository: Repository) -> bool:
    """True if objects may be missing in our copy."""
    text = (repository.path / "config").read_text("utf-8", "surrogateescape").casefold()
    if "partialclone" not in text:  # nearly always, and known without starting git
        return False
    return bool(repository.answered("config", "--get", "extensions.partialClone", codes=(0, 1)).stdout)
