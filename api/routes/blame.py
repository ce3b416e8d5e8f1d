"""GET /api/blame: which turn wrote each line of a file."""

import posixpath
from functools import partial
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response

from adapters.store.mapper import whole
from adapters.workspace import WorkspaceError
from adapters.workspace.blaming import BlamedLine, blamed, turns_of
from api.http.problems import Problem
from api.http.requests import answer_headers, system
from api.routes.views import door
from domain.values.base import Unknown
from projections.record.provenance import Authorship, authors
from projections.sessions import overview
from projections.views.blame import Blame, BlameLine


@door("repository", "path")
def show_blame(request: Request) -> Response:
    """GET /api/blame: the lines of a file as the checked-out commit has it"""
    top, path = _place(request)
    try:
        lines = blamed(top, path)
        named = turns_of(top, {line.commit for line in lines})
    except WorkspaceError as error:
        raise Unknown(f"{path} is not in the commit that is checked out: {error}") from error
    known = _authors(request, {turn for turns in named.values() for turn in turns})
    writers = {commit: [known[turn] for turn in turns if turn in known] for commit, turns in named.items()}
    found = Blame(tuple(_line(line, writers.get(line.commit, [])) for line in lines))
    return Response(found.model_dump_json(by_alias=True), headers=answer_headers(), media_type="application/json")


def _place(request: Request) -> tuple[Path, str]:
    """A repository that a session has worked on, and a path in it."""
    query = request.query_params
    repository, path = query.get("repository", ""), posixpath.normpath(query.get("path", "") or ".")
    with system(request).views.reading() as db:
        known = overview.repositories(db)
    top = Path(repository).resolve()
    if not repository or not any(top == Path(name).resolve() or top in Path(name).resolve().parents for name in known):
        raise Unknown(f"No session has worked on the repository {repository!r}.")
    if path == "." or path.startswith(("../", "/", "-")) or "\0" in path:
        detail = "should be the path of a file within the repository"
        raise Problem(422, f"path: {detail}", errors=[{"pointer": "/path", "detail": detail}])
    return top, path


def _authors(request: Request, turns: set[str]) -> dict[str, Authorship]:
    """What the log knows of these turns; commits may name any."""
    store = system(request).store
    found: dict[str, Authorship] = {}
    for session_id in sorted({turn.rpartition(".t")[0] for turn in turns} - {""}):
        found |= authors(store.history(session_id), partial(whole, store))
    return found


def _line(line: BlamedLine, candidates: list[Authorship]) -> BlameLine:
    """An agent's only where its turn added these very words; each of its lines is claimed once."""
    fields = line._asdict()
    for author in reversed(candidates):
        if author.lines[line.text] > 0:
            author.lines[line.text] -= 1
            return BlameLine(
                **fields,
                session=author.session,
                turn=author.turn,
                agent=author.agent,
                model=author.model,
                iteration=author.iteration,
                demanded_by=author.demanded_by,
                validated_by=author.validated_by,
                approved_by=author.approved_by,
            )
    return BlameLine(**fields)
