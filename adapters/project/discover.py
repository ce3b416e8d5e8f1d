"""`hansard init`: finds out what a repository needs from its own files, and writes settings for it."""

import json
import shlex
import shutil
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from adapters.files import beginning

PROGRAMS = ("claude", "codex", "gemini", "opencode", "qwen", "copilot", "aider")
"""Agent programs that have a preset with the same name."""


@dataclass(slots=True)
class Discovery:
    """What a repository needs, in the terms of `hansard.toml`."""

    setup: list[str] = field(default_factory=list)
    copy: list[str] = field(default_factory=list)
    link: list[str] = field(default_factory=list)
    env: dict[str, str] = field(default_factory=dict)
    commands: list[str] = field(default_factory=list)


def discover(checkout: Path) -> Discovery:
    """Read what the repository's files say about its set-up and tests. Runs nothing."""
    needs = Discovery()
    for look in (_python, _node, _go, _cargo, _java, _make, _scripts):
        look(checkout, needs)
    if (checkout / ".env").is_file():
        needs.copy.append(".env")
    return needs


def agents(env: Mapping[str, str]) -> tuple[str, ...]:
    """The agent programs on PATH."""
    return tuple(name for name in PROGRAMS if shutil.which(name, path=env.get("PATH")))


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
    return "\n".join(lines) + "\n"


def team_file(programs: tuple[str, ...]) -> str:
    """The text of `team.toml` for these agent programs: the second one, if any, reviews the work of the first."""
    if not programs:
        return ""
    first, *rest = programs
    blocks = [
        _agent(first, () if not rest else ("planner", "architect", "designer", "dev", "judge", "assistant", "custom"))
    ]
    if rest:
        blocks.append(_agent(rest[0], ("reviewer", "critic", "coder", "synthesizer")))
    return "\n".join(blocks)


def _agent(program: str, roles: tuple[str, ...]) -> str:
    named = f"roles = {json.dumps(list(roles))}\n" if roles else ""
    return f'[[agents]]\nname = "{program.capitalize()}"\npreset = "{program}"\n{named}'


def _python(checkout: Path, needs: Discovery) -> None:
    project = _toml(checkout / "pyproject.toml")
    has_setup = (checkout / "setup.py").is_file() or (checkout / "setup.cfg").is_file()
    if not project and not has_setup and not (checkout / "requirements.txt").is_file():
        return
    python = ".venv/bin/python"
    if (checkout / "uv.lock").is_file():
        needs.setup.append("uv sync --all-extras")
    elif (checkout / "poetry.lock").is_file():
        needs.setup.append("poetry install --all-extras")
        needs.env["POETRY_VIRTUALENVS_IN_PROJECT"] = "true"
    else:
        needs.setup.append("python3 -m venv .venv")
        needs.setup += [f"{python} -m pip install {what}" for what in _installed(checkout, project, has_setup)]
    if _uses_pytest(checkout, project):
        needs.commands.append(f"{python} -m pytest -q")
    elif (checkout / "tests").is_dir():
        needs.commands.append(f"{python} -m unittest discover")


def _installed(checkout: Path, project: Mapping[str, object], has_setup: bool) -> Iterator[str]:
    """What pip should install, in order: the project, then what its tests need."""
    if (checkout / "requirements.txt").is_file():
        yield "-r requirements.txt"
    extras = _extras(project)
    if "project" in project or has_setup:
        yield f"-e .[{extras}]" if extras else "-e ."
    requirements = next((name for name in _TEST_REQUIREMENTS if (checkout / name).is_file()), None)
    group = _group(project)
    if requirements:
        yield f"-r {requirements}"
    elif group:
        yield " ".join(shlex.quote(requirement) for requirement in group)
    elif _uses_pytest(checkout, project):
        yield "pytest"


_TEST_NAMES = ("tests", "test", "testing", "dev")
_TEST_REQUIREMENTS = tuple(
    pattern.format(name)
    for name in _TEST_NAMES
    for pattern in ("requirements/{}.txt", "requirements-{}.txt", "requirements_{}.txt", "{}-requirements.txt")
)
"""Where requirements of tests usually are; specific ones take precedence over those of all development."""


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


def _uses_pytest(checkout: Path, project: Mapping[str, object]) -> bool:
    tool = project.get("tool")
    if isinstance(tool, dict) and "pytest" in tool:
        return True
    if any((checkout / name).is_file() for name in ("pytest.ini", "conftest.py", "tests/conftest.py")):
        return True
    text = "".join(
        beginning(checkout / name) for name in ("pyproject.toml", "tox.ini", "setup.cfg", "requirements.txt")
    )
    return "pytest" in text


def _node(checkout: Path, needs: Discovery) -> None:
    package = _json(checkout / "package.json")
    if not package:
        return
    tool = next((tool for name, tool in _LOCKS.items() if (checkout / name).is_file()), "npm")
    needs.setup.append(f"{tool} {'ci' if tool == 'npm' and (checkout / 'package-lock.json').is_file() else 'install'}")
    scripts = package.get("scripts")
    scripts = scripts if isinstance(scripts, dict) else {}
    for name in ("lint", "typecheck", "test"):
        if name in scripts and "no test specified" not in str(scripts[name]):
            needs.commands.append(f"{tool} test" if name == "test" else f"{tool} run {name}")


_LOCKS = {"pnpm-lock.yaml": "pnpm", "yarn.lock": "yarn", "bun.lockb": "bun", "package-lock.json": "npm"}


def _go(checkout: Path, needs: Discovery) -> None:
    if (checkout / "go.mod").is_file():
        needs.commands += ["go vet ./...", "go test ./..."]


def _cargo(checkout: Path, needs: Discovery) -> None:
    if (checkout / "Cargo.toml").is_file():
        needs.commands.append("cargo test")


def _java(checkout: Path, needs: Discovery) -> None:
    wrapped = {"pom.xml": ("mvnw", "mvn", "-q test"), "build.gradle": ("gradlew", "gradle", "test")}
    wrapped["build.gradle.kts"] = wrapped["build.gradle"]
    for name, (wrapper, program, arguments) in wrapped.items():
        if (checkout / name).is_file():
            program = f"./{wrapper}" if (checkout / wrapper).is_file() else program
            needs.commands.append(f"{program} {arguments}")
            return


def _make(checkout: Path, needs: Discovery) -> None:
    if needs.commands:
        return
    lines = beginning(checkout / "Makefile").splitlines()
    if any(line.startswith("test:") for line in lines):
        needs.commands.append("make test")


def _scripts(checkout: Path, needs: Discovery) -> None:
    """Python tests without a project around them."""
    tests = [path for folder in ("", "tests") for path in (checkout / folder).glob("test_*.py")]
    if needs.commands or not tests:
        return
    texts = [beginning(path) for path in tests[:_SAMPLE]]
    if all("unittest" in text for text in texts):
        needs.commands.append("python3 -m unittest discover" + (" tests" if tests[0].parent != checkout else ""))
        return
    needs.setup += ["python3 -m venv .venv", ".venv/bin/python -m pip install pytest"]
    needs.commands.append(".venv/bin/python -m pytest -q")


_SAMPLE = 20
"""As many test files show which library they use."""


def _toml_list(key: str, values: list[str], why: str) -> list[str]:
    if not values:
        return []
    return [f"{key} = [ # {why}", *(f"  {_quoted(value)}," for value in values), "]"]


def _quoted(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)


def _toml(path: Path) -> Mapping[str, object]:
    try:
        return tomllib.loads(beginning(path))
    except ValueError:
        return {}


def _json(path: Path) -> Mapping[str, object]:
    try:
        content = json.loads(beginning(path) or "{}")
    except ValueError:
        return {}
    return content if isinstance(content, dict) else {}
