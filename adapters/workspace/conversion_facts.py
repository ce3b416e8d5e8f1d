"""The attributes and settings by which a person's git converts files, as data that a workspace keeps from its start."""

import os
from pathlib import Path
from typing import Any

from adapters.workspace.git import in_theirs, settings_of


def conversion_of(top: Path, info: Path) -> dict[str, Any]:
    """What the person's git converts files by, beside the `.gitattributes` files: as data that can be kept."""
    named = settings_of(top, "core.attributesFile", kind="path")
    config = Path(os.environ.get("XDG_CONFIG_HOME") or Path(os.environ.get("HOME", "/nonexistent")) / ".config")
    filters: dict[str, dict[str, str]] = {}
    words = ["config", "-z", "--get-regexp", r"^filter\..*\.(clean|process)$"]
    for entry in os.fsdecode(in_theirs(words, top, codes=(0, 1))).split("\0"):
        key, _, command = entry.partition("\n")
        name, _, kind = key.removeprefix("filter.").rpartition(".")
        if name:
            filters.setdefault(name, {})[kind] = command
    return {
        "attributes": _text(info / "attributes"),
        "attributes_file": _text(Path(named) if named else config / "git" / "attributes"),
        "autocrlf": settings_of(top, "core.autocrlf") or "false",
        "eol": settings_of(top, "core.eol") or "native",
        "filters": filters,
    }


def _text(file: Path) -> str:
    try:
        return file.read_text("utf-8", "surrogateescape")
    except OSError:
        return ""
