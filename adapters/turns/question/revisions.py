"""A person's change request in words, for a prompt that names it by its id."""

from collections.abc import Iterable
from typing import Final

from domain.session.past_commands import Whole
from domain.session.revisions import REVISION, Revision
from domain.session.state import Session
from domain.session.turns import TurnRequested
from domain.values.base import iso
from domain.values.words import Language

_HEADS: Final[dict[Language, str]] = {
    "en": "{by} asks for changes ({at}):",
    "ko": "{by} 님의 수정 요청 ({at}):",
}
_SOMEBODY: Final[dict[Language, str]] = {"en": "A person", "ko": "사용자"}


def revision_words(request: TurnRequested, session: Session, *, whole: Whole, language: Language) -> str:
    """The words of the revisions that the request names, each with who asked and when; empty if it names none."""
    if REVISION not in request.context:
        return ""
    names = request.context[REVISION].head.split(",")
    return "\n\n".join(_parts((each for each in session.revisions if each.revision_id in names), whole, language))


def _parts(revisions: Iterable[Revision], whole: Whole, language: Language) -> Iterable[str]:
    for revision in revisions:
        by = revision.by.rpartition(":")[2] or _SOMEBODY[language]
        head = _HEADS[language].format(by=by, at=iso(revision.at))
        yield "\n".join(filter(None, (head, whole(revision.text))))
