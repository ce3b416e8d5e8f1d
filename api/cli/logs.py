"""What a process that stays logs to stderr: with the tracebacks that its answers keep to themselves."""

import logging

from api.cli.terminal import visible


class _Visible(logging.Formatter):
    """Requests and agents' words are other people's words."""

    def format(self, record: logging.LogRecord) -> str:
        return visible(super().format(record))


def log_everything() -> None:
    """Warnings and errors, each with its time."""
    handler = logging.StreamHandler()
    handler.setFormatter(_Visible("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
