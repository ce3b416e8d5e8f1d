"""A reply of somebody who judges: its words, and the JSON at its end, where agents put their verdict."""

import re
from typing import Final

import orjson

_AT_THE_END: Final = re.compile(r"(?:\A|\n)(?:```(?:json)?[ \t]*\n)?(?P<json>\{(?:(?!\n\{)[\s\S])*\})\s*(?:```\s*)?\Z")
"""The last object that begins a line, up to the end."""


def parted(reply: str) -> tuple[str, str]:
    """Returns the words, and the JSON as it was written; "" where there is none that can be read."""
    match = _AT_THE_END.search(reply)
    if match is None:
        return reply, ""
    try:
        orjson.loads(match["json"])
    except orjson.JSONDecodeError:
        return reply, ""
    return reply[: match.start()], match["json"]
