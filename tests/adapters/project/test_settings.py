"""`hansard.toml` is read strictly, and nothing risky takes effect before it is trusted."""

from pathlib import Path

import pytest

from adapters.agents.team import Team
from adapters.agents.team import load as load_team
from adapters.agents.team_file import FoundProgram, agents, team_file
from adapters.project import BadProject, Project, Trust, load, parse
from adapters.project.discovery import discover, project_file
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


@pytest.mark.parametrize("key", ["copy", "link"])
@pytest.mark.parametrize(("path", "leads"), [("out", "../outside"), ("out/deep/file", "/etc"), ("in", "a")])
def test_what_a_link_leads_out_of_the_repository_is_neither_copied_nor_shared(
    tmp_path: Path, key: str, path: str, leads: str
) -> None:
    (top := tmp_path / "top").mkdir()
    (top / path.partition("/")[0]).symlink_to(leads)
    (top / "hansard.toml").write_text(f'[workspace]\nsetup = []\n{key} = ["ok", "{path}"]\n')
    if path == "in":
        assert load(top).workspace.setup == ()
        return
    with pytest.raises(BadProject) as refused:
        load(top)
    [(place, why)] = refused.value.places.items()
    assert (place, why) == (f"hansard.toml:3 [workspace] {key}", f"{path} leads out of the repository.")


def test_filters_are_a_setting_that_needs_trust() -> None:
    project = parse("[workspace]\nfilters = true\n")
    assert project.digest is not None
    assert project.untrusted().workspace.filters is False
    assert parse("[workspace]\nfilters = false\n").digest is None
    with pytest.raises(BadProject) as refused:
        parse('[workspace]\nfilters = "yes"\n')
    assert list(refused.value.places) == ["hansard.toml:2 [workspace] filters"]


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
        ("\n[validation]\nbaseline = 1", "hansard.toml:3 [validation] baseline", "should be true or false"),
        ("[workspace]\nfilters = 'yes'", "hansard.toml:2 [workspace] filters", "should be true or false"),
        ("[workspace]\ncopy = '.env'", "hansard.toml:2 [workspace] copy", "should be a list"),
        ("[workspace]\nlink = [1]", "hansard.toml:2 [workspace] link", "should be a string"),
        ("[validation]\nrepeat = 99", "hansard.toml:2 [validation] repeat", "should be a number from 0 to 5"),
        ("[validation]\nrepeat = '2'", "hansard.toml:2 [validation] repeat", "should be a number from 0 to 5"),
        ("[validation]\nrepeat_seconds = -1", "hansard.toml:2 [validation] repeat_seconds", "from 0 to 86400"),
        ("[validation]\nrepeats = 1", "hansard.toml:2 [validation] repeats", "clean_room, repeat, repeat_seconds"),
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


def _install(folder: Path, monkeypatch: pytest.MonkeyPatch, *programs: str) -> None:
    """Only these programs are on PATH."""
    folder.mkdir()
    for name in programs:
        (folder / name).write_text("#!/bin/sh\n")
        (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(folder))


@pytest.mark.parametrize("lock", ["uv.lock", "poetry.lock"])
def test_init_uses_pip_where_the_program_of_the_lock_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lock: str
) -> None:
    _install(tmp_path / "bin", monkeypatch)
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "x"\n')
    (tmp_path / lock).write_text("")
    assert discover(tmp_path).setup == ["python3 -m venv .venv", ".venv/bin/python -m pip install -e ."]


def test_init_reads_a_python_repository(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(
        '[project]\nname = "x"\n[project.optional-dependencies]\ntest = ["pytest"]\n'
    )
    (tmp_path / ".env").write_text("A=1")
    project = parse(project_file(discover(tmp_path)))
    assert [step.command for step in project.validation_steps()] == [".venv/bin/python -m pytest -q"]
    assert ".venv/bin/python -m pip install -e .[test] pytest" in [step.command for step in project.setup_steps()]
    assert project.workspace.copy_paths == (".env",)


@pytest.mark.parametrize(
    ("files", "setup"),
    [
        (
            {"requirements/tests.txt": "freezegun", "requirements/dev.txt": "mypy"},
            "pip install -e . -r requirements/tests.txt pytest",
        ),
        ({"requirements-dev.txt": "pytest"}, "pip install -e . -r requirements-dev.txt pytest"),
        (
            {
                "pyproject.toml": '[project]\nname = "x"\n[dependency-groups]\nbase = ["pytest>=8"]\n'
                'dev = ["mypy"]\ntest = [{include-group = "base"}, "freezegun"]\n'
            },
            "pip install -e . 'pytest>=8' freezegun",
        ),
        ({"uv.lock": ""}, "uv sync --all-extras"),
        ({"poetry.lock": ""}, "poetry install --all-extras"),
        (
            {"tox.ini": "[testenv]\ndeps =\n  pytest>=7\n  py38: old\n  attrs  # for tests\n  -r{toxinidir}/x.txt\n"},
            "pip install -e . 'pytest>=7' attrs",
        ),
    ],
)
def test_init_finds_what_the_tests_need(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: dict[str, str], setup: str
) -> None:
    _install(tmp_path / "bin", monkeypatch, "uv", "poetry")
    for name, content in ({"pyproject.toml": '[project]\nname = "x"\n', "conftest.py": ""} | files).items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(content)
    result = discover(tmp_path)
    assert result.setup[-1].endswith(setup)
    assert parse(project_file(result)).validation_steps()


@pytest.mark.parametrize(
    ("name", "text", "plugins"),
    [
        ("pyproject.toml", '[tool.pytest.ini_options]\naddopts = "--cov=x --cov-branch -q"\n', " pytest-cov"),
        ("pyproject.toml", '[tool.pytest.ini_options]\naddopts = ["-n", "4", "--strict-markers"]\n', " pytest-xdist"),
        (
            "pytest.ini",
            "[pytest]\nasyncio_mode = auto\naddopts =\n  -ra\n  --timeout=5\n",
            " pytest-timeout pytest-asyncio",
        ),
        ("setup.cfg", "[tool:pytest]\nDJANGO_SETTINGS_MODULE = a.b\n", " pytest-django"),
        ("tox.ini", "[testenv]\ndeps = Pytest-Cov>4\n[pytest]\naddopts = --no-cov\n", ""),
        ("pytest.ini", "[pytest]\naddopts = --covers --doctest-modules\n", ""),
        ("pytest.ini", "not a section\n", ""),
    ],
)
def test_init_installs_the_plugins_that_the_settings_of_pytest_use(
    tmp_path: Path, name: str, text: str, plugins: str
) -> None:
    for each, content in {"setup.py": "", "conftest.py": "", name: text}.items():
        (tmp_path / each).write_text(content)
    install = discover(tmp_path).setup[-1]
    assert install.endswith(f"pytest{plugins}"), install


CASE = "import unittest\nclass A(unittest.TestCase):\n  def test_a(self): pass\n"


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
        ({"test_shop.py": CASE}, 0, "python3 -m unittest discover"),
        ({"tests/test_shop.py": CASE}, 0, "python3 -m unittest discover -s tests"),
        ({"tests/test_shop.py": CASE, "tests/__init__.py": ""}, 0, "python3 -m unittest discover -s tests -t ."),
        ({"tests/test_a.py": CASE, "tests/test_b.py": "def test(): pass\n"}, 2, ".venv/bin/python -m pytest -q"),
        ({"tests/deep/test_shop.py": CASE}, 2, ".venv/bin/python -m pytest -q"),
        ({"tests/shop_test.py": CASE}, 2, ".venv/bin/python -m pytest -q"),
        ({"setup.py": "", "tests/test_a.py": "def test(): pass\n"}, 2, ".venv/bin/python -m pytest -q"),
        ({"setup.py": "", "tests/test_a.py": CASE}, 2, ".venv/bin/python -m unittest discover -s tests"),
        ({"setup.py": "", "manage.py": "", "shop/tests.py": CASE}, 2, ".venv/bin/python manage.py test"),
        (
            {"package.json": '{"name": "x"}', "test/a.js": "import test from 'node:test'\ntest('x', f)"},
            1,
            "node --test",
        ),
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
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(content)
    project = parse(project_file(discover(tmp_path)))
    assert [step.command for step in project.validation_steps()] == [command]
    assert len(project.setup_steps()) == setup


@pytest.mark.parametrize(
    ("scripts", "commands"),
    [
        ('"lint": "eslint .", "test": "node --test"', ["npm run lint", "npm test"]),
        ('"lint": "eslint .", "pretest": "npm run lint", "test": "node --test"', ["npm test"]),
        ('"lint": "eslint .", "test": "npm run -s lint && node --test"', ["npm test"]),
        ('"lint": "eslint .", "test": "eslint . && node --test"', ["npm test"]),
        ('"lint": "xo", "posttest": "yarn lint", "test": "ava"', ["npm test"]),
        (
            '"lint": "xo", "lint:fix": "xo --fix", "pretest": "npm run lint:fix", "test": "ava"',
            ["npm run lint", "npm test"],
        ),
        ('"lint": "eslint .", "test": "echo \\"Error: no test specified\\" && exit 1"', ["npm run lint"]),
    ],
)
def test_init_runs_no_script_twice(tmp_path: Path, scripts: str, commands: list[str]) -> None:
    (tmp_path / "package.json").write_text(f'{{"scripts": {{{scripts}}}}}')
    assert discover(tmp_path).commands == commands


def test_init_counts_the_tests_of_each_language_but_not_those_of_packages(tmp_path: Path) -> None:
    for name, content in {
        "tests/test_a.py": f"{CASE}def test_b(): pass\nclass TestC:\n  async def test_d(self): pass\n",
        "web/a.test.ts": "it('a', f)\n  test.each(x)('b', f)\ntest('c', f)",
        "a/a_test.go": "func TestA(t *testing.T) {}\nfunc helper() {}\n",
        "src/lib.rs": "#[test]\nfn a() {}\n#[tokio::test]\nasync fn b() {}",
        "node_modules/x/x.test.js": "it('no', f)",
        ".venv/lib/test_x.py": "def test_no(): pass",
        "tests/test_bad.py": "def test_e(:\n",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(content)
    found = discover(tmp_path)
    assert (found.tests, found.test_files) == (4 + 2 + 1 + 2, 5)


def test_where_no_test_command_is_found_none_is_written(tmp_path: Path) -> None:
    result = discover(tmp_path)
    assert parse(project_file(result)).validation.commands == ()


def test_init_makes_a_team_of_what_is_installed(tmp_path: Path) -> None:
    for name in ("claude", "codex"):
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
    assert [program.name for program in agents({"PATH": str(tmp_path)})] == ["claude", "codex"]
    assert team_file(()) == ""


def test_of_two_agents_the_one_who_judges_is_not_the_one_who_works(tmp_path: Path) -> None:
    made = team_made(tmp_path, FoundProgram("claude"), FoundProgram("codex"), FoundProgram("qwen"))
    assert [member.name for member in made.agents] == ["Claude", "Codex"]
    for judging, working in (("reviewer", "coder"), ("reviewer", "dev"), ("judge", "custom"), ("critic", "planner")):
        one, other = made.agent_for(judging), made.agent_for(working)
        assert one is not None and other is not None and one.name != other.name, (judging, working)


def test_an_agent_without_login_is_commented_out_with_the_reason(tmp_path: Path) -> None:
    programs = (FoundProgram("claude", "No login: set ANTHROPIC_API_KEY."), FoundProgram("codex"))
    made = team_made(tmp_path, *programs)
    assert [member.name for member in made.agents] == ["Codex"]
    assert {"reviewer", "dev"} <= set(made.agents[0].roles)
    lines = (tmp_path / "team.toml").read_text().splitlines()
    assert "# No login: set ANTHROPIC_API_KEY." in lines and '# preset = "claude"' in lines


def test_a_login_is_looked_for_in_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "claude").write_text("#!/bin/sh\n")
    (tmp_path / "claude").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    for key in ("ANTHROPIC_API_KEY", "CLAUDE_CODE_OAUTH_TOKEN", "ANTHROPIC_AUTH_TOKEN"):
        monkeypatch.delenv(key, raising=False)
    [without] = agents({"PATH": str(tmp_path)})
    assert "ANTHROPIC_API_KEY" in without.lack
    monkeypatch.setenv("CLAUDE_CODE_OAUTH_TOKEN", "t")
    assert agents({"PATH": str(tmp_path)}) == (FoundProgram("claude"),)


def team_made(folder: Path, *programs: FoundProgram) -> Team:
    """The team of the file that `init` writes for these programs."""
    file = folder / "team.toml"
    file.write_text(team_file(programs))
    return load_team(file)


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
