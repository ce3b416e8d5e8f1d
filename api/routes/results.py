"""GET: what a session has changed, and what was said in a conversation (contract-2 §12, §13)."""

from starlette.requests import Request
from starlette.responses import Response

from adapters.store.texts import whole
from adapters.workspace.history import kept_patch
from api.http.requests import answer_headers, system
from api.routes.views import answer, endpoint, record_of, session_of
from domain.delivery.state import Delivery
from domain.orchestration.state import Orchestration
from domain.session.state import Session
from domain.session.turns import TurnAnswered
from domain.values.base import Unknown
from domain.values.sentences import Sentence
from projections.record.results import result_of
from projections.views.blame import ChangesView
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
    result = result_in(session)
    if result is None:
        return ChangesView(base=None, head=None, branch=session.branch, files=(), patch="")
    return _view(result, patch_of_result(request, session, result))


def patch_of_result(request: Request, session: Session, result: ResultView) -> str:
    """From the base to the result; where its workspace is not here, the patches of the turns."""
    names = filter(None, (session.home, session.id, session.forked_from))
    root = system(request).settings.node_dir / "workspaces"
    patch = kept_patch(root, names, result.base.commit, result.head)
    return _patches(request, session) if patch is None else patch


def _changes_of(request: Request, session: Session, turn_id: str) -> ChangesView:
    """One turn's. Raises Unknown for a turn that the session does not have."""
    if turn_id not in record_of(request, session).turns:
        raise Unknown(Sentence("session_has_no_turn", id=session.id, given=turn_id))
    patch, result = _patches(request, session, turn_id), result_in(session)
    touched = {path for event in _answers(request, session) if event.turn_id == turn_id for path in event.files}
    files = tuple(file for file in result.files if file.path in touched) if result else ()
    if result is None:
        return ChangesView(base=None, head=None, branch=None, files=(), patch=patch)
    return _view(result, patch).model_copy(update={"files": files})


def _view(result: ResultView, patch: str) -> ChangesView:
    return ChangesView(
        base=result.base,
        head=result.head,
        branch=result.branch,
        files=result.files,
        names_files=result.names_files,
        patch=patch,
    )


def result_in(session: Session) -> ResultView | None:
    """Returns what the session has changed; None while nothing has."""
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
