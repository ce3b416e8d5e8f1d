"""`hansard changes`: what a session has changed."""

import asyncio
import os
import shlex
import shutil
import subprocess
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Final

from cyclopts import Parameter
from rich.cells import cell_len, set_cell_size

from api.cli import exits
from api.cli.client import connected, path_of, resolve
from api.cli.labels import recorded, sentence
from api.cli.options import HERE, AsJson, Id, Where
from api.cli.path_words import path_words
from api.cli.terminal import paint, put, put_document, put_json, say, visible, visible_name
from domain.values.words import Words, of_environment, words

if TYPE_CHECKING:
    from api.cli.answers import ChangesView, PathNoteView, ResultFile, ReviewMapView

_COLOURS: Final = {"+": "green", "-": "red", "@": "cyan"}


async def changes(
    session: Id,
    /,
    *,
    stat: Annotated[bool, Parameter(help="Only the files and line counts.")] = False,
    turn: Annotated[str | None, Parameter(help="Only the changes of this turn.")] = None,
    map_: Annotated[
        bool, Parameter(name="--map", help="The changes by what needs a look most, each with the reasons.")
    ] = False,
    json: AsJson = False,
    where: Where = HERE,
) -> int:
    """Show what a session has changed, as a patch."""
    async with connected(where) as api:
        if map_:
            return _put_map(await api.get(f"{path_of(await resolve(api, session))}/map"), json=json)
        answer: ChangesView = await api.get(f"{path_of(await resolve(api, session))}/changes", turnId=turn)
    if json:
        put_json(answer)
    elif stat:
        _put_files(answer["files"], names_files=answer["namesFiles"])
    elif answer["patch"]:
        await asyncio.to_thread(_show, answer["patch"])
    if not answer["files"] and not answer["patch"]:
        say(sentence("Nothing was changed."))
    return exits.OK


def _put_map(answer: "ReviewMapView", *, json: bool) -> int:
    """Each hunk under its file, its place, and the reasons for where it is in the list."""
    if json:
        put_json(answer)
        return exits.OK
    named = words(of_environment(os.environ), "api.web")
    for item in answer["items"]:
        numbers = [line["number"] or line["old"] for line in item["lines"] if line["sign"] != " "]
        why = ", ".join(f"{named.of('map_fact', each['fact'])} ({each['version']})" for each in item["because"])
        notes = ", ".join(_note(named, each) for each in item.get("notes", ()))
        place = "" if notes else f":{numbers[0] if numbers else 1}"
        put(paint(f"{visible_name(item['path'])}{place}", "bold") + (f"  {notes}" if notes else ""))
        put(f"  {why or sentence('nothing of the record asks for a look')}")
        for line in item["lines"]:
            put(paint(visible(f"  {line['sign']}{line['text']}"), _COLOURS.get(line["sign"])))
    if unread := answer.get("unread"):
        say(exits.worded({"why": unread["text"], "whySentence": unread}, "why"))
    if not answer["items"]:
        say(sentence("Nothing was changed."))
    return exits.OK


def _note(named: Words, note: "PathNoteView") -> str:
    """A change of a whole path, in the words of the page."""
    old, new = visible_name(note.get("old") or ""), note.get("new")
    return " ".join(filter(None, (named.of("path_note", note["what"]), old, new and f"→ {new}")))


def _put_files(files: "Sequence[ResultFile]", *, names_files: bool) -> None:
    """A line each: what happened to it, how many lines, its name. `names_files`: the request or the plan named some."""
    shown = [recorded("file", file["status"]) for file in files]
    width = max((9, *map(cell_len, shown)))
    for status, file in zip(shown, files, strict=True):
        lines = sentence("binary") if file["added"] is None else f"+{file['added']} -{file['removed']}"
        notes = [sentence("not named")] if names_files and not file["named"] else []
        notes += [sentence("decides the validation")] if file.get("decides") else []
        notes += [sentence("ignored by git")] if file.get("ignored") else []
        why = f"  ({', '.join(notes)})" if notes else ""
        put(f"{set_cell_size(status, width)} {lines:>12}  {path_words(file)}{why}")


def _show(patch: str) -> None:
    """In colours, without the hashes of files, and through a pager (`PAGER` may have options) on a terminal, else as it
    is."""
    if not os.isatty(1):
        put_document(patch)
        return
    shown = (line for line in patch.splitlines() if not line.startswith("index "))
    lines = "\n".join(paint(visible(line), _style(line)) for line in shown)
    pager = shlex.split(os.environ.get("PAGER", "less"))
    if not pager or shutil.which(pager[0]) is None:
        put(lines)
        return
    subprocess.run(pager, input=lines, text=True, env={"LESS": "FRX", **os.environ}, check=False)


def _style(line: str) -> str | None:
    return "bold" if line.startswith(("diff ", "+++ ", "--- ")) else _COLOURS.get(line[:1])
