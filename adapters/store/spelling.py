"""Events in which their long texts are spelled out."""

from contextlib import suppress

from adapters.store.texts import TextSource, whole
from domain.session.record import Recorded
from domain.session.turns import AttemptEnd, TurnRequested
from domain.values.base import INLINE_BYTES, HansardError, Text


# For readers of single events: derived texts with their beginning, as if they were stored.
def spelled_out(log: TextSource, recorded: Recorded) -> Recorded:
    """The event with the beginning of each derived text, unless it cannot be read any more."""
    with suppress(HansardError):
        return _spelled_out(log, recorded)
    return recorded


def _spelled_out(log: TextSource, recorded: Recorded) -> Recorded:
    match recorded.event:
        case TurnRequested() as event if any(text.derived for text in event.context.values()):
            context = {place: _begun(log, text) for place, text in event.context.items()}
            return recorded._replace(event=event.model_copy(update={"context": context}))
        case event if isinstance(event, AttemptEnd) and event.prompt.derived:
            return recorded._replace(event=event.model_copy(update={"prompt": _begun(log, event.prompt)}))
        case _:
            return recorded


def _begun(log: TextSource, text: Text) -> Text:
    if text.derived is None:
        return text
    head = whole(log, text)[:INLINE_BYTES].encode()[:INLINE_BYTES].decode(errors="ignore")
    return text.changed(head=head)
