"""GET: what to look at first in a session's result (contract-3 §20)."""

from functools import partial

from starlette.requests import Request
from starlette.responses import Response

from adapters.store.texts import whole
from adapters.workspace.comment_lines import whereabouts_of
from api.http.requests import system
from api.node.commits import folders_of
from api.routes.results import patch_of_result, result_in
from api.routes.views import answer, endpoint, session_of
from domain.provenance.path_changes import parts
from projections.record.review_map import RecordedWork, map_view
from projections.views.review_map import ReviewMapView


@endpoint("version")
def show_map(request: Request) -> Response:
    """GET /api/sessions/{id}/map: the hunks of the result, what needs a look most first, each with the reasons"""
    session, inside = session_of(request), system(request)
    result = result_in(session)
    if result is None:
        return answer(ReviewMapView(version=session.version, head=None, items=()))
    comments = session.comments.all
    whereabouts = whereabouts_of(folders_of(inside.settings, session), session, comments) if comments else {}
    work = RecordedWork(session, inside.store.history(session.id, upto=session.version), result, whereabouts)
    patch = patch_of_result(request, session, result)
    return answer(map_view(work, parts(patch.split("\n")), partial(whole, inside.store)))
