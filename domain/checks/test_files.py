"""Tells tests and code from other files by their paths."""

import re
from collections.abc import Iterable
from typing import Final

_TEST: Final = re.compile(
    r"(?:.*/)?(?:tests?|__tests__|specs?)/.*|(?:.*/)?(?:test_[^/]*|conftest\.py|[^/]*[._-](?:tests?|spec)\.[^/.]+"
    r"|[^/]*Tests?\.(?:java|kt|cs))"
)
_NO_CODE: Final = re.compile(
    r".*\.(?:md|rst|txt|adoc|lock|toml|ya?ml|json|cfg|ini)|(?:.*/)?(?:docs?|LICENSE[^/]*)(?:/.*)?"
)


def is_test(path: str) -> bool:
    """Returns whether the path is one of a test, or of something that only tests use."""
    return _TEST.fullmatch(path) is not None


def is_code(path: str) -> bool:
    """Returns whether the path is one of code: not of a test, and not of documents or data."""
    return not is_test(path) and not _NO_CODE.fullmatch(path)


def changed_tests(paths: Iterable[str]) -> tuple[str, ...]:
    """The tests among the changed paths, if code was changed as well; otherwise none."""
    unique = tuple(dict.fromkeys(paths))
    tests = tuple(path for path in unique if is_test(path))
    code = any(map(is_code, unique))
    return tests if code else ()
