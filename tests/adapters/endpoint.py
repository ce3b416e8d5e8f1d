"""An endpoint on loopback that answers chat completions with the bytes that a test gives it."""

import json
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

Json = dict[str, Any]
SSE = "text/event-stream"


def chunk(delta: Json | None = None, **more: Any) -> bytes:
    """One event of a stream, with one choice."""
    choice = {"index": 0, "delta": delta or {}, "finish_reason": more.pop("finish", None)}
    return event({"model": "large-1-0612", "choices": [choice], **more})


def event(data: Any) -> bytes:
    return f"data: {json.dumps(data)}\n\n".encode()


def says(text: str) -> tuple[bytes, ...]:
    return (chunk({"content": text}), chunk(finish="stop"), b"data: [DONE]\n\n")


@dataclass(frozen=True)
class Said:
    """An answer: status, headers, and the pieces of its body. `hold` waits before the last piece until released."""

    pieces: tuple[bytes, ...] = ()
    status: int = 200
    kind: str = SSE
    headers: tuple[tuple[str, str], ...] = ()
    hold: bool = False


@dataclass
class Endpoint:
    """Answers every call with `said`; keeps what was sent."""

    said: Said = Said()
    calls: list[tuple[str, Json, Json]] = field(default_factory=list)
    asked: threading.Event = field(default_factory=threading.Event)
    released: threading.Event = field(default_factory=threading.Event)

    def __enter__(self) -> Self:
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(lambda: self))
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.released.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"


def _handler(of: Callable[[], Endpoint]) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def log_message(self, format: str, *args: object) -> None:
            """Nothing."""

        def do_POST(self) -> None:
            endpoint = of()
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            endpoint.calls.append((self.path, {name.lower(): value for name, value in self.headers.items()}, body))
            said = endpoint.said
            self.send_response(said.status)
            self.send_header("Content-Type", said.kind)
            for name, value in said.headers:
                self.send_header(name, value)
            self.end_headers()
            *first, last = said.pieces or (b"",)
            try:
                for piece in first:
                    self.wfile.write(piece)
                    self.wfile.flush()
                endpoint.asked.set()
                if said.hold:
                    endpoint.released.wait(60)
                self.wfile.write(last)
            except OSError:
                self.close_connection = True

    return Handler
