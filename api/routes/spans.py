"""Times that callers give: instants, and spans from one to another."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Any, Final

from domain.values.base import Invalid, milliseconds
from domain.values.sentences import Sentence

DAY: Final = 86_400_000
_DATE: Final = re.compile(r"\d{4}-\d\d-\d\d")
SCHEMA: Final[dict[str, Any]] = {
    "anyOf": [{"type": "string", "format": "date-time"}, {"type": "string", "format": "date"}]
}
"""Either end of a span, as the API's document has it."""


def span(since: str | None, until: str | None, place: str = "") -> tuple[int | None, int | None]:
    """From (included) and to (not included), in milliseconds; a `to` that is a date means the end of that day (UTC).

    Raises Invalid; `place` is the pointer to what holds both.
    """
    first, last = _instant(f"{place}/from", since), _instant(f"{place}/to", until)
    if last is not None and until is not None and _DATE.fullmatch(until):
        last += DAY
    if first is not None and last is not None and first >= last:
        raise Invalid({f"{place}/to": Sentence("not_later_than_from")})
    return first, last


def _instant(pointer: str, text: str | None) -> int | None:
    if text is None:
        return None
    try:
        return instant(text).at
    except ValueError as problem:
        raise Invalid({pointer: Sentence("or_a_date", sentence=problem)}) from None


# Instants of callers: ISO text or milliseconds, and answered in the form in which they came.

EARLIEST, LATEST = -62_135_510_400_000, 253_370_764_800_000
"""From the second day of the year 1 to the first of 9999: whatever is added within a budget still has a date."""

LONGEST = 64
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Instant:
    """Milliseconds since 1970; `zone` is None for one that came as a number. `fine`: with fractions, `zulu`: with Z."""

    at: int
    zone: tzinfo | None = None
    fine: bool = False
    zulu: bool = False

    def shown(self, at: int) -> str | int:
        """Another instant in the form of this one."""
        if self.zone is None:
            return at
        when = (_EPOCH + timedelta(milliseconds=at)).astimezone(self.zone)
        text = when.isoformat(timespec="milliseconds" if self.fine or at % 1_000 else "seconds")
        return text.removesuffix("+00:00") + "Z" if self.zulu else text


def instant(value: object) -> Instant:
    """Raises ValueError if it is not ISO text or whole milliseconds, or the year does not have four digits."""
    if isinstance(value, str):
        return _inside(_read(value))
    if isinstance(value, int) and not isinstance(value, bool):
        return _inside(Instant(at=value))
    raise ValueError(Sentence("not_an_instant"))


def _read(text: str) -> Instant:
    if len(text) > LONGEST:
        raise ValueError(Sentence("not_iso_8601"))
    try:
        at, zone = milliseconds(text), datetime.fromisoformat(text).tzinfo
    except (ValueError, OverflowError):
        raise ValueError(Sentence("not_iso_8601")) from None
    return Instant(at=at, zone=zone or UTC, fine="." in text, zulu=zone is None or text.endswith("Z"))


def _inside(value: Instant) -> Instant:
    if not EARLIEST <= value.at <= LATEST:
        raise ValueError(Sentence("year_out_of_range"))
    return value
