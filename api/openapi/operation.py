"""The shape of an endpoint's description, and the media types of answers."""

from dataclasses import dataclass

from pydantic import BaseModel

JSON = "application/json"
MARKDOWN = "text/markdown"
HTML = "text/html"
PLAIN = "text/plain"
CSV = "text/csv"
ANY_OBJECT = "object"
"""Instead of a model: any JSON object."""


@dataclass(frozen=True, slots=True)
class Operation:
    """`body` and `answer` are models or names of components, `refuses` statuses beyond the usual.

    `stream`: events too. `tagged`: with an `ETag` that is asked about. `open`: needs no key.
    `nothing`: the meaning of 204, if used. `other`: another format on request.
    """

    tag: str
    summary: str
    description: str = ""
    body: type[BaseModel] | str | None = None
    answer: type[BaseModel] | str | None = None
    media: str = JSON
    status: int = 200
    stream: bool = False
    tagged: bool = False
    open: bool = False
    nothing: str = ""
    other: str = ""
    refuses: tuple[int, ...] = ()
