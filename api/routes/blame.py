"""GET /api/blame: which turn wrote each line of a file."""

import posixpath
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response

from adapters.workspace import WorkspaceError
from api.http.problems import Problem
from api.http.requests import answer_headers, system
from api.routes.views import door
from domain.values.base import Unknown
from projections.sessions import overview


@door("repository", "path", "revision")
def show_blame(request: Request) -> Response:
    """GET /api/blame: the lines of a file as a commit has it, by default the one that is checked out"""
    top, sessions = _repository(request)
    path, revision = _path(request), request.query_params.get("revision") or "HEAD"
    try:
        found = system(request).provenance.blame(top, path, revision, sessions)
    except WorkspaceError as error:
        raise Unknown(f"{path} is not in {revision}: {error}") from error
    return Response(found, headers=answer_headers(), media_type="application/json")


def _repository(request: Request) -> tuple[Path, list[tuple[str, int]]]:
    """A repository that sessions have worked on, and these, oldest first, with their versions."""
    repository = request.query_params.get("repository", "")
    with system(request).reading() as db:
        known = overview.worked_on(db)
    top = Path(repository).resolve()
    inside = {folder for folder in {folder for folder, _, _ in known} if Path(folder).resolve().is_relative_to(top)}
    if not repository or not inside:
        raise Unknown(f"No session has worked on the repository {repository!r}.")
    return top, [(name, version) for folder, name, version in known if folder in inside]


def _path(request: Request) -> str:
    path = posixpath.normpath(request.query_params.get("path", "") or ".")
    if path == "." or path.startswith(("../", "/", "-")) or "\0" in path:
        detail = "should be the path of a file within the repository"
        raise Problem(422, f"path: {detail}", errors=[{"pointer": "/path", "detail": detail}])
    return path
