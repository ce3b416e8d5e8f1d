"""The server: every route, and the application around them. `create_app(settings)` is all there is to start."""

from typing import Final

from starlette.applications import Starlette

from api import openapi
from api.http.application import PathHandler, application, routes
from api.node.settings import Settings
from api.openapi import Document, reference
from api.reader import READS
from api.routes import commands, health, policies, reports, turns
from api.routes.policies import lab
from api.system import System
from api.web import (
    assets,
    chat_page,
    compare_page,
    errors,
    home_page,
    inbox_page,
    lab_page,
    login_page,
    reports_page,
    start_panel,
)
from api.web import form_commands as forms
from api.web.session import details
from api.web.session import routes as session

COMMANDS: Final[tuple[PathHandler, ...]] = (
    ("/api/sessions", commands.start_session),
    ("/api/sessions/{id}/cancel", commands.cancel_session),
    ("/api/sessions/{id}/retry", commands.retry_turn),
    ("/api/sessions/{id}/permission", commands.answer_permission),
    ("/api/sessions/{id}/budget", commands.extend_budget),
    ("/api/sessions/{id}/decision", commands.decide),
    ("/api/sessions/{id}/scope", commands.decide_scope),
    ("/api/sessions/{id}/land", commands.land_session),
    ("/api/sessions/{id}/fork", commands.fork_session),
    ("/api/sessions/{id}/continue", commands.continue_session),
    ("/api/sessions/{id}/reset", commands.reset_session),
    ("/api/trust", commands.trust_project),
    ("/api/redact", commands.redact_text),
    ("/api/message", commands.receive_message),
    ("/api/orchestrate/continue", commands.continue_latest),
    ("/api/orchestrate/reset", commands.reset_latest),
    ("/api/turns/claim", turns.claim_turn),
    ("/api/turns/{turn}/heartbeat", turns.heartbeat_turn),
    ("/api/turns/{turn}/result", turns.record_result),
    *((policy.path, handler) for policy, handler in policies.HANDLERS),
    ("/api/policies/lab", lab.policy_lab),
)
VIEWS: Final[tuple[PathHandler, ...]] = (
    *READS,
    ("/api/reports/{name}", reports.show_report),
    ("/healthz", health.alive),
    ("/readyz", health.ready),
    ("/metrics", health.metrics),
    ("/openapi.json", openapi.show_openapi),
    ("/docs", reference.show_reference),
    ("/assets/{name}", assets.show_asset),
)
PAGES: Final[tuple[PathHandler, ...]] = (
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
    ("/sessions/{id}/log", details.show_log),
    ("/sessions/{id}/why", details.show_why),
    ("/sessions/{id}/event", details.show_event),
    ("/login", login_page.show),
)
FORMS: Final[tuple[PathHandler, ...]] = (
    ("/", forms.start),
    ("/decisions", forms.answer),
    ("/sessions/{id}", forms.command),
    ("/chat", chat_page.say_something),
    ("/chat/{origin:path}", chat_page.say_something),
    ("/login", login_page.sign_in),
    ("/logout", login_page.sign_out),
)


def create_app(
    settings: Settings,
    *,
    work: bool = True,
    notify: bool | None = None,
    actor: str | None = None,
    has_team: bool = True,
) -> Starlette:
    """The ASGI application. With `work`, this process runs turns; with `notify` (default: as `work`), it sends
    notifications and checkpoints. `actor` is the name for actions if no one else can reach the application; without
    `has_team` its settings name no team because none is needed. Raises HansardError if it cannot start."""
    app = application(
        System(settings, actor=actor, has_team=has_team),
        routes((*VIEWS, *PAGES), (*COMMANDS, *FORMS)),
        work=work,
        notify=work if notify is None else notify,
        on_error=errors.on_error,
        on_http_exception=errors.on_http_exception,
    )
    app.state.document = Document(COMMANDS, VIEWS)
    return app
