"""The way in for webhooks of a forge. They need no key, change nothing and say nothing: a signed one only wakes the
poll."""

import asyncio
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from adapters.forge.hooks import is_signed
from adapters.forge.settings import BadForge, read_settings
from adapters.references import resolve_secrets
from api.http.requests import raw_body, system
from api.node.owner import forge_file
from api.system import System

_NOT_HERE: Final = 404


async def forge_webhook(request: Request) -> Response:
    """Wake who follows pull requests, if the forge has signed the hook. Without a secret there is no such place."""
    inside = system(request)
    secret = await asyncio.to_thread(_secret, inside)
    if not secret:
        return Response(status_code=_NOT_HERE)
    body = await raw_body(request)
    headers = {name.lower(): value for name, value in request.headers.items()}
    if not is_signed(headers, body, secret):
        return Response(status_code=401)
    if inside.pull_requests is not None:
        inside.pull_requests.wake()
    return Response(status_code=202)


def _secret(inside: System) -> str:
    """The secret of the owner's settings; empty where there is none, or where it cannot be read."""
    try:
        reference = read_settings(forge_file(inside.settings)).secret
        return "".join(resolve_secrets({"forge.toml secret": reference}).values()) if reference is not None else ""
    except (BadForge, ValueError):
        return ""
