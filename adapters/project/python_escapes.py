"""A search for what tests in Python would import from outside the workspace: the interpreters of the commands are
asked.

A command may be an interpreter or a script of one; then the packages of the repository have to come from the workspace.
It may also call one in a way that cannot be read (`make test`, `sh -c …`): then those on PATH are asked whether they
would import something from the checkout. Where the import path makes the workspace win, that is tried and asked again.
"""

import json
import os
import re
import shlex
import shutil
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from adapters.project.other_escapes import inside
from domain.delivery.validation import Escape
from domain.session.validation import ValidationStep

Probe = Callable[[Sequence[str], Mapping[str, str]], Awaitable[str]]
"""Runs a command in the workspace as a validation would, with additional variables. Returns its standard output, empty
if it failed."""
_SHEBANG = 256
_MOST_MEMBERS = 20
_MOST_ASKED = 4
"""As many interpreters are asked for a command that calls them in its own way."""


@dataclass(frozen=True, slots=True)
class PythonProgram:
    """An interpreter with its options; `direct` if the command is certain to run in it."""

    argv: tuple[str, ...]
    direct: bool


@dataclass(frozen=True, slots=True)
class ModuleOrigin:
    """The place that a module would come from, and the folder of the import path that it is in."""

    path: Path
    root: Path


@dataclass(frozen=True, slots=True)
class PythonQuestion:
    """The question for interpreters: about these packages, and everything that `checkout` puts on the import path."""

    workspace: Path
    checkout: Path | None
    packages: Mapping[str, Path]
    probe: Probe
    fenced: bool
    """The checkout is hidden, so a package that is installed from there is missing instead of an escape."""


async def python_escapes(
    question: PythonQuestion, steps: Sequence[ValidationStep], env: Mapping[str, str]
) -> tuple[tuple[Escape, ...], tuple[tuple[str, str], ...]]:
    """The modules that would be imported from elsewhere, and the variables that make the workspace win: one of both
    is empty.
    """
    if not question.packages and not _may_have_modules(question.workspace):
        return (), ()
    seen = question.checkout is not None
    wanted = (_interpreters(question.workspace, step, env, has_checkout=seen) for step in steps)
    interpreters = tuple(dict.fromkeys(chain.from_iterable(wanted)))
    wrong = await _outside(question, interpreters, {}, missing=question.fenced)
    if not wrong:
        return (), ()
    roots = (question.packages.get(name, origin.root) for name, origin in wrong.items())
    first = (*question.packages.values(), *roots) if wrong.keys() & question.packages.keys() else tuple(roots)
    path = ":".join(dict.fromkeys((*map(str, first), *filter(None, env.get("PYTHONPATH", "").split(":")))))
    still = await _outside(question, interpreters, {"PYTHONPATH": path}, missing=False)
    still |= {name: origin for name, origin in wrong.items() if _is_only_built_there(name, origin, question)}
    if not still:
        return (), (("PYTHONPATH", path),)
    return tuple(Escape(what=f"Python package {name}", path=_shown(origin)) for name, origin in still.items()), ()


def _may_have_modules(workspace: Path) -> bool:
    """False if there is no Python in the workspace, so that nothing of it could be imported from elsewhere. True, too,
    with links to folders, and with many files: then it takes less time to ask interpreters than to look at all."""
    entries = 0
    for place, folders, files in os.walk(workspace):
        if ".git" in folders:
            folders.remove(".git")
        if any(name.endswith(_MODULES) for name in files) or any(Path(place, name).is_symlink() for name in folders):
            return True
        entries += len(folders) + len(files)
        if entries > _MOST_ENTRIES:
            return True
    return False


_MODULES = (".py", ".pyc", ".so", ".pyd")
_MOST_ENTRIES = 2_000


def packages(workspace: Path) -> dict[str, Path]:
    """The Python packages of the repository: their import names, and the folder that must be on the import path."""
    if not any((workspace / name).is_file() for name in ("pyproject.toml", "setup.py", "setup.cfg")):
        return {}
    folders: dict[str, Path] = {}
    for root in (workspace / "src", workspace):
        for path in sorted(root.glob("*/__init__.py")):
            if path.parent.name.isidentifier() and path.parent.name not in _NOT_PACKAGES:
                folders.setdefault(path.parent.name, root)
    for member in sorted(workspace.glob("packages/*/"))[:_MOST_MEMBERS]:  # the usual monorepo
        folders = packages(member) | folders
    return folders


_NOT_PACKAGES = {"tests", "test", "docs", "examples", "benchmarks", "scripts"}
_NEVER_IMPORTED = {"setup", "conftest", "noxfile", "docs"}


def _shown(origin: ModuleOrigin) -> str:
    return "" if origin.path == Path() else str(origin.path)


async def _outside(
    question: PythonQuestion, interpreters: Sequence[PythonProgram], extra: Mapping[str, str], *, missing: bool
) -> dict[str, ModuleOrigin]:
    """The modules that these interpreters would import from outside the workspace or, with `missing`, not at all;
    each with the folder of the workspace that has it.
    """
    wrong: dict[str, ModuleOrigin] = {}
    for interpreter in interpreters:
        arguments = (str(question.checkout or ""), *question.packages)
        answer = _answer(await question.probe([*interpreter.argv, "-c", _ASK, *arguments], extra))
        for name, root in question.packages.items() if answer is not None and interpreter.direct else ():
            origin = (answer or {}).get(name)
            if (missing and origin is None) or (origin and not _is_source(origin.path, question.workspace)):
                wrong.setdefault(name, ModuleOrigin(origin.path if origin else Path(), root))
        for name, origin in (answer or {}).items():
            ours = _counterpart(question, name, origin)
            if ours is not None:
                wrong.setdefault(name, ModuleOrigin(origin.path, ours))
    return wrong


_INSTALLED = {"site-packages", "dist-packages"}


def _is_source(path: Path, workspace: Path) -> bool:
    """True if the path is in the workspace and not in a copy that was installed there, which does not change with the
    sources."""
    if not inside(path, workspace):
        return False
    resolved, top = path.resolve(), workspace.resolve()
    parts = resolved.relative_to(top).parts if resolved.is_relative_to(top) else path.parts
    return _INSTALLED.isdisjoint(parts)


def _is_only_built_there(name: str, origin: ModuleOrigin, question: PythonQuestion) -> bool:
    """True if an installed copy in the workspace has compiled modules that the sources do not have: if the sources came
    first, these would be missing."""
    installed = origin.path.parent
    source = question.packages.get(name)
    if source is None or origin.path == Path() or not inside(origin.path, question.workspace):
        return False
    built = (path.relative_to(installed) for path in installed.rglob("*") if path.suffix in (".so", ".pyd", ".dylib"))
    return any(not (source / name / path).exists() for path in built)


def _counterpart(question: PythonQuestion, name: str, origin: ModuleOrigin) -> Path | None:
    """For a module of the checkout: the folder of the workspace that has it, too. None for any other module."""
    checkout = question.checkout
    if (
        checkout is None
        or name in _NEVER_IMPORTED
        or not inside(origin.path, checkout)
        or inside(origin.path, question.workspace)
    ):
        return None
    root = question.workspace / _relative(origin.root, checkout)
    return root if (root / name).is_dir() or (root / f"{name}.py").is_file() else None


def _relative(path: Path, checkout: Path) -> Path:
    resolved, top = path.resolve(), checkout.resolve()
    return resolved.relative_to(top) if resolved.is_relative_to(top) else Path()


_ASK = """
import importlib.util, json, os, sys
sys.path[:] = [path for path in sys.path if path]
checkout, names = sys.argv[1], sys.argv[2:]
top = os.path.realpath(checkout) + os.sep if checkout else None
for path in sys.path if top else ():
    if (os.path.realpath(path) + os.sep).startswith(top) and os.path.isdir(path):
        for entry in os.listdir(path):
            name = entry[:-3] if entry.endswith(".py") else entry
            if name.isidentifier() and (entry.endswith(".py") or os.path.isdir(os.path.join(path, entry))):
                names.append(name)
for name, module in list(sys.modules.items()):
    if name.startswith("__editable__") and isinstance(getattr(module, "MAPPING", None), dict):
        names.extend(part for part in module.MAPPING if part.isidentifier())
found = {}
for name in dict.fromkeys(names):
    try:
        spec = importlib.util.find_spec(name)
    except Exception:  # finding a submodule imports its package, whose code may raise anything
        spec = None
    folders = list((spec and spec.submodule_search_locations) or [])
    origin = spec and (spec.origin or next(iter(folders), None))
    if isinstance(origin, str):
        found[name] = [origin, os.path.dirname(folders[0] if folders else origin)]
print(json.dumps(found))
"""
"""Where each package comes from, and everything else that the import path has from the checkout. The working folder
does not count, because pytest and console scripts do not add it."""


def _answer(printed: str) -> dict[str, ModuleOrigin] | None:
    """The origin of each module that was found; None if the interpreter printed nothing."""
    try:
        modules = json.loads(printed.strip().splitlines()[-1]) if printed.strip() else None
    except ValueError:
        return None
    if not isinstance(modules, dict):
        return None
    return {name: ModuleOrigin(Path(path), Path(root)) for name, (path, root) in modules.items()}


# -- which interpreters ------------------------------------------------------------------------------------------------


def _interpreters(
    workspace: Path, step: ValidationStep, env: Mapping[str, str], *, has_checkout: bool
) -> Iterator[PythonProgram]:
    """The interpreter of a command; otherwise, if the checkout can be seen, those that it may call."""
    direct = _interpreter(workspace, step.argv, env)
    if direct is not None:
        yield PythonProgram(direct, direct=True)
    if direct is not None or not has_checkout:
        return
    words = chain.from_iterable(map(_words, step.argv[1:]))
    named = (_interpreter(workspace, (word,), env) for word in words)
    on_path = ((name,) for name in ("python3", "python") if shutil.which(name, path=env.get("PATH")))
    for argv in tuple(dict.fromkeys(filter(None, (*named, *on_path))))[:_MOST_ASKED]:
        yield PythonProgram(argv, direct=False)


def _words(argument: str) -> list[str]:
    """The words of an argument, which may be the text of a shell command."""
    try:
        return shlex.split(argument)
    except ValueError:
        return argument.split()


def _interpreter(workspace: Path, argv: Sequence[str], env: Mapping[str, str]) -> tuple[str, ...] | None:
    """The Python that a command runs in, with its options: the command itself, or the one in its script's first
    line."""
    program = argv[0]
    if re.fullmatch(r"(?:.*/)?(?:python|pypy)[\d.]*", program):
        return program, *_options(argv[1:])
    path = workspace / program if "/" in program else _on_path(program, env)
    try:
        with path.open("rb") as file:
            first = file.readline(_SHEBANG).decode(errors="replace")
    except (OSError, AttributeError, ValueError):
        return None
    words = shlex.split(first[2:]) if first.startswith("#!") else []
    if words and words[0].endswith("/env"):
        words = [word for word in words[1:] if not word.startswith("-")]
    return (words[0], *_options(words[1:])) if words and re.search(r"(?:python|pypy)[\d.]*$", words[0]) else None


def _options(words: Sequence[str]) -> Iterator[str]:
    """The options that change where modules come from (`-I`, `-E`), up to the module, code or script."""
    rest = iter(words)
    for word in rest:
        if word in ("-W", "-X"):
            next(rest, None)
        elif re.fullmatch(r"-[bBdEIOPqRsSuvx]+", word):
            yield word
        elif not word.startswith(("-W", "-X")):
            return


def _on_path(program: str, env: Mapping[str, str]) -> Path:
    return Path(shutil.which(program, path=env.get("PATH")) or program)
