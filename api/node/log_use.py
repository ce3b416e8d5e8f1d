"""Tells others that this process uses the log, and looks whether the log may be used."""

from adapters.files import private_folder
from adapters.store.sqlite.soundness import LogUse
from api.node.settings import Settings


def log_use(settings: Settings) -> LogUse | None:
    """That this process uses the log, if that is a file. Raises Broken for a malformed one."""
    private_folder(settings.node_dir)
    if settings.log_file is None:
        return None
    return LogUse(settings.log_file, settings.node_dir)
