"""The catalogue of events is what the code says, and covers all of it."""

import re

from domain.kinds import TOPICS
from domain.values.base import DomainEvent
from tests.docs.generate import COMMAND, PLACE, document, shared, summary


def test_the_catalogue_is_up_to_date() -> None:
    result = PLACE.read_text("utf-8")
    assert result == document(), f"docs/events.md is out of date; regenerate it with: {COMMAND}"


def test_every_event_says_what_it_means() -> None:
    assert [topic for topic, event in TOPICS.items() if not summary(event)] == []


def test_every_event_is_in_the_catalogue_with_all_its_fields() -> None:
    sections = dict(re.findall(r"^### (.+?)\n(.*?)(?=^##|\Z)", document(), re.MULTILINE | re.DOTALL))
    for topic, event in TOPICS.items():
        output = sections[f"`{topic}`"]
        for base in event.__mro__:
            if issubclass(base, DomainEvent) and base is not DomainEvent and base is not event:
                output += sections.get(shared(base), "")
        missing = [field.alias or name for name, field in event.model_fields.items()]
        assert [name for name in missing if f"| `{name}` |" not in output] == [], topic


def test_every_link_of_the_catalogue_leads_somewhere() -> None:
    words = document()
    headings = re.findall(r"^#+ (.+)$", words, re.MULTILINE)
    kept = ("".join(c for c in heading.lower() if c.isalnum() or c in " -_").replace(" ", "-") for heading in headings)
    assert len(headings) == len(set(headings))
    assert set(re.findall(r"\]\(#([^)]+)\)", words)) - set(kept) == set()
