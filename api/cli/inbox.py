"""`inbox`: what waits for a person. Where the views are up to date it reads them itself: nothing heavy is imported."""

import json as encoding
import sqlite3
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from cyclopts.types import PositiveInt

from api.cli import exits
from api.cli.direct import are_current, read_directly
from api.cli.discussion import approval, progress
from api.cli.extension import extension
from api.cli.labels import recorded, sentence, verdict
from api.cli.options import HERE, AsJson, Json, Where
from api.cli.terminal import local_time, put_json, put_table, say, shortened

if TYPE_CHECKING:
    from api.cli.client import Api

_NEXT: Final = {
    "decision": "hansard decide SESSION CHOICE",
    "permission": "hansard allow SESSION     hansard deny SESSION",
    "scope": "hansard allow SESSION     hansard deny SESSION",
    "checkpoint": "hansard continue SESSION     hansard reset SESSION",
    "partial": "hansard continue SESSION     hansard reset SESSION",
    "failed": "hansard retry SESSION",
    "landing": "hansard land SESSION     hansard run --fix SESSION",
}
"""The command that answers what a session waits for."""


_QUESTION: Final = 300
"""Characters of an agent's question; `hansard show` has all of it."""
_ALONE: Final = (["extend"], ["retry"], ["land"])
"""Choices of what stopped: what rejected its work, or made it fail, is part of the reason."""
_MOST: Final = 200
_WAITING: Final = (
    "SELECT waiting, session_id, waits_for, since, choices, parent, title, feedback, cause, summary,"
    " summary_sentence, checked, policy FROM overview WHERE waiting > 0 ORDER BY waiting LIMIT ?"
)
_ASKED: Final = (
    "SELECT asked.position, asked.session_id, asked.since, parent, overview.title, agent, tool, asked.title, policy"
    " FROM overview_questions AS asked JOIN overview USING (session_id) ORDER BY asked.position LIMIT ?"
)


def inbox(*, limit: PositiveInt = 50, json: AsJson = False, where: Where = HERE) -> int:
    """List what waits for you, oldest first.

    Parameters
    ----------
    limit
        Maximum number of items [default: 50].
    """
    oldest = None if json or limit >= _MOST else read_directly(where, lambda log, db: _oldest(log, db, limit + 1))
    if oldest is not None:
        _show(oldest[:limit], more=len(oldest) > limit)
        return exits.OK
    import asyncio  # half of what this command takes otherwise

    items, more = asyncio.run(_ask(where, limit))
    if json:
        put_json({"items": items, "nextCursor": more})
    else:
        _show(items, more=more is not None)
    return exits.OK


async def _ask(where: Where, limit: int) -> tuple[list[Json], str | None]:
    """What waits, and the cursor after it."""
    from api.cli.client import connected

    async with connected(where) as api:
        return await api.pages("/api/decisions", limit=limit)


def _oldest(log: sqlite3.Connection, views: sqlite3.Connection, limit: int) -> list[Json] | None:
    """What waits, as far as a table shows it. None where the views cannot say, or where several people decide."""
    if not are_current(log, views):
        return None
    waiting, questions = views.execute(_WAITING, [limit]).fetchall(), views.execute(_ASKED, [limit]).fetchall()
    if any(row[-1] is not None for row in (*waiting, *questions)):
        return None
    items = [(row[0], _waits(*row[1:-1])) for row in waiting] + [(row[0], _asks(*row[1:-1])) for row in questions]
    return [item for _, item in sorted(items, key=lambda placed: placed[0])[:limit]]


def _waits(
    session_id: str,
    waits_for: str,
    since: int,
    choices: str | None,
    parent: str | None,
    title: str,
    feedback: str | None,
    cause: str | None,
    summary: str | None,
    sentence_data: str | None,
    checked: str | None,
) -> Json:
    from projections.record.status import why

    return {
        "sessionId": session_id,
        "waitsFor": waits_for,
        "since": _instant(since),
        "choices": encoding.loads(choices or "[]"),
        "parent": parent,
        "title": title,
        "feedback": encoding.loads(feedback) if feedback and waits_for == "decision" else None,
        "cause": cause,
        "why": why(cause),
        "summary": summary,
        "summarySentence": encoding.loads(sentence_data) if sentence_data else None,
        "notes": _open_points(checked, waits_for),
    }


def _open_points(checked: str | None, waits_for: str) -> list[Json]:
    from projections.sessions.open_points import open_points

    points = open_points(checked, waits_for)
    if not points:
        return []
    from domain.values.sentences import Sentence

    return [{"text": str(Sentence(code, **params)), "code": code, "params": params} for code, params in points]


def _asks(session_id: str, since: int, parent: str | None, title: str, agent: str, tool: str, question: str) -> Json:
    return {
        "sessionId": session_id,
        "waitsFor": "permission",
        "since": _instant(since),
        "choices": ["allow", "deny"],
        "parent": parent,
        "title": title,
        "question": question,
        "agent": agent,
        "summary": f"{tool}: {question}",
    }


def _instant(milliseconds: int) -> str:
    return datetime.fromtimestamp(milliseconds / 1000, UTC).isoformat()


def _show(items: list[Json], *, more: bool) -> None:
    if not items:
        say(sentence("Nothing is waiting for you."))
        return
    from rich.cells import set_cell_size

    put_table(("SESSION", "WAITS FOR", "SINCE", "CHOICES", "OF", "TITLE", "WHY"), [_row(item) for item in items])
    say(sentence("For details: `hansard show SESSION`. Next:"))
    for need, step in dict.fromkeys((str(item["waitsFor"]), _next(item)) for item in _one_of_each(items)):
        say(f"  {set_cell_size(recorded('inbox_kind', need), 10)}  {step}")
    if more:
        say(sentence("Showing the oldest {n}; use --limit for more.", n=len(items)))


def _one_of_each(items: list[Json]) -> list[Json]:
    """The oldest item of each need; of those without budget, the oldest for each amount that is used up."""
    oldest: dict[tuple[str, str], Json] = {}
    for item in items:
        need = str(item["waitsFor"])
        oldest.setdefault((need, str(item.get("cause")) if need == "budget" else ""), item)
    return list(oldest.values())


def _next(item: Json) -> str:
    """The command that answers what waits."""
    if item["waitsFor"] == "budget":
        return extension(str(item["sessionId"]), item.get("cause"))
    return _NEXT.get(str(item["waitsFor"]), "hansard show SESSION")


def _row(item: Json) -> list[str]:
    typed = item["waitsFor"] == "decision"  # `decide` takes these words, whatever the language
    choices = " | ".join(str(each) if typed else recorded("choice", str(each)) for each in item.get("choices") or ())
    judged = verdict(str((item.get("feedback") or {}).get("verdict") or ""))
    title = f"{judged}: {item.get('title')}" if judged else str(item.get("title") or "")
    since, parent = local_time(item.get("since")), str(item.get("parent") or "")
    notes = [exits.worded({"note": note["text"], "noteSentence": note}, "note") for note in item.get("notes") or ()]
    why = " ".join(filter(None, (_why(item), approval(item).replace("\n", "; "), *notes)))
    need = recorded("inbox_kind", str(item["waitsFor"]))
    return [str(item["sessionId"]), need, since, choices, parent, title, why]


def _why(item: Json) -> str:
    """The question of an agent; or why the session waits, with what rejected its work where its budget is used up."""
    if item.get("question"):
        return shortened(f"{item['agent']}: {item['summary']}", _QUESTION)
    why, rejected = str(item.get("why") or ""), exits.worded(item, "summary")
    if item.get("cause"):
        worded = recorded("waits_because", str(item["cause"]))
        why = why if worded == item["cause"] else worded
    first = rejected.partition("\n")[0]
    if item.get("choices") == ["retry"] and item.get("summarySentence"):
        return first
    return f"{why} {first}" if rejected and item.get("choices") in _ALONE else why


# Decisions that several people make: what they have seen, and the votes so far.

_DIGEST: Final = 64
_SHORTEST: Final = 8


async def whole_digest(api: "Api", session_id: str, begun: str) -> str:
    """The digest that begins like this, if what waits now has it; else as it was given, which the server refuses."""
    if len(begun) >= _DIGEST or len(begun) < _SHORTEST:
        return begun
    for session in await _discussions(api, session_id):
        if str(session.get("seen") or "").startswith(begun):
            return str(session["seen"])
    return begun.ljust(_DIGEST, "0")


async def votes_missing(api: "Api", session_id: str, choice: str) -> bool:
    """Whether more people have to choose the same; says how many."""
    session: Json = (await api.session(session_id))["session"]
    policy = session.get("approval")
    if not policy:
        return False
    say(
        sentence(
            "Voted: {choice} for {session_id}. {policy}.", choice=choice, session_id=session_id, policy=progress(policy)
        )
    )
    return True


async def _discussions(api: "Api", session_id: str) -> list[Json]:
    """The session itself, and what it waits for."""
    session: Json = (await api.session(session_id))["session"]
    return [session, *[(await api.session(str(child)))["session"] for child in session.get("children") or ()]]
