"""Events and long texts of a session, as panels read them."""

from typing import Final

from adapters.store.port import Broken
from adapters.store.texts import whole as whole_text
from api.web.session.context import PanelContext
from domain.values.base import DomainEvent, Text

READ: Final = 1_000_000
"""Characters of a text that is read for a page, unless the reader says otherwise."""


def event_of(context: PanelContext, version: int) -> DomainEvent:
    [recorded] = context.store.history(context.session.id, after=version - 1, upto=version)
    return recorded.event


def text_of(event: DomainEvent | None, name: str) -> Text:
    """A field of the event; empty without one."""
    value = getattr(event, name, None)
    return value if isinstance(value, Text) else Text()


def whole(context: PanelContext, text: Text, *, most: int = READ) -> str:
    """A text in full, unless it is too long for a page: then its beginning."""
    if text.derived is None and (text.digest is None or text.length > most):
        return text.head
    try:
        return whole_text(context.store, text)
    except Broken:
        return text.head
