"""GET: what reviewers, judges and people have found in a session's work (contract-3 §20)."""

from functools import partial

from starlette.requests import Request
from starlette.responses import Response

from adapters.store.texts import whole
from api.http.requests import answer_headers, has_it_already, system
from api.routes.views import answer, endpoint, session_of
from projections.record.findings import findings_view


@endpoint("version")
def list_findings(request: Request) -> Response:
    """GET /api/sessions/{id}/findings: one row each with its life, and whether another round is worth it"""
    session, store = session_of(request), system(request).store
    tag = f'"{session.version}"'
    if has_it_already(request, tag):
        return Response(status_code=304, headers=answer_headers(ETag=tag))
    events = system(request).finding_events.of(session.id, session.version)
    return answer(findings_view(session, events, partial(whole, store)), ETag=tag)
