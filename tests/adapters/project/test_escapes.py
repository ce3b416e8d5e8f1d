"""False green: commands that would test something else than the workspace are found, layout by layout."""

import asyncio
import os
import sys
import venv
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from adapters.processes.program import run
from adapters.project.escapes import Inspection, inspect
from adapters.project.python_escapes import packages
from domain.session.validation import ValidationStep


def look(workspace: Path, *argv: str, env: Mapping[str, str] | None = None) -> Inspection:
    environment = {"PATH": os.environ["PATH"], **(env or {})}

    async def probe(command: Sequence[str], extra: Mapping[str, str]) -> str:
        home = workspace.parent
        done = await run(command, cwd=workspace, env=environment | dict(extra) | {"HOME": str(home)}, wall_seconds=20)
        return done.stdout if done.exit_code == 0 else ""

    step = ValidationStep(stage="test", command=" ".join(argv), argv=argv)
    return asyncio.run(inspect(workspace, (step,), environment, probe))


def write(root: Path, **files: str) -> Path:
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    return root


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A virtual environment in which a checkout is installed as editable, the classic way."""
    root = tmp_path_factory.mktemp("person")
    checkout = root / "checkout"
    write(checkout, **{"pyproject.toml": "", "src/lib/__init__.py": "", "flat/__init__.py": ""})
    venv.create(root / "env", symlinks=True)
    (site,) = (root / "env" / "lib").glob("python*/site-packages")
    (site / "editable.pth").write_text(f"{checkout / 'src'}\n{checkout}\n")
    return root


def test_an_editable_install_of_the_checkout_is_overruled_by_the_workspace(environment: Path, tmp_path: Path) -> None:
    workspace = write(tmp_path / "w", **{"pyproject.toml": "", "src/lib/__init__.py": ""})
    result = look(workspace, str(environment / "env/bin/python"), "-m", "pytest")
    assert result.escapes == ()
    assert dict(result.env)["PYTHONPATH"].startswith(str(workspace / "src"))


def test_an_editable_install_that_wins_over_the_import_path_is_an_escape(environment: Path, tmp_path: Path) -> None:
    (site,) = (environment / "env" / "lib").glob("python*/site-packages")
    stubborn = site / "stubborn.pth"
    stubborn.write_text(f"import sys; sys.path.insert(0, {str(environment / 'checkout/src')!r})\n")
    try:
        workspace = write(tmp_path / "w", **{"pyproject.toml": "", "src/lib/__init__.py": ""})
        result = look(workspace, str(environment / "env/bin/python"), "-m", "pytest")
    finally:
        stubborn.unlink()
    assert [escape.what for escape in result.escapes] == ["Python package lib"]
    assert result.escapes[0].path == str(environment / "checkout/src/lib/__init__.py")


def test_a_package_without_src_is_overruled_too(environment: Path, tmp_path: Path) -> None:
    workspace = write(tmp_path / "w", **{"setup.py": "", "flat/__init__.py": ""})
    assert dict(look(workspace, str(environment / "env/bin/python")).env)["PYTHONPATH"].startswith(str(workspace))


def test_a_script_shows_its_interpreter_in_its_first_line(environment: Path, tmp_path: Path) -> None:
    workspace = write(tmp_path / "w", **{"pyproject.toml": "", "src/lib/__init__.py": ""})
    tool = environment / "env/bin/pytest"
    tool.write_text(f"#!{environment / 'env/bin/python'}\n")
    tool.chmod(0o755)
    result = look(workspace, "pytest", "-q", env={"PATH": f"{environment / 'env/bin'}:{os.environ['PATH']}"})
    assert "PYTHONPATH" in dict(result.env)


def test_a_package_installed_from_the_workspace_is_not_an_escape(tmp_path: Path) -> None:
    workspace = write(tmp_path / "w", **{"pyproject.toml": "", "src/lib/__init__.py": ""})
    assert look(workspace, sys.executable, env={"PYTHONPATH": str(workspace / "src")}) == Inspection()


def test_a_package_that_is_not_installed_is_not_an_escape(tmp_path: Path) -> None:
    workspace = write(tmp_path / "w", **{"pyproject.toml": "", "src/no_such_package/__init__.py": ""})
    assert look(workspace, sys.executable) == Inspection()


def test_the_members_of_a_monorepo_are_checked(tmp_path: Path) -> None:
    member = {"packages/one/pyproject.toml": "", "packages/one/src/one/__init__.py": ""}
    workspace = write(tmp_path / "w", **{"pyproject.toml": ""}, **member)
    assert packages(workspace) == {"one": workspace / "packages/one/src"}


def test_npm_links_that_lead_outside_are_escapes(tmp_path: Path) -> None:
    workspace = write(tmp_path / "w", **{"package.json": "{}", "packages/a/package.json": "{}"})
    outside = write(tmp_path / "checkout/packages/b", **{"package.json": "{}"})
    modules = workspace / "node_modules"
    (modules / "@scope").mkdir(parents=True)
    (modules / "a").symlink_to("../packages/a")
    (modules / "@scope" / "b").symlink_to(outside)
    assert [(escape.what, escape.path) for escape in look(workspace, "npm", "test").escapes] == [
        ("npm package @scope/b", str(outside))
    ]


def test_npm_links_of_any_workspace_that_lead_outside_are_escapes(tmp_path: Path) -> None:
    workspace = write(tmp_path / "w", **{"package.json": "{}", "apps/web/package.json": "{}"})
    outside = write(tmp_path / "checkout/libs/b", **{"package.json": "{}"})
    (workspace / "apps/web/node_modules").mkdir()
    (workspace / "apps/web/node_modules/b").symlink_to(outside)
    (workspace / "libs").mkdir()
    (workspace / "libs/node_modules").symlink_to(outside)
    assert [(escape.what, escape.path) for escape in look(workspace, "npm", "test").escapes] == [
        ("libs/node_modules", str(outside)),
        ("npm package b", str(outside)),
    ]


def test_go_modules_outside_are_escapes(tmp_path: Path) -> None:
    workspace = write(
        tmp_path / "w",
        **{
            "go.mod": "module x\nreplace example.com/y => ../y // why\nreplace (\n\texample.com/z => ./z\n)\n",
            "go.work": "use (\n\t.\n\t/elsewhere/m\n)\n",
        },
    )
    assert [escape.path for escape in look(workspace, "go", "test").escapes] == ["/elsewhere/m", str(tmp_path / "y")]


def test_a_go_work_of_the_environment_is_an_escape(tmp_path: Path) -> None:
    workspace = write(tmp_path / "w", **{"go.mod": "module x\n"})
    escapes = look(workspace, "go", "test", env={"GOWORK": "/home/ada/go.work"}).escapes
    assert [(escape.what, escape.path) for escape in escapes] == [("go.work", "/home/ada/go.work")]


def test_cargo_path_dependencies_outside_are_escapes(tmp_path: Path) -> None:
    manifest = '[package]\nname = "x"\n[dependencies]\na = { path = "../a" }\nb = { path = "crates/b" }\n'
    patch = '[patch.crates-io]\nc = { path = "/elsewhere/c" }\n[lib]\npath = "src/lib.rs"\n'
    workspace = write(tmp_path / "w", **{"Cargo.toml": manifest + patch})
    assert [escape.what for escape in look(workspace, "cargo", "test").escapes] == ["crate a", "crate c"]


@pytest.mark.parametrize("name", ["lib", "package", "path", "dependencies"])
@pytest.mark.parametrize("table", ["dependencies", "dev-dependencies", "patch.crates-io", "target.'any'.dependencies"])
def test_a_cargo_dependency_may_have_any_name(tmp_path: Path, table: str, name: str) -> None:
    manifest = f'[package]\nname = "x"\n[lib]\npath = "src/lib.rs"\n[{table}]\n{name} = {{ path = "../a" }}\n'
    workspace = write(tmp_path / "w", **{"Cargo.toml": manifest})
    escapes = look(workspace, "cargo", "test").escapes
    assert [(escape.what, escape.path) for escape in escapes] == [(f"crate {name}", str(tmp_path / "a"))]


def test_a_cargo_library_outside_is_an_escape(tmp_path: Path) -> None:
    workspace = write(tmp_path / "w", **{"Cargo.toml": '[package]\nname = "x"\n[lib]\npath = "../x.rs"\n'})
    assert [escape.path for escape in look(workspace, "cargo", "test").escapes] == [str(tmp_path / "x.rs")]


@pytest.mark.parametrize("table", ["package", "workspace"])
def test_what_other_tools_keep_in_a_cargo_manifest_is_no_escape(tmp_path: Path, table: str) -> None:
    workspace = write(tmp_path / "w", **{"Cargo.toml": f'[{table}.metadata.book]\npath = "../book"\n'})
    assert not look(workspace, "cargo", "test").escapes


def test_cargo_overrides_outside_are_escapes_in_any_folder(tmp_path: Path) -> None:
    files = {
        "core/Cargo.toml": '[dependencies]\na = { path = "../../a" }\n',
        ".cargo/config.toml": 'paths = ["../b"]\n',
    }
    workspace = write(tmp_path / "w", **files)
    assert [(escape.what, escape.path) for escape in look(workspace, "cargo", "test").escapes] == [
        ("crate b", str(tmp_path / "b")),
        ("crate a", str(tmp_path / "a")),
    ]


def test_a_plain_folder_has_no_escapes(tmp_path: Path) -> None:
    assert look(write(tmp_path / "w", **{"a.txt": "x"}), "true") == Inspection()


@pytest.mark.parametrize(
    ("file", "asks"), [("a.txt", False), ("web/index.js", False), ("tools/a.py", True), ("fast.cpython-311.so", True)]
)
def test_interpreters_are_asked_only_where_there_is_python(tmp_path: Path, file: str, asks: bool) -> None:
    workspace = write(tmp_path / "w", **{file: ""})
    assert bool(_asked(workspace)) is asks
    (workspace / "linked").symlink_to(tmp_path)
    assert _asked(workspace), "what is behind a link to a folder may be Python"


def test_interpreters_are_asked_rather_than_all_of_very_many_files_looked_at(tmp_path: Path) -> None:
    assert _asked(write(tmp_path / "w", **{f"{place // 100}/{place}.txt": "" for place in range(2_100)}))


def _asked(workspace: Path) -> list[Sequence[str]]:
    """The commands that are asked what `make test` would import, beside a checkout."""
    asked: list[Sequence[str]] = []

    async def probe(command: Sequence[str], _: Mapping[str, str]) -> str:
        asked.append(command)
        return ""

    step = ValidationStep(stage="test", command="make test", argv=("make", "test"))
    environment = {"PATH": os.environ["PATH"]}
    asyncio.run(inspect(workspace, (step,), environment, probe, checkout=workspace.parent / "checkout"))
    return asked
