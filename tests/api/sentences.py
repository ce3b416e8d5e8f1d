"""Every sentence with which our source refuses something, read out of the source itself: what it fills in is a 7."""

import ast
import importlib
from collections.abc import Iterator
from functools import cached_property
from itertools import product
from pathlib import Path

ROOT = Path(__file__).parents[2]
FILLED = "7"
"""Stands for what is only known when it happens: it may be a number, a name or a list of one."""
SAID = {
    **dict.fromkeys(("Refused", "Unknown", "Malformed", "WorkspaceError", "ValueError", "Busy", "KeyReused"), 0),
    **dict.fromkeys(("Conflict", "Fenced", "StoreError", "ViewsUnavailable", "Moved", "Invalid"), 0),
    **dict.fromkeys(("Broken", "ViewsBroken"), 0),
    **dict.fromkeys(("Problem", "invalid", "refusal", "told", "_told"), 1),
    "_through": 2,
}
"""Which argument of a call holds the sentence."""
VERDICTS = ("refusal", "_through")
"""Those that take a part of a sentence, which is said of a session."""
NAMED = {"sentence": "{}", "before": "{}", "behind": "{}", "verdict": "A delivery in the state running {}."}
"""Arguments by name that hold one, and what stands around it."""


class Source:
    """A module of ours as text."""

    def __init__(self, path: Path) -> None:
        self.path, self.tree = path, ast.parse(path.read_text("utf-8"))

    def sentences(self) -> Iterator[str]:
        for function, call in self._calls():
            name = call.func.id if isinstance(call.func, ast.Name) else getattr(call.func, "attr", "")
            place = SAID.get(name)
            if place is not None and len(call.args) > place:
                around = NAMED["verdict"] if name in VERDICTS else "{}"
                yield from (around.format(words) for words in self._of(call.args[place], function))
            for word in call.keywords:
                if word.arg in NAMED:
                    yield from (NAMED[word.arg].format(words) for words in self._of(word.value, function) if words)

    def _calls(self) -> Iterator[tuple[ast.AST, ast.Call]]:
        functions = [node for node in ast.walk(self.tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
        for function in functions:
            yield from ((function, node) for node in ast.walk(function) if isinstance(node, ast.Call))

    def _of(self, node: ast.expr | None, function: ast.AST) -> list[str]:
        """All that an expression can say; nothing where none of its words stand here."""
        match node:
            case ast.Constant(value=str(words)):
                return [words]
            case ast.JoinedStr(values=parts):
                return ["".join(found) for found in product(*(self._part(part, function) for part in parts))]
            case ast.IfExp(body=one, orelse=other):
                return [*self._of(one, function), *self._of(other, function)]
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                return ["".join(both) for both in product(self._of(left, function), self._of(right, function))]
            case ast.Dict(values=values):
                return [words for value in values for words in self._of(value, function)]
            case ast.DictComp(value=value):
                return self._of(value, function)
            case ast.Name(id=name):
                return self._named(name, function)
            case ast.Call(func=ast.Attribute(attr="fromkeys"), args=[_, value]):
                return self._of(value, function)
            case ast.Call(func=ast.Name(id=name)) if name in self._functions:
                called = self._functions[name]
                returned = [node for node in ast.walk(called) if isinstance(node, ast.Return)]
                return [words for each in returned for words in self._of(each.value, called)]
            case _:
                return []

    def _part(self, part: ast.expr, function: ast.AST) -> list[str]:
        if isinstance(part, ast.FormattedValue):
            plain = isinstance(part.value, ast.Name | ast.IfExp) and part.conversion == -1
            return (self._of(part.value, function) if plain else []) or [FILLED]
        return self._of(part, function)

    def _named(self, name: str, function: ast.AST) -> list[str]:
        """What a name is given in its function, or once and for all."""
        found: list[str] = []
        for node in ast.walk(function):
            match node:
                case ast.Assign(targets=[ast.Name(id=given)], value=value) if given == name:
                    found += self._of(value, function)
                case ast.Assign(targets=[ast.Subscript(value=ast.Name(id=given))], value=value) if given == name:
                    found += self._of(value, function)
        constant = getattr(self._module, name, None)
        return found or ([constant] if isinstance(constant, str) else [])

    @cached_property
    def _functions(self) -> dict[str, ast.FunctionDef]:
        return {node.name: node for node in ast.walk(self.tree) if isinstance(node, ast.FunctionDef)}

    @cached_property
    def _module(self) -> object:
        parts = self.path.relative_to(ROOT).with_suffix("").parts
        return importlib.import_module(".".join(part for part in parts if part != "__init__"))


def sentences(*patterns: str) -> set[str]:
    """Of all files that fit."""
    paths = sorted({path for pattern in patterns for path in ROOT.glob(pattern)})
    return {words for path in paths for words in Source(path).sentences()}
