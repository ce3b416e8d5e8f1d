"""The steps of a plan that is written as a list (contract §5, details).

- [ ] id: text [depends: a, b]
- [x] text
1. text
"""

import re
from collections.abc import Iterable
from typing import Literal

from pydantic import Field

from domain.replies.shapes import LONGEST_STRING, MOST_ENTRIES, ReplyShape
from domain.replies.spoken import spoken
from domain.values.base import Unreadable

_BOX = re.compile(r"[ \t]*+[-*+][ \t]++\[[ xX]?\][ \t]++(?:(?P<id>[\w.\-]{1,100}):[ \t]++)?+(?P<text>\S.*)")
_NUMBER = re.compile(r"[ \t]*+[0-9]{1,4}[.)][ \t]++(?P<text>\S.*)")
_DEPENDS = re.compile(r"\[depends(?:[ \t]++on)?+:(?P<ids>[^\[\]]*+)\][ \t]*+$", re.IGNORECASE | re.ASCII)


class ChecklistStep(ReplyShape):
    """One thing to do. Nothing has been done when a plan is read, whatever its boxes say."""

    id: str
    description: str
    status: Literal["pending"] = "pending"
    depends_on: tuple[str, ...] = Field(default=(), exclude_if=lambda given: not given)


def checklist(text: str) -> tuple[ChecklistStep, ...]:
    """The steps in their order, at least one. Raises `Unreadable`."""
    lines = [found for line in spoken(text).splitlines() if (found := _BOX.match(line) or _NUMBER.match(line))]
    if not lines:
        raise Unreadable("The reply holds no checklist.")
    if len(lines) > MOST_ENTRIES:
        raise Unreadable(f"The checklist has more than {MOST_ENTRIES} steps.")
    given = [line.groupdict().get("id") for line in lines]
    ids = _names(given)
    return tuple(_step(line["text"], name=name) for line, name in zip(lines, ids, strict=True))


def _names(given: Iterable[str | None]) -> list[str]:
    names = [name or f"step-{index}" for index, name in enumerate(given)]
    if len(set(names)) < len(names):
        raise Unreadable("Two steps of the checklist have the same id.")
    return names


def _step(words: str, *, name: str) -> ChecklistStep:
    if len(words) > LONGEST_STRING:
        raise Unreadable(f"A step of the checklist is longer than {LONGEST_STRING} characters.")
    depends = _DEPENDS.search(words)
    description = (words[: depends.start()] if depends else words).strip()
    if not description:
        raise Unreadable("A step of the checklist says nothing.")
    named = [part.strip() for part in depends["ids"].split(",")] if depends else []
    return ChecklistStep(id=name, description=description, depends_on=tuple(filter(None, named)))
