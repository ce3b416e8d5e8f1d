"""`hansard diff`: where two sessions part, side by side."""

from typing import TYPE_CHECKING, Annotated, Final

from cyclopts import Parameter
from cyclopts.types import PositiveInt

from api.cli import exits
from api.cli.client import Api, connected, path_of, resolve
from api.cli.discussion import Pairs
from api.cli.labels import sentence
from api.cli.options import HERE, AsJson, Id, Where
from api.cli.progress import describe
from api.cli.session import details, more_lines
from api.cli.tables import put_pairs, shortened
from api.cli.terminal import put, put_json

if TYPE_CHECKING:
    from api.cli.answers import Cost, Diff, Divergence, Session


async def diff(
    first: Id,
    second: Id,
    /,
    *,
    at_first: Annotated[PositiveInt | None, Parameter(name="--at-a")] = None,
    at_second: Annotated[PositiveInt | None, Parameter(name="--at-b")] = None,
    json: AsJson = False,
    where: Where = HERE,
) -> int:
    """Show where two sessions diverge and how each ended.

    Parameters
    ----------
    at_first
        The first session at this version.
    at_second
        The second session at this version.
    """
    async with connected(where) as api:
        one, other = await resolve(api, first), await resolve(api, second)
        answer: Diff = await api.get(f"{path_of(one)}/diff/{other}", atA=at_first, atB=at_second)
        ours, theirs = await api.session(one, at=at_first), await api.session(other, at=at_second)
        first_apart = await _first_apart(api, (one, other), answer["firstDivergence"])
    if json:
        put_json(answer)
        return exits.OK
    put("\n".join(first_apart))
    _put_sides(ours["session"], theirs["session"], answer["cost"])
    return exits.OK


_WIDTH: Final = 100
"""Cells of a terminal that a line of a field takes at most; `hansard show` has the whole."""

_DIFF_LINES: Final = 6

_OWN: Final = frozenset({"session", "parent", "discussed in", "workspace", "created", "updated", "version", "can now"})
"""What any two sessions have of their own."""


async def _first_apart(api: Api, sessions: tuple[str, str], divergence: "Divergence | None") -> list[str]:
    """The first event of each that the other does not have, a line each."""
    if divergence is None:
        return [sentence("Both have the same events.")]
    lines = []
    for name, session_id, at in zip("ab", sessions, (divergence["a"], divergence["b"]), strict=True):
        words = sentence("nothing more")
        if at:
            [event] = await api.events(session_id, after=at["version"] - 1, limit=1)
            words = f"{sentence('version {n}', n=event['version'])}, {event['type']}: {describe(event)}"
        lines.append(f"{name}: {shortened(words, _WIDTH)}")
    return lines


def _put_sides(one: "Session", other: "Session", cost: "Cost") -> None:
    """Every field of which they say different things, that of `a` above that of `b`."""
    sides = dict(details(one, [])), dict(details(other, []))
    tokens = [cost["a"]["tokens"], cost["b"]["tokens"]]
    spent: Pairs = [("tokens", _beside(*("" if used is None else f"{used:,}" for used in tokens)))]
    names = [name for name in dict.fromkeys((*sides[0], *sides[1])) if name not in _OWN]
    rows = [(name, _beside(sides[0].get(name, ""), sides[1].get(name, ""))) for name in names]
    put_pairs([("session", _beside(one["id"], other["id"])), *rows, *spent])


def _beside(one: str, other: str) -> str:
    return "" if one == other else f"a  {_cut(one)}\nb  {_cut(other)}"


def _cut(text: str) -> str:
    lines = text.rstrip().splitlines() or ["-"]
    more = [more_lines(len(lines) - _DIFF_LINES)] if len(lines) > _DIFF_LINES else []
    return "\n   ".join([*(shortened(line, _WIDTH) for line in lines[:_DIFF_LINES]), *more])
