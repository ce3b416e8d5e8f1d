"""The tools that find their files below a person's home: managers of versions, and the compilers that these install.

Programs run with a private home, so each tool is told by its own variable where its folder is, and the fence shows that
folder, read-only. What such a tool reads from the home itself, such as the versions that a person uses everywhere, is
linked into the private home.
"""

import os
import tomllib
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple


class _Toolchain(NamedTuple):
    """`variable` names the folder, which is below the home by default."""

    variable: str
    folder: str


_KNOWN: Final = (
    _Toolchain("ASDF_DIR", ".asdf"),
    _Toolchain("ASDF_DATA_DIR", ".asdf"),
    _Toolchain("MISE_DATA_DIR", ".local/share/mise"),
    _Toolchain("VOLTA_HOME", ".volta"),
    _Toolchain("RUSTUP_HOME", ".rustup"),
    _Toolchain("PYENV_ROOT", ".pyenv"),
    _Toolchain("NVM_DIR", ".nvm"),
    _Toolchain("FNM_DIR", ".local/share/fnm"),
    _Toolchain("RBENV_ROOT", ".rbenv"),
    _Toolchain("NODENV_ROOT", ".nodenv"),
    _Toolchain("GOENV_ROOT", ".goenv"),
    _Toolchain("JENV_ROOT", ".jenv"),
    _Toolchain("SDKMAN_DIR", ".sdkman"),
    _Toolchain("PROTO_HOME", ".proto"),
    _Toolchain("ELAN_HOME", ".elan"),
    _Toolchain("UV_PYTHON_INSTALL_DIR", ".local/share/uv/python"),
)
_IN_HOME: Final = (".tool-versions", ".asdfrc")
"""What asdf and mise read from the home itself."""
_MISE: Final = ".config/mise/config.toml"
_OF_TOOLS: Final = {"tools", "settings", "alias", "tool_alias", "plugins", "min_version"}
"""The parts of mise's file that only say which tools there are. Others, such as variables, may hold secrets."""


def toolchain_variables() -> dict[str, str]:
    """The variables that tell each tool on this machine where its files are."""
    found = {each.variable: str(folder) for each, folder in _folders()}
    if "MISE_DATA_DIR" in found:
        found["MISE_TRUSTED_CONFIG_PATHS"] = "/"  # it trusts a checkout by its path, which the workspace does not have
        if (settings := _settings_of_mise()) is not None:
            found["MISE_GLOBAL_CONFIG_FILE"] = str(settings)
    return found


def toolchain_paths() -> tuple[Path, ...]:
    """The folders and files of the tools on this machine; programs may read them, but not write there."""
    folders = (folder for _, folder in _folders())
    settings = _settings_of_mise()
    return tuple(dict.fromkeys((*folders, *_files(), *((settings,) if settings else ()))))


def link_into(home: Path) -> None:
    """Link what tools read from a person's home into a private one. What is there already stays."""
    for file in _files():
        with suppress(FileExistsError):
            (home / file.name).symlink_to(file)


def is_linked(path: Path) -> bool:
    """True if this is a link that `link_into` has made."""
    return path.name in _IN_HOME and path.is_symlink() and path.readlink() == Path.home() / path.name


def _folders() -> Iterator[tuple[_Toolchain, Path]]:
    """The tools on this machine with their folders. Left out are those whose folder holds more than the tool's
    files."""
    home = Path.home()
    for each in _KNOWN:
        named = os.path.normpath(os.environ.get(each.variable) or f"{home}/{each.folder}")
        if _is_there(named):  # first, and as a word: few of them are, and every command asks for all
            folder = Path(named)
            if folder.is_absolute() and not home.is_relative_to(folder) and folder.is_dir():
                yield each, folder


def _is_there(path: Path | str) -> bool:
    """True if the path leads to something that this account may look at."""
    return os.access(path, os.F_OK, effective_ids=os.access in os.supports_effective_ids)


def _files() -> Iterator[Path]:
    """The files in the home itself."""
    return (path for name in _IN_HOME if _is_there(path := Path.home() / name) and path.is_file())


def _settings_of_mise() -> Path | None:
    """The file with the versions that a person uses everywhere, if nothing else is in it."""
    named = os.environ.get("MISE_GLOBAL_CONFIG_FILE")
    file = Path(named) if named else Path.home() / _MISE
    try:
        content = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return file.absolute() if content.keys() <= _OF_TOOLS else None
