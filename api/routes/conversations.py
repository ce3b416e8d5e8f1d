"""The messages of a conversation."""

from starlette.requests import Request
from starlette.responses import Response

from api.http.requests import limit, system
from api.routes.views import answer, endpoint
from domain.channel import Channel, channel_id
from domain.values.base import Unknown
from domain.values.sentences import Sentence
from projections.sessions import conversations


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
