"""Default paths on this machine. Imports little, so that a command that only lists sessions starts fast."""

import hashlib
import os
from pathlib import Path


def data_home() -> Path:
    """The user's data directory (XDG), ours below it."""
    base = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(base) / "hansard"


def state_home() -> Path:
    """The user's folder for what a machine can make again (XDG), ours below it."""
    base = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(base) / "hansard"


def default_log() -> Path:
    """The default path of the log."""
    return data_home() / "hansard.db"


def node_folder(place: str, name: str) -> Path:
    """The folder for what belongs to this machine, for the log at a place. Each log has its own."""
    return state_home() / f"{name}-{hashlib.sha256(place.encode()).hexdigest()[:12]}"


def views_of(node: Path) -> Path:
    return node / "views" / "views.db"


def search_of(node: Path) -> Path:
    return node / "views" / "search.db"
