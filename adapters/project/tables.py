"""Reads settings of other tools; what cannot be read counts as empty, since these files are not ours."""

import json
import tomllib
from collections.abc import Mapping
from pathlib import Path

from adapters.files import beginning


def toml(path: Path) -> Mapping[str, object]:
    """The table in the file; empty if there is none."""
    try:
        return tomllib.loads(beginning(path))
    except (ValueError, RecursionError):
        return {}


def json_object(path: Path) -> Mapping[str, object]:
    """The object in the file; empty if there is none."""
    try:
        content = json.loads(beginning(path) or "{}")
    except (ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}
