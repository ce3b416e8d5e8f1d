"""`hansard blame`: which turn of which session wrote each line of a file."""

from typing import TYPE_CHECKING, Annotated, Final

from cyclopts import Parameter

from api.cli import exits
from api.cli.client import connected
from api.cli.exits import Failed
from api.cli.file_here import file_here
from api.cli.labels import sentence
from api.cli.options import HERE, AsJson, Where
from api.cli.tables import aligned, shortened
from api.cli.terminal import put, put_json, visible

if TYPE_CHECKING:
    from api.cli.answers import BlameLine


_TITLE: Final = 40
"""Cells of a finding's title."""


async def blame(
    place: Annotated[str, Parameter(help="A file, or one line of it: src/a.py or src/a.py:12.")],
    /,
    *,
    at: Annotated[str, Parameter(help="A branch or commit; the one that is checked out by default.")] = "HEAD",
    json: AsJson = False,
    where: Where = HERE,
) -> int:
    """Show which turn wrote each line of a file, as of the last commit.

    Lines without a session were not written by a recorded agent.
    """
    name, _, number = place.rpartition(":")
    path, line = (name, int(number)) if name and number.isdecimal() else (place, None)
    top, inside = file_here(path)
    async with connected(where) as api:
        lines = await api.values("/api/blame", repository=str(top), path=inside, revision=at)
    lines = [each for each in lines if line in (None, each["line"])]
    if not lines:
        raise Failed(sentence("{path} has no line {line}.", path=path, line=line), code=exits.NOT_FOUND)
    if json:
        put_json(lines)
    else:
        for row, each in zip(aligned([_row(each) for each in lines]), lines, strict=True):
            put("  ".join([*row[:-1], visible(each["text"])]).rstrip())
    return exits.OK


def _row(line: "BlameLine") -> list[str]:
    who = f"{line['agent']} {line['turn']}" if line["session"] else ""
    why = shortened(line["demandedBy"]["title"], _TITLE) if line["demandedBy"] else ""
    approved = f"✓ {line['approvedBy']['actor'].partition(':')[2]}" if line["approvedBy"] else ""
    return [str(line["line"]), line["commit"][:8], who, why, approved, ""]
