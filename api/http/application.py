"""An ASGI application around one `System`: routes, lifespan, guards, and errors as problems."""

import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from api.http.guards import Guard, OnError
from api.http.scopes import check_scope
from api.system import System
from domain.values.base import HansardError

Handler = Callable[[Request], Awaitable[Response]]
PathHandler = tuple[str, Handler]
"""A path, as Starlette spells it, and what answers there."""
OnHttpException = Callable[[Request, HTTPException], Awaitable[Response]]


class _Methods:
    """One path, a handler for each method: so that a 405 names all of them in `Allow`."""

    def __init__(self, path: str, get: Handler | None, post: Handler | None) -> None:
        self._path, self._get, self._post = path, get, post

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        handler = self._post if scope["method"] == "POST" else self._get
        assert handler is not None, "the route names the methods"
        request = Request(scope, receive, send)
        check_scope(request, scope["method"], self._path)
        response = await handler(request)
        await response(scope, receive, send)


def routes(gets: Iterable[PathHandler], posts: Iterable[PathHandler]) -> list[Route]:
    """A route for each path, with HEAD where there is GET."""
    get, post = dict(gets), dict(posts)
    return [
        Route(
            path,
            _Methods(path, get.get(path), post.get(path)),
            methods=[*(["GET"] if path in get else []), *(["POST"] if path in post else [])],
        )
        for path in dict.fromkeys((*get, *post))
    ]


def application(
    system: System, places: list[Route], *, work: bool, on_error: OnError, on_http_exception: OnHttpException
) -> Starlette:
    """The ASGI application. With `work`, this process runs turns."""

    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        async with system.running(work=work):
            yield

    app = Starlette(
        routes=places,
        lifespan=lifespan,
        middleware=[
            Middleware(Guard, settings=system.settings, entry=system.logins or system.actor, on_error=on_error),
            Middleware(GZipMiddleware, minimum_size=1_000, compresslevel=5),  # never a stream of events
        ],
        exception_handlers={
            HTTPException: on_http_exception,  # type: ignore[dict-item]  # Starlette: an exception of the key's type
            HansardError: on_error,
            Exception: on_error,
        },
    )
    app.router.redirect_slashes = False  # an endpoint has one address; any other is a problem like the rest
    app.state.system = system
    app.state.kept = {}
    return app
