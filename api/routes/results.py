"""GET: what a session has changed, and what was said in a conversation (contract-2 §12, §13)."""

import posixpath
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response

from adapters.store.texts import whole
from adapters.workspace import WorkspaceError
from adapters.workspace.history import kept_patch
from api.http.problems import Problem
from api.http.requests import answer_headers, limit, system
from api.routes.views import answer, endpoint, record_of, session_of
from domain.channel import Channel, channel_id
from domain.delivery.state import Delivery
from domain.orchestration.state import Orchestration
from domain.session.state import Session
from domain.session.turns import TurnAnswered
from domain.values.base import Unknown
from domain.values.sentences import Sentence
from projections.record.artifacts import result_of
from projections.sessions import conversations, overview
from projections.views.record import ChangesView
from projections.views.session import ResultView

DIFF = "text/x-diff"


@endpoint("version", "turnId")
def show_changes(request: Request) -> Response:
    """GET /api/sessions/{id}/changes: as JSON, or as a unified diff with `Accept: text/x-diff`"""
    session = session_of(request)
    turn_id = request.query_params.get("turnId")
    diff = _changes(request, session) if turn_id is None else _changes_of(request, session, turn_id)
    if DIFF in request.headers.get("accept", ""):
        return Response(diff.patch, headers=answer_headers(Vary="Accept"), media_type=f"{DIFF}; charset=utf-8")
    return answer(diff, Vary="Accept")


def _changes(request: Request, session: Session) -> ChangesView:
    result = _result(session)
    if result is None:
        return ChangesView(base=None, head=None, branch=session.branch, files=(), patch="")
    names = filter(None, (session.home, session.id, session.forked_from))
    root = system(request).settings.node_dir / "workspaces"
    patch = kept_patch(root, names, result.base.commit, result.head)
    return _view(result, _patches(request, session) if patch is None else patch)


def _changes_of(request: Request, session: Session, turn_id: str) -> ChangesView:
    """One turn's. Raises Unknown for a turn that the session does not have."""
    if turn_id not in record_of(request, session).turns:
        raise Unknown(Sentence("session_has_no_turn", id=session.id, given=turn_id))
    patch, result = _patches(request, session, turn_id), _result(session)
    touched = {path for event in _answers(request, session) if event.turn_id == turn_id for path in event.files}
    files = tuple(file for file in result.files if file.path in touched) if result else ()
    if result is None:
        return ChangesView(base=None, head=None, branch=None, files=(), patch=patch)
    return _view(result, patch).model_copy(update={"files": files})


def _view(result: ResultView, patch: str) -> ChangesView:
    return ChangesView(base=result.base, head=result.head, branch=result.branch, files=result.files, patch=patch)


def _result(session: Session) -> ResultView | None:
    match session:
        case Delivery():
            return result_of(session, (*session.file_paths, *session.planned), session.scope)
        case Orchestration():
            return result_of(session, session.affected_files, session.scope)
        case _:
            return None


def _patches(request: Request, session: Session, turn_id: str | None = None) -> str:
    """The patches of the turns one after the other, which is how they apply: for a workspace that is not here."""
    store = system(request).store
    answers = (event for event in _answers(request, session) if turn_id in (None, event.turn_id))
    return "".join(whole(store, event.patch) for event in answers if event.patch is not None)


def _answers(request: Request, session: Session) -> list[TurnAnswered]:
    history = system(request).store.history(session.id, upto=session.version)
    return [recorded.event for recorded in history if isinstance(recorded.event, TurnAnswered)]


# -- conversations ---------------------------------------------------------------------------------------------------


def _newest(request: Request) -> int:
    return system(request).store.head()


@endpoint("limit", "cursor", position=_newest)
def list_conversations(request: Request) -> Response:
    """GET /api/conversations: the newest first"""
    with system(request).reading() as db:
        return answer(conversations.newest_first(db, limit=limit(request), cursor=request.query_params.get("cursor")))


@endpoint(position=_newest)
def show_conversation(request: Request) -> Response:
    """GET /api/conversations/{origin}: what was said, and the last result"""
    inside, origin = system(request), request.path_params["origin"]
    channel = inside.sessions.get(channel_id(origin))
    with inside.reading() as db:
        conversation = conversations.conversation(
            db, origin, inside.sessions.get, channel if isinstance(channel, Channel) else None
        )
    if conversation is None:
        raise Unknown(Sentence("conversation_not_found", origin=origin))
    return answer(conversation)


# The bodies of requests about what a session changed, and about its checkout.


# GET /api/blame: which turn wrote each line of a file.


@endpoint("repository", "path", "revision")
def show_blame(request: Request) -> Response:
    """GET /api/blame: the lines of a file as a commit has it, by default the one that is checked out"""
    top, sessions = _repository(request)
    path, revision = _path(request), request.query_params.get("revision") or "HEAD"
    try:
        lines = system(request).provenance.blame(top, path, revision, sessions)
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
