"""`attest` and `trace`: where a result comes from, in formats that other tools read."""

import hashlib
import subprocess
import uuid
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

from cyclopts import Parameter

from api.cli import exits
from api.cli.client import Api, connected, resolve
from api.cli.exits import Failed
from api.cli.labels import sentence
from api.cli.log import Anyway, Database, find_stream, open_log, settings_of
from api.cli.options import HERE, AsJson, Id, Json, Where
from api.cli.terminal import aligned, put, put_json, say, shortened, visible, visible_name

if TYPE_CHECKING:
    from adapters.store.port import Log

TRACE_VERSION: Final = "0.1.0"
_TRACES: Final = uuid.UUID("6f1c6a55-5a0b-4f0e-9d5e-0d1f2f3a4b5c")


def attest(
    session: Annotated[str | None, Parameter(help="The session: an id, a unique prefix, or `latest`.")] = None,
    /,
    *,
    public_key: Annotated[bool, Parameter(help="Print the public key instead, as openssl reads it.")] = False,
    json: Anyway = False,
    database: Database = None,
) -> int:
    """Print a signed in-toto statement of a session's result: a DSSE envelope, Ed25519.

    It says which turns made the result, what they were asked, what was validated and who approved it.
    """
    from adapters.proof import checkpoints, envelope

    settings = settings_of(database)
    try:
        with open_log(settings) as store:
            if public_key:
                put(envelope.public_pem(checkpoints.signing_key(settings.signing_key)).rstrip("\n"))
                return exits.OK
            if session is None:
                raise Failed(sentence("Name a session, or use --public-key."), code=exits.USAGE)
            statement = _statement(store, find_stream(store, session))
            put_json(envelope.signed(statement, checkpoints.signing_key(settings.signing_key)))
    except checkpoints.NotProved as error:
        raise Failed(
            sentence("Nothing was signed. {error}", error=exits.words_of(error)), code=exits.NOT_VERIFIED
        ) from None
    return exits.OK


def _statement(store: "Log", name: str) -> dict[str, Any]:
    """Raises Failed where there is nothing to attest."""
    from adapters.store.texts import whole
    from domain.kinds import fold
    from domain.session.record import kind_of
    from projections.record.provenance import authors, statement
    from projections.record.session import view
    from projections.views.session import DeliveryView, OrchestrationView

    history = store.history(name)
    session = fold(kind_of(name), ((recorded.event, recorded.metadata) for recorded in history))
    shown = view(session) if session is not None else None
    chain = store.rows.hash_of(name, len(history))
    if not isinstance(shown, DeliveryView | OrchestrationView) or shown.result is None or chain is None:
        raise Failed(sentence("Session {name} has changed nothing.", name=name), code=exits.REFUSED)
    return statement(shown, shown.result, authors(name, history, partial(whole, store)), chain.hex())


async def trace(session: Id, /, *, json: Anyway = False, where: Where = HERE) -> int:
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
        put_json(await _record(api, session_row, result))
    return exits.OK


async def _record(api: Api, session: Json, result: Json) -> Json:
    from importlib.metadata import version

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


async def _blamed(api: Api, result: Json) -> dict[str, list[Json]]:
    """The lines of each file. One that is too large, or has a name that is not UTF-8, is named and left out. Raises
    Failed if there is none that can be read: then it is not the file's fault."""
    blamed: dict[str, list[Json]] = {}
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


def _turns(lines: Iterable[Json], session: str) -> Iterator[tuple[Json, list[Json]]]:
    """Each turn of the session by its first line, and all of its lines."""
    own = sorted((line for line in lines if line["session"] == session), key=lambda line: (line["turn"], line["line"]))
    for _, group in groupby(own, key=lambda line: line["turn"]):
        turn = list(group)
        yield turn[0], turn


def _conversation(turn: Json, lines: list[Json]) -> Json:
    contributor = {"type": "ai"} | ({"model_id": turn["model"]} if turn["model"] else {})
    place = f"hansard:{turn['session']}"
    return {
        "url": f"{place}/{turn['turn']}",
        "contributor": contributor,
        "ranges": [_range(run) for run in _runs(lines)],
        "related": [
            {"type": kind, "url": f"{place}#{turn[name]['version'] if name != 'validatedBy' else turn[name]}"}
            for kind, name in (("review", "demandedBy"), ("validation", "validatedBy"), ("approval", "approvedBy"))
            if turn[name]
        ],
    }


def _runs(lines: list[Json]) -> Iterator[list[Json]]:
    """Lines that follow each other."""
    for _, run in groupby(enumerate(lines), key=lambda entry: entry[1]["line"] - entry[0]):
        yield [line for _, line in run]


def _range(run: list[Json]) -> Json:
    content = "\n".join(line["text"] for line in run)
    digest = hashlib.sha256(content.encode(errors="surrogateescape")).hexdigest()
    return {"start_line": run[0]["line"], "end_line": run[-1]["line"], "content_hash": f"sha256:{digest}"}


# `blame`: which turn wrote each line of a file, why, and who approved it.


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
    top, inside = _inside(path)
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


def _row(line: Json) -> list[str]:
    who = f"{line['agent']} {line['turn']}" if line["session"] else ""
    why = shortened(line["demandedBy"]["title"], _TITLE) if line["demandedBy"] else ""
    approved = f"✓ {line['approvedBy']['actor'].partition(':')[2]}" if line["approvedBy"] else ""
    return [str(line["line"]), line["commit"][:8], who, why, approved, ""]


def _inside(path: str) -> tuple[Path, str]:
    """The repository here, and the file in it."""
    top = _top()
    try:
        here = Path(path)
        target = here.parent.resolve() / here.name if here.is_symlink() else here.resolve()  # links are files, too
        return top, target.relative_to(top.resolve()).as_posix()
    except ValueError:
        raise Failed(sentence("{path} is not in the repository {top}.", path=path, top=top), code=exits.USAGE) from None


def _top() -> Path:
    command = ["git", "rev-parse", "--show-toplevel"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Failed(sentence("{path} is not in a git repository.", path=Path.cwd()), code=exits.USAGE)
    return Path(done.stdout.rstrip("\n"))
