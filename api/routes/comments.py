"""GET: what people have remarked on a result."""

from starlette.requests import Request
from starlette.responses import Response

from adapters.workspace.comment_lines import whereabouts_of
from api.http.requests import limit, number, system
from api.node.commits import folders_of
from api.routes.views import answer, endpoint, session_of
from projections.record.comments import comment_view
from projections.views.comments import CommentPage


@endpoint("version", "limit", "cursor")
def list_comments(request: Request) -> Response:
    """GET /api/sessions/{id}/comments: oldest first"""
    after, most = number(request, "cursor", default=0) or 0, limit(request)
    session = session_of(request)
    comments = session.comments.all[after : after + most]
    whereabouts = whereabouts_of(folders_of(system(request).settings, session), session, comments)
    items = tuple(comment_view(comment, whereabouts[comment.comment_id]) for comment in comments)
    more = len(session.comments) > after + most
    return answer(CommentPage(items=items, next_cursor=str(after + most) if more else None))
