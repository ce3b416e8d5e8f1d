"""The headers that every answer has."""

from typing import Final

from starlette.types import Message, Send

HEADERS: Final = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; "
        "trusted-types hansard"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",  # with no-referrer, browsers would send `Origin: null` for our own forms, too
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
_RAW: Final = tuple((name.lower().encode(), value.encode()) for name, value in HEADERS.items())


def careful(headers: list[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """The headers of an answer, with those that every answer has."""
    names = {name for name, _ in headers}
    return headers + [header for header in _RAW if header[0] not in names]


def with_headers(send: Send) -> Send:
    """The same for an answer that sends itself."""

    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            message["headers"] = careful(list(message.get("headers", ())))
        await send(message)

    return sending
