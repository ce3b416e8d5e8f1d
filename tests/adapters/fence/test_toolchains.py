"""Tools that find their files by a person's home find them behind the fence, where they cannot change them."""

import asyncio
from pathlib import Path

import pytest

from adapters.fence.port import Grant
from adapters.fence.toolchains import is_linked, link_into
from adapters.processes.environment import clean_environment
from adapters.processes.program import Finished, run
from tests.adapters.fence.test_fence import LEVELS, level, workspace
from tests.adapters.workspace.given import write

__all__ = ["level", "workspace"]

TOOLS = {
    "asdf": ("${ASDF_DATA_DIR:-$HOME/.asdf}", ".asdf"),
    "mise": ("${MISE_DATA_DIR:-$HOME/.local/share/mise}", ".local/share/mise"),
    "volta": ("${VOLTA_HOME:-$HOME/.volta}", ".volta"),
    "rustup": ("${RUSTUP_HOME:-$HOME/.rustup}", ".rustup"),
    "pyenv": ("${PYENV_ROOT:-$HOME/.pyenv}", ".pyenv"),
    "nvm": ("${NVM_DIR:-$HOME/.nvm}", ".nvm"),
    "fnm": ("${FNM_DIR:-$HOME/.local/share/fnm}", ".local/share/fnm"),
    "rbenv": ("${RBENV_ROOT:-$HOME/.rbenv}", ".rbenv"),
    "proto": ("${PROTO_HOME:-$HOME/.proto}", ".proto"),
}


@pytest.fixture
def person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home with secrets and no tools."""
    home = tmp_path / "account"
    write(home, {".netrc": "secret", ".config/mise/other": "secret", ".local/share/keyrings/login": "secret"})
    for name in ("RUSTUP_HOME", "PYENV_ROOT", "NVM_DIR", "VOLTA_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(home))
    return home


def inside(level: str, workspace: Path, script: str) -> Finished:
    home = workspace / "home"
    home.mkdir(exist_ok=True)
    link_into(home)
    fence = LEVELS[level](Grant(writable=(workspace,)))
    argv, env = ["sh", "-c", script], clean_environment(home=home)
    return asyncio.run(run(argv, cwd=workspace, env=env, wall_seconds=20, fence=fence))


@pytest.mark.parametrize("tool", sorted(TOOLS))
def test_a_tool_finds_its_files_and_cannot_change_them(level: str, workspace: Path, person: Path, tool: str) -> None:
    place, folder = TOOLS[tool]
    write(person, {f"{folder}/versions/1/bin/it": "found"})
    assert inside(level, workspace, f"cat {place}/versions/1/bin/it").stdout == "found"
    inside(level, workspace, f"echo changed >{place}/versions/1/bin/it; touch {place}/new")
    assert (person / folder / "versions/1/bin/it").read_text() == "found"
    assert not (person / folder / "new").exists()


def test_a_folder_that_the_person_named_is_taken(
    level: str, workspace: Path, person: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(person, {"tools/node/it": "found"})
    monkeypatch.setenv("VOLTA_HOME", str(person / "tools"))
    assert inside(level, workspace, "cat $VOLTA_HOME/node/it").stdout == "found"


@pytest.mark.parametrize("named", ["/", "{home}", "{home}/..", "relative"])
def test_a_folder_that_holds_more_than_tools_is_not_shown(
    level: str, workspace: Path, person: Path, monkeypatch: pytest.MonkeyPatch, named: str
) -> None:
    monkeypatch.setenv("NVM_DIR", named.format(home=person))
    done = inside(level, workspace, f"echo =${{NVM_DIR-none}}=; cat {person}/.netrc")
    assert done.stdout == "=none=\n"


def test_the_versions_of_the_home_are_found_and_other_files_are_not(level: str, workspace: Path, person: Path) -> None:
    write(person, {".tool-versions": "nodejs 20\n", ".asdfrc": "legacy_version_file = yes\n"})
    assert inside(level, workspace, "cat $HOME/.tool-versions $HOME/.asdfrc").stdout.startswith("nodejs 20\nlegacy")
    assert is_linked(workspace / "home" / ".tool-versions")
    secrets = ".netrc .config/mise/other .local/share/keyrings/login"
    assert "secret" not in inside(level, workspace, f"cd {person} && cat {secrets}").stdout
    inside(level, workspace, "echo ruby 3 >>$HOME/.tool-versions")
    assert (person / ".tool-versions").read_text() == "nodejs 20\n"


def test_what_a_private_home_has_already_stays(tmp_path: Path, person: Path) -> None:
    write(person, {".tool-versions": "nodejs 20\n"})
    write(tmp_path / "home", {".tool-versions": "nodejs 18\n"})
    link_into(tmp_path / "home")
    assert (tmp_path / "home" / ".tool-versions").read_text() == "nodejs 18\n"
    assert not is_linked(tmp_path / "home" / ".tool-versions")


@pytest.mark.parametrize(
    ("settings", "shown"),
    [
        ('[tools]\nnode = "20"\n', True),
        ("[settings]\nexperimental = true\n[tools]\n", True),
        ('[tools]\nnode = "20"\n[env]\nNPM_TOKEN = "secret"\n', False),
        ("not toml", False),
    ],
)
def test_the_settings_of_mise_are_shown_without_secrets(
    level: str, workspace: Path, person: Path, settings: str, shown: bool
) -> None:
    write(person, {".config/mise/config.toml": settings, ".local/share/mise/shims/node": ""})
    done = inside(level, workspace, 'cat "$MISE_GLOBAL_CONFIG_FILE"')
    assert done.stdout == (settings if shown else "")
