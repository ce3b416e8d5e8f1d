"""Says whether the service is alive, and ready."""

import asyncio
from typing import TYPE_CHECKING, Literal

from pydantic import Field
from starlette.requests import Request
from starlette.responses import Response

from adapters.store.postgres.address import is_shared
from api.http.guards import may_read
from api.http.requests import answer_headers, system
from api.node.presence import LiveNode
from api.system import System
from domain.values.base import HansardError, absent
from projections.views.base import View

if TYPE_CHECKING:
    pass


class Alive(View):
    status: Literal["ok"]


class Readiness(View):
    """With the figures; only the problem if the store does not respond."""

    status: Literal["ready", "not ready"]
    problems: tuple[str, ...]
    head: int | None = Field(default=None, exclude_if=absent)
    position: int | None = Field(default=None, exclude_if=absent)
    lag: int | None = Field(default=None, exclude_if=absent)
    store: Literal["sqlite", "postgresql"] | None = Field(default=None, exclude_if=absent)
    node: str | None = Field(default=None, exclude_if=absent, description="this process")
    nodes: tuple[LiveNode, ...] | None = Field(
        default=None, exclude_if=absent, description="the servers and workers seen recently"
    )
    lag_limit: int | None = Field(default=None, exclude_if=absent)
    views: dict[str, int] | None = Field(
        default=None, exclude_if=absent, description="how many positions each view is behind the log"
    )
    waiting_commands: int | None = Field(default=None, exclude_if=absent)
    example_team: bool | None = Field(default=None, exclude_if=absent)


async def alive(_: Request) -> Response:
    """GET /healthz: the process lives"""
    return _answer(Alive(status="ok"))


async def ready(request: Request) -> Response:
    """GET /readyz: 200 only when the store answers and every view is within its lag limit"""
    inside = system(request)
    failure = await asyncio.to_thread(inside.store.failure) if inside.store.failing else None
    figures = await asyncio.to_thread(_figures, inside, failure)
    response = _answer(figures) if may_read(request) else Response(headers=answer_headers())
    if figures.status != "ready":
        response.status_code = 503
        response.headers["Retry-After"] = "1"
    return response


def _answer(figures: View) -> Response:
    return Response(figures.json_bytes(), headers=answer_headers(), media_type="application/json")


def _figures(inside: System, failure: str | None) -> Readiness:
    kind: Literal["sqlite", "postgresql"] = "postgresql" if is_shared(inside.settings.database) else "sqlite"
    try:
        head, nodes = inside.store.head(), inside.node.alive()
    except HansardError as error:
        return Readiness(status="not ready", store=kind, problems=(f"the store does not answer: {error}",))
    position = inside.follower.position
    try:
        stopped = (*inside.follower.problems(), *inside.search.problems())
        lags = inside.follower.lags()
    except HansardError as error:
        return Readiness(status="not ready", store=kind, problems=(str(error),))
    problems = list(dict.fromkeys(f"{each.subject} at position {each.position}: {each.error}" for each in stopped))
    if failure is not None:
        problems.insert(0, f"the last write failed: {failure}")
    if head < position:
        problems.append(f"the log has gone back to position {head}, and the views are at {position}")
    if inside.follower.rewinding:
        problems.append(f"the log has gone back: the views are folded again, up to position {position} of {head}")
    if head - position > inside.settings.lag_events:
        problems.append(f"the views are {head - position} events behind (limit {inside.settings.lag_events})")
    return Readiness(
        status="not ready" if problems else "ready",
        store=kind,
        node=inside.node.name,
        nodes=nodes,
        head=head,
        position=position,
        lag=max(0, head - position),
        lag_limit=inside.settings.lag_events,
        views=lags,
        waiting_commands=inside.writer.waiting(),
        example_team=inside.team.example,
        problems=tuple(problems),
    )
