"""Tells which files decide what a validation checks: after a change of one, a passing validation may mean less.

They are settings of tools and of CI, files that the commands name or read, and files that take the place of a tool.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Final

_SETTINGS: Final = re.compile(
    r"(?:.*/)?(?:(?:GNU)?[Mm]akefile|.*\.mk|[Jj]ustfile|[Tt]askfile\.ya?ml|Rakefile|Gemfile|CMakeLists\.txt"
    r"|CTestTestfile\.cmake|CMakePresets\.json|Jenkinsfile|Dockerfile|composer\.json|phpunit(?:\.[\w.]*)?\.xml(?:\.dist)?"
    r"|package\.json|pnpm-workspace\.yaml|nx\.json|turbo\.json|lerna\.json|deno\.jsonc?|bunfig\.toml"
    r"|pyproject\.toml|\.?pytest\.(?:ini|toml)|tox\.(?:ini|toml)|setup\.(?:cfg|py)|noxfile\.py|\.coveragerc|conftest\.py"
    r"|manage\.py|(?:site|user)customize\.py|.*\.pth|.*\.py[co]|Cargo\.toml|rust-toolchain(?:\.toml)?|build\.rs|nextest\.toml"
    r"|go\.mod|go\.work|pom\.xml|(?:build|settings)\.gradle(?:\.kts)?|gradle\.properties|.*\.(?:cs|fs|vb)proj"
    r"|Directory\.Build\.(?:props|targets)|.*\.runsettings|hansard\.toml"
    r"|[^/]*\.config\.[^/]*|tsconfig[^/]*\.json|\.[^/]*rc(?:\.[^/]*)?|\.gitattributes|\.env(?:\.[^/]*)?"
    r"|\.gitlab-ci\.ya?ml|\.travis\.ya?ml|azure-pipelines\.ya?ml|bitbucket-pipelines\.ya?ml|\.pre-commit-config\.ya?ml)"
    r"|(?:.*/)?\.(?:github|circleci|buildkite|cargo|config)/.*"
)
# fmt: off
_RUNNERS: Final = frozenset((
    "pytest", "_pytest", "unittest", "nose2", "nose", "doctest", "coverage", "tox", "nox", "hypothesis",
    "pluggy", "jest", "vitest", "mocha", "ava", "tap",
))
"""Modules that run tests. A file or folder of that name at the top takes their place."""
_LOADED_FIRST: Final = frozenset((
    "abc", "argparse", "array", "ast", "asyncio", "atexit", "base64", "bdb", "binascii", "bisect", "builtins",
    "bz2", "calendar", "cmd", "code", "codecs", "codeop", "collections", "concurrent", "configparser", "contextlib",
    "contextvars", "copy", "copyreg", "cProfile", "csv", "ctypes", "dataclasses", "datetime", "decimal", "difflib",
    "dis", "email", "enum", "errno", "exceptiongroup", "fcntl", "fnmatch", "fractions", "functools", "gc", "getopt",
    "getpass", "gettext", "glob", "hashlib", "heapq", "hmac", "html", "importlib", "iniconfig", "inspect", "io",
    "ipaddress", "itertools", "json", "keyword", "linecache", "locale", "logging", "lzma", "math", "msvcrt",
    "multiprocessing", "numbers", "opcode", "operator", "optparse", "os", "packaging", "pathlib", "pdb", "pkgutil",
    "platform", "pprint", "profile", "py", "pygments", "queue", "quopri", "random", "re", "readline", "reprlib",
    "resource", "runpy", "secrets", "select", "selectors", "shlex", "shutil", "signal", "site", "socket", "sqlite3",
    "ssl", "stat", "statistics", "string", "struct", "subprocess", "sys", "sysconfig", "tempfile", "textwrap",
    "threading", "time", "timeit", "token", "tokenize", "tomli", "tomllib", "trace", "traceback", "tracemalloc",
    "types", "typing", "typing_extensions", "unicodedata", "urllib", "uuid", "warnings", "weakref", "xml",
    "zipfile", "zipimport", "zlib", "zoneinfo",
))
"""Modules that runners of Python load. A file of that name at the top is loaded instead of them."""
# fmt: on
_STAMP: Final = re.compile(r"(?:.*/)?(?:[^/]*\.(?:stamp|done|ok|passed|tsbuildinfo)|\.?stamp[^/]*|\.make/.*)")
_WORD: Final = re.compile(r"[^\s=:;&|()<>'\"`$]+")


def decides(path: str, commands: Sequence[str], *, read_by_them: Iterable[str] = ()) -> bool:
    """True if the file decides what these commands check. `read_by_them`: further files that the named scripts
    read."""
    return (
        _SETTINGS.fullmatch(path) is not None
        or _STAMP.fullmatch(path) is not None
        or _takes_a_place(path)
        or f"/{path}".endswith(_ends(tuple(commands)))
        or path in tuple(read_by_them)
    )


def sourced_in(script: str, text: str) -> tuple[str, ...]:
    """The paths, from the top, that a script may source, include or run: words of it that look like paths. `script`
    is the script's own path; paths beside it count as well."""
    folder = script.rpartition("/")[0]
    names: dict[str, None] = {}
    for word in _WORD.findall(text[:_READ]):
        name = word.strip("./{},@").removeprefix("./")
        if "/" in name or "." in name:
            names[name] = None
            if folder:
                names[f"{folder}/{name}"] = None
    return tuple(names)


_READ: Final = 200_000
"""Characters of a script that are searched for paths."""


def _takes_a_place(path: str) -> bool:
    """True if a file at the top, or below `src`, replaces a module of a test runner."""
    first, _, rest = path.removeprefix("src/").partition("/")
    if rest:
        return first in _RUNNERS or (first in _LOADED_FIRST and rest == "__init__.py")
    name = first.partition(".")[0]
    if first.endswith((".js", ".mjs", ".cjs")):
        return name in _RUNNERS
    return first.endswith((".py", ".so")) and name in _RUNNERS | _LOADED_FIRST


def is_runner(name: str) -> bool:
    """True if a program or module of that name runs tests."""
    return name in _RUNNERS


@lru_cache(maxsize=64)
def _ends(commands: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(_named_by(commands))


def _named_by(commands: Iterable[str]) -> Iterator[str]:
    """The ends of the paths that the commands may name, as paths or as modules of Python."""
    for command in commands:
        for word in _deciding_words(command):
            name = word.removeprefix("./").strip("/")
            yield from (f"/{name}", f"/{name.replace('.', '/')}.py") if name.strip(".") else ()


# fmt: off
_LOOKING: Final = frozenset((
    *("pytest", "py.test", "unittest", "nose2", "doctest", "ruff", "flake8", "pylint", "pycodestyle", "pydocstyle"),
    *("mypy", "pyright", "basedpyright", "black", "isort", "yapf", "bandit", "py_compile", "compileall", "vulture"),
    *("jest", "vitest", "mocha", "ava", "tap", "tape", "c8", "nyc", "eslint", "prettier", "biome", "tsc", "stylelint"),
    *("rspec", "rubocop", "phpunit", "phpstan", "gofmt", "golangci-lint", "staticcheck", "rustfmt", "clang-format"),
    *("clang-tidy", "cppcheck", "shellcheck", "shfmt", "yamllint", "markdownlint", "codespell", "hadolint"),
))
"""Tools that look at the files that a command names: these are what is checked, and do not decide how."""
# fmt: on
_OPENS_A_SETTING: Final = re.compile(
    r"-[cpr]|--.*(?:config|rcfile|rootdir|confcutdir|plugin|require|import|loader|setting|project|setup).*",
    re.IGNORECASE,
)
_NEXT_COMMAND: Final = re.compile(r"[;&|\n]+")


def _deciding_words(command: str) -> Iterator[str]:
    """The words of a command, without the files that a tool only looks at."""
    for part in _NEXT_COMMAND.split(command):
        looks, before = False, ""
        for word in _WORD.findall(part):
            if not looks or _OPENS_A_SETTING.fullmatch(before):
                yield word
            looks = looks or word.rpartition("/")[2] in _LOOKING or (word == "--test" and before.endswith("node"))
            before = word
