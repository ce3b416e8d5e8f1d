"""The tree of errors in the docstring of `HansardError` is the one of the code."""

import ast
import re

from domain.values.base import HansardError
from tests.scans.sources import ROOMS, files, nodes

ROOT = "HansardError"
_NAME = re.compile(r"[A-Z]\w+")


def drawn() -> set[tuple[str, str]]:
    """Each error with the one that it is drawn below."""
    lines = (HansardError.__doc__ or "").splitlines()
    above, edges = [ROOT], set()
    for line in lines[[line.strip() for line in lines].index(ROOT) + 1 :]:
        branch, mark, rest = line.partition("─ ")
        if not mark:
            continue
        depth = (len(branch.strip(" ").rstrip("─├└")) + 3) // 4 + 1 if "│" in branch else 1
        names = _NAME.findall(re.split(r"\s{2,}", rest)[0])
        edges |= {(name, above[depth - 1]) for name in names}
        above[depth:] = names[-1:]
    return edges


def existing() -> set[tuple[str, str]]:
    """Each error of the product with the one that it is a kind of."""
    bases: dict[str, set[str]] = {}
    for room in ROOMS:
        for path in files(room):
            for node in nodes(path):
                if isinstance(node, ast.ClassDef):
                    bases[node.name] = bases.get(node.name, set()) | {
                        ast.unparse(base).rpartition(".")[2] for base in node.bases
                    }
    known, edges = {ROOT}, set[tuple[str, str]]()
    while found := {(name, base) for name, each in bases.items() for base in each & known} - edges:
        edges |= found
        known |= {name for name, _ in found}
    return edges


def test_the_tree_of_errors_is_drawn_as_it_is() -> None:
    assert drawn() == existing()
