"""False green: whatever the layout of a checkout that is installed as editable, and however a command calls Python, the
workspace is tested."""

import asyncio
import os
import venv
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from adapters.processes.program import run
from adapters.project.escapes import Inspection, inspect
from domain.session.validation import ValidationStep

LAYOUTS = {
    "a package in src": ("src", "src/shop/__init__.py", "pyproject.toml"),
    "a package in lib": ("lib", "lib/shop/__init__.py", "pyproject.toml"),
    "a package without metadata": (".", "shop/__init__.py", "requirements.txt"),
    "a module in src": ("src", "src/shop.py", "pyproject.toml"),
    "a module in the root": (".", "shop.py", "setup.py"),
    "a namespace": ("src", "src/shop/prices.py", "pyproject.toml"),
    "a nested project": ("backend/src", "backend/src/shop/__init__.py", "backend/pyproject.toml"),
    "a monorepo": ("libs/shop", "libs/shop/shop/__init__.py", "libs/shop/setup.cfg"),
}
CALLS = {
    "a shell": ("sh", "-c", "check --quiet"),
    "make": ("make", "test"),
    "env": ("env", "A=1", "check"),
    "a script": ("check",),
    "the interpreter": ("python", "-m", "unittest"),
}


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A virtual environment with a console script."""
    folder = tmp_path_factory.mktemp("env")
    venv.create(folder, symlinks=True)
    script = folder / "bin" / "check"
    script.write_text(f"#!{folder / 'bin' / 'python'}\n")
    script.chmod(0o755)
    return folder


def write(root: Path, *names: str) -> Path:
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("")
    return root


def install(programs: Path, line: str) -> None:
    (site,) = (programs / "lib").glob("python*/site-packages")
    (site / "editable.pth").write_text(f"{line}\n")


def look(programs: Path, checkout: Path, workspace: Path, *argv: str, fenced: bool = False) -> Inspection:
    environment = {"PATH": f"{programs / 'bin'}:{os.environ['PATH']}"}

    async def probe(command: Sequence[str], extra: Mapping[str, str]) -> str:
        home = {"HOME": str(workspace.parent)}
        done = await run(command, cwd=workspace, env=environment | dict(extra) | home, wall_seconds=20)
        return done.stdout if done.exit_code == 0 else ""

    step = ValidationStep(stage="test", command=" ".join(argv), argv=argv)
    return asyncio.run(inspect(workspace, (step,), environment, probe, checkout=checkout, fenced=fenced))


@pytest.mark.parametrize(("root", "module", "metadata"), LAYOUTS.values(), ids=LAYOUTS)
def test_the_workspace_wins_in_every_layout(
    programs: Path, tmp_path: Path, root: str, module: str, metadata: str
) -> None:
    checkout, workspace = (write(tmp_path / name, module, metadata) for name in ("checkout", "w"))
    install(programs, str(checkout / root))
    result = look(programs, checkout, workspace, "check")
    assert result.escapes == ()
    assert str(workspace / root) in dict(result.env)["PYTHONPATH"].split(":")


@pytest.mark.parametrize("argv", CALLS.values(), ids=CALLS)
def test_the_workspace_wins_however_python_is_called(programs: Path, tmp_path: Path, argv: tuple[str, ...]) -> None:
    checkout, workspace = (write(tmp_path / name, "src/shop/__init__.py", "setup.py") for name in ("checkout", "w"))
    install(programs, str(checkout / "src"))
    result = look(programs, checkout, workspace, *argv)
    assert (result.escapes, dict(result.env)) == ((), {"PYTHONPATH": str(workspace / "src")})


def test_a_module_that_wins_over_the_import_path_is_an_escape(programs: Path, tmp_path: Path) -> None:
    checkout, workspace = (write(tmp_path / name, "shop.py", "setup.py") for name in ("checkout", "w"))
    install(programs, f"import sys; sys.path.insert(0, {str(checkout)!r})")
    result = look(programs, checkout, workspace, "make", "test")
    assert [(escape.what, escape.path) for escape in result.escapes] == [("Python package shop", f"{checkout}/shop.py")]


def test_what_only_the_checkout_has_does_not_matter(programs: Path, tmp_path: Path) -> None:
    checkout, workspace = write(tmp_path / "checkout", "scratch.py", "setup.py"), write(tmp_path / "w", "setup.py")
    install(programs, f"import sys; sys.path.insert(0, {str(checkout)!r})")
    assert look(programs, checkout, workspace, "check").escapes == ()


def test_a_package_installed_for_another_command_does_not_matter(programs: Path, tmp_path: Path) -> None:
    """`make test` may use an environment of its own: what those on PATH have from elsewhere does not count."""
    checkout, workspace = (write(tmp_path / name, "shop/__init__.py", "setup.py") for name in ("checkout", "w"))
    install(programs, str(write(tmp_path / "elsewhere", "shop/__init__.py")))
    assert look(programs, checkout, workspace, "make", "test") == Inspection()
