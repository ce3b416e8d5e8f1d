"""Says in which ways a work made its own validation weaker (contract-3 §17); it blocks nothing by itself.

Compared are the state that the work started from and the state now: how many tests ran, and what the changed files of
tests assert and skip. Comments count for nothing, and neither does an assertion of a constant.
"""

import ast
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, Literal, NamedTuple

from pydantic import Field

from domain.checks.deciding_files import decides, is_runner
from domain.checks.test_counts import RunnerCount
from domain.checks.test_files import is_test
from domain.values.base import Value
from domain.values.json import Malformed, decode
from domain.values.sentences import Sentence

LONGEST_SOURCE: Final = 1_000_000
"""Characters of a file; a longer one is not read for assertions."""

WeakeningKind = Literal["tests", "skipped", "assertions", "settings"]


class Weakening(Value):
    """One way in which the validation proves less, or may prove less, than before."""

    what: WeakeningKind = Field(
        description="`tests` fewer tests ran; `skipped` more tests are skipped or expected to fail; "
        "`assertions` a test file asserts less; `settings` a file that decides what is validated has changed"
    )
    path: str | None = Field(default=None, description="the file; null where a command is meant")
    before: int | None = Field(default=None, description="the number at the start of the work; null for settings")
    after: int | None = Field(default=None, description="the number now; null for settings")


def weakening_sentence(weakening: Weakening) -> Sentence:
    """The weakening in a sentence for a person or a reviewer."""
    if weakening.what == "settings":
        return Sentence("weakened_settings", path=weakening.path)
    numbers = {"then": weakening.before, "now": weakening.after}
    if weakening.path is None:
        return Sentence(f"weakened_{weakening.what}", **numbers)
    code = "weakened_assertions" if weakening.what == "assertions" else "weakened_skips_in"
    return Sentence(code, path=weakening.path, **numbers)


class ChangedSource(NamedTuple):
    """A changed file with its text before and now; None where there is no file, or no text of reasonable length."""

    path: str
    before: str | None
    after: str | None
    renamed_from: str | None = None


def weakenings(
    sources: Iterable[ChangedSource],
    *,
    commands: Sequence[str],
    before: Sequence[RunnerCount] = (),
    after: Sequence[RunnerCount] = (),
) -> tuple[Weakening, ...]:
    """All weakenings of a work: first of its tests as a whole, then of each file, in the order given. `before` and
    `after` are the counts of the runners in the baseline and now."""
    return (*_fewer(before, after), *(each for source in sources for each in _of(source, commands)))


def _fewer(before: Sequence[RunnerCount], after: Sequence[RunnerCount]) -> Iterator[Weakening]:
    now = {count.runner: count for count in after}
    for count in before:
        later = now.get(count.runner) or RunnerCount(runner=count.runner, ran=0)
        if count.ran is not None and later.ran is not None and later.ran < count.ran:
            yield Weakening(what="tests", before=count.ran, after=later.ran)
        then, now_skipped = (each.skipped + each.expected_failures for each in (count, later))
        if now_skipped > then:
            yield Weakening(what="skipped", before=then, after=now_skipped)


def _of(source: ChangedSource, commands: Sequence[str]) -> Iterator[Weakening]:
    paths = [path for path in (source.path, source.renamed_from) if path]
    if any(is_test(path) for path in paths):
        language = _language(source.renamed_from or source.path)
        before, after = (language.marks(text) for text in (source.before or "", source.after or ""))
        if after.assertions < before.assertions:
            yield Weakening(what="assertions", path=source.path, before=before.assertions, after=after.assertions)
        if after.skips > before.skips:
            yield Weakening(what="skipped", path=source.path, before=before.skips, after=after.skips)
    if any(decides(path, commands) for path in paths) and _deciding_part(source, "before") != _deciding_part(
        source, "after"
    ):
        yield Weakening(what="settings", path=source.path)


_DESCRIPTION: Final = frozenset(
    ("name", "version", "description", "keywords", "author", "contributors", "license", "homepage", "repository")
) | {"bugs", "funding", "files"}
_DEPENDENCIES: Final = frozenset(
    ("dependencies", "devDependencies", "peerDependencies", "optionalDependencies", "optional-dependencies")
) | {"dependency-groups"}
_NO_RELEASE: Final = re.compile(r"(?!workspace:)(?:[^@\s]*[:/].*|[^;]*@\s*\S.*)", re.DOTALL)
"""A requirement that a registry does not answer with a release of that name: a path, an address, another package."""
_OWN_PROGRAMS: Final = frozenset({"console_scripts", "gui_scripts"})


def _deciding_part(source: ChangedSource, side: Literal["before", "after"]) -> object:
    """The part of the file that decides: of the files that also describe a package, only the rest of them does. A
    file that cannot be read decides as a whole.
    """
    path, text = (
        (source.renamed_from or source.path, source.before) if side == "before" else (source.path, source.after)
    )
    name = path.rpartition("/")[2]
    if text is None or len(text) > LONGEST_SOURCE or name not in ("package.json", "pyproject.toml"):
        return (side, path, text)
    try:
        table = decode(text) if name == "package.json" else tomllib.loads(text)
    except (Malformed, ValueError, RecursionError):
        return (side, path, text)
    if not isinstance(table, dict):
        return (side, path, text)
    if name == "package.json":
        return _beyond_releases({key: value for key, value in table.items() if key not in _DESCRIPTION})
    return {**_beyond_releases(table), "project": _of_project(table.get("project"))}


def _beyond_releases(table: Mapping[str, object]) -> Mapping[str, object]:
    """The table without what is empty; of its dependencies only those that are no releases of a registry."""
    parts = {key: _no_releases(value) if key in _DEPENDENCIES else value for key, value in table.items()}
    return {key: value for key, value in parts.items() if value}


def _no_releases(requirements: object) -> tuple[tuple[str, str], ...]:
    """The requirements, in groups or alone, that are no releases, each with its name or its group."""
    named = requirements.items() if isinstance(requirements, dict) else (("", requirements),)
    each = ((str(name), one) for name, group in named for one in (group if isinstance(group, list) else [group]))
    return tuple(sorted((name, one) for name, one in each if isinstance(one, str) and _NO_RELEASE.fullmatch(one)))


def _of_project(project: object) -> Mapping[str, object]:
    """Returns what `[project]` says to other tools than an installer: plugins (`entry-points`), programs in place of
    a runner, and requirements that are no releases."""
    table = project if isinstance(project, dict) else {}
    points, scripts = table.get("entry-points"), table.get("scripts")
    plugins = points if isinstance(points, dict) else {}
    programs = scripts if isinstance(scripts, dict) else {}
    return {
        **_beyond_releases({key: table.get(key) for key in _DEPENDENCIES}),
        "plugins": {group: names for group, names in plugins.items() if group not in _OWN_PROGRAMS},
        "programs": {name: call for name, call in programs.items() if is_runner(name)},
    }


class _Marks(NamedTuple):
    """The number of assertions in a file, and of its tests that are skipped or expected to fail."""

    assertions: int = 0
    skips: int = 0


class _Language(NamedTuple):
    """Finds the marks by patterns, after the comments are gone."""

    comment: re.Pattern[str] | None = None
    assertion: re.Pattern[str] | None = None
    skip: re.Pattern[str] | None = None

    def marks(self, text: str) -> _Marks:
        if len(text) > LONGEST_SOURCE or self.assertion is None or self.skip is None:
            return _Marks()
        code = self.comment.sub(_keep_strings, text) if self.comment else text
        return _Marks(len(self.assertion.findall(code)), len(self.skip.findall(code)))


def _keep_strings(match: re.Match[str]) -> str:
    """Empties a comment; a string stays, because `"//"` in it begins no comment."""
    return match[0] if match["string"] else " "


_C_LIKE: Final = r"""(?P<string>"(?:\\.|[^"\\\n])*+"|'(?:\\.|[^'\\\n])*+'|`(?:\\.|[^`\\])*+`)"""
_SLASHES: Final = re.compile(_C_LIKE + r"|//[^\n]*|/\*.*?\*/", re.DOTALL)
_RUST_COMMENT: Final = re.compile(r"""(?P<string>"(?:\\.|[^"\\])*+")|//[^\n]*|/\*.*?\*/""", re.DOTALL)
_HASH: Final = re.compile(r"""(?P<string>"(?:\\.|[^"\\\n])*+"|'(?:\\.|[^'\\\n])*+')|\#[^\n]*""")

_JAVASCRIPT: Final = _Language(
    _SLASHES,
    re.compile(
        r"\b(?:expect|assert|chai\.assert)(?:\.\w+)*\s*\(|\bt\.(?!test\b|skip\b|todo\b|plan\b|end\b)\w+\s*\(|\.should\b"
    ),
    re.compile(
        r"\b(?:it|test|describe|suite|context|specify|bench)(?:\.\w+)*\.(?:skip|skipIf|todo|fails|failing|only)\b"
        r"|\b(?:xit|xtest|xdescribe|xcontext|fit|fdescribe)\s*\(|\bt\.(?:skip|todo)\s*\(|\b(?:skip|todo|only)\s*:\s*(?!false)"
    ),
)
_GO: Final = _Language(
    _SLASHES,
    re.compile(r"\b[tb]\.(?:Error|Fatal)f?\(|\b[tb]\.Fail(?:Now)?\(|\b(?:assert|require|is)\.\w+\("),
    re.compile(r"\b[tb]\.Skip(?:f|Now)?\("),
)
_RUST: Final = _Language(
    _RUST_COMMENT,
    re.compile(r"\b(?:debug_)?assert(?:_\w+)?!|\bpanic!|#\[should_panic|\.unwrap\(\)\s*;|\bprop_assert\w*!"),
    re.compile(r"#\[(?:ignore|cfg_attr\([^\]]*\bignore)\b"),
)
_PYTHON_BY_WORDS: Final = _Language(
    _HASH,
    re.compile(r"^[ \t]*assert\b|\.assert\w+\(|\b(?:raises|warns|fail)\(", re.MULTILINE),
    re.compile(r"\bmark\.(?:skip|xfail)|\bskip\w*\(|\bxfail\(|\bexpectedFailure\b|\bSkipTest\b"),
)
_UNKNOWN: Final = _Language()


class _Python(_Language):
    """Finds the marks in the syntax tree; by words where the text is none of this version's Python."""

    def marks(self, text: str) -> _Marks:
        if len(text) > LONGEST_SOURCE:
            return _Marks()
        try:
            tree = ast.parse(text)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return _PYTHON_BY_WORDS.marks(text)
        nodes = list(ast.walk(tree))
        return _Marks(sum(map(_asserts, nodes)), sum(map(_skips, nodes)))


def _asserts(node: ast.AST) -> bool:
    if isinstance(node, ast.Assert):
        return not isinstance(node.test, ast.Constant)
    if not isinstance(node, ast.Call):
        return False
    name = _name(node.func)
    return name.startswith("assert") or name in ("raises", "warns", "deprecated_call", "fail")


_SKIPPING: Final = frozenset(
    {"skip", "skipif", "skipIf", "skipUnless", "xfail", "expectedFailure", "SkipTest", "skipTest"}
)


def _skips(node: ast.AST) -> bool:
    """True if it is a mark, a call or an exception that skips; `pytest.mark.skip(…)` holds the mark only once."""
    return _name(node) in _SKIPPING if isinstance(node, ast.Attribute | ast.Name) else False


def _name(node: ast.AST) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


_BY_ENDING: Final[Mapping[str, _Language]] = {
    "py": _Python(),
    **dict.fromkeys(("js", "jsx", "mjs", "cjs", "ts", "tsx", "mts", "cts", "vue", "svelte"), _JAVASCRIPT),
    "go": _GO,
    "rs": _RUST,
}


def _language(path: str) -> _Language:
    return _BY_ENDING.get(path.rpartition(".")[2].lower(), _UNKNOWN)
