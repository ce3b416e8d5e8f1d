"""Scope: the paths that agents are meant to change, as the repository's settings say (contract-2 §8)."""

import re
from collections.abc import Iterable
from functools import cache
from typing import Final, Literal

from domain.session.workspace import WorkspaceChanges
from domain.values.base import Value


class PathScope(Value):
    """Globs: `**` crosses folders, `*` and `?` do not; the name of a folder covers everything below it."""

    allow: tuple[str, ...] = ("**",)
    deny: tuple[str, ...] = ()
    outside: Literal["record", "ask", "fail"] = "record"

    def outside_of(self, paths: Iterable[str]) -> tuple[str, ...]:
        """Those of the paths that the scope does not cover, each once."""
        each = dict.fromkeys(paths)
        return tuple(path for path in each if not _matches(path, self.allow) or _matches(path, self.deny))


EVERYTHING = PathScope()


def touched(changes: WorkspaceChanges | None) -> tuple[str, ...]:
    """The paths that differ from the base; a renamed file is both its old path and its new one."""
    files = changes.files if changes else ()
    return tuple(path for file in files for path in (file.path, file.renamed_from) if path)


def _matches(path: str, patterns: tuple[str, ...]) -> bool:
    return any(_pattern(pattern).fullmatch(path) for pattern in patterns)


@cache
def _pattern(glob: str) -> re.Pattern[str]:
    parts = re.split(r"(\*\*/?|\*|\?)", glob.removeprefix("./").rstrip("/"))
    spelled = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    return re.compile("".join(spelled.get(part, re.escape(part)) for part in parts) + "(?:/.*)?", re.DOTALL)


# -- tests among the changes -------------------------------------------------------------------------------------------

_TEST: Final = re.compile(
    r"(?:.*/)?(?:tests?|__tests__|specs?)/.*|(?:.*/)?(?:test_[^/]*|conftest\.py|[^/]*[._-](?:tests?|spec)\.[^/.]+"
    r"|[^/]*Tests?\.(?:java|kt|cs))"
)
_NO_CODE: Final = re.compile(
    r".*\.(?:md|rst|txt|adoc|lock|toml|ya?ml|json|cfg|ini)|(?:.*/)?(?:docs?|LICENSE[^/]*)(?:/.*)?"
)


def changed_tests(paths: Iterable[str]) -> tuple[str, ...]:
    """The tests among the changed paths, where code was changed with them; else none."""
    known = tuple(dict.fromkeys(paths))
    tests = tuple(path for path in known if _TEST.fullmatch(path))
    code = any(not _TEST.fullmatch(path) and not _NO_CODE.fullmatch(path) for path in known)
    return tests if code else ()
