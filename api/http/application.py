"""An ASGI application around one `System`: a single function handles a request, including errors as problems."""

import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from typing import Final, NamedTuple

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware.gzip import GZipResponder, IdentityResponder
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Match, Route
from starlette.types import ASGIApp, Receive, Send
from starlette.types import Scope as Connection

from api.http.guards import Guard, UnknownHost, check_scope
from api.http.headers import careful, with_headers
from api.http.problems import problem
from api.http.requests import weights_of
from api.node.scopes import Scope
from api.system import System
from domain.values.base import HansardError

Handler = Callable[[Request], Awaitable[Response]]


class Endpoint(NamedTuple):
    """A path in Starlette's notation, its handler, and the scope that it requires; None is open to everyone."""

    path: str
    handler: Handler
    scope: Scope | None


OnError = Callable[[Request, Exception], Awaitable[Response]]
_PACKED: Final = 1_000
"""Answers from this size on are compressed, if the client accepts that."""


class _Methods:
    """One path with a handler for each method, so that a 405 names all of them in `Allow`."""

    def __init__(self, get: Endpoint | None, post: Endpoint | None) -> None:
        self._get, self._post = get, post

    async def __call__(self, scope: Connection, receive: Receive, send: Send) -> None:
        """As an ASGI application, for callers that use a route directly."""
        response = await self.answer(Request(scope, receive, send), scope["method"])
        await response(scope, receive, send)

    async def answer(self, request: Request, method: str) -> Response:
        endpoint = self._post if method == "POST" else self._get
        assert endpoint is not None, "the route names the methods"
        check_scope(request, endpoint.scope)
        return await endpoint.handler(request)


def readable(*places: tuple[str, Handler]) -> tuple[Endpoint, ...]:
    """Returns the endpoints of paths for whose handlers the scope `read` is enough."""
    return tuple(Endpoint(path, handler, "read") for path, handler in places)


def routes(gets: Iterable[Endpoint], posts: Iterable[Endpoint]) -> list[Route]:
    """A route for each path, with HEAD if there is GET. Those of commands come first, because each is tried in turn."""
    get, post = ({endpoint.path: endpoint for endpoint in endpoints} for endpoints in (gets, posts))
    return [
        Route(
            path,
            _Methods(get.get(path), post.get(path)),
            methods=[*(["GET"] if path in get else []), *(["POST"] if path in post else [])],
        )
        for path in dict.fromkeys((*post, *get))
    ]


class _Application(Starlette):
    """Starlette without its middleware layers, each of which would cost a command several calls."""

    def __init__(
        self,
        routes: list[Route],
        lifespan: Callable[[Starlette], contextlib.AbstractAsyncContextManager[None]],
        *,
        guard: Guard,
        on_error: OnError,
        on_http_exception: OnError,
    ) -> None:
        super().__init__(routes=routes, lifespan=lifespan)
        self.guard, self.on_error, self.on_http_exception = guard, on_error, on_http_exception

    def build_middleware_stack(self) -> ASGIApp:
        return self._serve

    async def _serve(self, scope: Connection, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self.router(scope, receive, send)
        broken: Exception | None = None
        request = Request(scope, receive, send)
        try:
            receive = self.guard.let_in(scope, receive)
            request = Request(scope, receive, send)
            endpoint = self._endpoint(scope)
            response = await endpoint.answer(request, scope["method"])
        except UnknownHost as error:  # no page of ours is shown under another host name
            response = problem(error)
        except HTTPException as error:
            response = await self.on_http_exception(request, error)
        except HansardError as error:
            response = await self.on_error(request, error)
        except Exception as error:  # answered, and then left for the server to log
            broken, response = error, await self.on_error(request, error)
        await _send(response, scope, receive, send)
        if broken is not None:
            raise broken

    def _endpoint(self, scope: Connection) -> _Methods:
        """The handler of the path. Raises HTTPException if there is none, or none for this method."""
        scope["router"] = self.router
        for route in self.router.routes:
            match, child_scope = route.matches(scope)
            if match is Match.FULL:
                scope["route"] = route
                scope.update(child_scope)
                endpoint: _Methods = child_scope["endpoint"]
                return endpoint
            if match is Match.PARTIAL:
                assert isinstance(route, Route)
                raise HTTPException(405, headers={"Allow": ", ".join(sorted(route.methods or ()))})
        raise HTTPException(404)


async def _send(response: Response, scope: Connection, receive: Receive, send: Send) -> None:
    """The answer with our headers, compressed if it is long; never a stream of events."""
    if type(response).__call__ is not Response.__call__:
        await _packed(response, scope)(scope, receive, with_headers(send))
        return
    response.raw_headers = careful(response.raw_headers)
    await (response if len(response.body) < _PACKED else _packed(response, scope))(scope, receive, send)


def _packed(response: Response, scope: Connection) -> ASGIApp:
    """The answer, compressed if the client accepts that. Starlette's own middleware would not see a weight of 0."""
    if weights_of(Request(scope), "accept-encoding").get("gzip", 0.0) == 0:
        return IdentityResponder(response, _PACKED)
    return GZipResponder(response, _PACKED, compresslevel=5)


def application(
    system: System,
    places: list[Route],
    *,
    work: bool,
    notify: bool,
    on_error: OnError,
    on_http_exception: OnError,
) -> Starlette:
    """The ASGI application. With `work`, this process runs turns; with `notify`, it sends notifications and
    checkpoints."""

    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        async with system.running(work=work, notify=notify):
            yield

    app = _Application(
        places,
        lifespan,
        guard=Guard(system.settings, system.logins or system.actor),
        on_error=on_error,
        on_http_exception=on_http_exception,
    )
    app.state.system = system
    app.state.kept = {}
    return app
