"""Says what a good result leaves open: a person reads this before it is merged."""

from collections.abc import Iterator, Mapping
from typing import Any

from api.cli.labels import sentence


def result_notes(session: Mapping[str, Any]) -> Iterator[str]:
    """The sentences about a session with a result, most important first; none where nothing is open."""
    result = session.get("result") or {}
    reviewed = result.get("reviewed")
    if reviewed and reviewed["shown"] < reviewed["of"]:
        percent = reviewed["shown"] * 100 // reviewed["of"]
        yield sentence("Review saw {percent} % of the changes.", percent=percent)
