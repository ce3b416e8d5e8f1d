"""`comment`, `comments`: what a person remarks on a result, and what has become of it."""

import asyncio
import os
import re
from typing import TYPE_CHECKING, Annotated, Final

from cyclopts import Parameter

from api.cli import exits
from api.cli.client import Api, connected, path_of, resolve, resolve_to_change
from api.cli.editor import EditedWords, RemarkPlace, edited, quoted, remarks_in, save_words, unquoted
from api.cli.exits import Failed
from api.cli.file_here import file_here
from api.cli.interview import is_interactive
from api.cli.labels import name_of, recorded, sentence
from api.cli.options import HERE, AsJson, At, Fields, Id, Key, Where
from api.cli.terminal import paint, put, put_json, say, visible, visible_name
from api.cli.texts import words_from
from domain.values.words import of_environment
from projections.record.status import phrase

if TYPE_CHECKING:
    from api.cli.answers import CommentAnswerView, CommentView

_PLACE: Final = re.compile(r"(.+?):([1-9][0-9]{0,9})(?:-([1-9][0-9]{0,9}))?")
_ALL: Final = 10_000
_WHOLE: Final = RemarkPlace()


async def comment(
    session: Id,
    place: Annotated[
        str | None, Parameter(help="PATH, PATH:LINE or PATH:LINE-END. Default: the whole result.", metavar="PLACE")
    ] = None,
    /,
    *,
    message: Annotated[str | None, Parameter(name=("--message", "-m"), allow_leading_hyphen=True)] = None,
    old: bool = False,
    head: str | None = None,
    idempotency_key: Key = None,
    json: AsJson = False,
    where: Where = HERE,
) -> int:
    """Comment on a session's result: on lines of a file, on a file, or on the whole.

    On a terminal without --message, your editor opens with the diff, each line after `> `. Write below the lines that
    you mean; an empty text records nothing.

    Parameters
    ----------
    message
        Your words; - reads them from stdin.
    old
        The lines are those before the changes, such as removed ones.
    head
        The commit that you saw. Default: the newest one of the result.
    """
    path, line, end = _place(place)
    async with connected(where, "all") as api:
        session_id = await resolve_to_change(api, session)
        about = RemarkPlace(path, line, "old" if old else "new")
        if message is None and is_interactive():
            remarks, head = await edit_remarks(api, session_id, about, head)
        else:
            remarks = [EditedWords(about, words_from(message, what="comment"))]
        if not remarks:
            say(sentence("Nothing was written, so nothing was recorded."))
            return exits.OK
        answers = []
        for number, each in enumerate(remarks):
            body = comment_body(each, end if each.place.line == line else None, head)
            try:
                key = idempotency_key and (f"{idempotency_key}.{number}" if number else idempotency_key)
                answers.append(await api.post(f"{path_of(session_id)}/comments", body, key=key))
            except Failed:
                if message is None:
                    say(sentence("Your words are kept in {file}.", file=save_words(remarks[number:])))
                raise
            comment_id = str(answers[-1]["commentId"])
            say(_made(comment_id, each, end if each.place.line == line else None))
            if each.place.line is not None and message is not None:
                for quote in await _quote(api, session_id, comment_id):
                    say(_quoted(quote))
    if json:
        put_json(answers[0] if len(answers) == 1 else answers)
    return exits.OK


def _place(words: str | None) -> tuple[str | None, int | None, int | None]:
    """Path, first and last line of `PATH:LINE-END`. A path that begins like a relative or absolute one, as shells
    complete it, is one of the repository here."""
    match = _PLACE.fullmatch(words) if words else None
    path, line, end = (match[1], int(match[2]), match[3] and int(match[3])) if match else (words, None, None)
    if path and path.startswith(("./", "../", "/")):
        path = file_here(path)[1]
    return path, line, end or None


async def edit_remarks(
    api: Api, session_id: str, place: RemarkPlace = _WHOLE, head: str | None = None, lead: str = ""
) -> tuple[list[EditedWords] | None, str | None]:
    """Returns what the person writes below the diff, and the commit that they see there; None if they emptied the file,
    as one does to cancel a commit. `lead` is said above it."""
    changes = await api.get(f"{path_of(session_id)}/changes")
    shown = quoted(str(changes["patch"]), only=place.path)
    how = sentence("Write above everything, or below the lines that you mean. An empty file cancels.")
    text = await asyncio.to_thread(
        edited, "\n".join(["", *(f"> {each}" for each in (how, lead) if each), "", shown, ""])
    )
    if not text.strip():
        return None, head
    seen = head or changes["head"]
    if place.line is not None:
        words = unquoted(text)
        return ([EditedWords(place, words)] if words else []), seen
    remarks = remarks_in(text, shown)  # what is written above everything is about the file, or the whole
    return [each._replace(place=place) if each.place == _WHOLE else each for each in remarks], seen


def comment_body(remark: EditedWords, end: int | None, head: str | None) -> Fields:
    """The body of a comment for the API."""
    place = remark.place
    side = place.side if place.path is not None else None
    body = {"text": remark.text, "path": place.path, "line": place.line, "endLine": end, "side": side, "head": head}
    return {name: value for name, value in body.items() if value is not None}


def _made(comment_id: str, remark: EditedWords, end: int | None) -> str:
    about = _about(remark.place.path, remark.place.line, end)
    if not about:
        return sentence("Comment {comment} on the whole result.", comment=comment_id)
    return sentence("Comment {comment} on {place}.", comment=comment_id, place=about)


async def _quote(api: Api, session_id: str, comment_id: str) -> list[str]:
    """Returns the lines that a comment is about: who has mistaken a line number sees it."""
    items: list[CommentView]
    items, _ = await api.pages(f"{path_of(session_id)}/comments", limit=_ALL)
    return next((item["quote"] for item in items if item["commentId"] == comment_id), [])


def _quoted(line: str) -> str:
    return f"    | {visible(line)}"


def _about(path: str | None, line: int | None, end: int | None) -> str:
    """`src/shop.py:12-14`; empty for the whole."""
    if path is None:
        return ""
    lines = "" if line is None else f":{line}" if end in (None, line) else f":{line}-{end}"
    return f"{visible_name(path)}{lines}"


async def comments(
    session: Id,
    /,
    *,
    resolve_: Annotated[str | None, Parameter(name="--resolve", metavar="COMMENT")] = None,
    withdraw: Annotated[str | None, Parameter(metavar="COMMENT")] = None,
    insist: Annotated[str | None, Parameter(metavar="COMMENT")] = None,
    reason: Annotated[str, Parameter(name=("--reason", "-m"), allow_leading_hyphen=True)] = "",
    at: At = None,
    json: AsJson = False,
    where: Where = HERE,
) -> int:
    """List the comments on a session's result, or say what has become of one.

    Parameters
    ----------
    resolve_
        This comment is settled.
    withdraw
        Take back this comment of yours.
    insist
        This comment is not settled; say why with --reason.
    reason
        Why; this is recorded, and the agents read it.
    """
    named = {"resolved": resolve_, "withdrawn": withdraw, "open": insist}
    chosen = [(status, name) for status, name in named.items() if name is not None]
    if len(chosen) > 1:
        raise Failed(sentence("Give one of --resolve, --withdraw and --insist."), code=exits.USAGE)
    if chosen and at is not None:
        raise Failed(sentence("Give either --at or one of --resolve, --withdraw and --insist."), code=exits.USAGE)
    if reason and not chosen:
        raise Failed(sentence("--reason belongs to --resolve, --withdraw or --insist."), code=exits.USAGE)
    async with connected(where, "all" if chosen else "read") as api:
        session_id = await (resolve_to_change if chosen else resolve)(api, session)
        if not chosen:
            items, _ = await api.pages(f"{path_of(session_id)}/comments", limit=_ALL, version=at)
            return _put_all(items, json=json)
        [(status, name)] = chosen
        path = f"{path_of(session_id)}/comments/{name}"
        answer = await api.post(path, {"status": status, "reason": reason})
    say(sentence("Comment {comment}: {status}.", comment=name, status=recorded("comment", status)))
    if json:
        put_json(answer)
    return exits.OK


def _put_all(items: "list[CommentView]", *, json: bool) -> int:
    if json:
        put_json({"items": items, "nextCursor": None})
        return exits.OK
    for item in items:
        _put(item)
    if not items:
        say(sentence("There are no comments."))
    return exits.OK


def _put(item: "CommentView") -> None:
    """A comment: what it is about and how it stands, its quote, the person's words, and the answers."""
    who = name_of(str(item["by"]))
    place = item["now"] or item
    about = _about(place["path"], place["line"], place["endLine"]) or sentence("the whole result")
    about += f"  {sentence('(outdated)')}" if item["outdated"] else ""
    put(f"{item['commentId']}  {recorded('comment', item['status'])}  {about}  {paint(visible_name(who), 'bold')}")
    for line in item["quote"]:
        put(paint(_quoted(line), "dim"))
    for line in str(item["text"]).splitlines():
        put(f"    {visible(line)}")
    if item["reason"]:
        put(f"    {sentence('reason: {reason}', reason=visible(str(item['reason'])))}")
    for answer in item["answers"]:
        put(f"    {recorded('comment', answer['answer'])} ({answer['turnId']}): {_words_of(answer)}")


def _words_of(answer: "CommentAnswerView") -> str:
    """The agent's words; without any, the paths that it names, or that it says nothing."""
    if words := str(answer["words"]).strip():
        return visible(phrase(words, of_environment(os.environ)))
    if paths := answer["changed"]:
        return sentence("changed {paths}", paths=", ".join(map(visible_name, paths)))
    return sentence("without words")
