"""The server: every route, and the application around them. `create_app(settings)` is all there is to start."""

from typing import Final

from starlette.applications import Starlette

from api import openapi
from api.actions.catalogue import ACTIONS
from api.actions.conversation import receive_message
from api.actions.fork import fork_session
from api.actions.start import start_session
from api.http.application import Endpoint, application, readable, routes
from api.http.pipeline import ActionHandler
from api.node.settings import Settings
from api.openapi import Document, reference
from api.reader import READS
from api.routes import health, hooks, metrics, reports, turns
from api.routes.policies import endpoints, lab
from api.system import UNLIMITED, Patience, System
from api.web import (
    assets,
    chat_page,
    compare_page,
    errors,
    fork_page,
    home_page,
    inbox_page,
    lab_page,
    login_page,
    reports_page,
    start_panel,
)
from api.web import form_commands as forms
from api.web.session import event, log, why
from api.web.session import routes as session
from api.web.session.context import forget_rendered

COMMANDS: Final[tuple[Endpoint, ...]] = (
    *(Endpoint(action.path, ActionHandler(action), action.scope) for action in ACTIONS),
    Endpoint("/api/turns/claim", turns.claim_turn, "turns"),
    Endpoint("/api/turns/{turn}/heartbeat", turns.heartbeat_turn, "turns"),
    Endpoint("/api/turns/{turn}/result", turns.record_result, "turns"),
    *readable(*((policy.path, handler) for policy, handler in endpoints.HANDLERS)),
    *readable(("/api/policies/lab", lab.policy_lab)),
)
VIEWS: Final[tuple[Endpoint, ...]] = (
    *READS,
    *readable(("/api/reports/{name}", reports.show_report)),
    Endpoint("/healthz", health.alive, None),
    Endpoint("/readyz", health.ready, None),
    *readable(
        ("/metrics", metrics.metrics),
        ("/openapi.json", openapi.show_openapi),
        ("/docs", reference.show_reference),
    ),
    Endpoint("/assets/{name}", assets.show_asset, None),
)
PAGES: Final[tuple[Endpoint, ...]] = (
    *readable(
        ("/", home_page.home),
        ("/start", start_panel.show),
        ("/decisions", inbox_page.decisions),
        ("/reports", reports_page.show),
        ("/compare", compare_page.show),
        ("/lab", lab_page.show),
        ("/chat", chat_page.show),
        ("/chat/{origin:path}", chat_page.show),
        ("/sessions/{id}", session.show),
        ("/sessions/{id}/turns/{turn}", session.show),
        ("/sessions/{id}/at", session.show_at),
        ("/sessions/{id}/rows", session.show_rows),
        ("/sessions/{id}/raw", session.show_raw),
        ("/sessions/{id}/log", log.show_log),
        ("/sessions/{id}/why", why.show_why),
        ("/sessions/{id}/fork", fork_page.show),
        ("/sessions/{id}/event", event.show_event),
    ),
    Endpoint("/login", login_page.show, None),
)
HOOKS: Final[tuple[Endpoint, ...]] = (Endpoint("/api/forge/webhook", hooks.forge_webhook, None),)
"""What other programs call without a key."""
FORMS: Final[tuple[Endpoint, ...]] = (
    Endpoint("/", forms.start, start_session.scope),
    *readable(("/decisions", forms.answer), ("/sessions/{id}", forms.command)),  # what they name has a scope
    Endpoint("/sessions/{id}/fork", fork_page.fork, fork_session.scope),
    Endpoint("/chat", chat_page.say_something, receive_message.scope),
    Endpoint("/chat/{origin:path}", chat_page.say_something, receive_message.scope),
    Endpoint("/login", login_page.sign_in, None),
    Endpoint("/logout", login_page.sign_out, None),
)


def create_app(
    settings: Settings,
    *,
    work: bool = True,
    notify: bool | None = None,
    actor: str | None = None,
    has_team: bool = True,
    patience: Patience = UNLIMITED,
) -> Starlette:
    """The ASGI application. With `work`, this process runs turns; with `notify` (default: as `work`), it sends
    notifications and checkpoints. `actor` is the name for actions if no one else can reach the application; without
    `has_team` its settings name no team because none is needed.
    `patience`: how long it waits for views. Raises HansardError if it cannot start."""
    inside = System(settings, actor=actor, has_team=has_team, patience=patience)
    inside.forgetting.join(forget_rendered)
    app = application(
        inside,
        routes((*VIEWS, *PAGES), (*COMMANDS, *HOOKS, *FORMS)),
        work=work,
        notify=work if notify is None else notify,
        on_error=errors.on_error,
        on_http_exception=errors.on_http_exception,
    )
    app.state.document = Document(COMMANDS, VIEWS)
    app.state.scopes = {action.verb: action.scope for action in ACTIONS}
    return app
