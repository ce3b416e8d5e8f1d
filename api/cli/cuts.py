"""`hansard cuts`: where a fork of a session can begin."""

from typing import TYPE_CHECKING

from api.cli import exits
from api.cli.client import Api, connected, path_of, resolve
from api.cli.labels import sentence
from api.cli.options import HERE, AsJson, At, Id, Where
from api.cli.tables import columns
from api.cli.terminal import one_line, put, put_json, visible

if TYPE_CHECKING:
    from api.cli.answers import Cut

_PAGE = 200


async def cuts(session: Id, /, *, at: At = None, json: AsJson = False, where: Where = HERE) -> int:
    """List the versions of a session at which a fork can begin, who is asked there, and what was answered."""
    async with connected(where) as api:
        session_id = await resolve(api, session)
        items: list[Cut] = []
        while page := await _after(api, session_id, items[-1]["version"] if items else 0, at):
            items += page
            if len(page) < _PAGE:
                break
    if json:
        put_json(items)
        return exits.OK
    put(columns([[str(each["version"]), _asks(each), _recorded(each)] for each in items]))
    return exits.OK


async def _after(api: Api, session_id: str, version: int, at: int | None) -> "list[Cut]":
    return await api.values(f"{path_of(session_id)}/cuts", after=version, limit=_PAGE, version=at)


def _asks(cut: "Cut") -> str:
    if cut["asks"] is None:
        return sentence("waits for a decision") if cut["needs"] else "-"
    return visible(f"{cut['asks']} ({cut['role']})")


def _recorded(cut: "Cut") -> str:
    return one_line(visible(str(cut["recorded"] or "")))[:60]
