"""GET: where a fork of a session can begin."""

from itertools import islice

from starlette.requests import Request
from starlette.responses import Response

from api.http.requests import answer_headers, limit, number, system
from api.routes.views import endpoint, session_of
from projections.record.cuts import cuts
from projections.views.past import Cuts


@endpoint("version", "after", "limit")
def list_cuts(request: Request) -> Response:
    """GET /api/sessions/{id}/cuts: oldest first"""
    session = session_of(request)
    history = system(request).store.history(session.id, upto=session.version)
    after, most = number(request, "after", default=0) or 0, limit(request, default=200)
    rows = Cuts(tuple(islice(cuts(history, after=after), most)))
    return Response(rows.model_dump_json(by_alias=True), headers=answer_headers(), media_type="application/json")
