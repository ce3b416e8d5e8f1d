"""`hansard trace`: where each line of a result comes from, in a format that other tools read."""

import hashlib
import uuid
from collections.abc import Iterable, Iterator
from importlib.metadata import version
from itertools import groupby
from typing import TYPE_CHECKING, Final

from api.cli import exits
from api.cli.client import Api, connected, resolve
from api.cli.exits import Failed
from api.cli.labels import sentence
from api.cli.options import HERE, AlwaysJson, Fields, Id, Where
from api.cli.terminal import put_json, say, visible_name

if TYPE_CHECKING:
    from api.cli.answers import BlameLine, ResultView, Session

TRACE_VERSION: Final = "0.1.0"
_TRACES: Final = uuid.UUID("6f1c6a55-5a0b-4f0e-9d5e-0d1f2f3a4b5c")


async def trace(session: Id, /, *, json: AlwaysJson = False, where: Where = HERE) -> int:
    """Print an Agent Trace record of a session's result: which lines an agent wrote, with the model and the turn."""
    async with connected(where) as api:
        session_row = (await api.session(await resolve(api, session)))["session"]
        result = session_row.get("result")
        if not result:
            raise Failed(sentence("Session {id} has changed nothing.", id=session_row["id"]), code=exits.REFUSED)
        if result["repository"] is None:
            raise Failed(
                sentence("Session {id} did not work in a git repository.", id=session_row["id"]), code=exits.REFUSED
            )
        if result["branch"] is None:
            raise Failed(
                sentence("Session {id} has no branch whose lines could be traced.", id=session_row["id"]),
                code=exits.REFUSED,
            )
        put_json(await _record(api, session_row, result))
    return exits.OK


async def _record(api: Api, session: "Session", result: "ResultView") -> Fields:

    files = []
    for path, lines in (await _blamed(api, result)).items():
        conversations = [_conversation(turn, own) for turn, own in _turns(lines, session["id"])]
        if conversations:
            files.append({"path": path, "conversations": conversations})
    return {
        "version": TRACE_VERSION,
        "id": str(uuid.uuid5(_TRACES, f"{session['id']}:{result['head']}")),
        "timestamp": session["updatedAt"],
        "vcs": {"type": "git", "revision": result["head"]},
        "tool": {"name": "hansard", "version": version("hansard")},
        "files": files,
        "metadata": {"hansard": {"session": session["id"], "status": session["status"], "base": result["base"]}},
    }


async def _blamed(api: Api, result: "ResultView") -> "dict[str, list[BlameLine]]":
    """The lines of each file. One that is too large, or has a name that is not UTF-8, is named and left out. Raises
    Failed if there is none that can be read: then it is not the file's fault."""
    blamed: dict[str, list[BlameLine]] = {}
    problems: dict[str, Failed] = {}
    for path in (file["path"] for file in result["files"] if file["status"] != "deleted"):
        try:
            blamed[path] = await api.values(
                "/api/blame", repository=result["repository"], path=path, revision=result["head"]
            )
        except Failed as error:
            problems[path] = error
    if problems and not blamed:
        raise next(iter(problems.values()))
    for path, problem in problems.items():
        say(sentence("Left out: {path} ({problem})", path=visible_name(path), problem=" ".join(problem.sentences)))
    return blamed


def _turns(lines: "Iterable[BlameLine]", session: str) -> "Iterator[tuple[BlameLine, list[BlameLine]]]":
    """Each turn of the session by its first line, and all of its lines."""
    own = sorted((line for line in lines if line["session"] == session), key=lambda line: (line["turn"], line["line"]))
    for _, group in groupby(own, key=lambda line: line["turn"]):
        turn = list(group)
        yield turn[0], turn


def _conversation(turn: "BlameLine", lines: "list[BlameLine]") -> Fields:
    contributor = {"type": "ai"} | ({"model_id": turn["model"]} if turn["model"] else {})
    place = f"hansard:{turn['session']}"
    return {
        "url": f"{place}/{turn['turn']}",
        "contributor": contributor,
        "ranges": [_range(run) for run in _runs(lines)],
        "related": [{"type": kind, "url": f"{place}#{version}"} for kind, version in _related(turn) if version],
    }


def _related(turn: "BlameLine") -> "Iterator[tuple[str, int | None]]":
    """The events that the turn rests on: what demanded it, checked it and approved it."""
    demand, approval = turn["demandedBy"], turn["approvedBy"]
    yield "review", demand and demand["version"]
    yield "validation", turn["validatedBy"]
    yield "approval", approval and approval["version"]


def _runs(lines: "list[BlameLine]") -> "Iterator[list[BlameLine]]":
    """Lines that follow each other."""
    for _, run in groupby(enumerate(lines), key=lambda entry: entry[1]["line"] - entry[0]):
        yield [line for _, line in run]


def _range(run: "list[BlameLine]") -> Fields:
    content = "\n".join(line["text"] for line in run)
    digest = hashlib.sha256(content.encode(errors="surrogateescape")).hexdigest()
    return {"start_line": run[0]["line"], "end_line": run[-1]["line"], "content_hash": f"sha256:{digest}"}


# `blame`: which turn wrote each line of a file, why, and who approved it.
