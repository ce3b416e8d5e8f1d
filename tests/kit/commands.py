"""The command line in this process: what `python -m api` does, without waiting for another Python to start.

How the program treats its streams, signals and terminal is tested with the program itself, in `tests/api/test_cli.py`.
"""

import contextlib
import io
import os
from collections.abc import Mapping
from typing import NamedTuple
from unittest.mock import patch

from api.cli.main import carry_out
from tests.kit.surroundings import without_settings


class Done(NamedTuple):
    """What a command left behind, with the names that `subprocess.CompletedProcess` has."""

    returncode: int
    stdout: str
    stderr: str


def command(*words: str, env: Mapping[str, str]) -> Done:
    """Run a command with these settings and no other ones."""
    kept = without_settings()
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2))
    with (
        patch.dict(os.environ, kept | dict(env), clear=True),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        code = carry_out(words)
    return Done(code, *(_read(stream) for stream in (out, err)))


def _read(stream: io.TextIOWrapper) -> str:
    stream.seek(0)
    return stream.read()
