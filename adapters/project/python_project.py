"""The needs of a Python project: an environment with the project and what its tests use, and the runner of its
tests."""

import configparser
import re
import shlex
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple

from adapters.files import beginning
from adapters.project.found_tests import FoundTests
from adapters.project.tables import toml

_PYTHON: Final = ".venv/bin/python"
_TEST_NAMES: Final = ("tests", "test", "testing", "dev")
_NAMES_A_RUNNER: Final = ("pyproject.toml", "tox.ini", "setup.cfg", "requirements.txt", "noxfile.py", "Makefile")
_TEST_REQUIREMENTS: Final = tuple(
    pattern.format(name)
    for name in _TEST_NAMES
    for pattern in ("requirements/{}.txt", "requirements-{}.txt", "requirements_{}.txt", "{}-requirements.txt")
)
"""Where requirements of tests usually are; specific ones take precedence over those of all development."""


class PythonNeeds(NamedTuple):
    """Set-up, environment and validation commands, in the terms of `hansard.toml`."""

    setup: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    env: tuple[tuple[str, str], ...] = ()


def python_needs(checkout: Path, tests: FoundTests) -> PythonNeeds:
    """The needs of a Python project; none where there is no project."""
    project = toml(checkout / "pyproject.toml")
    is_project = "project" in project or any((checkout / name).is_file() for name in ("setup.py", "setup.cfg"))
    if not is_project and not project and not (checkout / "requirements.txt").is_file():
        return PythonNeeds()
    runner = _runner(checkout, project, tests)
    commands = (f"{_PYTHON} {runner}",) if runner else ()
    if (checkout / "uv.lock").is_file() and shutil.which("uv"):
        return PythonNeeds(("uv sync --all-extras",), commands)
    if (checkout / "poetry.lock").is_file() and shutil.which("poetry"):
        return PythonNeeds(("poetry install --all-extras",), commands, (("POETRY_VIRTUALENVS_IN_PROJECT", "true"),))
    # In one call: a second one may replace the project by a version from the registry that another package asks for.
    wanted = _installed(checkout, project, is_project=is_project, with_pytest=bool(runner and "pytest" in runner))
    install = " ".join(wanted)
    setup = ("python3 -m venv .venv", *([f"{_PYTHON} -m pip install {install}"] if install else []))
    return PythonNeeds(setup, commands)


def script_needs(checkout: Path, tests: FoundTests) -> PythonNeeds:
    """The needs of Python tests without a project around them; none where there are no tests."""
    runner = _runner(checkout, {}, tests) if tests else None
    if runner is None:
        return PythonNeeds()
    if "pytest" not in runner:
        return PythonNeeds(commands=(f"python3 {runner}",))
    return PythonNeeds(("python3 -m venv .venv", f"{_PYTHON} -m pip install pytest"), (f"{_PYTHON} {runner}",))


def _runner(checkout: Path, project: Mapping[str, object], tests: FoundTests) -> str | None:
    """The arguments of Python that run the tests there are; None where there are none."""
    if (checkout / "manage.py").is_file() and not _configures_pytest(checkout, project):
        return "manage.py test"
    plain = tests.tests - tests.unittest
    if plain or tests.hidden or _configures_pytest(checkout, project):
        return "-m pytest -q"
    if not tests:
        return None
    tops = {path.parts[0] if len(path.parts) > 1 else "" for path in tests.files}
    if len(tops) > 1:
        return "-m pytest -q"
    top = tops.pop()
    if not top:
        return "-m unittest discover"
    is_package = (checkout / top / "__init__.py").is_file()
    return f"-m unittest discover -s {shlex.quote(top)}" + (" -t ." if is_package else "")


def _configures_pytest(checkout: Path, project: Mapping[str, object]) -> bool:
    tool = project.get("tool")
    if isinstance(tool, dict) and "pytest" in tool:
        return True
    if any((checkout / name).is_file() for name in ("pytest.ini", "pytest.toml", "conftest.py", "tests/conftest.py")):
        return True
    return any("pytest" in beginning(checkout / name) for name in _NAMES_A_RUNNER)


def _installed(checkout: Path, project: Mapping[str, object], *, is_project: bool, with_pytest: bool) -> Iterator[str]:
    """The arguments of pip: the project, and what its tests need."""
    if (checkout / "requirements.txt").is_file():
        yield "-r requirements.txt"
    extras = _extras(project)
    if is_project:
        yield f"-e .[{extras}]" if extras else "-e ."
    requirements = next((name for name in _TEST_REQUIREMENTS if (checkout / name).is_file()), None)
    needed = [*_group(project), *(() if requirements or extras else _of_tox(checkout))]
    if requirements:
        yield f"-r {requirements}"
    plugins = _plugins(checkout, project) if with_pytest else ()
    for name in ("pytest", *plugins) if with_pytest else ():
        if not any(re.match(rf"{name}(?![\w.-])", each, re.IGNORECASE) for each in needed):
            needed.append(name)
    yield from (shlex.quote(requirement) for requirement in dict.fromkeys(needed))


_PLUGINS: Final = (
    ("pytest-cov", re.compile(r"--(?:no-)?cov\b.*")),
    ("pytest-xdist", re.compile(r"-n(?:auto|logical|\d+)?|--numprocesses\b.*|--dist\b.*")),
    ("pytest-timeout", re.compile(r"--timeout\b.*|timeout")),
    ("pytest-asyncio", re.compile(r"--asyncio-mode\b.*|asyncio_mode")),
    ("pytest-benchmark", re.compile(r"--benchmark-.+")),
    ("pytest-django", re.compile(r"--ds\b.*|--reuse-db|--no-migrations|--nomigrations|DJANGO_SETTINGS_MODULE")),
    ("pytest-rerunfailures", re.compile(r"--reruns\b.*")),
)
"""Plugins by the options and names of settings that only they understand: without them pytest does not even start."""


def _plugins(checkout: Path, project: Mapping[str, object]) -> tuple[str, ...]:
    """The plugins that the settings of pytest use."""
    words: list[str] = []
    for settings in _pytest_settings(checkout, project):
        options = settings.get("addopts", "")
        words += [str(each) for each in options] if isinstance(options, list) else str(options).split()
        words += settings
    return tuple(name for name, used in _PLUGINS if any(used.fullmatch(word) for word in words))


def _pytest_settings(checkout: Path, project: Mapping[str, object]) -> Iterator[Mapping[str, object]]:
    """The tables of settings that pytest may read."""
    tool = project.get("tool")
    native = tool.get("pytest") if isinstance(tool, dict) else None
    for table in (native, native.get("ini_options") if isinstance(native, dict) else None):
        if isinstance(table, dict):
            yield table
    for name, section in (("pytest.ini", "pytest"), ("tox.ini", "pytest"), ("setup.cfg", "tool:pytest")):
        settings = configparser.RawConfigParser(strict=False)
        settings.optionxform = str  # type: ignore[assignment,method-assign]
        try:
            settings.read_string(beginning(checkout / name), source=name)
        except configparser.Error:
            continue
        if settings.has_section(section):
            yield dict(settings[section])


def _extras(project: Mapping[str, object]) -> str:
    """The optional dependencies that are for tests, by their usual names."""
    table = project.get("project")
    optional = table.get("optional-dependencies") if isinstance(table, dict) else None
    names = optional if isinstance(optional, dict) else {}
    return ",".join(name for name in _TEST_NAMES if name in names)


def _group(project: Mapping[str, object]) -> tuple[str, ...]:
    """The first dependency group (PEP 735) for tests, as a list: older versions of pip do not support groups."""
    table = project.get("dependency-groups")
    groups = table if isinstance(table, dict) else {}
    for name in _TEST_NAMES:
        if isinstance(group := groups.get(name), list):
            return tuple(_requirements(group, groups, 0))
    return ()


def _requirements(group: object, groups: Mapping[str, object], depth: int) -> Iterator[str]:
    for entry in group if isinstance(group, list) and depth < 10 else ():
        if isinstance(entry, str):
            yield entry
        elif isinstance(entry, dict):
            yield from _requirements(groups.get(str(entry.get("include-group"))), groups, depth + 1)


_FACTOR: Final = re.compile(r"[\w{},.!-]+:\s+(?=\S)|.*[{}].*")
"""`py311: pytest`, and everything with a substitution: it depends on the environment of tox that is meant."""


def _of_tox(checkout: Path) -> tuple[str, ...]:
    """The requirements of `[testenv]` in tox.ini or setup.cfg that do not depend on its environments."""
    settings = configparser.RawConfigParser(strict=False)
    for name, section in (("tox.ini", "testenv"), ("setup.cfg", "tox:testenv")):
        try:
            settings.read_string(beginning(checkout / name), source=name)
        except configparser.Error:
            continue
        if settings.has_option(section, "deps"):
            lines = (line.partition(" #")[0].strip() for line in settings.get(section, "deps").splitlines())
            return tuple(line for line in lines if re.match(r"\w", line) and not _FACTOR.match(line))
    return ()
