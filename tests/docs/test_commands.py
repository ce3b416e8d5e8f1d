"""Every command that a document shows says what the document shows."""

from pathlib import Path

import pytest

from tests.docs.commands import Terminal, documents, plain, programs_of, shown
from tests.kit.sweeps import NIGHTLY

LONG = {"audit.md", "provenance.md"}


@pytest.mark.parametrize(
    "path", [pytest.param(path, id=path.name, marks=NIGHTLY if path.name in LONG else ()) for path in documents()]
)
def test_the_commands_of_a_document_say_what_it_shows(path: Path, tmp_path: Path) -> None:
    """`python -m tests.docs.commands` writes what they say now."""
    terminal = Terminal(tmp_path, programs_of(path))
    for command, expected in shown(path.read_text("utf-8")):
        assert plain(terminal.says(command)) == plain(expected), command


def test_there_are_such_documents() -> None:
    assert {"audit.md", "first-task.md"} <= {path.name for path in documents()}
