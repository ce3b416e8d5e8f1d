"""Two sessions in words, for `hansard diff`: where they part, and what `hansard show` says differently of them."""

from typing import Final

from api.cli.client import Json
from api.cli.discussed import Pairs
from api.cli.showing import shown
from api.cli.terminal import put, put_pairs, shortened

_WIDTH: Final = 100
"""Cells of a terminal that a line of a field takes at most; `hansard show` has the whole."""
_LINES: Final = 6
_OWN: Final = frozenset({"session", "parent", "discussed in", "workspace", "created", "updated", "version", "can now"})
"""What any two sessions have of their own."""


def put_parting(parting: Json | None) -> None:
    """The first event of each that the other does not have."""
    if parting is None:
        put("They say the same things.")
        return
    for name in ("a", "b"):
        event = parting[name]
        words = f"version {event['version']}, {event['type']}: {event['message']}" if event else "nothing more"
        put(f"{name}: {shortened(words, _WIDTH)}")


def put_sides(one: Json, other: Json, cost: Json) -> None:
    """Every field of which they say different things, that of `a` above that of `b`."""
    sides = dict(shown(one, [])), dict(shown(other, []))
    tokens = [cost[name]["tokens"] for name in ("a", "b")]
    spent: Pairs = [("tokens", _beside(*("" if used is None else f"{used:,}" for used in tokens)))]
    names = [name for name in dict.fromkeys((*sides[0], *sides[1])) if name not in _OWN]
    told = [(name, _beside(sides[0].get(name, ""), sides[1].get(name, ""))) for name in names]
    put_pairs([("session", _beside(one["id"], other["id"])), *told, *spent])


def _beside(one: str, other: str) -> str:
    """Both, or nothing where they are the same."""
    return "" if one == other else f"a  {_cut(one)}\nb  {_cut(other)}"


def _cut(text: str) -> str:
    """Its first lines, further ones below the first, each as far as it fits."""
    lines = text.rstrip().splitlines() or ["-"]
    more = [f"(and {len(lines) - _LINES} more lines)"] if len(lines) > _LINES else []
    return "\n   ".join([*(shortened(line, _WIDTH) for line in lines[:_LINES]), *more])
