"""All sessions at a glance: one row each, found by kind, status, label or words, newest first."""

from projections.engine.ports import Projection
from projections.sessions.fold import SCHEMA, apply
from projections.sessions.reading import counts, cursor_of, item, normal, page, position_of, waiting

__all__ = ["OVERVIEW", "SCHEMA", "apply", "counts", "cursor_of", "item", "normal", "page", "position_of", "waiting"]

OVERVIEW = Projection(
    name="overview", tables=("overview", "overview_labels", "overview_turns"), schema=SCHEMA, apply=apply, version=2
)
