"""The house does not become heavier: its measures, a little above what they are. The numbers only go down."""

import pytest

from tests.scans import house

UNTYPED = {"api/cli": 40, "api/web": 51}
"""Objects without types; the API's answers have types in `api.cli.answers`. Left in the command line: what programs of
others say, what is signed, and the fields of an event; on the page: what programs and forms send, and answers
of agents."""
LATE_IMPORTS = {"domain": 1, "adapters": 17, "projections": 1, "api": 60}
"""Imports in functions. A short command starts without what it may not need: `--help` imports nothing of the rooms, and
`list`, `show` and `inbox` read files without the application. A server starts the parts that its settings name, and
packages of others are imported where an agent or a database needs them."""
INTERPRETERS = 9
"""Files that interpret one event, the failed attempt of a turn: kinds, views and reports have cases of their own."""
VERBAL_NAMES = 5
QUESTIONS = 49
"""Docstrings that begin with a question word: only models, whose docstrings are descriptions in the API's document."""
UNRELATED = {
    "adapters/agents/prompts/context.py": "tables of words, each used by one function",
    "api/cli/answers.py": "written from the API's document, in its order",
    "api/cli/options.py": "options that commands share",
    "domain/session/revisions.py": "a change request, and the command that makes it",
    "domain/session/workspace.py": "a workspace's changes, and the events that say so",
    "domain/values/base.py": "what every value and every error is made of",
}
"""Files with unrelated parts, and why they are one file all the same."""
OTHERS = 0


@pytest.mark.parametrize("folder", UNTYPED)
def test_no_further_object_has_no_type(folder: str) -> None:
    assert house.untyped(folder) <= UNTYPED[folder]


@pytest.mark.parametrize("room", LATE_IMPORTS)
def test_no_further_import_is_in_a_function(room: str) -> None:
    late = {name: number for name, number in house.late_imports().items() if name.startswith(f"{room}/")}
    assert sum(late.values()) <= LATE_IMPORTS[room], late


def test_no_further_file_interprets_a_failed_attempt() -> None:
    assert len(house.interpreters("TurnAttemptFailed")) <= INTERPRETERS, house.interpreters("TurnAttemptFailed")


def test_no_further_module_is_called_after_something_done() -> None:
    assert len(house.verbal_names()) <= VERBAL_NAMES, house.verbal_names()


def test_no_further_docstring_begins_with_a_question_word() -> None:
    assert len(house.questions()) <= QUESTIONS


def test_no_further_file_has_parts_that_never_name_each_other() -> None:
    others = house.unrelated().keys() - UNRELATED.keys()
    assert len(others) <= OTHERS, others


def test_the_measures_see_what_they_measure() -> None:
    assert house.untyped("tests/scans") > 0
    assert "api/cli/main.py" in house.late_imports()
    assert "api/cli/options.py" in house.unrelated()
    assert "adapters/agents/scripted.py" in house.verbal_names()
