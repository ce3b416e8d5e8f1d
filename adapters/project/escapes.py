"""Would the validation test something other than the workspace? (contract-2 §9)

Python: a package of the repository that is imported from elsewhere. npm: an entry of node_modules that leads outside.
Go: a module or `go.work` outside. Cargo: a path dependency outside. Checked after the set-up, before any agent.
"""

import json
import re
import shlex
import shutil
import tomllib
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from adapters.project.discover import discover
from adapters.project.settings import NAME
from domain.delivery.baseline import Escape
from domain.session.validation import ValidationStep
from domain.values.sentences import Sentence

Probe = Callable[[Sequence[str], Mapping[str, str]], Awaitable[str]]
"""Runs a command in the workspace as a validation would, with additional variables. Returns its standard output, empty
if it failed."""
_MOST = 20
_LARGEST = 1_048_576
_SHEBANG = 256


@dataclass(frozen=True, slots=True)
class Inspection:
    """What was found. `env` makes the workspace take precedence where that is possible and was verified."""

    escapes: tuple[Escape, ...] = ()
    env: tuple[tuple[str, str], ...] = ()


async def inspect(
    workspace: Path, steps: Sequence[ValidationStep], env: Mapping[str, str], probe: Probe, *, fenced: bool = False
) -> Inspection:
    """Check the workspace as the commands would see it. `env` is their environment.

    `fenced`: the checkout is hidden, so a package that is installed from there is missing instead of an escape.
    """
    python = await _python(workspace, steps, env, probe, fenced=fenced)
    others = (*_node(workspace), *_go(workspace, env), *_cargo(workspace))
    return Inspection(escapes=(*python.escapes, *others)[:_MOST], env=python.env)


# -- Python ------------------------------------------------------------------------------------------------------------


async def _python(
    workspace: Path, steps: Sequence[ValidationStep], env: Mapping[str, str], probe: Probe, *, fenced: bool
) -> Inspection:
    names = packages(workspace)
    interpreters = tuple(dict.fromkeys(filter(None, (_interpreter(workspace, step, env) for step in steps))))
    if not names or not interpreters:
        return Inspection()
    escapes = await _outside(workspace, names, interpreters, {}, probe, missing=fenced)
    if not escapes:
        return Inspection()
    roots = ":".join(dict.fromkeys(str(root) for root in names.values()))
    path = ":".join(filter(None, (roots, env.get("PYTHONPATH", ""))))
    still = await _outside(workspace, names, interpreters, {"PYTHONPATH": path}, probe)
    return Inspection(escapes=tuple(still)) if still else Inspection(env=(("PYTHONPATH", path),))


def packages(workspace: Path) -> dict[str, Path]:
    """The Python packages of the repository: their import names, and the folder that must be on the import path."""
    if not _is_python(workspace):
        return {}
    folders: dict[str, Path] = {}
    for root in (workspace / "src", workspace):
        for path in sorted(root.glob("*/__init__.py")):
            if path.parent.name.isidentifier() and path.parent.name not in _NOT_PACKAGES:
                folders.setdefault(path.parent.name, root)
    for member in sorted(workspace.glob("packages/*/"))[:_MOST]:  # the usual monorepo
        folders = packages(member) | folders
    return folders


_NOT_PACKAGES = {"tests", "test", "docs", "examples", "benchmarks", "scripts"}


def _is_python(folder: Path) -> bool:
    return any((folder / name).is_file() for name in ("pyproject.toml", "setup.py", "setup.cfg"))


async def _outside(
    workspace: Path,
    names: Mapping[str, Path],
    interpreters: Sequence[tuple[str, ...]],
    extra: Mapping[str, str],
    probe: Probe,
    *,
    missing: bool = False,
) -> list[Escape]:
    """The packages that these interpreters would import from outside the workspace or, with `missing`, not at all."""
    escapes: dict[str, Escape] = {}
    for interpreter in interpreters:
        printed = await probe([*interpreter, "-c", _ASK, *names], extra)
        origins = _origins(printed)
        for name in names if origins is not None else ():
            origin = (origins or {}).get(name)
            if (missing and origin is None) or (origin and not _inside(Path(origin), workspace)):
                escapes.setdefault(name, Escape(what=f"Python package {name}", path=origin or ""))
    return list(escapes.values())


_ASK = """
import importlib.util, json, sys
sys.path[:] = [path for path in sys.path if path]
found = {}
for name in sys.argv[1:]:
    try:
        spec = importlib.util.find_spec(name)
    except Exception:  # finding a submodule imports its package, whose code may raise anything
        spec = None
    found[name] = spec and (spec.origin or next(iter(spec.submodule_search_locations or []), None))
print(json.dumps(found))
"""
"""Where each package comes from. The working folder does not count, because pytest and console scripts do not add
it."""


def _origins(printed: str) -> dict[str, str] | None:
    """Where each found package comes from; None if the interpreter printed nothing."""
    try:
        origins = json.loads(printed.strip().splitlines()[-1]) if printed.strip() else None
    except ValueError:
        return None
    if not isinstance(origins, dict):
        return None
    return {name: origin for name, origin in origins.items() if isinstance(origin, str)}


def _interpreter(workspace: Path, step: ValidationStep, env: Mapping[str, str]) -> tuple[str, ...] | None:
    """The Python that a command runs in, with its options: the command itself, or the one in its script's first
    line."""
    program = step.argv[0]
    if re.fullmatch(r"(?:.*/)?(?:python|pypy)[\d.]*", program):
        return program, *_options(step.argv[1:])
    path = workspace / program if "/" in program else _on_path(program, env)
    try:
        with path.open("rb") as file:
            first = file.readline(_SHEBANG).decode(errors="replace")
    except (OSError, AttributeError):
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


# -- others ------------------------------------------------------------------------------------------------------------


def _node(workspace: Path) -> Iterator[Escape]:
    if not (workspace / "package.json").is_file():
        return
    for modules in (workspace / "node_modules", *sorted(workspace.glob("packages/*/node_modules"))[:_MOST]):
        for entry in _entries(modules):
            if entry.is_symlink() and not _inside(entry, workspace):
                yield Escape(what=f"npm package {entry.relative_to(modules)}", path=str(entry.resolve()))


def _entries(modules: Path) -> Iterator[Path]:
    """The packages in a node_modules, including those in scopes."""
    if not modules.is_dir():
        return
    for entry in sorted(modules.iterdir()):
        if entry.name.startswith("@") and entry.is_dir() and not entry.is_symlink():
            yield from sorted(entry.iterdir())
        elif not entry.name.startswith("."):
            yield entry


def _go(workspace: Path, env: Mapping[str, str]) -> Iterator[Escape]:
    if not (workspace / "go.mod").is_file() and not (workspace / "go.work").is_file():
        return
    work = env.get("GOWORK", "")
    if work not in ("", "off") and not _inside(Path(work), workspace):
        yield Escape(what="go.work", path=work)
    for file in (workspace / "go.work", *sorted(workspace.glob("**/go.mod"))[:_MOST]):
        for path in _go_paths(_text(file), file.name):
            if not _inside(file.parent / path, workspace):
                yield Escape(
                    what=f"Go module in {file.relative_to(workspace)}", path=str((file.parent / path).resolve())
                )


def _go_paths(text: str, name: str) -> Iterator[str]:
    """The folders that a go.mod replaces modules with, or that a go.work uses."""
    block = ""
    for raw in text.splitlines():
        line = raw.split("//")[0].strip()
        if line == ")":
            block = ""
            continue
        if opened := re.fullmatch(r"(\w+)\s*\(", line):
            block = opened[1]
            continue
        word, _, rest = (block, "", line) if block else line.partition(" ")
        target = rest.split("=>")[-1].split()[:1] if word == "replace" and "=>" in rest else []
        if word == "use" and name == "go.work":
            target = rest.split()[:1]
        yield from (path.strip('"') for path in target if path.strip('"').startswith((".", "/")))


def _cargo(workspace: Path) -> Iterator[Escape]:
    if not (workspace / "Cargo.toml").is_file():
        return
    for file in sorted(workspace.glob("**/Cargo.toml"))[:_MOST]:
        try:
            manifest = tomllib.loads(_text(file))
        except ValueError:
            continue
        for name, path in _cargo_paths(manifest):
            if not _inside(file.parent / path, workspace):
                yield Escape(what=f"crate {name}", path=str((file.parent / path).resolve()))


def _cargo_paths(table: Mapping[str, object], name: str = "") -> Iterator[tuple[str, str]]:
    """Every `path = "…"` of a dependency, replacement or patch, at any depth."""
    for key, value in table.items():
        if not isinstance(value, dict):
            continue
        if isinstance(path := value.get("path"), str) and key not in ("lib", "package"):
            yield key, path
        yield from _cargo_paths(value, key)


def _inside(path: Path, workspace: Path) -> bool:
    return path.resolve().is_relative_to(workspace.resolve())


def _text(path: Path) -> str:
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            return file.read(_LARGEST)
    except OSError:
        return ""


# What a command would have used from the checkout: a workspace does not contain it, and a fence hides it.


def hidden_program(
    program: str, *, checkout: Path, workspace: Path, path: str, hides: Callable[[Path], bool]
) -> Sentence | None:
    """What to do if the program of a command is in an environment of the checkout; None if it is not. `path`: its
    PATH, which may contain another program of this name further on."""
    if "/" in program and not program.startswith("/"):
        missing = checkout / program
        return _environment(missing, checkout) if missing.exists() and not (workspace / program).exists() else None
    location = shutil.which(program, path=path)
    if location and hides(Path(location)) and Path(location).is_relative_to(checkout):
        return _environment(Path(location), checkout)
    return None


def missing_packages(*, checkout: Path, workspace: Path) -> Sentence | None:
    """What to do if the packages of the checkout are not in the workspace; None if they are."""
    if not (checkout / "node_modules").is_dir() or (workspace / "node_modules").exists():
        return None
    return Sentence("packages_not_in_workspace", path=checkout / "node_modules", file=NAME)


def _environment(program: Path, checkout: Path) -> Sentence:
    """A program of an environment inside the checkout."""
    root = program.parents[1]
    setup = [line for line in discover(checkout).setup if ".venv" in line] or _SETUP
    command = program.relative_to(checkout)
    lines = json.dumps([line.replace(".venv", root.name) for line in setup])
    return Sentence("program_not_in_workspace", program=program, folder=root, file=NAME, setup=lines, command=command)


_SETUP = ["python3 -m venv .venv", ".venv/bin/python -m pip install -e ."]
