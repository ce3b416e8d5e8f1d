"""The application: routes, lifespan, and errors as problems. `create_app(settings)` is all there is to start."""

import contextlib
from collections.abc import AsyncIterator

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from api import commands, health, openapi, policies, reference, reports, views
from api.guards import Guard
from api.policies import lab
from api.settings import Settings
from api.system import System
from api.web import inbox_page, pages, reports_page
from api.web.errors import on_error, on_http_exception
from api.web.session import routes as session_page
from api.web.session.panels import Gallery
from domain.base import HansardError

COMMANDS = (
    ("/api/sessions", commands.start_session),
    ("/api/sessions/{id}/cancel", commands.cancel_session),
    ("/api/sessions/{id}/budget", commands.extend_budget),
    ("/api/sessions/{id}/decision", commands.decide),
    ("/api/sessions/{id}/fork", commands.fork_session),
    ("/api/sessions/{id}/continue", commands.continue_session),
    ("/api/sessions/{id}/reset", commands.reset_session),
    ("/api/message", commands.receive_message),
    ("/api/orchestrate/continue", commands.continue_latest),
    ("/api/orchestrate/reset", commands.reset_latest),
    *policies.DOORS,
    ("/api/policies/lab", lab.policy_lab),
)
VIEWS = (
    ("/api/sessions", views.list_sessions),
    ("/api/sessions/{id}", views.show_session),
    ("/api/sessions/{id}/events", views.list_events),
    ("/api/sessions/{id}/worklog", views.show_worklog),
    ("/api/sessions/{id}/budget", views.show_budget),
    ("/api/sessions/{id}/artifacts", views.list_artifacts),
    ("/api/sessions/{id}/artifacts/{artifact}", views.show_artifact),
    ("/api/sessions/{id}/explain", views.show_explanation),
    ("/api/sessions/{id}/replay", views.show_replay),
    ("/api/sessions/{a}/diff/{b}", views.show_diff),
    ("/api/decisions", views.list_decisions),
    ("/api/events", views.list_log),
    ("/api/message", views.show_channel),
    ("/api/reports/{name}", reports.show_report),
    ("/healthz", health.alive),
    ("/readyz", health.ready),
    ("/metrics", health.metrics),
    ("/openapi.json", openapi.show_openapi),
    ("/docs", reference.show_reference),
    ("/assets/{name}", reference.show_asset),
)
PAGES = (
    ("/", pages.home),
    ("/decisions", inbox_page.decisions),
    ("/reports", reports_page.show),
    ("/sessions/{id}", session_page.show),
    ("/sessions/{id}/at", session_page.show_at),
    ("/sessions/{id}/rows", session_page.show_rows),
    ("/sessions/{id}/raw", session_page.show_raw),
)


class Doors:
    """One path, one handler a method: Starlette's own routes answer 405 for the first path that fits."""

    def __init__(self, get: views.Handler | None, post: views.Handler | None) -> None:
        self._get, self._post = get, post

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        handler = self._post if scope["method"] == "POST" else self._get
        assert handler is not None, "the route names the methods"
        request = Request(scope, receive, send)
        response: Response = await handler(request)
        await response(scope, receive, send)


def routes() -> list[Route]:
    posts, gets = dict(COMMANDS), dict((*VIEWS, *PAGES))
    found = []
    for path in dict.fromkeys((*gets, *posts)):
        doors = Doors(gets.get(path), posts.get(path))
        methods = [*(["GET"] if path in gets else []), *(["POST"] if path in posts else [])]
        found.append(Route(path, doors, methods=methods))
    return found


def create_app(settings: Settings, *, work: bool = True) -> Starlette:
    """The ASGI application. With `work`, turns are worked on in this process. Raises HansardError: it cannot start."""
    inside = System(settings)

    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        async with inside.running(work=work):
            yield

    app = Starlette(
        routes=routes(),
        lifespan=lifespan,
        middleware=[Middleware(Guard, settings=settings)],
        exception_handlers={HTTPException: on_http_exception, HansardError: on_error, Exception: on_error},
    )
    app.state.system = inside
    app.state.gallery = Gallery(inside)
    app.state.document = openapi.Document(COMMANDS, VIEWS)
    return app
