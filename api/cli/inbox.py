"""`inbox`: what waits for a person."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from cyclopts.types import PositiveInt
from rich.cells import set_cell_size

from api.cli import exits
from api.cli.discussion import approval
from api.cli.extension import extension
from api.cli.labels import recorded, sentence, verdict
from api.cli.options import HERE, AsJson, Where
from api.cli.reader import reader_of
from api.cli.tables import put_table, shortened
from api.cli.terminal import local_time, put_json, say
from api.node.checkouts import free_branch

if TYPE_CHECKING:
    from api.cli.answers import WaitingItem

_NEXT: Final = {
    "permission": "hansard allow {id}     hansard deny {id}",
    "scope": "hansard allow {id}     hansard deny {id}",
    "checkpoint": "hansard continue {id}     hansard reset {id}",
    "held": "hansard continue {id}",
    "partial": "hansard continue {id}     hansard reset {id}",
    "failed": "hansard retry {id}",
    "landing": "hansard land {id}",
    "landing_sent_back": "hansard run --fix {id}",
    "checks": "hansard pr {id} --follow",
    "forge": "hansard pr {id} --follow",
}
"""The commands that answer what a session waits for."""


_QUESTION: Final = 300
"""Characters of an agent's question; `hansard show` has all of it."""
_ALONE: Final = (["extend"], ["retry"], ["land"], ["pull-request"])
"""Choices of what stopped: what rejected its work, or made it fail, is part of the reason."""


def inbox(*, limit: PositiveInt = 50, json: AsJson = False, where: Where = HERE) -> int:
    """List what waits for you, oldest first.

    Parameters
    ----------
    limit
        Maximum number of items [default: 50].
    """
    if json:
        page = reader_of(where).decisions(limit)
        put_json({"items": page.items, "nextCursor": page.cursor})
    else:
        waiting = reader_of(where).waiting(limit)
        _show(waiting.items, more=waiting.more)
    return exits.OK


def _show(items: "Sequence[WaitingItem]", *, more: bool) -> None:
    if not items:
        say(sentence("Nothing is waiting for you."))
        return
    put_table(("SESSION", "WAITS FOR", "SINCE", "CHOICES", "OF", "TITLE", "WHY"), [_row(item) for item in items])
    say(sentence("For details: `hansard show {id}`. Next:", id=items[0]["sessionId"]))
    for need, step in dict.fromkeys((str(item["waitsFor"]), _next(item)) for item in _one_of_each(items)):
        say(f"  {set_cell_size(recorded('inbox_kind', need), 10)}  {step}")
    if more:
        say(sentence("Showing the oldest {n}; use --limit for more.", n=len(items)))


def _one_of_each(items: "Sequence[WaitingItem]") -> "list[WaitingItem]":
    """The oldest item of each need; of those without budget or landing, the oldest for each cause, and of decisions
    also the oldest whose discussion was interrupted."""
    oldest: dict[tuple[str, str], WaitingItem] = {}
    for item in items:
        need = str(item["waitsFor"])
        apart = str(item.get("cause")) if need in ("budget", "landing") else str(_is_interrupted(item))
        oldest.setdefault((need, apart), item)
    return list(oldest.values())


def _is_interrupted(item: "WaitingItem") -> bool:
    return item["waitsFor"] == "decision" and "retry" in (item.get("choices") or ())


def _next(item: "WaitingItem") -> str:
    """The command that answers what waits."""
    if item["waitsFor"] == "budget":
        return extension(str(item["sessionId"]), item.get("cause"))
    name, choices = str(item["sessionId"]), item.get("choices") or ()
    if item.get("cause") == "branch_checked_out":
        return " && ".join((free_branch(item.get("checkedOutIn")), f"hansard retry {name}"))
    if item["waitsFor"] == "decision":
        steps = [f"hansard {'retry' if each == 'retry' else 'decide'} {name}{_word(str(each))}" for each in choices]
        return "     ".join(steps)
    step = _NEXT.get(str(item.get("cause"))) or _NEXT.get(str(item["waitsFor"]), "hansard show {id}")
    return step.format(id=name)


def _word(choice: str) -> str:
    return "" if choice == "retry" else f" {choice}"


def _row(item: "WaitingItem") -> list[str]:
    typed = item["waitsFor"] == "decision"  # `decide` takes these words, whatever the language
    choices = " | ".join(str(each) if typed else recorded("choice", str(each)) for each in item.get("choices") or ())
    feedback = item.get("feedback")
    judged = verdict(str(feedback["verdict"] or "" if feedback else ""))
    title = f"{judged}: {item.get('title')}" if judged else str(item.get("title") or "")
    since, parent = local_time(item.get("since")), str(item.get("parent") or "")
    notes = [exits.worded({"note": note["text"], "noteSentence": note}, "note") for note in item.get("notes") or ()]
    why = " ".join(filter(None, (_why(item), approval(item).replace("\n", "; "), *notes)))
    need = recorded("inbox_kind", str(item["waitsFor"]))
    return [str(item["sessionId"]), need, since, choices, parent, title, why]


def _why(item: "WaitingItem") -> str:
    """The question of an agent; or why the session waits, with what rejected its work where its budget is used up."""
    if item.get("question"):
        return shortened(f"{item['agent']}: {item['summary']}", _QUESTION)
    why, rejected = str(item.get("why") or ""), exits.worded(item, "summary")
    if item.get("cause"):
        worded = recorded("waits_because", str(item["cause"]))
        why = why if worded == item["cause"] else worded
    first = rejected.partition("\n")[0]
    if item.get("choices") == ["retry"] and item.get("summarySentence"):
        return first
    return f"{why} {first}" if rejected and item.get("choices") in _ALONE else why
