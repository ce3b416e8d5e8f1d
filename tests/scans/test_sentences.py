"""Every sentence in the source has one code, and nothing parses a sentence."""

import ast
import re
from pathlib import Path

from domain.values.words import catalogue
from tests.scans.sources import ROOMS, calls, files

SOURCES = [path for room in ROOMS for path in files(room)]


def codes(path: Path) -> set[str]:
    """The codes that a source names in full."""
    named = [call.args[0] for name, call in calls(path) if name == "Sentence" and call.args]
    return {node.value for node in named if isinstance(node, ast.Constant)}


def test_every_code_of_the_source_is_in_the_catalogue() -> None:
    used = {code for path in SOURCES for code in codes(path)}
    known = catalogue("domain.values")
    assert len(used) > 100
    assert {code for code in used if "en" not in known.get(code, {})} == set()


def of_patterns(path: Path) -> set[str]:
    """Three words in a row of the regular expressions in a source."""
    patterns = [call.args[0] for name, call in calls(path) if name.startswith("re.") and call.args]
    constants = [node.value for each in patterns for node in ast.walk(each) if isinstance(node, ast.Constant)]
    words = " ".join(value for value in constants if isinstance(value, str))
    return set(re.findall(r"(?=(\b[A-Za-z]{2,} [a-z]{2,} [a-z]{2,}\b))", words))


def test_no_source_parses_a_sentence() -> None:
    rooms = ("domain.values", "projections.record", "api.web")
    sentences = "\n".join(both.get("en", "") for room in rooms for both in catalogue(room).values())
    assert {words for path in SOURCES for words in of_patterns(path) if words in sentences} == set()


def own_words(call: ast.Call) -> bool:
    """Whether the call says why in plain English of ours, which no reader could have in another language."""
    items = [*call.args, *(keyword.value for keyword in call.keywords)]
    texts = [node for each in items if not isinstance(each, ast.Call) for node in ast.walk(each)]
    plain = " ".join(node.value for node in texts if isinstance(node, ast.Constant) and isinstance(node.value, str))
    return re.search(r"[A-Za-z]{2,} [a-z]{2,}", plain) is not None


def test_every_reason_that_hansard_writes_itself_is_a_sentence() -> None:
    made = ("Failure", "Failure.of", "WorkspaceError", "Misreadable", "Finished")
    result = {
        f"{path.parent.name}/{path.name}:{node.lineno}"
        for path in SOURCES
        for name, node in calls(path)
        if name in made and own_words(node)
    }
    allowed = {
        "workspace/repository.py",
        "workspace/reuse.py",
        "processes/program.py",
    }  # no one reads these, or not as such
    assert {place for place in result if place.split(":")[0] not in allowed} == set()
