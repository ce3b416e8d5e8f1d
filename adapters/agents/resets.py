"""The time when a provider can be asked again: the waits and reset times that error texts contain."""

import re
import time
from datetime import UTC, date, datetime, timedelta, tzinfo
from datetime import time as Time
from email.utils import parsedate_to_datetime
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

_UNITS: Final = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3_600.0, "d": 86_400.0}
_SPAN = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|milliseconds?|s|secs?|seconds?|m|mins?|minutes?|h|hours?|d|days?)(?![a-z])")
_WAIT = re.compile(
    r"(?:retry.after|resets?.in.seconds|retry.?delay)(?:.(?P<ms>ms))?[\"'\s:=]+(?P<number>\d+(?:\.\d+)?)"
    r"(?P<unit>\s*[a-z]+)?"
    r"|(?:try again|available(?: again)?|retry|retrying|wait|resets?)\s+(?:in|after|for)\s+"
    rf"(?P<spans>(?:{_SPAN.pattern}[\s,and]*)+)",
    re.IGNORECASE,
)
_EPOCH = re.compile(r"(?:limit reached\||resets?.?at[\"'\s:=]+)(\d{10})(?:\d{3})?\b", re.IGNORECASE)

_MONTHS: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS: Final = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_INTRODUCED: Final = r"(?:retry.after|resets?|reset time|again|until)(?:.?at)?[\"'\s:=]+(?:(?:at|on)\s+)?"
_CLOCK: Final = r"(?P<hour>\d{1,2})(?::(?P<minute>\d\d))?(?::\d\d)?\s*(?P<half>[ap]\.?m\b)?"
_ZONE: Final = r"(?:\s*\(?(?P<zone>UTC|GMT|Z\b|[a-z]+(?:/[a-z_+-]+)+)\)?)?"
_DATE = re.compile(
    rf"{_INTRODUCED}(?:(?P<day_name>{'|'.join(_DAYS)})[a-z]*,?\s+)?"
    rf"(?:(?P<month>{'|'.join(_MONTHS)})[a-z]*\.?\s+(?P<day>\d{{1,2}})(?:st|nd|rd|th)?,?\s+(?:(?P<year>\d{{4}}),?\s+)?)?"
    rf"(?:at\s+)?{_CLOCK}{_ZONE}",
    re.IGNORECASE,
)
_ISO = re.compile(
    rf"{_INTRODUCED}(\d{{4}}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?)\s*(Z|UTC|[+-]\d\d:?\d\d)?", re.IGNORECASE
)
_HTTP_DATE = re.compile(rf"{_INTRODUCED}([a-z]{{3}}, \d\d [a-z]{{3}} \d{{4}} \d\d:\d\d:\d\d GMT)", re.IGNORECASE)
_JUST_PASSED: Final = timedelta(hours=1)
"""A time of day that passed so recently is not the one of tomorrow."""


def wait_of(output: str, now: float | None = None) -> float | None:
    """Seconds after which a retry makes sense, if the text contains them, or a time that is still to come."""
    at = time.time() if now is None else now
    if match := _EPOCH.search(output):
        return _until(float(match[1]), at)
    if match := _WAIT.search(output):
        if match["spans"]:
            return round(sum(float(number) * _unit(unit) for number, unit in _SPAN.findall(match["spans"])), 3)
        unit = (match["ms"] or match["unit"] or "s").strip().casefold()
        return round(float(match["number"]) * _unit(unit), 3)
    try:
        moment = _moment(output, datetime.fromtimestamp(at, UTC))
    except ValueError:  # no such day, hour or zone
        return None
    return None if moment is None else _until(moment.timestamp(), at)


def _moment(output: str, now: datetime) -> datetime | None:
    if match := _HTTP_DATE.search(output):
        return parsedate_to_datetime(match[1])
    if match := _ISO.search(output):
        zone = (match[2] or "").upper().replace("UTC", "+00:00").replace("Z", "+00:00")
        return datetime.fromisoformat(match[1] + zone).astimezone()
    match = _DATE.search(output)
    if match is None or not (match["half"] or match["minute"]):
        return None  # a lone number is no time
    zone = _zone(match["zone"])
    here = now.astimezone(zone)
    clock = Time(_hour(int(match["hour"]), match["half"]), int(match["minute"] or 0))
    if match["month"]:
        return _on(_day(here.date(), match), clock, zone)
    if match["day_name"]:
        ahead = (_DAYS.index(match["day_name"].casefold()) - here.weekday()) % 7
        moment = _on(here.date() + timedelta(days=ahead), clock, zone)
        return moment if moment > now - _JUST_PASSED else _on(here.date() + timedelta(days=ahead + 7), clock, zone)
    moment = _on(here.date(), clock, zone)
    return moment if moment > now - _JUST_PASSED else _on(here.date() + timedelta(days=1), clock, zone)


def _day(today: date, match: re.Match[str]) -> date:
    """Without a year it is the next such day."""
    month, day = _MONTHS.index(match["month"].casefold()) + 1, int(match["day"])
    if match["year"]:
        return date(int(match["year"]), month, day)
    this_year = date(today.year, month, day)
    return this_year if this_year >= today - timedelta(days=31) else date(today.year + 1, month, day)


def _hour(hour: int, half: str | None) -> int:
    if half is None:
        return hour
    if not 1 <= hour <= 12:
        raise ValueError(hour)
    return hour % 12 + (12 if half[0] in "pP" else 0)


def _zone(name: str | None) -> tzinfo | None:
    """None: of this machine, as programs write times for people. Raises ValueError."""
    if name is None:
        return None
    if "/" not in name:
        return UTC
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, OSError) as error:
        raise ValueError(name) from error


def _on(day: date, clock: Time, zone: tzinfo | None) -> datetime:
    return datetime.combine(day, clock, zone).astimezone(zone)


def _until(moment: float, now: float) -> float | None:
    """None for a time that has passed: it says nothing about the next attempt."""
    return round(moment - now, 3) if moment > now else None


def _unit(word: str) -> float:
    word = word.casefold()
    return _UNITS["ms"] if word.startswith(("ms", "milli")) else _UNITS.get(word[:1], 1.0)
