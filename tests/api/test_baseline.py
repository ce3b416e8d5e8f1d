"""A validation that can be believed: what is found before the first agent is asked (contract-2 §9).

Each layout has the trap in it: the commands would test the person's checkout, or nothing. A delivery never succeeds
with a broken workspace there.
"""

import json
import os
import re
import subprocess
import sys
import venv
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import httpx2 as httpx
import pytest
from starlette.testclient import TestClient

from adapters.fence.bubblewrap import bubblewrap_works
from projections.record.describe import describe
from tests.api.seen import review
from tests.api.server import Json, delivery, ended, events, inside, reached, start

OWN = "def price():\n    return 1\n"
TEST = """\
import unittest
from shop import price


class Prices(unittest.TestCase):
    def test_price(self):
        self.assertEqual(price(), 1)
"""
RED = """\
import pathlib, sys
for name in pathlib.Path("red").read_text().split():
    print("FAILED a.py::" + name)
sys.exit(1)
"""


@pytest.fixture
def client(tmp_path: Path) -> Iterator[TestClient]:
    """Without a fence: it would hide the user's checkout, so nothing else could be tested by mistake."""
    with inside(tmp_path / "data", trust="all", sandbox="off") as result:
        yield result


def repository(folder: Path, **files: str) -> Path:
    """A git repository with these files; keys are paths."""
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content)
    identity = ("-c", "user.name=Ann", "-c", "user.email=ann@localhost")
    for arguments in (("init", "-q"), ("add", "-A"), (*identity, "commit", "-qm", "Start")):
        subprocess.run(("git", *arguments), cwd=folder, check=True, capture_output=True)
    return folder


def editable(root: Path, *paths: Path, hook: str = "") -> Path:
    """A virtual environment in which folders of a checkout are installed as editable; its Python."""
    venv.create(root / "env", symlinks=True)
    (site,) = (root / "env" / "lib").glob("python*/site-packages")
    (site / "editable.pth").write_text(hook or "".join(f"{path}\n" for path in paths))
    return root / "env" / "bin" / "python"


def run(client: httpx.Client, folder: Path, command: Any, files: dict[str, str] | None = None, **body: Any) -> Json:
    """Run a delivery in which the developer writes these files and the reviewer approves."""
    replies = {"dev": [{"text": "Done.", "files": files or {}}], "reviewer": [review()]}
    fields = {"workspace": str(folder), "validationCommands": [command], "baseline": True, "maxIterations": 1}
    return ended(client, start(client, delivery(replies, **(fields | body))))


def baseline(client: httpx.Client, session: Json) -> Json:
    results = [
        event["data"] for event in events(client, session["id"]) if event["type"] == "delivery.baseline_recorded"
    ]
    assert len(results) == 1
    return dict(results[0])


def asked(client: httpx.Client, session: Json) -> list[str]:
    """The kinds of turns that were requested."""
    return [event["data"]["work"] for event in events(client, session["id"]) if event["type"] == "turn.requested"]


# -- the order, and what is red before ---------------------------------------------------------------------------------


def test_the_baseline_comes_before_the_first_phase(client: httpx.Client) -> None:
    session = ended(client, start(client, delivery(baseline=True)))
    assert session["status"] == "success"
    types = [event["type"] for event in events(client, session["id"]) if event["type"].startswith("delivery.")]
    assert types[:3] == ["delivery.session_started", "delivery.baseline_recorded", "delivery.phase_started"]
    [command] = baseline(client, session)["commands"]
    assert (command["command"], command["startable"], command["exitCode"], command["passed"]) == ("true", True, 0, True)


def test_a_baseline_is_the_default_and_can_be_left_out(client: httpx.Client) -> None:
    body = delivery()
    del body["baseline"]
    assert asked(client, ended(client, start(client, body)))[0] == "prepare"
    assert "prepare" not in asked(client, ended(client, start(client, delivery(baseline=False))))


@pytest.mark.parametrize("command", ["false", "./not-there-yet.sh", "sh -c 'exit 127'"])
def test_red_before_goes_on(client: httpx.Client, command: str) -> None:
    session = ended(client, start(client, delivery(baseline=True, validationCommands=[command], maxIterations=1)))
    assert session["reason"] == "budget_exhausted"
    assert asked(client, session).count("ask") == 4


def test_a_script_that_the_task_adds_is_run(client: httpx.Client, tmp_path: Path) -> None:
    folder = repository(tmp_path / "shop", **{"a.txt": ""})
    session = run(client, folder, ["sh", "check.sh"], {"check.sh": "exit 0\n"})
    assert session["status"] == "success"


def test_a_new_script_is_run_as_a_program(client: httpx.Client, tmp_path: Path) -> None:
    folder = repository(tmp_path / "shop", **{"a.txt": ""})
    session = run(client, folder, "./check.sh", {"check.sh": "#!/bin/sh\nexit 0\n"})
    assert session["status"] == "success"


def test_a_script_of_the_agents_that_cannot_be_started_is_red(client: httpx.Client, tmp_path: Path) -> None:
    """The developer reads why: nobody else could make it executable."""
    folder = repository(tmp_path / "shop", **{"a.txt": ""})
    session = run(client, folder, "./check.sh", {"check.sh": "exit 0\n"})
    assert session["reason"] == "budget_exhausted"
    [failed] = [event for event in events(client, session["id"]) if event["type"] == "delivery.validation_failed"]
    assert failed["data"]["reasons"] == ["'./check.sh' was not started: Permission denied."]


def test_a_program_that_is_not_there_asks_no_agent(client: httpx.Client) -> None:
    session = ended(client, start(client, delivery(baseline=True, validationCommands=["true", "pytset -q"])))
    assert (session["status"], session["reason"]) == ("failed", "validation_not_startable")
    [item] = [item for item in client.get("/api/decisions").json()["items"] if item["sessionId"] == session["id"]]
    assert item["why"] == "A validation command cannot be started."
    assert item["summary"] == session["finalSummary"]
    assert asked(client, session) == ["prepare"]
    assert "`pytset -q` cannot be started" in session["finalSummary"]
    assert "retry" in client.get(f"/api/sessions/{session['id']}").json()["availableCommands"]


def test_program_missing_during_an_iteration_costs_none(client: httpx.Client) -> None:
    session = ended(client, start(client, delivery(validationCommands=["no-such-program"])))
    assert (session["reason"], session["iteration"]) == ("validation_not_startable", 1)
    assert "delivery.validation_failed" not in [event["type"] for event in events(client, session["id"])]


def test_a_failed_validation_names_reasons_and_which_of_them_are_new(client: httpx.Client, tmp_path: Path) -> None:
    folder = repository(tmp_path / "shop", **{"check.py": RED, "red": "old"})
    session = run(client, folder, [sys.executable, "check.py"], {"red": "old new"})
    [failed] = [
        event["data"] for event in events(client, session["id"]) if event["type"] == "delivery.validation_failed"
    ]
    assert failed["reasons"] == ["FAILED a.py::old", "FAILED a.py::new"]
    assert failed["newFailures"] == ["FAILED a.py::new"]


SAYS_NOTHING = "`sh check.sh` ended with exit code 3."


REASONS = [
    ("echo hello; exit 3", ["hello"]),
    ("echo FAILED test_a; exit 1", ["FAILED test_a"]),
    ("echo; echo one; echo two >&2; exit 1", ["one", "two"]),
    ("exit 3", [SAYS_NOTHING]),
]


@pytest.mark.parametrize(
    ("script", "expected", "before"),
    [
        *((*each, "exit 0") for each in REASONS),
        (*REASONS[0], None),
        *(pytest.param(*each, None, marks=pytest.mark.nightly) for each in REASONS[1:]),
    ],
)
def test_a_failure_that_no_pattern_knows_has_reasons_too(
    client: httpx.Client, tmp_path: Path, script: str, expected: list[str], before: str | None
) -> None:
    """New where the command passed before any change, and not where it failed in the same way."""
    folder = repository(tmp_path / "shop", **{"check.sh": before or script})
    session = run(client, folder, ["sh", "check.sh"], {"check.sh": f"{script}\n"})
    [failed] = [
        event["data"] for event in events(client, session["id"]) if event["type"] == "delivery.validation_failed"
    ]
    assert failed["reasons"] == expected
    assert failed["newFailures"] == (expected if before else [])


def test_a_command_that_is_stopped_has_its_end_as_the_reason(tmp_path: Path) -> None:
    """What it had printed until then does not say why."""
    with inside(tmp_path / "data", trust="all", sandbox="off", validation_seconds=1) as client:
        folder = repository(tmp_path / "shop", **{"a.txt": ""})
        session = run(client, folder, ["sh", "-c", "echo collecting; sleep 60"], baseline=False)
        failed = [
            event["data"] for event in events(client, session["id"]) if event["type"] == "delivery.validation_failed"
        ]
    assert failed[0]["reasons"] == [failed[0]["sentence"]["text"]]
    assert "HANSARD_VALIDATION_SECONDS" in failed[0]["reasons"][0]


def test_a_command_that_says_nothing_fails_in_the_readers_language(client: httpx.Client) -> None:
    session = run(client, Path("/"), ["sh", "-c", "exit 3"], workspace=None)
    path, korean = f"/api/sessions/{session['id']}", {"Accept-Language": "ko"}
    worklog = client.get(f"{path}/worklog", headers=korean).text
    explanation = client.get(f"{path}/explain", headers=korean).json()["text"]
    for text in (worklog, explanation):
        assert "종료 코드 3" in text
        assert "ended with" not in text
    [failed] = [event for event in events(client, session["id"]) if event["type"] == "delivery.validation_failed"]
    assert "종료 코드 3" in describe(failed["type"], failed["data"], language="ko")


# -- set-up ------------------------------------------------------------------------------------------------------------


SETUP = (
    '[workspace]\nsetup = ["{python} setup_here.py"]\ncopy = [".env"]\nlink = ["deps"]\nenv = {{ SHOP = "./inside" }}\n'
)


def test_set_up_runs_once_and_never_gets_into_the_branch(client: httpx.Client, tmp_path: Path) -> None:
    folder = repository(
        tmp_path / "shop",
        **{
            "hansard.toml": SETUP.format(python=sys.executable) + '[validation]\ncommands = ["sh check.sh"]\n',
            "setup_here.py": "open('made', 'a').write('once\\n')\n",
            "check.sh": 'test "$(cat made)" = once && test -f .env && test -f deps/a && test "$SHOP" = "$PWD/inside"\n',
            ".gitignore": ".env\ndeps/\n",
        },
    )
    (folder / ".env").write_text("KEY=1\n")
    (folder / "deps").mkdir()
    (folder / "deps" / "a").touch()
    session = run(client, folder, None, {"b.txt": "b"}, validationCommands=None)
    assert session["status"] == "success", session["finalSummary"]
    branch = f"hansard/{session['id']}"
    listed = subprocess.run(
        ("git", "diff", "--name-only", "HEAD", branch), cwd=folder, check=True, capture_output=True, text=True
    )
    assert listed.stdout.split() == ["b.txt"]


def test_what_the_project_ignores_does_not_make_work_pass(client: httpx.Client, tmp_path: Path) -> None:
    folder = repository(tmp_path / "shop", **{".gitignore": "build/\n", "a.txt": "a"})
    session = run(client, folder, "sh build/check.sh", {"build/check.sh": "exit 0\n", "a.txt": "b"})
    assert (session["status"], session["reason"]) == ("failed", "budget_exhausted")


def test_what_an_agent_adds_to_or_changes_in_the_set_up_is_gone_when_its_work_is_validated(
    client: httpx.Client, tmp_path: Path
) -> None:
    settings = '[workspace]\nsetup = ["sh -c \\"mkdir -p env && echo sound > env/tool\\""]\n'
    folder = repository(tmp_path / "shop", **{"hansard.toml": settings, ".gitignore": "env/\n", "a.txt": "a"})
    sound = ["sh", "-c", "grep -q sound env/tool && test ! -e env/more"]
    for changes in ({"env/more": "x"}, {"env/tool": "evil"}):
        session = run(client, folder, sound, {"a.txt": "b"} | changes)
        assert session["status"] == "success", session["finalSummary"]


def test_a_set_up_that_the_work_breaks_fails_the_iteration(client: httpx.Client, tmp_path: Path) -> None:
    settings = '[workspace]\nsetup = ["sh make.sh"]\n'
    files = {"hansard.toml": settings, "make.sh": "touch made\n", ".gitignore": "made\n"}
    folder = repository(tmp_path / "shop", **files)
    changes = {"make.sh": "echo no such package; exit 3\n", "made": "changed"}
    session = run(client, folder, "true", changes)
    assert (session["status"], session["reason"]) == ("failed", "budget_exhausted")
    [failed] = [each["data"] for each in events(client, session["id"]) if each["type"] == "delivery.validation_failed"]
    assert failed["reasons"] == ["no such package"]


def test_the_author_can_correct_work_that_broke_the_set_up(client: httpx.Client, tmp_path: Path) -> None:
    settings = '[workspace]\nsetup = ["sh make.sh"]\n'
    files = {"hansard.toml": settings, "make.sh": "touch made\n", ".gitignore": "made\n"}
    folder = repository(tmp_path / "shop", **files)
    broken = {"text": "Done.", "files": {"make.sh": "echo no such package; exit 3\n", "made": "changed"}}
    corrected = {"text": "Done.", "files": {"make.sh": "touch made  # again\n"}}
    body = delivery(
        {"dev": [broken, corrected], "reviewer": [review()]},
        workspace=str(folder),
        validationCommands=["test -f made"],
        baseline=True,
        maxIterations=3,
    )
    session = ended(client, start(client, body))
    assert (session["status"], session["iteration"]) == ("success", 2), session["finalSummary"]


def test_a_failing_set_up_asks_no_agent(client: httpx.Client, tmp_path: Path) -> None:
    settings = "[workspace]\nsetup = [\"sh -c 'echo no lock file; exit 3'\"]\n"
    session = run(client, repository(tmp_path / "shop", **{"hansard.toml": settings}), "true")
    assert (session["reason"], asked(client, session)) == ("setup_failed", ["prepare"])
    assert "no lock file" in session["finalSummary"]
    head = client.get(f"/sessions/{session['id']}", headers={"Accept": "text/html"}).text
    assert re.search(r'<p class="why">.*The set-up failed:.*no lock file', head)
    assert "start again with `hansard run`" in session["finalSummary"]


# -- layouts with the trap: no false green -----------------------------------------------------------------------------


PYTHON = {"pyproject.toml": "", "tests/__init__.py": "", "tests/test_shop.py": TEST}
UNITTEST = ("-m", "unittest", "discover", "-s", "tests")


def src(tmp_path: Path) -> tuple[Path, list[str], str]:
    folder = repository(tmp_path / "shop", **PYTHON, **{"src/shop/__init__.py": OWN})
    return folder, [str(editable(tmp_path, folder / "src")), *UNITTEST], "src/shop/__init__.py"


def flat(tmp_path: Path) -> tuple[Path, list[str], str]:
    folder = repository(tmp_path / "shop", **PYTHON, **{"shop/__init__.py": OWN})
    return folder, [str(editable(tmp_path, folder)), *UNITTEST], "shop/__init__.py"


def setup_py(tmp_path: Path) -> tuple[Path, list[str], str]:
    files = {"setup.py": "", "tests/test_shop.py": TEST, "src/shop/__init__.py": OWN}
    folder = repository(tmp_path / "shop", **files)
    return folder, [str(editable(tmp_path, folder / "src")), *UNITTEST], "src/shop/__init__.py"


def isolated(tmp_path: Path) -> tuple[Path, list[str], str]:
    """The import path of the environment is ignored, so Hansard can only report the escape."""
    folder = repository(tmp_path / "shop", **PYTHON, **{"src/shop/__init__.py": OWN})
    return folder, [str(editable(tmp_path, folder / "src")), "-E", *UNITTEST], "src/shop/__init__.py"


def insisting(tmp_path: Path) -> tuple[Path, list[str], str]:
    folder = repository(tmp_path / "shop", **PYTHON, **{"src/shop/__init__.py": OWN})
    hook = f"import sys; sys.path.insert(0, {str(folder / 'src')!r})\n"
    return folder, [str(editable(tmp_path, hook=hook)), *UNITTEST], "src/shop/__init__.py"


def monorepo(tmp_path: Path) -> tuple[Path, list[str], str]:
    files = {"packages/shop/pyproject.toml": "", "packages/shop/src/shop/__init__.py": OWN}
    folder = repository(tmp_path / "mono", **PYTHON, **files)
    python = str(editable(tmp_path, folder / "packages/shop/src"))
    return folder, [python, *UNITTEST], "packages/shop/src/shop/__init__.py"


def console_script(tmp_path: Path) -> tuple[Path, list[str], str]:
    """A program of the environment, as `pytest` is one."""
    folder = repository(tmp_path / "shop", **PYTHON, **{"src/shop/__init__.py": OWN})
    python = editable(tmp_path, folder / "src")
    tool = python.with_name("check")
    tool.write_text(f"#!{python}\nimport sys\nfrom shop import price\nsys.exit(price() != 1)\n")
    tool.chmod(0o755)
    return folder, [str(tool)], "src/shop/__init__.py"


def in_a_folder_below(tmp_path: Path) -> tuple[Path, list[str], str]:
    """The session works on a folder of the repository."""
    files = {f"py/{name}": content for name, content in PYTHON.items()} | {"py/src/shop/__init__.py": OWN}
    folder = repository(tmp_path / "mono", **files)
    return folder / "py", [str(editable(tmp_path, folder / "py/src")), *UNITTEST], "src/shop/__init__.py"


def npm(tmp_path: Path) -> tuple[Path, list[str], str]:
    settings = '[workspace]\nlink = ["node_modules"]\n'
    files = {
        "hansard.toml": settings,
        "package.json": "{}",
        "packages/shop/index.js": "1",
        ".gitignore": "node_modules\n",
    }
    folder = repository(tmp_path / "web", **files)
    (folder / "node_modules").mkdir()
    (folder / "node_modules" / "shop").symlink_to(folder / "packages/shop")
    return folder, ["grep", "-q", "1", "node_modules/shop/index.js"], "packages/shop/index.js"


def npm_scope(tmp_path: Path) -> tuple[Path, list[str], str]:
    settings = '[workspace]\nlink = ["node_modules"]\n'
    files = {
        "hansard.toml": settings,
        "package.json": "{}",
        "packages/shop/index.js": "1",
        ".gitignore": "node_modules\n",
    }
    folder = repository(tmp_path / "web", **files)
    (folder / "node_modules" / "@own").mkdir(parents=True)
    (folder / "node_modules" / "@own" / "shop").symlink_to(folder / "packages/shop")
    return folder, ["grep", "-q", "1", "node_modules/@own/shop/index.js"], "packages/shop/index.js"


def go(tmp_path: Path) -> tuple[Path, list[str], str]:
    folder = tmp_path / "go"
    repository(folder, **{"go.mod": f"module x\nreplace example.com/shop => {folder}/shop\n", "shop/shop.go": "1"})
    return folder, ["grep", "-q", "1", str(folder / "shop/shop.go")], "shop/shop.go"


def go_work(tmp_path: Path) -> tuple[Path, list[str], str]:
    folder = tmp_path / "go"
    repository(folder, **{"go.work": f"go 1.22\nuse (\n\t{folder}/shop\n)\n", "shop/shop.go": "1"})
    return folder, ["grep", "-q", "1", str(folder / "shop/shop.go")], "shop/shop.go"


def cargo(tmp_path: Path) -> tuple[Path, list[str], str]:
    folder = tmp_path / "rust"
    manifest = f'[package]\nname = "x"\n[dependencies]\nshop = {{ path = {json.dumps(str(folder / "shop"))} }}\n'
    repository(folder, **{"Cargo.toml": manifest, "shop/lib.rs": "1"})
    return folder, ["grep", "-q", "1", str(folder / "shop/lib.rs")], "shop/lib.rs"


def cargo_patch(tmp_path: Path) -> tuple[Path, list[str], str]:
    folder = tmp_path / "rust"
    manifest = f'[package]\nname = "x"\n[patch.crates-io]\nshop = {{ path = {json.dumps(str(folder / "shop"))} }}\n'
    repository(folder, **{"Cargo.toml": manifest, "shop/lib.rs": "1"})
    return folder, ["grep", "-q", "1", str(folder / "shop/lib.rs")], "shop/lib.rs"


WON = (src, flat, setup_py, monorepo, console_script, in_a_folder_below)
"""Layouts in which Hansard makes the commands use the workspace."""
ESCAPED = (isolated, insisting, npm, npm_scope, go, go_work, cargo, cargo_patch)
"""Layouts in which it cannot, and reports that before any agent runs."""
Layout = Callable[[Path], tuple[Path, list[str], str]]


def sample(layouts: Sequence[Layout], *quick: Layout) -> list[Any]:
    """These layouts in every run, the others in the nightly one."""
    nightly = pytest.mark.nightly
    return [pytest.param(one, id=one.__name__, marks=() if one in quick else nightly) for one in layouts]


@pytest.mark.parametrize(
    "layout", sample([*WON, *ESCAPED], src, monorepo, in_a_folder_below, insisting, npm_scope, go_work, cargo_patch)
)
def test_broken_work_never_succeeds(client: httpx.Client, tmp_path: Path, layout: Layout) -> None:
    """The agent breaks the package, while the user's own checkout would pass."""
    folder, command, file = layout(tmp_path)
    assert subprocess.run(command, cwd=folder, check=False, capture_output=True).returncode == 0
    session = run(client, folder, command, {file: "def price():\n    return 0\n"})
    assert session["status"] == "failed"
    escaped = layout in ESCAPED
    assert session["reason"] == ("validation_escapes_workspace" if escaped else "budget_exhausted"), session[
        "finalSummary"
    ]
    assert bool(baseline(client, session)["escapes"]) is escaped
    if escaped:
        assert str(folder) in session["finalSummary"]
        assert asked(client, session) == ["prepare"]


@pytest.mark.parametrize("layout", sample([src, console_script, isolated, npm, cargo], src, npm))
def test_broken_work_never_succeeds_without_a_baseline(client: httpx.Client, tmp_path: Path, layout: Layout) -> None:
    """The check then happens when the commands run."""
    folder, command, file = layout(tmp_path)
    session = run(client, folder, command, {file: "def price():\n    return 0\n"}, baseline=False)
    assert session["status"] == "failed"
    escaped = layout in ESCAPED
    assert session["reason"] == ("validation_escapes_workspace" if escaped else "budget_exhausted"), session[
        "finalSummary"
    ]
    assert ("retry" in client.get(f"/api/sessions/{session['id']}").json()["availableCommands"]) is escaped


@pytest.mark.parametrize("layout", sample(WON, src, console_script))
def test_working_code_succeeds(client: httpx.Client, tmp_path: Path, layout: Layout) -> None:
    folder, command, _ = layout(tmp_path)
    session = run(client, folder, command, {"notes.txt": "n"})
    assert session["status"] == "success", session["finalSummary"]
    assert baseline(client, session)["commands"][0]["passed"]
    assert os.fspath(folder) not in json.dumps(baseline(client, session)["env"])


# -- the same in a fence, which hides the checkout ---------------------------------------------------------------------


def npm_workspaces(tmp_path: Path) -> tuple[Path, list[str], str]:
    """Packages that npm links to each other, relative to the top, set up in each workspace."""
    shop = {"name": "shop", "version": "1.0.0", "main": "index.js"}
    files = {
        "hansard.toml": '[workspace]\nsetup = ["npm install --offline --no-audit --no-fund"]\n',
        "package.json": json.dumps({"name": "web", "private": True, "workspaces": ["packages/*"]}),
        "packages/shop/package.json": json.dumps(shop),
        "packages/shop/index.js": "module.exports = () => 1;\n",
        "check.js": "process.exit(require('shop')() === 1 ? 0 : 1);\n",
        ".gitignore": "node_modules\n",
    }
    folder = repository(tmp_path / "web", **files)
    (folder / "node_modules").mkdir()
    (folder / "node_modules" / "shop").symlink_to(folder / "packages/shop")
    return folder, ["node", "check.js"], "packages/shop/index.js"


def cargo_workspace(tmp_path: Path) -> tuple[Path, list[str], str]:
    """Crates that depend on each other by a path inside the repository; cargo builds them for real."""
    crate = '[package]\nname = "{}"\nversion = "1.0.0"\nedition = "2021"\n'
    files = {
        "Cargo.toml": '[workspace]\nresolver = "2"\nmembers = ["shop", "till"]\n',
        "shop/Cargo.toml": crate.format("shop"),
        "shop/src/lib.rs": "pub fn price() -> u32 { 1 }\n",
        "till/Cargo.toml": crate.format("till") + '[dependencies]\nshop = { path = "../shop" }\n',
        "till/src/lib.rs": "#[test]\nfn price() { assert_eq!(shop::price(), 1); }\n",
        ".gitignore": "target\n",
    }
    return repository(tmp_path / "rust", **files), ["cargo", "test", "--offline", "-q"], "shop/src/lib.rs"


def environment_of_the_checkout(tmp_path: Path) -> tuple[Path, list[str], str]:
    """The person's own `.venv`, in which the checkout is installed."""
    folder = repository(tmp_path / "shop", **PYTHON, **{"src/shop/__init__.py": OWN, ".gitignore": ".venv\nenv\n"})
    python = editable(folder, folder / "src")
    (folder / "env").rename(folder / ".venv")
    return folder, [str(folder / ".venv" / "bin" / python.name), *UNITTEST], "src/shop/__init__.py"


REAL = (npm_workspaces, cargo_workspace)
FENCED = (*WON, *ESCAPED, *REAL, environment_of_the_checkout)
needs_bubblewrap = pytest.mark.skipif(not bubblewrap_works(), reason="no bubblewrap here")


@pytest.fixture
def fenced(tmp_path: Path) -> Iterator[TestClient]:
    with inside(tmp_path / "data", trust="all", sandbox="auto") as result:
        yield result


def broken(file: str) -> str:
    return {".rs": "pub fn price() -> u32 { 0 }\n", ".js": "module.exports = () => 0;\n"}.get(
        Path(file).suffix, "def price():\n    return 0\n"
    )


@needs_bubblewrap
@pytest.mark.parametrize(
    "layout",
    sample(FENCED, flat, console_script, npm, cargo, npm_workspaces, environment_of_the_checkout),
)
def test_broken_work_never_succeeds_in_a_fence(fenced: httpx.Client, tmp_path: Path, layout: Layout) -> None:
    folder, command, file = layout(tmp_path)
    assert subprocess.run(command, cwd=folder, check=False, capture_output=True).returncode == 0
    session = run(fenced, folder, command, {file: broken(file)})
    assert session["status"] == "failed", session["finalSummary"]


@needs_bubblewrap
@pytest.mark.parametrize("layout", sample([*WON, *REAL], flat, cargo_workspace))
def test_working_code_succeeds_in_a_fence(fenced: httpx.Client, tmp_path: Path, layout: Layout) -> None:
    folder, command, _ = layout(tmp_path)
    assert run(fenced, folder, command, {"notes.txt": "n"})["status"] == "success"


@needs_bubblewrap
def test_the_environment_of_the_checkout_is_missing_and_the_remedy_is_named(
    fenced: httpx.Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Named in full, by its path in the repository, or active."""
    folder, command, _ = environment_of_the_checkout(tmp_path)
    tool = folder / ".venv" / "bin" / "check-shop"
    tool.write_text(f"#!{command[0]}\nimport shop\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tool.parent}{os.pathsep}{os.environ['PATH']}")
    for words in (command, [".venv/bin/check-shop"], ["check-shop"]):
        session = run(fenced, folder, words)
        assert (session["status"], session["reason"]) == ("failed", "validation_not_startable"), words
        assert asked(fenced, session) == ["prepare"]
        assert f"belongs to {folder / '.venv'}" in session["finalSummary"], session["finalSummary"]
        assert 'setup = ["python3 -m venv .venv"' in session["finalSummary"]


@needs_bubblewrap
def test_another_program_of_the_same_name_does_not_replace_the_one_in_the_checkout(
    fenced: httpx.Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It comes later in PATH and fails, as it lacks the user's packages. No agent runs."""
    folder, command, _ = environment_of_the_checkout(tmp_path)
    own, other = folder / ".venv" / "bin" / "check-shop", tmp_path / "bin" / "check-shop"
    other.parent.mkdir()
    for tool, text in ((own, f"#!{command[0]}\nimport shop\n"), (other, "#!/bin/sh\nexit 2\n")):
        tool.write_text(text)
        tool.chmod(0o755)
    monkeypatch.setenv("PATH", os.pathsep.join([str(own.parent), str(other.parent), os.environ["PATH"]]))
    session = run(fenced, folder, ["check-shop"])
    assert (session["reason"], asked(fenced, session)) == ("validation_not_startable", ["prepare"])
    assert f"{own} belongs to {folder / '.venv'}" in session["finalSummary"], session["finalSummary"]
    other.write_text("#!/bin/sh\nexit 0\n")
    assert run(fenced, folder, ["check-shop"])["status"] == "success"


def test_packages_that_stayed_in_the_checkout_are_named(client: httpx.Client, tmp_path: Path) -> None:
    folder = repository(tmp_path / "web", **{"package.json": "{}", ".gitignore": "node_modules\n"})
    (folder / "node_modules").mkdir()
    session = run(client, folder, ["ls", "node_modules"])
    assert 'link = ["node_modules"]' in baseline(client, session)["commands"][0]["reasons"][0]
    sentence = describe("delivery.baseline_recorded", baseline(client, session))
    assert "before any change: `ls node_modules`. " in sentence and 'link = ["node_modules"]' in sentence


# -- settings ----------------------------------------------------------------------------------------------------------


def test_the_commands_and_limits_of_the_repository_are_defaults(client: httpx.Client, tmp_path: Path) -> None:
    settings = '[validation]\ncommands = ["true"]\nbaseline = false\n[delivery]\nmax_iterations = 3\nmax_minutes = 7\n'
    folder = repository(tmp_path / "shop", **{"hansard.toml": settings})
    body = delivery(workspace=str(folder))
    del body["validationCommands"], body["baseline"], body["filePaths"]
    session = ended(client, start(client, body))
    assert (session["status"], session["budget"]["maxIterations"], session["budget"]["maxMinutes"]) == ("success", 3, 7)
    assert "prepare" not in asked(client, session)
    assert ended(client, start(client, body | {"maxIterations": 2}))["budget"]["maxIterations"] == 2


def test_retries_and_reviews_of_the_repository_are_defaults(client: httpx.Client, tmp_path: Path) -> None:
    settings = '[delivery]\nretry = { attempts = 2 }\nreview = { strategy = "red-team", max_rounds = 1 }\n'
    folder = repository(tmp_path / "shop", **{"hansard.toml": settings})
    session_id = start(client, delivery(workspace=str(folder), validationCommands=["true"]))
    [opened] = reached(client, session_id, "delivery.session_started")
    assert opened["retry"]["attempts"] == 2
    assert (opened["review"]["strategy"], opened["review"]["maxRounds"]) == ("red-team", 1)
    declined = delivery(workspace=str(folder), validationCommands=["true"], review={"enabled": False})
    assert ended(client, start(client, declined))["status"] == "success"


def test_what_a_start_leaves_out_may_be_in_the_settings_of_the_repository(client: httpx.Client, tmp_path: Path) -> None:
    """All fields by their names on the wire; the request counts, even if it is empty."""
    settings = """\
[validation]
commands = ["false"]
[delivery]
title = "Nightly"
origin = "ci"
labels = ["nightly", "shop"]
file_paths = ["src/a.py"]
test_command = "true"
baseline = false
max_attempts = 4
"""
    folder = repository(tmp_path / "shop", **{"hansard.toml": settings})
    body = {"task": "Tidy up", "workspace": str(folder), "scenario": {}}
    [opened] = reached(client, start(client, body), "delivery.session_started")
    assert (opened["title"], opened["origin"], opened["labels"]) == ("Nightly", "ci", ["nightly", "shop"])
    assert (opened["filePaths"], opened["baseline"], opened["maxAttempts"]) == (["src/a.py"], False, 4)
    assert ([step["command"] for step in opened["steps"]], opened["limits"]["maxIterations"]) == (["true"], 4)
    body |= {"labels": [], "maxIterations": 2, "validationCommands": ["date"], "title": "Now"}
    [opened] = reached(client, start(client, body), "delivery.session_started")
    assert (opened["title"], opened["origin"], opened["labels"], opened["maxAttempts"]) == ("Now", "ci", [], None)
    assert ([step["command"] for step in opened["steps"]], opened["limits"]["maxIterations"]) == (["date"], 2)


def test_a_command_has_to_come_from_somewhere(client: httpx.Client, tmp_path: Path) -> None:
    body = delivery(workspace=str(repository(tmp_path / "shop", a="")))
    del body["validationCommands"]
    answer = client.post("/api/sessions", json=body)
    assert answer.status_code == 422
    assert [error["pointer"] for error in answer.json()["errors"]] == ["/validationCommands"]


def test_an_unknown_key_is_refused_with_its_line(client: httpx.Client, tmp_path: Path) -> None:
    folder = repository(tmp_path / "shop", **{"hansard.toml": "[validation]\nnetwork = 'none'\ncomands = []\n"})
    answer = client.post("/api/sessions", json=delivery(workspace=str(folder)))
    assert answer.status_code == 422
    assert "hansard.toml:3 [validation] comands: unknown key" in answer.text


def test_a_set_up_takes_effect_once_it_is_trusted(tmp_path: Path) -> None:
    folder = repository(tmp_path / "shop", **{"hansard.toml": '[workspace]\nsetup = ["true"]\n'})
    with inside(tmp_path / "data") as client:
        body = delivery(workspace=str(folder))
        answer = client.post("/api/sessions", json=body)
        assert answer.status_code == 403
        assert f"before they take effect: setup. Read them, then run: hansard trust {folder}" in answer.json()["detail"]
        trusted = client.post("/api/trust", json={"workspace": str(folder)})
        assert (trusted.status_code, trusted.json()["setup"]) == (200, ["true"])
        start(client, body)
        (folder / "hansard.toml").write_text('[workspace]\nsetup = ["true", "false"]\n')
        assert client.post("/api/sessions", json=body).status_code == 403


def test_the_environment_of_the_settings_reaches_set_up_agents_and_validation(
    client: httpx.Client, tmp_path: Path
) -> None:
    words = '$SHOP_HOME" = "$PWD/data'
    settings = f"""\
[workspace]
setup = [["sh", "-c", 'test "{words}" && touch ready']]
env = {{ SHOP_HOME = "./data" }}
[validation]
commands = [["sh", "-c", 'test "{words}"']]
"""
    folder = repository(tmp_path / "shop", **{"hansard.toml": settings, ".gitignore": "ready\n"})
    body = delivery({"dev": ["Done."], "reviewer": [review()]}, workspace=str(folder), baseline=True)
    del body["validationCommands"]
    assert ended(client, start(client, body))["status"] == "success"


@pytest.mark.parametrize("body", [{"baseline": False}, {"kind": "orchestration", "prompt": "Look", "triage": "direct"}])
def test_an_agent_works_in_a_folder_that_is_set_up(tmp_path: Path, body: Json) -> None:
    """Also without a baseline, and in an orchestration: what the agent's program prints shows the environment."""
    settings = '[workspace]\nsetup = ["touch ready"]\nenv = { SHOP_HOME = "./data" }\n'
    folder = repository(tmp_path / "shop", **{"hansard.toml": settings, ".gitignore": "ready\n"})
    script = 'cat > /dev/null; ls; test "$SHOP_HOME" = "$PWD/data" && echo has-home'
    roles = ["planner", "architect", "designer", "dev", "reviewer", "assistant", "judge"]
    agent = f'[[agents]]\nname = "Ann"\nadapter = "command"\nroles = {json.dumps(roles)}\n'
    argv = f'[agents.settings]\nargv = ["sh", "-c", {json.dumps(script)}]\n'
    (tmp_path / "team.toml").write_text(agent + argv)
    with inside(tmp_path / "data", trust="all", sandbox="off", team=tmp_path / "team.toml") as client:
        fields = delivery(workspace=str(folder), **body)
        del fields["scenario"]
        if body.get("kind"):
            fields = body | {"workspace": str(folder)}
        session_id = start(client, fields)
        replies = [answered["reply"]["head"] for answered in reached(client, session_id, "turn.answered")]
    assert any("ready" in reply and "has-home" in reply for reply in replies), replies


# -- linked folders ----------------------------------------------------------------------------------------------------


def linked(tmp_path: Path) -> Path:
    """A repository with a folder that is ignored and linked, in which there is a large file."""
    files = {"hansard.toml": '[workspace]\nlink = ["deps"]\n', ".gitignore": "deps/\n"}
    folder = repository(tmp_path / "shop", **files)
    (folder / "deps").mkdir()
    (folder / "deps" / "large").touch()
    return folder


def trees(tmp_path: Path) -> list[str]:
    """The content of that folder in the workspaces."""
    return [path.name for path in (tmp_path / "data").glob("**/tree-*/deps/*")]


@needs_bubblewrap
def test_a_linked_folder_is_shown_read_only_inside_a_fence(fenced: httpx.Client, tmp_path: Path) -> None:
    folder = linked(tmp_path)
    session = run(fenced, folder, "sh -c 'test -f deps/large && ! touch deps/new'", {"b.txt": "b"})
    assert session["status"] == "success", session["finalSummary"]
    assert trees(tmp_path) == []
    assert [file["path"] for file in session["result"]["files"]] == ["b.txt"]


def test_a_linked_folder_is_copied_without_a_fence(client: httpx.Client, tmp_path: Path) -> None:
    folder = linked(tmp_path)
    session = run(client, folder, "sh -c 'test -f deps/large && touch deps/new'", {"b.txt": "b"})
    assert session["status"] == "success", session["finalSummary"]
    assert set(trees(tmp_path)) == {"large", "new"}
    assert [path.name for path in (folder / "deps").iterdir()] == ["large"]
    assert [file["path"] for file in session["result"]["files"]] == ["b.txt"]


# -- bare repositories -------------------------------------------------------------------------------------------------


def test_a_bare_repository_is_worked_in_with_the_settings_of_its_commit(client: httpx.Client, tmp_path: Path) -> None:
    settings = '[validation]\ncommands = ["test -f a.txt"]\n[delivery]\nmax_iterations = 3\nteam = "team.toml"\n'
    source = repository(tmp_path / "shop", **{"hansard.toml": settings, "a.txt": "a\n"})
    bare = tmp_path / "shop.git"
    subprocess.run(("git", "clone", "-q", "--bare", str(source), str(bare)), check=True)
    session = run(client, bare, None, {"b.txt": "b\n"}, validationCommands=None, maxIterations=None)
    assert (session["status"], session["budget"]["maxIterations"]) == ("success", 3), session["finalSummary"]
    listed = subprocess.run(
        ("git", "ls-tree", "--name-only", session["result"]["branch"]),
        cwd=bare,
        check=True,
        capture_output=True,
        text=True,
    )
    assert listed.stdout.split() == ["a.txt", "b.txt", "hansard.toml"]
    assert session["result"]["repository"] == str(bare)
