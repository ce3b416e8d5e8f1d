"""A stub of the providers' HTTP interfaces: Messages, Responses, Chat Completions and Gemini, as streams.

A `Rule` fits by words in the prompt. Its steps are taken in order, one a call: a shell command goes out through the
tool that the program offers, a text ends the turn, a status is an error of the provider. What was counted as usage is
kept, so that a test can compare it with what Hansard recorded.
"""

import json
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.providers.protocols import PROTOCOLS, Protocol

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Usage:
    """What the provider counts for one call; `fresh` input is neither read from nor written to a cache."""

    fresh: int = 1_000
    cached: int = 200
    written: int = 0
    output: int = 50
    reasoning: int = 0

    @property
    def input(self) -> int:
        return self.fresh + self.cached + self.written


@dataclass(frozen=True, slots=True)
class Step:
    """One answer of the provider: exactly one of shell, call, text, status, hang or cut."""

    shell: str | None = None
    call: tuple[str, Json] | None = None
    """A tool by its name, and its arguments."""
    text: str | None = None
    status: int | None = None
    headers: tuple[tuple[str, str], ...] = ()
    hang: float = 0.0
    cut: bool = False
    usage: Usage = Usage()


@dataclass(slots=True)
class Rule:
    """Fits a prompt that holds these words. The last step repeats, where it ends a turn."""

    words: str
    steps: Sequence[Step]
    taken: int = 0
    without_tools: bool = False
    """Whether it also means calls without tools: of a program that has none, or of a model."""

    def next(self) -> Step:
        step = self.steps[min(self.taken, len(self.steps) - 1)]
        self.taken += 1
        return step


SIDE = Step(text="Title", usage=Usage(fresh=10, cached=0, output=2))
"""What calls without tools get that no rule means: programs ask for titles and the like."""


@dataclass(slots=True)
class Provider:
    """The stub while it runs. `calls` are the answered calls (protocol, usage), `prompts` what was asked."""

    rules: list[Rule] = field(default_factory=list)
    calls: list[tuple[str, Usage]] = field(default_factory=list)
    prompts: list[str] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)
    server: ThreadingHTTPServer | None = None

    @property
    def url(self) -> str:
        assert self.server is not None
        return f"http://127.0.0.1:{self.server.server_address[1]}"

    def step(self, protocol: Protocol, body: Json) -> Step:
        """What is answered to a call."""
        prompt, offered = protocol.prompt(body), protocol.tools(body)
        with self.lock:
            self.prompts.append(prompt)
            fitting = [rule for rule in self.rules if rule.words in prompt]
            step = fitting[0].next() if fitting and (offered or fitting[0].without_tools) else SIDE
            if step.status is None and not step.cut and not step.hang:
                self.calls.append((protocol.name, step.usage))
            return step

    def input_tokens(self) -> int:
        return sum(usage.input for _, usage in self.calls)

    def output_tokens(self) -> int:
        return sum(usage.output for _, usage in self.calls)

    def __enter__(self) -> "Provider":
        provider = self

        class Handler(_Handler):
            stub = provider

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        assert self.server is not None
        self.server.shutdown()
        self.server.server_close()


class _Handler(BaseHTTPRequestHandler):
    stub: Provider
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: object) -> None:
        """Nothing: tests read `calls`."""

    def do_GET(self) -> None:
        self._json(200, {"object": "list", "data": [{"id": "stub-model", "object": "model"}], "models": []})

    def do_HEAD(self) -> None:
        self._json(200, {})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))) or b"{}")
        path = self.path.split("?")[0]
        protocol = next((known for known in PROTOCOLS if known.serves(path)), None)
        if protocol is None or path.endswith(("count_tokens", ":countTokens")):
            self._json(200, {"input_tokens": 10, "totalTokens": 10})
            return
        step = self.stub.step(protocol, body)
        if step.hang:
            time.sleep(step.hang)
            return
        if step.status is not None:
            self._json(step.status, protocol.error(step.status), step.headers)
            return
        frames = protocol.frames(step, body)
        if protocol.streams(path, body):
            self._stream(list(frames), cut=step.cut)
        else:
            self._json(200, protocol.whole(step, body))

    def _json(self, status: int, body: Json, headers: Sequence[tuple[str, str]] = ()) -> None:
        content = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        for name, value in headers:
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def _stream(self, frames: Sequence[str], *, cut: bool) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        for frame in _until_cut(frames, cut):
            self.wfile.write(frame.encode())
            self.wfile.flush()
        self.close_connection = True


def _until_cut(frames: Sequence[str], cut: bool) -> Iterator[str]:
    yield from frames[: len(frames) // 2] if cut else frames
