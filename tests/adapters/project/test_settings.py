"""`hansard.toml` is read strictly, and nothing risky takes effect before it is trusted."""

from pathlib import Path

import pytest

from adapters.project import BadProject, Project, Trust, load, parse
from adapters.project.discover import agents, discover, project_file, team_file
from domain.session.workspace import PathScope

WHOLE = """
[workspace]
setup = ["python3 -m venv .venv", [".venv/bin/pip", "install", "-e", "."]]
copy = [".env"]
link = ["node_modules"]
env = { PYTHONPATH = "./src", MODE = "test" }

[validation]
commands = ["pytest -q"]
network = "all"

[delivery]
max_iterations = 6
team = "team.toml"

[scope]
allow = ["src/**", "tests/**"]
deny = ["src/secret/**"]
outside = "ask"
"""


def test_a_whole_file_is_read() -> None:
    project = parse(WHOLE)
    assert [step.argv for step in project.setup_steps()] == [
        ("python3", "-m", "venv", ".venv"),
        (".venv/bin/pip", "install", "-e", "."),
    ]
    assert project.workspace.copy_paths == (".env",)
    assert project.environment(Path("/work")) == {"PYTHONPATH": "/work/src", "MODE": "test"}
    assert [step.command for step in project.validation_steps()] == ["pytest -q"]
    assert project.delivery.max_iterations == 6
    assert project.validation.baseline


def test_a_checkout_without_the_file_has_the_defaults(tmp_path: Path) -> None:
    assert load(tmp_path) == Project()
    assert Project().digest is None


@pytest.mark.parametrize(
    ("text", "place", "problem"),
    [
        ("[workspace]\nsetups = []", "hansard.toml:2 [workspace] setups", "unknown key"),
        ("\nworkspace.setups = []", "hansard.toml:2 [workspace] setups", "unknown key"),
        ("workspace = { setups = [] }", "hansard.toml:1 [workspace] setups", "unknown key"),
        ("[delivery]\ntest_command = 'a | b'", "hansard.toml:2 [delivery] test_command", "needs a shell"),
        ("[delivery]\nlabels = ['']", "hansard.toml:2 [delivery] labels", "at least 1 character"),
        ("[delivery]\nfile_paths = ['/etc']", "hansard.toml:2 [delivery] file_paths", "inside the repository"),
        ("[delivery]\nretry = { tries = 2 }", "hansard.toml:2 [delivery] retry.tries", "unknown key"),
        ("[workspce]\nsetup = []", "hansard.toml:1 [workspce]", "unknown key"),
        ("\n[validation]\nbaseline = 1", "hansard.toml:3 [validation] baseline", "Input should be a valid boolean"),
        ("[workspace]\nsetup = ['cd x && make']", "hansard.toml:2 [workspace] setup", "needs a shell"),
        ("[workspace]\ncopy = ['../x']", "hansard.toml:2 [workspace] copy", "should be a path inside the repository"),
        ("[scope]\noutside = 'shout'", "hansard.toml:2 [scope] outside", "Input should be"),
        ("[workspace", "hansard.toml", "not TOML"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(text: str, place: str, problem: str) -> None:
    with pytest.raises(BadProject) as refused:
        parse(text)
    ((result, output),) = refused.value.places.items()
    assert result == place
    assert problem in output


def test_risky_settings_wait_for_trust(tmp_path: Path) -> None:
    trust = Trust(tmp_path / "keys" / "trust.json")
    project = parse(WHOLE)
    assert not trust.covers(tmp_path, project)
    before = trust.effective(tmp_path, project)
    assert (before.workspace.setup, before.workspace.env, before.delivery.team) == ((), {}, None)
    assert before.validation.network == "none"
    assert before.validation.commands == project.validation.commands
    trust.grant(tmp_path, project, by="person:ada")
    assert trust.effective(tmp_path, project) == project


def test_a_change_asks_again(tmp_path: Path) -> None:
    trust = Trust(tmp_path / "trust.json")
    trust.grant(tmp_path, parse(WHOLE), by="person:ada")
    assert not trust.covers(tmp_path, parse(WHOLE.replace("venv .venv", "venv .other")))
    assert trust.covers(tmp_path, parse(WHOLE.replace('"pytest -q"', '"pytest -x"')))


def test_harmless_settings_take_effect_without_trust(tmp_path: Path) -> None:
    assert Trust(tmp_path / "trust.json").covers(tmp_path, parse('[validation]\ncommands = ["pytest"]'))


def test_a_damaged_file_trusts_nothing(tmp_path: Path) -> None:
    (tmp_path / "trust.json").write_text("{")
    assert not Trust(tmp_path / "trust.json").covers(tmp_path, parse(WHOLE))
    assert Trust(tmp_path / "trust.json", "all").covers(tmp_path, parse(WHOLE))


def test_scope_names_what_is_outside() -> None:
    scope = PathScope(allow=("src/**", "*.md"), deny=("src/secret",))
    paths = ("src/a.py", "src/deep/b.py", "README.md", "docs/x.md", "src/secret/key", "deploy.yaml")
    assert scope.outside_of(paths) == ("docs/x.md", "src/secret/key", "deploy.yaml")
    assert PathScope().outside_of(paths) == ()


def test_init_reads_a_python_repository(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(
        '[project]\nname = "x"\n[project.optional-dependencies]\ntest = ["pytest"]\n'
    )
    (tmp_path / ".env").write_text("A=1")
    project = parse(project_file(discover(tmp_path)))
    assert [step.command for step in project.validation_steps()] == [".venv/bin/python -m pytest -q"]
    assert ".venv/bin/python -m pip install -e .[test]" in [step.command for step in project.setup_steps()]
    assert project.workspace.copy_paths == (".env",)


@pytest.mark.parametrize(
    ("files", "setup"),
    [
        (
            {"requirements/tests.txt": "freezegun", "requirements/dev.txt": "mypy"},
            "pip install -r requirements/tests.txt",
        ),
        ({"requirements-dev.txt": "pytest"}, "pip install -r requirements-dev.txt"),
        (
            {
                "pyproject.toml": '[project]\nname = "x"\n[dependency-groups]\nbase = ["pytest>=8"]\n'
                'dev = ["mypy"]\ntest = [{include-group = "base"}, "freezegun"]\n'
            },
            "pip install 'pytest>=8' freezegun",
        ),
        ({"uv.lock": ""}, "uv sync --all-extras"),
        ({"poetry.lock": ""}, "poetry install --all-extras"),
    ],
)
def test_init_finds_what_the_tests_need(tmp_path: Path, files: dict[str, str], setup: str) -> None:
    for name, content in ({"pyproject.toml": '[project]\nname = "x"\n', "conftest.py": ""} | files).items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(content)
    result = discover(tmp_path)
    assert result.setup[-1].endswith(setup)
    assert parse(project_file(result)).validation_steps()


def test_init_reads_node_go_cargo_and_make(tmp_path: Path) -> None:
    for name, content, command in (
        ("package.json", '{"scripts": {"test": "vitest", "lint": "eslint ."}}', "npm test"),
        ("go.mod", "module x", "go test ./..."),
        ("Cargo.toml", "[package]", "cargo test"),
        ("Makefile", "all:\n\ntest:\n\ttrue\n", "make test"),
    ):
        folder = tmp_path / name
        folder.mkdir()
        (folder / name).write_text(content)
        assert command in [step.command for step in parse(project_file(discover(folder))).validation_steps()]


@pytest.mark.parametrize(
    ("files", "setup", "command"),
    [
        ({"test_calc.py": "def test_add():\n    assert 1\n"}, 2, ".venv/bin/python -m pytest -q"),
        ({"test_shop.py": "import unittest\n"}, 0, "python3 -m unittest discover"),
        ({"tests/test_shop.py": "from unittest import TestCase\n"}, 0, "python3 -m unittest discover tests"),
        ({"pom.xml": "<project/>"}, 0, "mvn -q test"),
        ({"pom.xml": "<project/>", "mvnw": ""}, 0, "./mvnw -q test"),
        ({"build.gradle.kts": "", "gradlew": ""}, 0, "./gradlew test"),
        ({"test_calc.py": "", "Makefile": "test:\n\ttrue\n"}, 0, "make test"),
    ],
)
def test_init_finds_tests_without_a_python_project(
    tmp_path: Path, files: dict[str, str], setup: int, command: str
) -> None:
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(content)
    project = parse(project_file(discover(tmp_path)))
    assert [step.command for step in project.validation_steps()] == [command]
    assert len(project.setup_steps()) == setup


def test_where_no_test_command_is_found_none_is_written(tmp_path: Path) -> None:
    result = discover(tmp_path)
    assert parse(project_file(result)).validation.commands == ()


def test_init_makes_a_team_of_what_is_installed(tmp_path: Path) -> None:
    for name in ("claude", "codex"):
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
    programs = agents({"PATH": str(tmp_path)})
    assert programs == ("claude", "codex")
    assert 'preset = "codex"' in team_file(programs)
    assert team_file(()) == ""


def test_a_team_file_of_the_repository_is_trusted_with_what_it_says(tmp_path: Path) -> None:
    (tmp_path / "hansard.toml").write_text('[delivery]\nteam = "team.toml"\n')
    with pytest.raises(BadProject, match="there is no file"):
        load(tmp_path)
    (tmp_path / "team.toml").write_text("one")
    trust = Trust(tmp_path / "trust.json")
    trust.grant(tmp_path, load(tmp_path), by="ann")
    assert trust.covers(tmp_path, load(tmp_path))
    (tmp_path / "team.toml").write_text("two")
    assert not trust.covers(tmp_path, load(tmp_path))
    assert trust.effective(tmp_path, load(tmp_path)).team_file(tmp_path) is None


def test_a_team_file_of_the_person_is_theirs(tmp_path: Path) -> None:
    own, checkout = tmp_path / "own.toml", tmp_path / "checkout"
    checkout.mkdir()
    own.write_text("one")
    (checkout / "hansard.toml").write_text(f'[delivery]\nteam = "{own}"\n')
    before = load(checkout).digest
    own.write_text("two")
    assert load(checkout).digest == before and load(checkout).team_file(checkout) == own
