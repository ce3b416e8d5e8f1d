"""The steps of a plan that is written as a list (contract §5): `- [ ] id: text [depends: a, b]`, `1. text`."""

import re
from collections.abc import Iterable
from typing import Literal

from pydantic import Field

from domain.replies.extraction import spoken
from domain.replies.shapes import LONGEST_STRING, MOST_ENTRIES, ReplyShape
from domain.values.base import Unreadable
from domain.values.sentences import Sentence

_BOX = re.compile(r"[ \t]*+[-*+][ \t]++\[[ xX]?\][ \t]++(?:(?P<id>[\w.\-]{1,100}):[ \t]++)?+(?P<text>\S.*)")


_NUMBER = re.compile(r"[ \t]*+[0-9]{1,4}[.)][ \t]++(?P<text>\S.*)")


_DEPENDS = re.compile(r"\[depends(?:[ \t]++on)?+:(?P<ids>[^\[\]]*+)\][ \t]*+$", re.IGNORECASE | re.ASCII)


class ChecklistStep(ReplyShape):
    """One thing to do. When a plan is read, nothing has been done, whatever its check boxes say."""

    id: str
    description: str
    status: Literal["pending"] = "pending"
    depends_on: tuple[str, ...] = Field(default=(), exclude_if=lambda ids: not ids)


def checklist(text: str) -> tuple[ChecklistStep, ...]:
    """The steps in order, at least one. Raises `Unreadable`."""
    lines = [match for line in spoken(text).splitlines() if (match := _BOX.match(line) or _NUMBER.match(line))]
    if not lines:
        raise Unreadable(Sentence("reply_without", what=Sentence("checklist")))
    if len(lines) > MOST_ENTRIES:
        raise Unreadable(Sentence("checklist_too_long", number=MOST_ENTRIES))
    names = [line.groupdict().get("id") for line in lines]
    ids = _names(names)
    return tuple(_step(line["text"], name=name) for line, name in zip(lines, ids, strict=True))


def _names(texts: Iterable[str | None]) -> list[str]:
    names = [name or f"step-{index}" for index, name in enumerate(texts)]
    if len(set(names)) < len(names):
        raise Unreadable(Sentence("checklist_id_twice"))
    return names


def _step(words: str, *, name: str) -> ChecklistStep:
    if len(words) > LONGEST_STRING:
        raise Unreadable(Sentence("checklist_step_too_long", number=LONGEST_STRING))
    depends = _DEPENDS.search(words)
    description = (words[: depends.start()] if depends else words).strip()
    if not description:
        raise Unreadable(Sentence("checklist_step_empty"))
    named = [part.strip() for part in depends["ids"].split(",")] if depends else []
    return ChecklistStep(id=name, description=description, depends_on=tuple(filter(None, named)))
