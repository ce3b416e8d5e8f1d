"""A row for each finding: where it stands, its life, and what leads on from it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from api.web.plain_text import cut
from api.web.session.context import LONG, SENTENCE, PanelContext
from projections.record.describe import NAMELESS
from projections.record.turns import TurnEntry
from projections.views.findings import BecauseView, FindingView

MARKS: Final = {"open": "●", "unchanged": "●", "reopened": "●", "claimed": "◐", "fixed": "✓"}
REPORTS: Final = ("raised", "repeated", "reopened")
BY_PEOPLE: Final = "comment"
_SAYS: Final = {"open": ("resolved", "withdrawn"), "resolved": ("open", "withdrawn"), "withdrawn": ()}
"""The answers that a person may give to a comment, by how it stands."""


class FindingReason(NamedTuple):
    """A fact behind what is shown."""

    fact: str
    version: int
    finding: str


class LifeStep(NamedTuple):
    """Something that happened to a finding."""

    version: int
    act: str
    by: str
    round: int | None


class ShownAnswer(NamedTuple):
    """The answer of an agent to a comment."""

    answer: str
    words: str


class ListPlace(NamedTuple):
    """A list of findings: its session, the one whose work they are about, how a round begins, and the order."""

    id: str
    work: str
    unit: str
    by: str = ""


@dataclass(frozen=True, slots=True)
class FindingRow:
    """`says` is what a person may say of a comment, `prompt` the turn that reported it, `diff` the turn that worked
    on it, `fix` what was suggested."""

    name: str
    mark: str
    kind: str
    severity: str
    title: str
    detail: str
    path: str
    place: str
    gone: bool
    state: str
    open: bool
    blocking: bool
    origin: str
    weight: str
    perhaps: str
    because: tuple[FindingReason, ...]
    life: tuple[LifeStep, ...]
    says: tuple[str, ...]
    answers: tuple[ShownAnswer, ...]
    prompt: str
    diff: str
    fix: str = ""


def says_of(status: str) -> tuple[str, ...]:
    """Return what a person may say of a comment that stands like this."""
    return _SAYS.get(status, ("resolved", "open", "withdrawn"))


def place_of(context: PanelContext, by: str = "") -> ListPlace:
    """Return the list of a session's findings."""
    session = context.session
    unit = "it." if session.kind == "delivery" else "R"
    return ListPlace(session.id, session.parent or session.id, unit, by)


def rows_of(context: PanelContext, items: Iterable[FindingView]) -> list[FindingRow]:
    """A row for each finding, as all lists of findings show it."""
    answers = answers_of(context)
    return [_row(context, item, answers) for item in items]


def answers_of(context: PanelContext) -> list[tuple[int, TurnEntry]]:
    """Return the answers of agents with their versions, in order."""
    answers = [
        (attempt.version, entry)
        for entry in context.record.turns.values()
        if entry.work == "ask"
        for attempt in entry.attempts
        if attempt.version <= context.version
    ]
    return sorted(answers, key=lambda each: each[0])


def reason_of(each: BecauseView) -> FindingReason:
    """The fact as it is shown."""
    return FindingReason(each.fact, each.version, each.finding or "")


def _row(context: PanelContext, item: FindingView, answers: Sequence[tuple[int, TurnEntry]]) -> FindingRow:
    path, number, gone = _place(context, item)
    line = "" if number is None or gone else f":{number}"
    return FindingRow(
        name=item.finding,
        mark="◆" if item.kind == BY_PEOPLE else MARKS.get(item.state or "", "–"),
        kind=item.kind,
        severity=item.severity,
        title=cut(context.worded(item.title), SENTENCE),
        detail=cut(context.worded(item.detail), LONG),
        path=path or "",
        place=f"{path}{line}" if path else "",
        gone=gone,
        state=item.status or item.state or "withdrawn",
        open=item.open,
        blocking=item.blocking,
        origin=item.origin or "",
        weight=item.weight,
        perhaps=item.perhaps or "",
        because=tuple(map(reason_of, item.because)),
        life=tuple(LifeStep(each.version, each.act, _who(each.by), each.round) for each in item.life),
        says=says_of(item.status) if item.status else (),
        answers=_answered(context, item),
        prompt=_prompt(item, answers),
        diff=next((each.turn for each in reversed(item.life) if each.turn), ""),
    )


def _place(context: PanelContext, item: FindingView) -> tuple[str | None, int | None, bool]:
    """The file, the line there now, and whether that line is gone; a comment's where its lines were followed to."""
    whereabouts = context.whereabouts.get(item.finding) if item.kind == BY_PEOPLE else None
    if whereabouts is None:
        return item.path, item.line, item.gone
    now = whereabouts.now
    return (now.path, now.line, whereabouts.outdated) if now else (item.path, None, whereabouts.outdated)


def _answered(context: PanelContext, item: FindingView) -> tuple[ShownAnswer, ...]:
    """Return the last answer to a person's comment."""
    comment = context.session.comments.by_id.get(item.finding) if item.kind == BY_PEOPLE else None
    answers = comment.answers[-1:] if comment else ()
    return tuple(ShownAnswer(each.answer, cut(each.words, SENTENCE)) for each in answers)


def _prompt(item: FindingView, answers: Sequence[tuple[int, TurnEntry]]) -> str:
    """The turn whose reply reported it last; "" where no agent of this session did."""
    reported = [each.version for each in item.life if each.act in REPORTS]
    before = [entry for version, entry in answers if reported and version < reported[-1]]
    if item.kind == BY_PEOPLE or item.source == "person" or not before:
        return ""
    return before[-1].turn_id if item.source == "judge" or before[-1].agent == item.by else ""


def _who(actor: str) -> str:
    """The name of an agent or a person; "" where nobody signs in."""
    return "" if actor == NAMELESS else cut(actor.removeprefix("person:"), 60)
