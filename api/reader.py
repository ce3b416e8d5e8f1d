"""The API for commands in the same process that only read: no pages, no rules, nothing that only a server needs."""

from typing import Final

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response

from api.http import problems
from api.http.application import Endpoint, application, readable, routes
from api.node.settings import Settings
from api.routes import blame, comments, conversations, cuts, findings, results, review_map, session_turns, views
from api.system import System


async def _show_report(request: Request) -> Response:
    """GET /api/reports/{name}: reports are imported when one is asked for"""
    from api.routes.reports import show_report

    return await show_report(request)


READS: Final[tuple[Endpoint, ...]] = readable(
    ("/api/sessions", views.list_sessions),
    ("/api/sessions/{id}", views.show_session),
    ("/api/sessions/{id}/events", views.list_events),
    ("/api/sessions/{id}/turns", session_turns.list_turns),
    ("/api/sessions/{id}/turns/{turn}", session_turns.show_turn),
    ("/api/sessions/{id}/turns/{turn}/activity", session_turns.show_activity),
    ("/api/sessions/{id}/turns/{turn}/transcript", session_turns.show_transcript),
    ("/api/sessions/{id}/changes", results.show_changes),
    ("/api/sessions/{id}/comments", comments.list_comments),
    ("/api/sessions/{id}/cuts", cuts.list_cuts),
    ("/api/sessions/{id}/findings", findings.list_findings),
    ("/api/sessions/{id}/map", review_map.show_map),
    ("/api/sessions/{id}/worklog", views.show_worklog),
    ("/api/sessions/{id}/budget", views.show_budget),
    ("/api/sessions/{id}/artifacts", views.list_artifacts),
    ("/api/sessions/{id}/artifacts/{artifact}", views.show_artifact),
    ("/api/sessions/{id}/explain", views.show_explanation),
    ("/api/sessions/{id}/replay", views.show_replay),
    ("/api/sessions/{a}/diff/{b}", views.show_diff),
    ("/api/conversations", conversations.list_conversations),
    ("/api/conversations/{origin:path}", conversations.show_conversation),
    ("/api/blame", blame.show_blame),
    ("/api/decisions", views.list_decisions),
    ("/api/events", views.list_log),
    ("/api/message", views.show_channel),
)


def reader(settings: Settings, *, actor: str) -> Starlette:
    """The read-only application. Raises HansardError if it cannot start."""
    return application(
        System(settings, actor=actor, has_team=False),
        routes((*READS, *readable(("/api/reports/{name}", _show_report))), ()),
        work=False,
        notify=False,
        on_error=problems.on_error,
        on_http_exception=problems.on_http_exception,
    )
