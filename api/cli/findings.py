"""`findings`: what reviewers, judges and people have found, and what has become of each."""

import os
from typing import TYPE_CHECKING, Annotated, Final

from cyclopts import Parameter

from api.cli import exits
from api.cli.client import connected, path_of, resolve
from api.cli.labels import name_of, sentence
from api.cli.options import HERE, AsJson, At, Id, Where
from api.cli.terminal import paint, put, put_json, say, visible, visible_name
from domain.values.words import of_environment, words

if TYPE_CHECKING:
    from api.cli.answers import BecauseView, FindingEvent, FindingsView, FindingView

_MARKS: Final = {"open": "●", "unchanged": "●", "reopened": "●", "claimed": "◐", "fixed": "✓"}
_COLOURS: Final = {"open": "red", "unchanged": "red", "reopened": "red", "claimed": "yellow", "fixed": "green"}


async def findings(
    session: Id,
    /,
    *,
    open_: Annotated[bool, Parameter(name="--open", help="Only those that are not settled.")] = False,
    at: At = None,
    json: AsJson = False,
    where: Where = HERE,
) -> int:
    """List what reviewers, judges and people have found in a session's work, and how each stands."""
    async with connected(where) as api:
        answer: FindingsView = await api.get(f"{path_of(await resolve(api, session))}/findings", version=at)
    items = [item for item in answer["items"] if item["open"] or not open_]
    if json:
        put_json({**answer, "items": items})
        return exits.OK
    for item in items:
        _put(item)
    if not items:
        say(sentence("There are no open findings." if open_ else "There are no findings."))
    if answer["rounds"]:
        facts = ", ".join(_fact(each) for each in answer["because"])
        put(paint(f"{_word('finding_advice', answer['recommendation'])} {facts}", "dim"))
    return exits.OK


def _put(item: "FindingView") -> None:
    """A finding: how it stands, its words and place, its life, and the facts behind its state."""
    state = str(item["state"] or "withdrawn")
    mark = "◆" if item["kind"] == "comment" else _MARKS.get(state, "–")
    line = "" if item["line"] is None or item["gone"] else f":{item['line']}"
    place = f"  {visible_name(item['path'])}{line}" if item["path"] else ""
    label = item["severity"] or _word("finding_kind", item["kind"])
    put(f"{paint(mark, _COLOURS.get(state, 'dim'))} {item['finding']}  {label}  {visible(item['title'])}{place}")
    life = " → ".join(_lived(each) for each in item["life"])
    perhaps = f"  ({sentence('perhaps {finding}', finding=item['perhaps'])})" if item["perhaps"] else ""
    put(f"    {life}{perhaps}")
    words = [_word("finding_state", item["status"] or state)]
    words += [_word("finding_origin", item["origin"])] if item["origin"] else []
    words += [_word("finding_weight", item["weight"])] if item["kind"] != "comment" else []
    facts = ", ".join(_fact(each) for each in item["because"])
    put(paint(f"    {' · '.join(words)} · {facts}", "dim"))


def _lived(event: "FindingEvent") -> str:
    number = "" if event["round"] is None else f" {event['round']}"
    who = name_of(str(event["by"]))
    return f"{_word('finding_act', event['act'])}{number}{f' {visible_name(who)}' if who else ''} ({event['version']})"


def _fact(reason: "BecauseView") -> str:
    finding = f" {reason['finding']}" if reason["finding"] else ""
    return f"{_word('finding_fact', reason['fact'])}{finding} ({reason['version']})"


def _word(group: str, value: str) -> str:
    """A recorded name as the page says it, in the terminal's language."""
    return words(of_environment(os.environ), "api.web").of(group, value)
