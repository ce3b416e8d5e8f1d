"""`show`: a session. Where its answer was kept it is printed as it is: nothing heavy is imported."""

import json as encoding
import sqlite3
from typing import Final

from api.cli import exits
from api.cli.direct import are_current, read_directly
from api.cli.options import HERE, AsJson, At, Id, Json, Where
from api.cli.session import details
from api.cli.terminal import put_json, put_pairs
from api.node.local_files import answer_about

_NEWEST: Final = "SELECT session_id FROM overview ORDER BY created DESC LIMIT 1"
_BEGINNING: Final = (
    "SELECT session_id FROM overview WHERE substr(session_id, 1, length(:name)) = :name"
    " OR substr(session_id, instr(session_id, '-') + 1, length(:name)) = :name LIMIT 2"
)


def show(session: Id, /, *, at: At = None, json: AsJson = False, where: Where = HERE) -> int:
    """Show a session: its status, its result and the commands it allows now."""
    text = read_directly(where, lambda log, views: _look_up(log, views, session)) if at is None and session else None
    if text is None:
        import asyncio  # half of what this command takes otherwise

        answer = asyncio.run(_ask(where, session, at))
    else:
        answer = encoding.loads(text)
    if json:
        put_json(answer)
    else:
        put_pairs(details(answer["session"], answer.get("availableCommands") or []))
    return exits.OK


async def _ask(where: Where, name: str, at: int | None) -> Json:
    from api.cli.client import connected, resolve

    async with connected(where) as api:
        session_id = await resolve(api, name)
        answer = await api.session(session_id, at=at)
        if api.system is not None and at is None:
            from api.node.session_answers import AnswerKeeper

            AnswerKeeper(api.system).keep(session_id)
        return answer


def _look_up(log: sqlite3.Connection, views: sqlite3.Connection, name: str) -> str | None:
    """The answer about the session of this name; None if it was not kept, or if the name may mean another one."""
    answer = answer_about(log, views, name)
    if answer is not None or not are_current(log, views):
        return answer
    query = _NEWEST if name == "latest" else _BEGINNING
    ids = [str(row[0]) for row in views.execute(query, {"name": name} if query is _BEGINNING else ())]
    return answer_about(log, views, ids[0]) if len(ids) == 1 else None
