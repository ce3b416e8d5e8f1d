"""The commit message for a turn's changes: what was done, and by whom, in trailers that survive a rebase."""

import re
from collections.abc import Iterator
from typing import Final

from domain.session.revisions import REVISION, named_in
from domain.session.state import Session
from domain.session.turns import TurnRequested

# The commit message for a turn's changes: what was done, and by whom, in trailers that survive a rebase.
SUBJECT: Final = 72
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+")
_MARKUP: Final = re.compile(r"^[#>*\s-]+")
_NO_PROSE: Final = ("{", "[", "`", "<", "|", "}", "]")


def commit_message(request: TurnRequested, session: Session, model: str | None) -> str:
    """A subject of at most 72 characters, an empty line, and the trailers."""
    number = request.iteration or request.round
    trailers = {
        "Session": session.id,
        "Turn": request.turn_id,
        "Agent": request.agent,
        "Model": model or "",
        "Iteration": str(number) if number else "",
    }
    lines = [f"Hansard-{name}: {_plain(value)}" for name, value in trailers.items() if _plain(value)]
    return "\n".join([_subject(request, session), "", *lines, ""])


def _subject(request: TurnRequested, session: Session) -> str:
    """The first line of what a person wants changed, or else of the task: what an agent says beside its work may be
    anything."""
    task = request.context.get("task")
    texts = (*_wishes(request, session), task.head if task else "")
    words = next((words for text in texts for words in _prose(text)), "") or f"Changes by {_plain(request.agent)}"
    return words if len(words) <= SUBJECT else words[: SUBJECT - 1].rstrip() + "…"


def _wishes(request: TurnRequested, session: Session) -> Iterator[str]:
    """Yields what the newest of the change requests that the turn is given says: its words, or those of its
    comments."""
    if REVISION not in request.context:
        return
    for revision in reversed(named_in(session.revisions, request.context[REVISION].head)):
        yield revision.text.head
        yield from (session.comments.by_id[name].text for name in revision.comments if name in session.comments.by_id)


def _prose(text: str) -> Iterator[str]:
    for line in text.splitlines():
        words = _MARKUP.sub("", _plain(line))
        if words and not words.startswith(_NO_PROSE):
            yield words


def _plain(text: str) -> str:
    return _CONTROL.sub(" ", text).strip()
