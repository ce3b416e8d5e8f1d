"""`api/cli/answers.py`, made from the API's document: `python -m tests.docs.typed_answers` writes it."""

import ast
import json
import keyword
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
PLACE = ROOT / "api" / "cli" / "answers.py"
COMMAND = ".venv/bin/python -m tests.docs.typed_answers"

READ = (
    *("ActivityList", "BlameLine", "ChangesView", "ChannelView", "CommentPage", "Cut", "DecisionPage", "Diff"),
    *("EventPage", "Explanation", "FindingsView", "LabAnswer", "MessageAnswer", "ProblemDetails", "Readiness"),
    *("Receipt", "RedactionAnswer", "ReplayAnswer", "ReviewMapView", "SessionAnswer", "SessionPage"),
    "TrustedSettings",
)
"""The answers that commands read."""
ADDED = {"TurnView": {"queued": "NotRequired[str]"}}
"""What a command adds to an answer before it words it: why nothing works on a turn."""
HEAD = f'''"""The answers of the API as commands read them: the fields that they read, with their types.

Written by `{COMMAND}` from `docs/openapi.json`; a test compares.
Commands read the JSON itself and no models: that takes no time at the start, and what a newer server adds goes through
to `--json`. A session has the fields of its kind. Its length is that of the API.
"""

from __future__ import annotations

from typing import Any, NotRequired, TypedDict

'''

Schema = Mapping[str, Any]
_PLAIN = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}


def document() -> str:
    """The whole file."""
    schemas: Schema = json.loads((ROOT / "docs" / "openapi.json").read_text("utf-8"))["components"]["schemas"]
    words = _words()
    fields = {name: types_of(schemas, name, words) for name in _reachable(schemas, words)}
    bodies = (_class(name, own) for name, own in sorted(fields.items(), key=lambda each: each[0]))
    source = HEAD + "\n\n".join(bodies)
    command = [sys.executable, "-m", "ruff", "format", "--stdin-filename", str(PLACE), "-"]
    return subprocess.run(command, input=source, cwd=ROOT, check=True, capture_output=True, text=True).stdout


def _words() -> frozenset[str]:
    """All strings in the commands: what is none of them is a field that no command reads."""
    trees = (ast.parse(path.read_text("utf-8")) for path in (ROOT / "api" / "cli").rglob("*.py") if path != PLACE)
    return frozenset(
        node.value
        for tree in trees
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    )


def _reachable(schemas: Schema, words: frozenset[str]) -> list[str]:
    found: list[str] = []
    left = list(READ)
    while left:
        name = left.pop()
        if name in found:
            continue
        found.append(name)
        types = " ".join(types_of(schemas, name, words).values())
        left += [other for other in re.findall(r"[A-Za-z]\w*", types) if other in schemas]
    return found


def types_of(schemas: Schema, name: str, words: frozenset[str] | None) -> dict[str, str]:
    """The fields of an answer that commands read (None: all of them), each with its type."""
    schema = schemas[name]
    if name == "Event":
        return {**types_of(schemas, "Envelope", words), "type": "str", "data": "dict[str, Any]"}
    kinds = [schemas[_named(each)] for each in schema["oneOf"]] if "oneOf" in schema else [schema]
    types: dict[str, list[str]] = {}
    for kind in kinds:
        for field, of_field in kind["properties"].items():
            if words is None or field in words:
                types.setdefault(field, []).append(_type(of_field))
    result = {}
    for field, every in types.items():
        whole = _union(every)
        is_required = len(every) == len(kinds) and all(field in kind.get("required", ()) for kind in kinds)
        result[field] = whole if is_required else f"NotRequired[{whole}]"
    return result | ADDED.get(name, {})


def _type(schema: Schema) -> str:
    match schema:
        case {"$ref": _}:
            return _named(schema)
        case {"anyOf": few} | {"oneOf": few}:
            return _union([_type(each) for each in few])
        case {"const": value}:
            return type(value).__name__
        case {"enum": values}:
            return "str" if all(isinstance(value, str) for value in values) else "Any"
        case {"type": "array", "items": items}:
            return f"list[{_type(items)}]"
        case {"type": "object", "additionalProperties": dict() as values} if values:
            return f"dict[str, {_type(values)}]"
        case {"type": [*several]}:
            return _union([_PLAIN[one] for one in several])
        case {"type": str() as one} if one in _PLAIN:
            return _PLAIN[one]
        case _:
            return "Any"


def _union(types: Sequence[str]) -> str:
    parts = dict.fromkeys(part for each in types for part in _parts(each))
    if "Any" in parts:
        return "Any"
    return " | ".join(sorted(parts, key=lambda part: part == "None"))


def _parts(whole: str) -> Iterator[str]:
    """The alternatives of a type, which may have brackets with alternatives in them."""
    depth, begin = 0, 0
    for place, mark in enumerate(whole):
        depth += (mark == "[") - (mark == "]")
        if mark == "|" and not depth:
            yield whole[begin:place].strip()
            begin = place + 1
    yield whole[begin:].strip()


def _named(reference: Schema) -> str:
    return str(reference["$ref"]).rpartition("/")[2]


def _class(name: str, fields: Mapping[str, str]) -> str:
    """A class; with brackets where a field is called as a word of Python, such as `from`."""
    if any(map(keyword.iskeyword, fields)):
        pairs = ", ".join(f"{field!r}: {kind!r}" for field, kind in fields.items())
        return f"{name} = TypedDict({name!r}, {{{pairs}}})\n"
    lines = [f"    {field}: {kind}" for field, kind in fields.items()]
    return "\n".join([f"class {name}(TypedDict):", *(lines or ["    pass"]), ""])


if __name__ == "__main__":
    PLACE.write_text(document(), "utf-8")
