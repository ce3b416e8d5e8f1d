"""What reviewers, judges and people have found: one row each with its life, what blocks first, and what a further round
would be good for."""

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any, Final

from api.web.plain_text import cut
from api.web.session.comments import says_of
from api.web.session.context import LONG, SENTENCE, PanelContext, whole
from projections.record.describe import NAMELESS
from projections.record.findings import findings_view
from projections.record.turns import TurnEntry
from projections.views.findings import BecauseView, FindingsView, FindingView

FRONT: Final = 9
"""Open findings in front; the others are folded, none is cut."""
MARKS: Final = {"open": "●", "unchanged": "●", "reopened": "●", "claimed": "◐", "fixed": "✓"}
_LOOKS: Final = 12
"""The newest looks that are drawn."""
ORDERS: Final = ("open", "file", "round")
"""How the list may be ordered; as it is without a wish comes first."""
_REPORTS: Final = ("raised", "repeated", "reopened")
_BY_PEOPLE: Final = "comment"


def findings(context: PanelContext) -> dict[str, Any]:
    made = findings_of(context)
    rows = rows_of(context, made.items)
    by = context.by or ORDERS[0]
    front = [row for row in rows if row["open"] and row["weight"] != "soft"][:FRONT]
    rest = [row for row in rows if row["open"] and row not in front]
    return {
        "rows": rows,
        "orders": ORDERS if len(rows) > 1 else (),
        "by": by,
        "groups": _grouped(made, rows, by),
        "may": "comments" in context.may and context.session.takes_comments,
        "front": front,
        "rest": rest,
        "closed": [row for row in rows if not row["open"]],
        "counts": _counts(made),
        "looks": [
            {
                "version": look.version,
                "round": look.round,
                "blocking": look.blocking,
                "remarks": look.remarks,
                "by": cut(look.by, 60),
            }
            for look in made.rounds[-_LOOKS:]
        ],
        "unit": unit_of(context),
        "work": context.session.parent or context.session.id,
        "approved": bool(made.rounds) and made.rounds[-1].blocking == 0,
        "score": _score(context),
        "recommendation": made.recommendation if made.rounds else "",
        "because": [_reason(each) for each in made.because],
        "quiet": made.quiet,
        "policy": made.policy,
    }


def findings_of(context: PanelContext) -> FindingsView:
    history = context.store.history(context.session.id, upto=context.version)
    return findings_view(context.session, history, partial(whole, context, most=10_000_000))


def unit_of(context: PanelContext) -> str:
    """How a round is called in short, before its number."""
    return "it." if context.session.kind == "delivery" else "R"


def reported_by(context: PanelContext, entry: TurnEntry) -> list[dict[str, Any]] | None:
    """The findings that the reply of a turn reported: those of the looks right after it. None if it judged nothing."""
    ended = [attempt.version for attempt in entry.attempts if attempt.version <= context.version]
    if not ended or entry.work != "ask":
        return None
    later = [version for version, _ in _answers(context) if version > ended[-1]]
    span = range(ended[-1] + 1, min(later, default=context.version + 1))
    made = findings_of(context)
    if not any(look.version in span for look in made.rounds):
        return None
    reports = [item for item in made.items if item.kind != _BY_PEOPLE]
    return rows_of(
        context,
        [item for item in reports if any(each.act in _REPORTS and each.version in span for each in item.life)],
    )


def rows_of(context: PanelContext, items: Iterable[FindingView]) -> list[dict[str, Any]]:
    """A row for each finding, as all lists of findings show it."""
    answers = _answers(context)
    return [_row(context, item, answers) for item in items]


def _answers(context: PanelContext) -> list[tuple[int, TurnEntry]]:
    """When agents answered, in order."""
    answers = [
        (attempt.version, entry)
        for entry in context.record.turns.values()
        if entry.work == "ask"
        for attempt in entry.attempts
        if attempt.version <= context.version
    ]
    return sorted(answers, key=lambda each: each[0])


def _grouped(made: FindingsView, rows: Sequence[dict[str, Any]], by: str) -> list[tuple[str, list[dict[str, Any]]]]:
    """The rows by file, those of the whole last, or by the round in which they were raised; open ones first. Nothing
    where neither is asked for."""
    if by == ORDERS[0]:
        return []
    looks = [(look.version, look.round) for look in made.rounds]
    groups: dict[Any, list[dict[str, Any]]] = {}
    for row in sorted(rows, key=lambda row: not row["open"]):
        groups.setdefault(row["path"] if by == "file" else _raised_in(row, looks), []).append(row)
    order = sorted(groups, key=lambda name: (not name, name))
    return [(str(name or ""), groups[name]) for name in order]


def _raised_in(row: dict[str, Any], looks: Sequence[tuple[int, int]]) -> int:
    """The round of the look that raised it; of a person's comment that of the last look before it."""
    first = row["life"][0] if row["life"] else None
    if first is None:
        return 0
    return first["round"] or max((number for version, number in looks if version < first["version"]), default=0)


def _score(context: PanelContext) -> int | None:
    outcomes = context.past(context.trail.outcomes)
    return outcomes[-1].score if outcomes else None


def _counts(made: FindingsView) -> list[tuple[str, int]]:
    shown = [item for item in made.items if item.state is not None]
    numbers = {
        "open": sum(item.open and item.state != "claimed" for item in shown),
        "claimed": sum(item.state == "claimed" for item in shown),
        "fixed": sum(item.state == "fixed" for item in shown),
        "remark": sum(item.kind == "remark" for item in shown),
    }
    return [(name, number) for name, number in numbers.items() if number]


def _place(context: PanelContext, item: FindingView) -> tuple[str | None, int | None, bool]:
    """The file, the line there now, and whether that line is gone; a comment's where its lines were followed to."""
    whereabouts = context.whereabouts.get(item.finding) if item.kind == _BY_PEOPLE else None
    if whereabouts is None:
        return item.path, item.line, item.gone
    now = whereabouts.now
    return (now.path, now.line, whereabouts.outdated) if now else (item.path, None, whereabouts.outdated)


def _answered(context: PanelContext, item: FindingView) -> list[dict[str, str]]:
    """What agents answered last to a person's comment."""
    comment = context.session.comments.by_id.get(item.finding) if item.kind == _BY_PEOPLE else None
    return (
        [{"answer": each.answer, "words": cut(each.words, SENTENCE)} for each in comment.answers[-1:]]
        if comment
        else []
    )


def _prompt(item: FindingView, answers: Sequence[tuple[int, TurnEntry]]) -> str:
    """The turn whose reply reported it last; "" where no agent of this session did."""
    reported = [each.version for each in item.life if each.act in _REPORTS]
    before = [entry for version, entry in answers if reported and version < reported[-1]]
    if item.kind == _BY_PEOPLE or item.source == "person" or not before:
        return ""
    return before[-1].turn_id if item.source == "judge" or before[-1].agent == item.by else ""


def _row(context: PanelContext, item: FindingView, answers: Sequence[tuple[int, TurnEntry]]) -> dict[str, Any]:
    path, number, gone = _place(context, item)
    line = "" if number is None or gone else f":{number}"
    return {
        "name": item.finding,
        "fix": "",
        "says": says_of(item.status) if item.status else (),
        "answers": _answered(context, item),
        "prompt": _prompt(item, answers),
        "diff": next((each.turn for each in reversed(item.life) if each.turn), "") or "",
        "mark": "◆" if item.kind == "comment" else MARKS.get(item.state or "", "–"),
        "kind": item.kind,
        "severity": item.severity,
        "title": cut(context.worded(item.title), SENTENCE),
        "detail": cut(context.worded(item.detail), LONG),
        "by": cut(item.by, 60),
        "path": path or "",
        "place": f"{path}{line}" if path else "",
        "gone": gone,
        "state": item.status or item.state or "withdrawn",
        "open": item.open,
        "origin": item.origin,
        "weight": item.weight,
        "perhaps": item.perhaps,
        "because": [_reason(each) for each in item.because],
        "life": [
            {
                "version": each.version,
                "act": each.act,
                "by": _who(each.by),
                "round": each.round,
                "turn": each.turn,
                "maybe": each.match == "maybe",
            }
            for each in item.life
        ],
    }


def _who(actor: str) -> str:
    """The name of an agent or a person; "" where nobody signs in."""
    return "" if actor == NAMELESS else cut(actor.removeprefix("person:"), 60)


def _reason(each: BecauseView) -> dict[str, Any]:
    return {"fact": each.fact, "version": each.version, "finding": each.finding or ""}
