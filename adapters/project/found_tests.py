"""Finds the tests of a repository by reading its files. Runs nothing."""

import ast
import os
import re
from collections.abc import Iterator
from pathlib import Path, PurePath
from typing import Final, NamedTuple

from adapters.files import beginning

_PASSED_OVER: Final = frozenset(
    {"node_modules", "venv", "env", "site-packages", "dist", "build", "target", "vendor", "third_party", "__pycache__"}
)
_MOST: Final = 20_000
"""How many files are looked at."""
_PYTHON: Final = re.compile(r"test_[^/]*\.py|[^/]*_tests?\.py|tests?\.py")
_JAVASCRIPT: Final = re.compile(r".*[._-](?:test|spec)\.[cm]?[jt]sx?|test\.[cm]?[jt]s")
_JS_FOLDERS: Final = frozenset({"test", "tests", "__tests__", "spec"})
_JS_TEST: Final = re.compile(r"^[ \t]*(?:it|test|specify|t\.test|[\w.]*\btest)(?:\.\w+)*\s*\(\s*[\"'`]", re.MULTILINE)
_GO_TEST: Final = re.compile(r"^func (?:Test|Example|Fuzz)\w*\(", re.MULTILINE)
_RUST_TEST: Final = re.compile(r"#\[(?:\w+::)?test\b")


class FoundTests(NamedTuple):
    """The tests of one language. `unittest`: those among the tests of Python that `unittest` can run; `hidden`: whether
    some of these are in files that its discovery would not find."""

    files: tuple[PurePath, ...] = ()
    tests: int = 0
    unittest: int = 0
    hidden: bool = False
    text: str = ""

    def __bool__(self) -> bool:
        return self.tests > 0


class Tests(NamedTuple):
    """The tests of a repository by their language."""

    python: FoundTests
    javascript: FoundTests
    go: FoundTests
    rust: FoundTests


def tests_of(checkout: Path) -> Tests:
    """All tests below the folder, but not those of installed packages or in hidden folders."""
    paths: dict[str, list[PurePath]] = {"py": [], "js": [], "go": [], "rs": []}
    for path in _files(checkout):
        if _PYTHON.fullmatch(path.name):
            paths["py"].append(path)
        elif _JAVASCRIPT.fullmatch(path.name) or (path.suffix in _JS and _JS_FOLDERS & set(path.parts[:-1])):
            paths["js"].append(path)
        elif path.name.endswith("_test.go"):
            paths["go"].append(path)
        elif path.suffix == ".rs":
            paths["rs"].append(path)
    return Tests(
        _python(checkout, paths["py"]),
        _counted(checkout, paths["js"], _JS_TEST),
        _counted(checkout, paths["go"], _GO_TEST),
        _counted(checkout, paths["rs"], _RUST_TEST),
    )


_JS: Final = frozenset({".js", ".cjs", ".mjs", ".jsx", ".ts", ".cts", ".mts", ".tsx"})


def _files(top: Path) -> Iterator[PurePath]:
    seen = 0
    for folder, folders, names in os.walk(top):
        folders[:] = sorted(name for name in folders if name not in _PASSED_OVER and not name.startswith("."))
        for name in sorted(names):
            seen += 1
            if seen > _MOST:
                return
            yield PurePath(folder, name).relative_to(top)


def _counted(checkout: Path, paths: list[PurePath], test: re.Pattern[str]) -> FoundTests:
    counts = {path: len(test.findall(beginning(checkout / path))) for path in paths}
    files = tuple(path for path, count in counts.items() if count)
    return FoundTests(files, sum(counts.values()), text="".join(beginning(checkout / path) for path in files[:_SAMPLE]))


_SAMPLE: Final = 20
"""As many test files show which libraries they use."""


def _python(checkout: Path, paths: list[PurePath]) -> FoundTests:
    files: list[PurePath] = []
    tests = of_unittest = 0
    hidden = False
    for path in paths:
        plain, methods = _python_tests(beginning(checkout / path))
        if not plain + methods:
            continue
        files.append(path)
        tests, of_unittest = tests + plain + methods, of_unittest + methods
        hidden = hidden or (methods > 0 and not _discoverable(checkout, path))
    text = "\n".join(beginning(checkout / path) for path in (*files[:_SAMPLE], *_conftests(checkout, files)))
    return FoundTests(tuple(files), tests, of_unittest, hidden, text)


def _conftests(checkout: Path, files: list[PurePath]) -> list[PurePath]:
    folders = dict.fromkeys(folder for path in files for folder in path.parents)
    return [folder / "conftest.py" for folder in folders if (checkout / folder / "conftest.py").is_file()]


def _discoverable(checkout: Path, path: PurePath) -> bool:
    """True if `unittest discover` finds the file, from the top or from the folder at the top that contains it."""
    inner = path.parents[:-2]  # without the top, and without the folder that discovery starts in
    return path.name.startswith("test") and all((checkout / folder / "__init__.py").is_file() for folder in inner)


def _python_tests(text: str) -> tuple[int, int]:
    """The number of tests that only pytest runs, and of methods that `unittest` runs as well."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return len(re.findall(r"^def test", text, re.MULTILINE)), 0
    plain = sum(_is_test(node) for node in tree.body)
    methods = 0
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            count = sum(_is_test(each) for each in node.body)
            if any("Test" in ast.unparse(base) for base in node.bases):  # of unittest, Django, or a base of their own
                methods += count
            elif node.name.startswith("Test"):
                plain += count
    return plain, methods


def _is_test(node: ast.stmt) -> bool:
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test")
