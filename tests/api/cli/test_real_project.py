"""A real project from the registry: src layout, an editable install, 297 tests; and the settings that the documents
show, as written. Nightly: they need the package index."""

import json
import re
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from tests.api.cli.conftest import Hansard
from tests.api.cli.test_results import git

pytestmark = pytest.mark.nightly
PYTHON = ".venv/bin/python"
SETTINGS = f"""\
[workspace]
setup = ["python3 -m venv .venv", "{PYTHON} -m pip install -q -e . pytest freezegun"]
[validation]
commands = ["{PYTHON} -m pytest -q"]
"""
SIGNER = "src/itsdangerous/signer.py"


@pytest.fixture
def here(tmp_path: Path, hansard: Hansard) -> Path:
    """The project as a repository and working directory, with its settings written and trusted."""
    wanted = ["download", "--quiet", "--no-deps", "--no-binary", ":all:", "itsdangerous==2.2.0"]
    subprocess.run([sys.executable, "-m", "pip", *wanted, "--dest", str(tmp_path)], check=True, timeout=600)
    folder = tmp_path / "here"
    with tarfile.open(tmp_path / "itsdangerous-2.2.0.tar.gz") as archive:
        archive.extractall(tmp_path, filter="data")
    shutil.copytree(tmp_path / "itsdangerous-2.2.0", folder, dirs_exist_ok=True)
    (folder / "hansard.toml").write_text(SETTINGS)
    (folder / ".gitignore").write_text(".venv\n*.egg-info\n__pycache__\n.pytest_cache\n")
    git(folder, "init", "--quiet", "--initial-branch=main")
    git(folder, "config", "user.name", "Somebody")
    git(folder, "config", "user.email", "somebody@example.org")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "-m", "Begin")
    assert hansard("trust", "--yes").code == 0
    return folder


def run(hansard: Hansard, tmp_path: Path, answer: str) -> str:
    """Run a one-iteration delivery that writes this version of the signer; return its output."""
    scenario = tmp_path / "scenario.json"
    dev = [{"text": "Changed the signer as asked.", "files": {SIGNER: answer}}]
    scenario.write_text(json.dumps({"replies": {"dev": dev}}), encoding="utf-8")
    limits = ("--max-iterations", "1")
    return hansard("run", "-t", "Change the signer", "-f", SIGNER, *limits, "--scenario", str(scenario)).out


def test_a_real_project_is_never_broken_and_each_line_is_traced(hansard: Hansard, here: Path, tmp_path: Path) -> None:
    whole = (here / SIGNER).read_text()
    broken = whole.replace("def sign(", "def sign_broken(")
    assert broken != whole
    result = run(hansard, tmp_path, broken)
    assert "reason     budget exhausted" in result, result
    events = [json.loads(line) for line in hansard("events", "latest", "--json").out.splitlines()]
    data = {event["type"]: event["data"] for event in events}
    assert data["delivery.baseline_recorded"]["commands"][0]["passed"], data["delivery.baseline_recorded"]
    assert len(data["delivery.validation_failed"]["newFailures"]) == 20

    added = whole + "\n\ndef is_signer(thing: object) -> bool:\n    return isinstance(thing, Signer)\n"
    result = run(hansard, tmp_path, added)
    assert "Success on iteration 1" in result, result
    assert hansard("merge", "latest").code == 0
    assert (here / SIGNER).read_text() == added
    blamed = hansard("blame", SIGNER, "--json").json
    session = hansard("list", "--json").json["items"][0]["id"]
    assert [line["session"] for line in blamed[-4:]] == [session] * 4
    assert {line["session"] for line in blamed[:-4]} == {None}
    assert all(line["validatedBy"] and line["approvedBy"] for line in blamed[-4:])


WORKSPACE = {
    "package.json": '{"private": true, "workspaces": ["packages/*"], '
    '"scripts": {"test": "npm test --workspaces --if-present"}}',
    "packages/core/package.json": '{"name": "@shop/core", "version": "1.0.0", "main": "dist/index.js", '
    '"scripts": {"prepare": "mkdir -p dist && cp src/index.js dist/index.js"}}',
    "packages/core/src/index.js": "module.exports.add = (a, b) => a + b\n",
    "packages/app/package.json": '{"name": "@shop/app", "version": "1.0.0", "main": "index.js", '
    '"dependencies": {"@shop/core": "1.0.0"}, "scripts": {"test": "node --test"}}',
    "packages/app/index.js": "module.exports.sum = (a, b) => `sum ${require('@shop/core').add(a, b)}`\n",
    "packages/app/index.test.js": "require('node:test')('sum', () => "
    "require('node:assert').strictEqual(require('.').sum(1, 2), 'sum 3'))\n",
    ".gitignore": "node_modules/\ndist/\n",
}


@pytest.mark.skipif(shutil.which("npm") is None, reason="needs npm")
@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({"packages/core/src/index.js": "module.exports.add = (a, b) => a - b\n"}, 7),
        ({"packages/app/index.js": "module.exports.sum = (a, b) => 'none'\n"}, 7),
        (
            {
                "packages/app/package.json": '{"name": "@shop/app", "version": "1.0.0", '
                '"scripts": {"test": "node --test x"}}'
            },
            7,
        ),
        ({"NOTES.md": "more\n"}, 0),
    ],
    ids=["built", "plain", "setting", "harmless"],
)
def test_what_breaks_a_clone_of_a_workspace_of_npm_breaks_the_validation(
    hansard: Hansard, tmp_path: Path, changed: dict[str, str], code: int
) -> None:
    """One package is built by the set-up, into an ignored folder."""
    here = written(tmp_path / "here", WORKSPACE)
    subprocess.run(["npm", "install", "--package-lock-only", "--silent"], cwd=here, check=True, timeout=300)
    validates(hansard, here, changed, code)


C_EXTENSION = {
    "pyproject.toml": '[build-system]\nrequires = ["setuptools>=77", "setuptools-scm>=8"]\n'
    'build-backend = "setuptools.build_meta"\n[project]\nname = "sums"\ndynamic = ["version"]\n'
    '[tool.setuptools_scm]\n[tool.pytest.ini_options]\ntestpaths = ["tests"]\n',
    "setup.py": "from setuptools import Extension, setup\n"
    'setup(packages=["sums"], package_dir={"": "src"}, ext_modules=[Extension("sums._fast", ["src/sums/_fast.c"])])\n',
    "src/sums/__init__.py": "from sums._fast import add\n\n\ndef total(*all):\n"
    "    return add(all[0], total(*all[1:])) if all else 0\n",
    "src/sums/_fast.c": """\
#include <Python.h>
static PyObject *add(PyObject *self, PyObject *args) {
    long a, b;
    return PyArg_ParseTuple(args, "ll", &a, &b) ? PyLong_FromLong(a + b) : NULL;
}
static PyMethodDef methods[] = {{"add", add, METH_VARARGS, ""}, {NULL, NULL, 0, NULL}};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "_fast", NULL, -1, methods};
PyMODINIT_FUNC PyInit__fast(void) { return PyModule_Create(&module); }
""",
    "tests/test_sums.py": "from importlib.metadata import version\n\nimport sums\n\n\ndef test_total():\n"
    '    assert sums.total(1, 2, 3) == 6\n\n\ndef test_version():\n    assert version("sums").startswith("1.2.")\n',
    ".gitignore": ".venv/\n*.so\nbuild/\n*.egg-info/\n",
}


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
@pytest.mark.parametrize(
    ("path", "old", "new", "code"),
    [
        ("src/sums/_fast.c", "a + b", "a - b", 7),
        ("src/sums/__init__.py", "else 0", "else 1", 7),
        ("pyproject.toml", 'testpaths = ["tests"]', 'addopts = "--no-such-option"', 7),
        (".gitignore", "build/", "build/\ndist/", 0),
    ],
    ids=["built", "plain", "setting", "harmless"],
)
def test_what_breaks_a_clone_of_a_c_extension_with_a_version_from_its_tag_breaks_the_validation(
    hansard: Hansard, tmp_path: Path, path: str, old: str, new: str, code: int
) -> None:
    here = written(tmp_path / "here", C_EXTENSION)
    validates(hansard, here, {path: C_EXTENSION[path].replace(old, new)}, code, tag="v1.2.3")


def written(here: Path, contents: dict[str, str]) -> Path:
    """The files in a new repository."""
    for name, content in contents.items():
        (here / name).parent.mkdir(parents=True, exist_ok=True)
        (here / name).write_text(content)
    git(here, "init", "--quiet", "--initial-branch=main")
    return here


def validates(hansard: Hansard, here: Path, changed: dict[str, str], code: int, *, tag: str = "begin") -> None:
    """With the settings that `init` writes, the files pass, and a delivery that changes them ends with that code."""
    assert hansard("init").code == 0
    git(here, "add", "--all")
    git(here, "-c", "user.name=Ada", "-c", "user.email=ada@example.org", "commit", "--quiet", "-m", "Begin")
    git(here, "tag", tag)
    assert hansard("trust", "--yes").code == 0
    scenario = here.parent / "scenario.json"
    scenario.write_text(json.dumps({"replies": {"dev": [{"text": "Done.", "files": changed}]}}), encoding="utf-8")
    result = hansard("run", "--quick", "-t", "Change it", "--max-iterations", "1", "--scenario", str(scenario))
    assert result.code == code, result
    events = [json.loads(line) for line in hansard("events", "latest", "--json").out.splitlines()]
    [baseline] = [event["data"] for event in events if event["type"] == "delivery.baseline_recorded"]
    assert all(command["passed"] for command in baseline["commands"]), baseline


def test_the_settings_that_the_documents_show_work_as_written(hansard: Hansard, tmp_path: Path) -> None:
    page = (Path(__file__).parents[3] / "docs" / "project.md").read_text("utf-8")
    [settings] = re.findall(r"```toml\n(.*?)```", page, re.DOTALL)
    roles = ["planner", "architect", "designer", "dev", "reviewer"]
    fix = {"src/calc.py": "def add(a, b):\n    return a + b\n", "deploy/run.sh": "true\n"}
    scenario = {"replies": {"dev": [{"text": "Fixed the sign.", "files": fix}]}}
    contents = {
        "hansard.toml": settings,
        "team.toml": f'[[agents]]\nname = "Ada"\nroles = {roles}\nadapter = "scripted"\n'
        '[agents.settings]\nscenario = "scenario.json"\n',
        "scenario.json": json.dumps(scenario),
        "pyproject.toml": '[project]\nname = "calc"\nversion = "1"\n',
        "src/calc.py": "def add(a, b):\n    return a - b\n",
        "tests/test_calc.py": "from pathlib import Path\nfrom calc import add\n\n\ndef test_add():\n"
        '    assert add(2, 3) == 5\n    assert Path(".env").read_text() and Path("node_modules/x").read_text()\n',
        ".gitignore": ".venv\n.env\nnode_modules\n*.egg-info\n__pycache__\n.pytest_cache\n",
        ".env": "A=1\n",
        "node_modules/x": "x\n",
    }
    for name, content in contents.items():
        path = tmp_path / "here" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
    git(tmp_path / "here", "init", "--quiet", "--initial-branch=main")
    git(tmp_path / "here", "add", "--all")
    who = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
    git(tmp_path / "here", *who, "commit", "--quiet", "-m", "Begin")
    output = hansard("trust", "--yes").out
    assert "set-up: .venv/bin/python -m pip install -e . pytest" in output and "env: PYTHONPATH=./src" in output
    done = hansard("run", "-t", "Fix add", "-f", "src/calc.py")
    assert done.code == 0, done
    result = hansard("show", "latest", "--json").json["session"]["result"]
    assert result["outside"] == ["deploy/run.sh"]
