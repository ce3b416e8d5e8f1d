"""No change that contains the value of a secret is recorded: others would read it, and it would be published.

It is the agent that is asked again, because the value may also be part of something that has to be done differently.
A value that the changed files already contained does not count.
"""

import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from adapters.references import MASK, Searchable, Secrets
from adapters.workspace.quarantine import Check, Contents
from domain.replies.delivery import FileChange
from domain.values.base import Unreadable
from domain.values.sentences import Sentence

_NAMED: Final = 10
"""How many files are named."""


class _Leak(NamedTuple):
    value: bytes
    name: str
    path: str


def check_texts(secrets: Secrets, contents: Mapping[str, str | bytes | None], before: Mapping[str, bytes]) -> None:
    """Raises Unreadable for the contents that an agent sends for its files, before they are written."""
    after = {path: data.encode(errors="replace") if isinstance(data, str) else data for path, data in contents.items()}
    leaks = [leak for path, data in after.items() for leak in _leaks(secrets, path, data or b"")]
    _refuse(secrets, [leak for leak in leaks if not any(leak.value in data for data in before.values())])


def check_of(secrets: Secrets) -> Check | None:
    """The check of a change before it is recorded; None if there are no secrets."""

    def check(after: Contents, before: Contents) -> None:
        leaks = [leak for file in after() for leak in _leaks(secrets, file.path, file.data, file.start, file.end)]
        if leaks:
            old = {
                leak.value for file in before() for leak in _leaks(secrets, file.path, file.data, file.start, file.end)
            }
            _refuse(secrets, [leak for leak in leaks if leak.value not in old])

    return check if secrets.spellings else None


def refuse_masked(masked: Sequence[str], changes: Sequence[FileChange]) -> None:
    """Raises Unreadable for a change in which a value was masked: the file would not be what the agent wrote."""
    paths = [change.path for change in changes if MASK in "".join(map(str, change.model_dump().values()))]
    if masked and paths:
        raise Unreadable(Sentence("secret_in_change", names=tuple(masked), paths=tuple(paths[:_NAMED])))


def _leaks(secrets: Secrets, path: str, data: Searchable, start: int = 0, end: int = sys.maxsize) -> Iterator[_Leak]:
    name = path.encode(errors="replace")
    for values in (secrets.values_in(data, start, end), secrets.values_in(name, 0, len(name))):
        yield from (_Leak(value, secret, path) for value, secret in values.items())


def _refuse(secrets: Secrets, leaks: Sequence[_Leak]) -> None:
    if leaks:
        names = tuple(dict.fromkeys(leak.name for leak in leaks))
        paths = tuple(dict.fromkeys(secrets.scrub(leak.path) for leak in leaks))[:_NAMED]
        raise Unreadable(Sentence("secret_in_change", names=names, paths=paths))
