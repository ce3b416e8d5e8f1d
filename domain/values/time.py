"""Instants: milliseconds since 1970 inside, ISO 8601 in UTC outside."""

from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def iso(at: int) -> str:
    """`2026-11-21T22:30:00.000Z`"""
    return (_EPOCH + timedelta(milliseconds=at)).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def milliseconds(text: str) -> int:
    """The instant of an ISO text; without an offset it is read as UTC. Raises ValueError."""
    when = datetime.fromisoformat(text)
    if when.tzinfo is None:
        when = when.replace(tzinfo=UTC)
    return (when - _EPOCH) // timedelta(milliseconds=1)
