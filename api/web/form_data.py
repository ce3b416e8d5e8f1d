"""A browser's form data, parsed as strictly as JSON, or refused as a whole."""

import re
from typing import Final
from urllib.parse import parse_qsl

from starlette.requests import Request

from api.http.problems import Problem
from api.http.requests import CHARSET, received, system
from domain.values.sentences import Sentence

TYPE: Final = "application/x-www-form-urlencoded"
MOST: Final = 64
"""Maximum number of fields in a form."""
SPELT: Final = 3
"""Bytes that one byte may take here: `%ED%95%9C` takes as much space as three bytes of JSON."""

_BROKEN = re.compile("%(?![0-9A-Fa-f]{2})")


async def fields(request: Request) -> dict[str, str]:
    """The fields by name, each once, with `\\n` between lines.

    Raises Problem: 413 above `max_body_bytes` (percent-encoded), 415 for anything but such a form, 408 for one that
    ends too early, 400 for one that no browser would send.
    """
    _check_type(request)
    return parsed(await received(request, SPELT * system(request).settings.max_body_bytes, "form"))


def parsed(raw: bytes) -> dict[str, str]:
    """Raises Problem 400 if it is not percent-encoded UTF-8, or repeats a field."""
    try:
        text = raw.decode("ascii")
        if _BROKEN.search(text):
            raise ValueError("a percent sign that encodes nothing")
        pairs = parse_qsl(text, keep_blank_values=True, strict_parsing=bool(text), errors="strict", max_num_fields=MOST)
    except ValueError:
        raise Problem(400, Sentence("form_unreadable", number=MOST)) from None
    values = dict(pairs)
    if len(values) < len(pairs):
        raise Problem(400, Sentence("form_field_twice"))
    return {name: value.replace("\r\n", "\n") for name, value in values.items()}


def _check_type(request: Request) -> None:
    media, _, parameters = request.headers.get("content-type", "").partition(";")
    charset = CHARSET.search(parameters)
    if media.strip().lower() != TYPE or (charset is not None and charset[1].lower() not in ("utf-8", "utf8")):
        raise Problem(415, Sentence("send_form_utf8"))
    if request.headers.get("content-encoding", "identity").strip().lower() != "identity":
        raise Problem(415, Sentence("form_compressed"))
