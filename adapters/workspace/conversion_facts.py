"""The attributes and settings by which a person's git converts files, as data that a workspace keeps from its start."""

import os
from pathlib import Path
from typing import Any, Final

from adapters.workspace.git import all_settings, in_theirs, settings_of

_CONVERTING: Final = r"^(core\.(autocrlf|eol)|filter\..*\.(clean|smudge|process))$"


def conversion_of(top: Path, info: Path) -> dict[str, Any]:
    """Returns what the person's git converts files by, beside the `.gitattributes` files: as data that can be kept."""
    named = settings_of(top, "core.attributesFile", kind="path")
    config = Path(os.environ.get("XDG_CONFIG_HOME") or Path(os.environ.get("HOME", "/nonexistent")) / ".config")
    settings = all_settings(top, _CONVERTING)
    filters: dict[str, dict[str, str]] = {}
    for key, command in settings.items():
        name, _, kind = key.removeprefix("filter.").rpartition(".")
        if key.startswith("filter.") and name:
            filters.setdefault(name, {})[kind] = command
    return {
        "attributes": _text(info / "attributes"),
        "attributes_file": _text(Path(named) if named else config / "git" / "attributes"),
        "autocrlf": settings.get("core.autocrlf") or "false",
        "eol": settings.get("core.eol") or "native",
        "filters": filters,
    }


def filtered_files(top: Path) -> dict[str, list[str]]:
    """The files of a checkout that git stores in another form, by the name of their filter or encoding. Nothing is
    executed, and nothing is read but attributes."""
    paths = in_theirs(["ls-files", "-z"], top)
    words = ["check-attr", "-z", "--stdin", "filter", "working-tree-encoding"]
    parts = os.fsdecode(in_theirs([*_persons_attributes(top), *words], top, stdin=paths)).split("\0")
    named: dict[str, list[str]] = {}
    for path, value in zip(parts[::3], parts[2::3], strict=False):
        if value not in ("unspecified", "unset", "set"):
            named.setdefault(value, []).append(path)
    return named


def _persons_attributes(top: Path) -> list[str]:
    named = settings_of(top, "core.attributesFile", kind="path")
    return ["-c", f"core.attributesFile={named}"] if named else []


def _text(file: Path) -> str:
    try:
        return file.read_text("utf-8", "surrogateescape")
    except OSError:
        return ""
