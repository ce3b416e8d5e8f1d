"""The whole of what somebody said in an event."""

from adapters.store.mapper import whole
from api.system import System
from domain.session.state import Session
from domain.values.base import Text, Unknown
from domain.values.sentences import Sentence


def words_of(inside: System, now: Session, at: int, field: str | None) -> str:
    """The first text of an event, or the one of that name. Raises Unknown."""
    found = inside.store.history(now.id, after=at - 1, upto=at)
    if not found:
        raise Unknown(Sentence("session_version_beyond", id=now.id, number=at, newest=now.version))
    event = found[0].event
    texts = {name: getattr(event, name) for name in type(event).model_fields}
    texts = {name: text for name, text in texts.items() if isinstance(text, Text)}
    text = texts.get(field) if field else next(iter(texts.values()), None)
    if text is None:
        raise Unknown(Sentence("text_not_found", number=at, id=now.id))
    return whole(inside.store, text)
