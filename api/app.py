"""The application: routes, lifespan, and errors as problems. `create_app(settings)` is all there is to start.

What answers is named by its place and imported later (`api.doors`): a server that was killed is to be back at once.
"""

import contextlib
from collections.abc import AsyncIterator

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from api.doors import Door, loaded, placed
from api.http.guards import Guard
from api.openapi import Document
from api.settings import Settings
from api.system import System
from domain.values.base import HansardError

POLICIES = (
    *("triage", "intent", "phases", "match", "parallel", "convergence"),
    *("agreement", "similarity", "budget", "validation", "parse", "prompt"),
)
COMMANDS = placed(
    ("/api/sessions", "api.routes.commands:start_session"),
    ("/api/sessions/{id}/cancel", "api.routes.commands:cancel_session"),
    ("/api/sessions/{id}/budget", "api.routes.commands:extend_budget"),
    ("/api/sessions/{id}/decision", "api.routes.commands:decide"),
    ("/api/sessions/{id}/fork", "api.routes.commands:fork_session"),
    ("/api/sessions/{id}/continue", "api.routes.commands:continue_session"),
    ("/api/sessions/{id}/reset", "api.routes.commands:reset_session"),
    ("/api/message", "api.routes.commands:receive_message"),
    ("/api/orchestrate/continue", "api.routes.commands:continue_latest"),
    ("/api/orchestrate/reset", "api.routes.commands:reset_latest"),
    ("/api/turns/claim", "api.routes.turns.doors:claim_turn"),
    ("/api/turns/{turn}/heartbeat", "api.routes.turns.doors:heartbeat_turn"),
    ("/api/turns/{turn}/result", "api.routes.turns.doors:record_result"),
    *((f"/api/policies/{name}", f"api.routes.policies:DOORS.{name}") for name in POLICIES),
    ("/api/policies/lab", "api.routes.policies.lab:policy_lab"),
)
HEALTH = placed(
    ("/healthz", "api.routes.health:alive"),
    ("/readyz", "api.routes.health:ready"),
    ("/metrics", "api.routes.health:metrics"),
)
READS = placed(
    ("/api/sessions", "api.routes.views:list_sessions"),
    ("/api/sessions/{id}", "api.routes.views:show_session"),
    ("/api/sessions/{id}/events", "api.routes.views:list_events"),
    ("/api/sessions/{id}/worklog", "api.routes.views:show_worklog"),
    ("/api/sessions/{id}/budget", "api.routes.views:show_budget"),
    ("/api/sessions/{id}/artifacts", "api.routes.views:list_artifacts"),
    ("/api/sessions/{id}/artifacts/{artifact}", "api.routes.views:show_artifact"),
    ("/api/sessions/{id}/explain", "api.routes.views:show_explanation"),
    ("/api/sessions/{id}/replay", "api.routes.views:show_replay"),
    ("/api/sessions/{a}/diff/{b}", "api.routes.views:show_diff"),
    ("/api/decisions", "api.routes.views:list_decisions"),
    ("/api/events", "api.routes.views:list_log"),
    ("/api/message", "api.routes.views:show_channel"),
    ("/api/reports/{name}", "api.routes.reports:show_report"),
)
TOLD = placed(
    ("/openapi.json", "api.openapi:show_openapi"),
    ("/docs", "api.routes.reference:show_reference"),
    ("/assets/{name}", "api.web.assets:show_asset"),
)
VIEWS = (*READS, *HEALTH, *TOLD)
PAGES = placed(
    ("/", "api.web.pages:home"),
    ("/decisions", "api.web.inbox_page:decisions"),
    ("/reports", "api.web.reports_page:show"),
    ("/sessions/{id}", "api.web.session.routes:show"),
    ("/sessions/{id}/at", "api.web.session.routes:show_at"),
    ("/sessions/{id}/rows", "api.web.session.routes:show_rows"),
    ("/sessions/{id}/raw", "api.web.session.routes:show_raw"),
    ("/login", "api.web.login_page:show"),
)

FORMS = placed(
    ("/", "api.web.forms.doors:start"),
    ("/decisions", "api.web.forms.doors:answer"),
    ("/sessions/{id}", "api.web.forms.doors:command"),
    ("/login", "api.web.login_page:sign_in"),
    ("/logout", "api.web.login_page:sign_out"),
)


class Doors:
    """One path, one handler a method: Starlette's own routes answer 405 for the first path that fits."""

    def __init__(self, get: Door | None, post: Door | None) -> None:
        self._get, self._post = get, post

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        handler = self._post if scope["method"] == "POST" else self._get
        assert handler is not None, "the route names the methods"
        request = Request(scope, receive, send)
        response: Response = await handler(request)
        await response(scope, receive, send)


def routes() -> list[Route]:
    posts, gets = dict((*COMMANDS, *FORMS)), dict((*VIEWS, *PAGES))
    found = []
    for path in dict.fromkeys((*gets, *posts)):
        doors = Doors(gets.get(path), posts.get(path))
        methods = [*(["GET"] if path in gets else []), *(["POST"] if path in posts else [])]
        found.append(Route(path, doors, methods=methods))
    return found


def create_app(settings: Settings, *, work: bool = True) -> Starlette:
    """The ASGI application. With `work`, turns are worked on in this process. Raises HansardError: it cannot start."""
    inside = System(settings)
    loaded(HEALTH)  # whoever asks whether we are back must not wait for what is imported meanwhile
    on_error, on_http_exception = Door("api.web.errors:on_error"), Door("api.web.errors:on_http_exception")

    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        async with inside.running(work=work):
            yield

    app = Starlette(
        routes=routes(),
        lifespan=lifespan,
        middleware=[
            Middleware(Guard, settings=settings, logins=inside.logins, on_error=on_error),
            Middleware(GZipMiddleware, minimum_size=1_000, compresslevel=5),  # never a stream of events
        ],
        exception_handlers={HTTPException: on_http_exception, HansardError: on_error, Exception: on_error},
    )
    app.router.redirect_slashes = False  # a door has one address, and what is none is a problem like any other
    app.state.system = inside
    app.state.kept = {}
    app.state.document = Document(COMMANDS, VIEWS)
    return app
