"""Traces and metrics for OpenTelemetry, made from the events of the log: commands, turns, and their attempts.

Nothing of it runs unless the environment names an endpoint. A session is one trace: that of the caller who sent a
`traceparent` with its start, otherwise its own. Spans have the times of the record.
"""

import hashlib
import logging
import os
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Collection, Sequence
from itertools import groupby
from typing import Any, Final

from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import Status, StatusCode, set_span_in_context
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from api.node.recent import remember
from domain.session.past_commands import mark
from domain.session.record import Recorded
from domain.session.turns import AttemptOver, Settled, TurnCancelled, TurnRequested

GOODBYE_SECONDS: Final = 2.5
_KEPT: Final = 10_000
"""Number of sessions and turns that are remembered."""
_NANOSECONDS: Final = 1_000_000
_log = logging.getLogger(__name__)
History = Callable[..., list[Recorded]]


def exporting(history: History, signals: Collection[str]) -> "Telemetry":
    """Exports these signals (`traces`, `metrics`) to the addresses in the environment."""
    return Telemetry(
        history,
        processor=BatchSpanProcessor(OTLPSpanExporter()) if "traces" in signals else None,
        reader=PeriodicExportingMetricReader(OTLPMetricExporter()) if "metrics" in signals else None,
    )


class Telemetry:
    """Reads each page of events. `history` is the log's; `processor` and `reader` are OpenTelemetry's, None for what
    is not exported."""

    def __init__(self, history: History, *, processor: Any, reader: Any) -> None:
        resource = Resource.create({"service.name": os.environ.get("OTEL_SERVICE_NAME", "hansard")})
        self._history = history
        self._traces = TracerProvider(resource=resource, shutdown_on_exit=False)
        if processor is not None:
            self._traces.add_span_processor(processor)
        readers = [] if reader is None else [reader]
        self._metrics = MeterProvider(metric_readers=readers, resource=resource, shutdown_on_exit=False)
        self._tracer = self._traces.get_tracer("hansard")
        meter = self._metrics.get_meter("hansard")
        self._commands = meter.create_counter("hansard.commands", description="commands that were recorded")
        self._attempts = meter.create_counter("hansard.attempts", description="attempts of turns, by outcome")
        self._seconds = meter.create_histogram("hansard.attempt.duration", unit="s")
        self._tokens = meter.create_counter("hansard.tokens", description="input and output tokens")
        self._cost = meter.create_counter("hansard.cost", unit="{microdollar}")
        self._sessions: OrderedDict[str, Any] = OrderedDict()
        self._requested: OrderedDict[str, Recorded] = OrderedDict()

    def stop(self) -> None:
        """Send what is left. A collector that is away delays this by at most `GOODBYE_SECONDS`."""
        until = time.monotonic() + GOODBYE_SECONDS
        ends = (self._traces.shutdown, self._metrics.shutdown)
        threads = [threading.Thread(target=end, name="telemetry", daemon=True) for end in ends]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(max(0.0, until - time.monotonic()))

    def rewound(self, _: int) -> None:
        """Forget sessions and turns, since the log has gone back: they may never have been."""
        self._sessions.clear()
        self._requested.clear()

    def seen(self, page: Sequence[Recorded]) -> None:
        """There are events; called in the thread that follows the log. Its own errors stop nothing else."""
        try:
            for _, group in groupby(page, key=lambda recorded: (recorded.session_id, *mark(recorded))):
                self._command(list(group))
        except Exception:  # an outermost loop: the record does not depend on who watches it
            _log.exception("events could not be traced")

    def _command(self, events: Sequence[Recorded]) -> None:
        first = events[0]
        actor = first.causation.actor.partition(":")[0]
        self._commands.add(1, {"kind": first.kind, "command": first.event.TOPIC, "actor": actor})
        about = {"hansard.session": first.session_id, "hansard.version": first.version, "hansard.actor": actor}
        about |= {"hansard.events": len(events)}
        own = first.causation.trace if first.version > 1 else ""
        parent = _remote(own) if own else self._session(first)
        self._span(f"command {first.event.TOPIC}", parent, first.at, first.at, about)
        for recorded in events:
            self._turn(recorded)

    def _turn(self, recorded: Recorded) -> None:
        match recorded.event:
            case TurnRequested() as event:
                remember(self._requested, event.turn_id, recorded, _KEPT)
            case event if isinstance(event, AttemptOver):
                self._ended(recorded, event)

    def _ended(self, recorded: Recorded, event: Any) -> None:
        """The end of an attempt; of the turn, too, where no other follows."""
        failure = getattr(event, "failure", None)
        outcome = "cancelled" if isinstance(event, TurnCancelled) else failure.code if failure else "answered"
        names = {"hansard.agent": event.agent, "hansard.role": event.role, "hansard.outcome": outcome}
        seconds = float(getattr(event, "seconds", 0) or 0)
        self._count(event, names, seconds)
        about = names | {"hansard.session": recorded.session_id, "hansard.turn": event.turn_id}
        began = recorded.at - round(seconds * 1_000)
        parent, request = self._session(recorded), self._requested.get(event.turn_id)
        if isinstance(event, Settled):
            self._requested.pop(event.turn_id, None)
            start = request.at if request else began
            parent = self._span(f"turn {event.role}", parent, start, recorded.at, about, failure)
        if not isinstance(event, TurnCancelled):
            about |= {"hansard.attempt": event.attempt}
            self._span(f"attempt {event.role}", parent, began, recorded.at, about, failure)

    def _count(self, event: Any, names: dict[str, str], seconds: float) -> None:
        self._attempts.add(1, names)
        if isinstance(event, TurnCancelled):
            return
        self._seconds.record(seconds, names)
        usage = getattr(event, "usage", None)
        for counter, amount in ((self._tokens, usage and usage.tokens), (self._cost, usage and usage.cost_micros)):
            if amount:
                counter.add(amount, names)

    def _span(self, name: str, parent: Any, start: int, end: int, about: dict[str, Any], failure: Any = None) -> Any:
        """A span with the times of the record (milliseconds); the context for those below it."""
        span = self._tracer.start_span(name, context=parent, attributes=about, start_time=start * _NANOSECONDS)
        if failure is not None:
            span.set_status(Status(StatusCode.ERROR, failure.code))
        span.end(end * _NANOSECONDS)
        return set_span_in_context(span)

    def _session(self, recorded: Recorded) -> Any:
        """The trace of a session, as every process names it."""
        name = recorded.session_id
        if name not in self._sessions:
            first = recorded if recorded.version == 1 else next(iter(self._history(name, upto=1)), recorded)
            remember(self._sessions, name, _remote(first.causation.trace or _own(name)), _KEPT)
        return self._sessions[name]


def _own(session_id: str) -> str:
    """The `traceparent` of a session that was started without one."""
    digest = hashlib.sha256(session_id.encode()).hexdigest()
    return f"00-{digest[:32]}-{digest[32:48]}-01"


def _remote(traceparent: str) -> Any:
    return TraceContextTextMapPropagator().extract({"traceparent": traceparent})
