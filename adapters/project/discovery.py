"""`hansard init`: finds out what a repository needs from its own files, and writes settings for it."""

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from adapters.files import beginning
from adapters.project import BadProject, load
from adapters.project.found_services import proposed_services
from adapters.project.found_tests import Tests, tests_of
from adapters.project.python_project import python_needs, script_needs
from adapters.project.tables import json_object

_REGISTRIES = {
    "pypi": {"pip", "pip3", "uv", "poetry", "pdm", "hatch", "tox"},
    "npm": {"npm", "npx", "pnpm", "yarn", "bun"},
    "crates": {"cargo"},
    "go": {"go"},
}


@dataclass(slots=True)
class Discovery:
    """The needs of a repository, in the terms of `hansard.toml`, and how many tests were found in how many files."""

    setup: list[str] = field(default_factory=list)
    copy: list[str] = field(default_factory=list)
    link: list[str] = field(default_factory=list)
    env: dict[str, str] = field(default_factory=dict)
    commands: list[str] = field(default_factory=list)
    services: list[str] = field(default_factory=list)
    tests: int = 0
    test_files: int = 0

    @property
    def registries(self) -> tuple[str, ...]:
        """The registries from which the set-up and the commands load packages."""
        words = {word.rpartition("/")[2] for command in (*self.setup, *self.commands) for word in command.split()}
        return tuple(name for name, programs in _REGISTRIES.items() if words & programs)

    def add(self, *, setup: Iterable[str] = (), commands: Iterable[str] = ()) -> None:
        """Add what is not there yet: two languages may need the same."""
        self.setup += [each for each in setup if each not in self.setup]
        self.commands += [each for each in commands if each not in self.commands]


def discover(checkout: Path) -> Discovery:
    """Read what the repository's files say about its set-up and tests. Runs nothing."""
    tests = tests_of(checkout)
    needs = Discovery(tests=sum(each.tests for each in tests), test_files=sum(len(each.files) for each in tests))
    for look in (_python, _node, _go, _cargo, _java, _make, _scripts):
        look(checkout, needs, tests)
    needs.services += proposed_services(checkout)
    if (checkout / ".env").is_file():
        needs.copy.append(".env")
    return needs


def project_file(needs: Discovery, *, team: bool = False) -> str:
    """The text of `hansard.toml`."""
    lines = ["# How Hansard works on this repository. `hansard trust` asks before set-up and env take effect.", ""]
    lines += ["[workspace]", *_toml_list("setup", needs.setup, "run once in each new workspace")]
    lines += _toml_list("copy", needs.copy, "ignored files that are copied from the checkout")
    lines += _toml_list("link", needs.link, "ignored folders that are shared read-only")
    if needs.env:
        pairs = ", ".join(f"{name} = {_quoted(value)}" for name, value in needs.env.items())
        lines.append(f"env = {{ {pairs} }}")
    lines += ["", "[validation]", *(_toml_list("commands", needs.commands, "what has to pass") or ["commands = []"])]
    if team:
        lines += ["", "[delivery]", 'team = "team.toml"']
    if needs.services:
        lines += ["", *needs.services]
    return "\n".join(lines) + "\n"


def names_a_team(checkout: Path) -> bool:
    """True if the settings of a checkout name a team, or cannot be read."""
    try:
        return load(checkout).delivery.team is not None
    except BadProject:
        return True


def _python(checkout: Path, needs: Discovery, tests: Tests) -> None:
    python = python_needs(checkout, tests.python)
    needs.add(setup=python.setup, commands=python.commands)
    needs.env.update(python.env)


def _node(checkout: Path, needs: Discovery, tests: Tests) -> None:
    package = json_object(checkout / "package.json")
    if not package:
        return
    tool = next((tool for name, tool in _LOCKS.items() if (checkout / name).is_file()), "npm")
    locked = (checkout / "package-lock.json").is_file() or (checkout / "npm-shrinkwrap.json").is_file()
    needs.add(setup=[f"{tool} {'ci' if tool == 'npm' and locked else 'install'}"])
    table = package.get("scripts")
    scripts = {name: str(script) for name, script in table.items()} if isinstance(table, dict) else {}
    scripts = {name: script for name, script in scripts.items() if "no test specified" not in script}
    if "test" not in scripts and "node:test" in tests.javascript.text:
        needs.add(commands=["node --test"])
    started = " && ".join(scripts.get(name, "") for name in ("pretest", "test", "posttest"))
    for name in ("lint", "typecheck"):
        if name in scripts and not _runs(started, name, scripts[name]):
            needs.add(commands=[f"{tool} run {name}"])
    if "test" in scripts:
        needs.add(commands=[f"{tool} test"])


def _runs(script: str, name: str, content: str) -> bool:
    """True if a script runs another one, by its name or by its own words."""
    by_name = rf"\b(?:run|run-s|run-p|npm-run-all|yarn|pnpm|bun)\s+(?:[\w:-]+\s+)*{re.escape(name)}(?![\w:-])"
    return content in script or re.search(by_name, script) is not None


_LOCKS = {
    "pnpm-lock.yaml": "pnpm",
    "yarn.lock": "yarn",
    "bun.lockb": "bun",
    "bun.lock": "bun",
    "package-lock.json": "npm",
}


def uses_pnpm(folder: Path) -> bool:
    """True if the folder is a project of pnpm: by its lock file, or by the `packageManager` of its package.json."""
    manager = json_object(folder / "package.json").get("packageManager")
    return (folder / "pnpm-lock.yaml").is_file() or str(manager).partition("@")[0] == "pnpm"


def _go(checkout: Path, needs: Discovery, tests: Tests) -> None:
    if (checkout / "go.mod").is_file():
        needs.commands += ["go vet ./...", "go test ./..."]


def _cargo(checkout: Path, needs: Discovery, tests: Tests) -> None:
    if (checkout / "Cargo.toml").is_file():
        needs.commands.append("cargo test")


def _java(checkout: Path, needs: Discovery, tests: Tests) -> None:
    wrapped = {"pom.xml": ("mvnw", "mvn", "-q test"), "build.gradle": ("gradlew", "gradle", "test")}
    wrapped["build.gradle.kts"] = wrapped["build.gradle"]
    for name, (wrapper, program, arguments) in wrapped.items():
        if (checkout / name).is_file():
            program = f"./{wrapper}" if (checkout / wrapper).is_file() else program
            needs.commands.append(f"{program} {arguments}")
            return


def _make(checkout: Path, needs: Discovery, tests: Tests) -> None:
    if needs.commands:
        return
    lines = beginning(checkout / "Makefile").splitlines()
    if any(line.startswith("test:") for line in lines):
        needs.commands.append("make test")


def _scripts(checkout: Path, needs: Discovery, tests: Tests) -> None:
    if not needs.commands:
        scripts = script_needs(checkout, tests.python)
        needs.add(setup=scripts.setup, commands=scripts.commands)


def _toml_list(key: str, values: list[str], why: str) -> list[str]:
    if not values:
        return []
    return [f"{key} = [ # {why}", *(f"  {_quoted(value)}," for value in values), "]"]


def _quoted(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)
