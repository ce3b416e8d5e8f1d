"""GET: what people have remarked on a result."""

from starlette.requests import Request
from starlette.responses import Response

from api.http.requests import limit, number
from api.routes.views import answer, endpoint, session_of
from projections.record.comments import comment_view
from projections.views.comments import CommentPage


@endpoint("version", "limit", "cursor")
def list_comments(request: Request) -> Response:
    """GET /api/sessions/{id}/comments: oldest first"""
    after, most = number(request, "cursor", default=0) or 0, limit(request)
    comments = session_of(request).comments.all
    items = tuple(map(comment_view, comments[after : after + most]))
    return answer(CommentPage(items=items, next_cursor=str(after + most) if len(comments) > after + most else None))
