"""Figures for Prometheus."""

import asyncio
from collections.abc import Iterator
from typing import TYPE_CHECKING

from starlette.requests import Request
from starlette.responses import Response

from adapters.store.sqlite.store import wal_bytes
from api.http.requests import system
from api.system import System

if TYPE_CHECKING:
    from prometheus_client import Metric


async def metrics(request: Request) -> Response:
    """GET /metrics: Prometheus"""
    from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest

    registry = CollectorRegistry()
    registry.register(_Metrics(system(request)))
    return Response(await asyncio.to_thread(generate_latest, registry), media_type=CONTENT_TYPE_LATEST)


class _Metrics:
    """The figures of one moment. What counts from the start on is a counter: it restarts with each process."""

    def __init__(self, inside: System) -> None:
        self._inside = inside

    def collect(self) -> "Iterator[Metric]":
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

        inside = self._inside
        gauges = {
            "hansard_log_head_position": ("newest position of the log", inside.store.head()),
            "hansard_views_position": ("position that the views have reached", inside.follower.position),
            "hansard_views_lag_events": ("events that the views are behind", inside.follower.lag()),
            "hansard_commands_waiting": ("commands in the writer's queue", inside.writer.waiting()),
            "hansard_claims_waiting": ("external workers that wait for a turn", inside.claims_waiting()),
            "hansard_stream_clients": ("open event streams", inside.hub.clients),
        }
        if inside.settings.log_file is not None:
            size = wal_bytes(inside.settings.log_file)
            gauges["hansard_log_wal_bytes"] = ("size of the log's write-ahead log", size)
        counters = {
            "hansard_commands_total": ("commands run since the start", inside.writer.commands),
            "hansard_batches_total": ("transactions since the start", inside.writer.batches),
            "hansard_conflicts_total": ("batches that met a conflict since the start", inside.writer.conflicts),
        }
        for name, (description, value) in gauges.items():
            yield GaugeMetricFamily(name, description, value=value)
        for name, (description, value) in counters.items():
            yield CounterMetricFamily(name, description, value=value)
        turns = GaugeMetricFamily("hansard_turns", "turns that are not settled", labels=["state"])
        for state, count in inside.store.turns.count().items():
            turns.add_metric([state], count)
        yield turns
