"""The turn that wrote each line of a file."""

import posixpath
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response

from adapters.workspace import WorkspaceError
from adapters.workspace.blame import NotHere
from api.http.problems import Problem
from api.http.requests import answer_headers, system
from api.routes.views import endpoint
from domain.values.base import Unknown
from domain.values.sentences import Sentence, sentence_of
from projections.sessions import overview


@endpoint("repository", "path", "revision")
def show_blame(request: Request) -> Response:
    """GET /api/blame: the lines of a file as a commit has it, by default the one that is checked out"""
    top, sessions = _repository(request)
    path, revision = _path(request), request.query_params.get("revision") or "HEAD"
    try:
        lines = system(request).provenance.blame(top, path, revision, sessions)
    except NotHere as error:
        raise Unknown(sentence_of(error)) from error
    except WorkspaceError as error:
        raise Unknown(Sentence("path_not_in_revision", given=path, revision=revision)) from error
    return Response(lines, headers=answer_headers(), media_type="application/json")


def _repository(request: Request) -> tuple[Path, list[tuple[str, int]]]:
    """A repository that sessions have worked on, and these, oldest first, with their versions."""
    repository = request.query_params.get("repository", "")
    if not repository.startswith("/") or "\0" in repository:
        detail = "should be the absolute path of a repository"
        raise Problem(422, f"repository: {detail}", errors=[{"pointer": "/repository", "detail": detail}])
    with system(request).reading() as db:
        folders = overview.worked_on(db)
    top = Path(repository).resolve()
    inside = {folder for folder in {folder for folder, _, _ in folders} if Path(folder).resolve().is_relative_to(top)}
    if not inside:
        raise Unknown(Sentence("no_session_on_repository", given=repository))
    if not top.is_dir():
        raise Unknown(Sentence("repository_gone", path=top))
    return top, [(name, version) for folder, name, version in folders if folder in inside]


def _path(request: Request) -> str:
    path = posixpath.normpath(request.query_params.get("path", "") or ".")
    if path in (".", "..") or path.startswith(("../", "/")) or "\0" in path:
        detail = "should be the path of a file within the repository"
        raise Problem(422, f"path: {detail}", errors=[{"pointer": "/path", "detail": detail}])
    return path
