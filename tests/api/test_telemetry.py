"""Traces and metrics: built from the log, continuing the caller's trace, and off by default."""

import gzip
import os
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from api.node.settings import telemetry_signals
from tests.api.server import ROOT, Server, delivery, ended, events, inside, serving, start, system, until

pytest.importorskip("opentelemetry.sdk")
TRACE = "0af7651916cd43dd8448eb211c80319c"
PARENT = f"00-{TRACE}-b7ad6b7169203331-01"


class Watched:
    """Telemetry that keeps its spans and figures in memory."""

    def __init__(self, client: TestClient) -> None:
        from opentelemetry.sdk.metrics.export import InMemoryMetricReader
        from opentelemetry.sdk.trace.export import SimpleSpanProcessor
        from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

        from api.node.telemetry import Telemetry

        self.exporter, self.reader = InMemorySpanExporter(), InMemoryMetricReader()
        self.telemetry = Telemetry(
            system(client).store.history, processor=SimpleSpanProcessor(self.exporter), reader=self.reader
        )
        system(client).follower.listen(self.telemetry.seen)

    def spans(self, session_id: str) -> list[Any]:
        result = self.exporter.get_finished_spans()
        return [span for span in result if span.attributes["hansard.session"] == session_id]

    def figures(self) -> dict[str, float]:
        data = self.reader.get_metrics_data()
        result: dict[str, float] = {}
        for metric in data.resource_metrics[0].scope_metrics[0].metrics:
            points = metric.data.data_points
            result[metric.name] = sum(getattr(point, "value", None) or getattr(point, "count", 0) for point in points)
        return result


def test_a_session_continues_the_callers_trace(tmp_path: Path) -> None:
    with inside(tmp_path) as client:
        watched = Watched(client)
        body = delivery({"dev": [{"error": "timeout"}, "Done."]}, retry={"attempts": 2, "backoffSeconds": [0]})
        traced = start(client, body, traceparent=PARENT)
        plain = start(client, delivery())
        assert ended(client, traced)["status"] == ended(client, plain)["status"] == "success"
        recorded = events(client, traced)
        until(lambda: len(watched.spans(plain)) > 10, what="the spans")
        ours = [event for event in recorded if event["commandId"] == recorded[0]["commandId"]]
        assert {event.get("traceparent") for event in ours} == {PARENT}
        assert "traceparent" not in events(client, plain)[0]
        spans = watched.spans(traced)
        assert {f"{span.context.trace_id:032x}" for span in spans} == {TRACE}
        assert f"{spans[0].parent.span_id:016x}" == "b7ad6b7169203331"
        [own] = {span.context.trace_id for span in watched.spans(plain)}
        assert own != int(TRACE, 16)
        names = [span.name for span in spans]
        assert "command delivery.session_started" in names and "turn dev" in names
        attempts = [span for span in spans if span.name == "attempt dev"]
        assert [span.attributes["hansard.outcome"] for span in attempts] == ["timeout", "answered"]
        assert [span.status.is_ok for span in attempts] == [False, True]
        turn = next(span for span in spans if span.name == "turn dev")
        assert attempts[1].parent.span_id == turn.context.span_id
        assert turn.start_time <= attempts[1].start_time <= attempts[1].end_time == turn.end_time
        figures = watched.figures()
        assert figures["hansard.commands"] > 10 and figures["hansard.attempts"] > 10


@pytest.mark.parametrize("header", ["", "x", f"00-{'0' * 32}-b7ad6b7169203331-01", f"ff-{TRACE}-b7ad6b7169203331-01"])
def test_a_header_that_is_no_traceparent_changes_nothing(tmp_path: Path, header: str) -> None:
    with inside(tmp_path, work=False) as client:
        assert "traceparent" not in events(client, start(client, delivery(), traceparent=header))[0]


def test_it_is_off_until_an_endpoint_is_named() -> None:
    address = "http://127.0.0.1:4318"
    everything, traces = {"OTEL_EXPORTER_OTLP_ENDPOINT": address}, {"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": address}
    assert telemetry_signals({}) == ()
    assert telemetry_signals(everything) == ("traces", "metrics")
    assert telemetry_signals(traces) == ("traces",), "metrics would go to a default address"
    assert telemetry_signals({"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": address}) == ("metrics",)
    assert telemetry_signals(everything | {"OTEL_TRACES_EXPORTER": "none"}) == ("metrics",)
    assert telemetry_signals(everything | {"OTEL_METRICS_EXPORTER": " None "}) == ("traces",)
    assert telemetry_signals(traces | {"OTEL_TRACES_EXPORTER": "none"}) == ()
    assert telemetry_signals(everything | {"OTEL_SDK_DISABLED": "true"}) == ()


def test_a_collector_that_is_away_delays_a_stop_by_three_seconds_at_most(tmp_path: Path) -> None:
    away = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9"}
    for name, value in away.items():
        os.environ[name] = value
    try:
        server = Server(tmp_path)
        server.start()
    finally:
        for name in away:
            del os.environ[name]
    try:
        ended(server.client, start(server.client, delivery()))
        assert server.stop() < 6, "three seconds, on a slow machine too"
    finally:
        server.leave()
    loaded = "import sys, api.app; sys.exit(any(name.startswith('opentelemetry') for name in sys.modules))"
    assert subprocess.run([sys.executable, "-c", loaded], cwd=ROOT, check=False).returncode == 0


def test_a_server_without_the_extra_warns_and_starts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hidden = tmp_path / "hidden" / "opentelemetry"
    hidden.mkdir(parents=True)
    (hidden / "__init__.py").write_text("raise ImportError('not installed')\n")
    monkeypatch.setenv("PYTHONPATH", str(hidden.parent))
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4318")
    with serving(tmp_path) as server:
        assert ended(server.client, start(server.client, delivery()))["status"] == "success"
        text = server.log.read_text()
    assert "sending no traces and metrics" in text and "[otel]" in text


def test_a_server_sends_what_it_has_to_the_endpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    got: list[tuple[str, bytes]] = []

    class Collector(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            got.append((self.path, gzip.decompress(body) if self.headers["content-encoding"] == "gzip" else body))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            pass

    collector = ThreadingHTTPServer(("127.0.0.1", 0), Collector)
    threading.Thread(target=collector.serve_forever, args=(0.01,), daemon=True).start()
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://127.0.0.1:{collector.server_port}")
    with serving(tmp_path) as server:
        session_id = start(server.client, delivery(), traceparent=PARENT)
        ended(server.client, session_id)
        server.stop()
    collector.shutdown()
    collector.server_close()
    assert {path for path, _ in got} == {"/v1/traces", "/v1/metrics"}
    assert any(bytes.fromhex(TRACE) in body and b"attempt dev" in body for path, body in got if path == "/v1/traces")
    assert any(b"hansard.attempts" in body for path, body in got if path == "/v1/metrics")
