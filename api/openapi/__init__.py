"""GET /openapi.json: requests and answers of the endpoints, derived from the handlers (OpenAPI 3.1)."""

import asyncio
import json
from collections.abc import Sequence
from functools import cached_property
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from api.http.application import Endpoint
from api.http.requests import unless_known

__all__ = ["Document", "show_openapi"]


class Document:
    """The description of one application, made at first use and kept."""

    def __init__(self, commands: Sequence[Endpoint], views: Sequence[Endpoint]) -> None:
        self._commands, self._views = commands, views

    @cached_property
    def schema(self) -> dict[str, Any]:
        from api.openapi.description import build

        return build(self._commands, self._views)

    @cached_property
    def content(self) -> bytes:
        """As served, and as stored in `docs/openapi.json`: readable, with one line per change."""
        return (json.dumps(self.schema, ensure_ascii=False, indent=1) + "\n").encode()


async def show_openapi(request: Request) -> Response:
    """GET /openapi.json: this description, as JSON"""
    document: Document = request.app.state.document
    content = await asyncio.to_thread(lambda: document.content)
    return unless_known(request, content, "application/json")
