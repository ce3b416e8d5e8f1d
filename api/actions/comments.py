"""Comments of people on the result of a session, and what becomes of them."""

import asyncio
import posixpath
import re
from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import AfterValidator, Field, StrictInt, StrictStr

from adapters.workspace import WorkspaceError
from adapters.workspace.lines import CommitNotHere, file_at, holder_of, lines_of
from api.actions.answers import Receipt
from api.actions.bodies import Body, Reason
from api.actions.declaration import ActionCall, FormOf, Intent, Tool, action
from api.node.commits import folders_of
from api.system import System
from domain.kinds import allowed_actions
from domain.session.comment_rules import other_commit
from domain.session.comments import (
    LONGEST_COMMENT,
    LONGEST_PATH,
    LONGEST_QUOTED,
    MOST_COMMENTS,
    MOST_QUOTED,
    AddComment,
    ChangeComment,
    CommentSide,
)
from domain.session.state import Session
from domain.values.base import Invalid, Refused
from domain.values.sentences import Sentence, sentence_of

_CONTROL: Final = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_NOT_IN_PATHS: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")


def _plain(text: str) -> str:
    """The text with its line breaks as `\\n`. Raises ValueError for control characters."""
    plain = text.replace("\r\n", "\n").replace("\r", "\n")
    if _CONTROL.search(plain):
        raise ValueError(Sentence("holds_control_characters"))
    return plain


CommentText = Annotated[
    StrictStr, Field(min_length=1, max_length=LONGEST_COMMENT, pattern=r"\S"), AfterValidator(_plain)
]
Line = Annotated[StrictInt, Field(ge=1, le=2**31 - 1)]


class MakeComment(Body):
    """Remark something on the result: on lines of a file, on a file, or on the whole."""

    text: CommentText
    path: Annotated[StrictStr, Field(min_length=1, max_length=LONGEST_PATH)] | None = Field(
        default=None, description="the file, relative to the repository; without it the comment is about the whole"
    )
    line: Line | None = Field(default=None, description="the line, from 1; without it the comment is about the file")
    end_line: Line | None = Field(default=None, description=f"the last line, of at most {MOST_QUOTED}; default: `line`")
    side: CommentSide = Field(default="new", description="`old`: the lines are those of the base, such as removed ones")
    head: Annotated[StrictStr, Field(pattern=r"^[0-9a-f]{7,64}$")] | None = Field(
        default=None, description="the commit that you saw; default: the result's `head`"
    )


class SettleComment(Body):
    """Say what has become of a comment."""

    status: Literal["resolved", "withdrawn", "open"] = Field(description="`withdrawn`: only your own; `open` insists")
    reason: Annotated[Reason, AfterValidator(_plain)] = Field(
        default="", description="your words; `open` needs them, and the agents read them"
    )


class CommentReceipt(Receipt):
    """The comment was made."""

    comment_id: str


@action(
    "/api/sessions/{id}/comments",
    scope="operate",
    body=MakeComment,
    answer=CommentReceipt,
    summary="Comment on a result",
    description="Whatever the session's status. The lines are quoted from the commit that you saw, and followed "
    "through later changes. 409 where the commit is not one of the session's, 422 where the file or the line is not "
    "there.",
    example={"text": "Name this after what it returns.", "path": "src/shop.py", "line": 12},
    status=201,
    form=FormOf(bound=False),
    tools=(Tool("comment", "Comment on a session's result: on lines of a file, on a file, or on the whole."),),
)
async def make_comment(call: ActionCall[MakeComment]) -> Intent:
    """Comment on lines of a result, on a file, or on the whole."""
    return Intent(call.session, await asyncio.to_thread(_comment, call), status=201)


@action(
    "/api/sessions/{id}/comments/{comment}",
    scope="operate",
    body=SettleComment,
    answer=Receipt,
    summary="Resolve, withdraw or insist on a comment",
    description="Only who made a comment may withdraw it. `open` with a reason insists: the comment is to be dealt "
    "with again.",
    example={"status": "open", "reason": "The name is still the old one."},
    form=FormOf(bound=False),
)
async def settle_comment(call: ActionCall[SettleComment]) -> Intent:
    """Resolve or withdraw a comment, or insist on it."""
    body = call.body
    if body.status == "open" and not body.reason.strip():
        raise Invalid({"/reason": Sentence("insists_without_reason")})
    command = ChangeComment(comment_id=call.part, status=body.status, reason=body.reason.strip(), actor=call.actor)
    return Intent(call.session, command)


def _comment(call: ActionCall[MakeComment]) -> AddComment:
    """The command, with the lines as the commit has them."""
    session = call.system.sessions.get(call.session)
    if session is None or not session.takes_comments:  # the rules say so
        return AddComment(text=call.body.text, actor=call.actor)
    return remark(call.system, session, call.body, actor=call.actor)


def _commit(session: Session, name: str) -> str:
    """Return the session's commit that begins like this. Raises Refused if there is none, or more than one."""
    matching = [commit for commit in session.commits if commit.startswith(name)]
    if len(matching) != 1:
        raise Refused(other_commit(session, name), allowed=allowed_actions(session))
    return matching[0]


def remark(system: System, session: Session, body: MakeComment, *, actor: str) -> AddComment:
    """A comment as a command, with its lines quoted from the commit that the person saw. Raises Invalid for what is
    not there, and Refused for a commit that is not one of the session's, or not on this machine."""
    _check_shape(session, body)
    head = session.result_head if body.head is None else _commit(session, body.head)
    if body.path is None:
        return AddComment(text=body.text, head=head, actor=actor)
    if head is None or session.base is None:
        raise Invalid({"/path": Sentence("comment_without_result")})
    commit, path = (
        (head, body.path) if body.side == "new" else (session.base.base_commit, _path_in_base(session, body.path))
    )
    place = {"path": path, "line": body.line, "end_line": body.line and (body.end_line or body.line)}
    lines = None if body.line is None else (body.line, body.end_line or body.line)
    quote = _quote(folders_of(system.settings, session), commit, path, lines, allowed_actions(session))
    return AddComment(text=body.text, side=body.side, quote=quote, head=head, actor=actor, **place)


def _check_shape(session: Session, body: MakeComment) -> None:
    """Raises Invalid for what fits no file."""
    if len(session.comments) >= MOST_COMMENTS:
        raise Invalid({"": Sentence("too_many_comments", number=MOST_COMMENTS)})
    if body.line is not None and body.path is None:
        raise Invalid({"/line": Sentence("comment_line_without_path")})
    if body.end_line is not None:
        if body.line is None:
            raise Invalid({"/endLine": Sentence("comment_end_without_line")})
        if body.end_line < body.line:
            raise Invalid({"/endLine": Sentence("comment_end_before_line", line=body.line)})
        if body.end_line - body.line >= MOST_QUOTED:
            raise Invalid({"/endLine": Sentence("comment_too_many_lines", number=MOST_QUOTED)})
    if body.path is not None and not _fits(body.path):
        raise Invalid({"/path": Sentence("comment_path_unfit")})


def _fits(path: str) -> bool:
    inside = posixpath.normpath(path) == path and path not in (".", "..") and not path.startswith(("../", "/"))
    return inside and not _NOT_IN_PATHS.search(path)


def _path_in_base(session: Session, path: str) -> str:
    """The path that the file had in the base; people see a renamed one under its new name."""
    files = session.changes.files if session.changes else ()
    return next((file.renamed_from for file in files if file.renamed_from and file.path == path), path)


def check_place(
    system: System, session: Session, path: str, line: int | None, end_line: int | None, *, at: str
) -> None:
    """Raises Invalid, with pointers below `at`, for a file or a line that the session's result has neither now nor had
    before the work. Without a result, and where it is not on this machine, nothing is known."""
    if session.result_head is None or session.base is None:
        return
    if not _fits(path):
        raise Invalid({f"{at}/path": Sentence("comment_path_unfit")})
    lines = None if line is None else (line, end_line or line)
    problem: Invalid | None = None
    for commit, name in ((session.result_head, path), (session.base.base_commit, _path_in_base(session, path))):
        try:
            _quote(folders_of(system.settings, session), commit, name, lines, ())
        except Refused:
            return
        except Invalid as error:
            problem = problem or error
        else:
            return
    if problem is not None:
        raise Invalid({f"{at}{pointer}": why for pointer, why in problem.errors.items()})


def _quote(
    folders: tuple[Path, ...], commit: str, path: str, wanted: tuple[int, int] | None, allowed: tuple[str, ...]
) -> tuple[str, ...]:
    """The lines that the comment is about, as the commit has them; none for a whole file."""
    try:
        file = file_at(holder_of(folders, commit), commit, path)
        lines = lines_of(file, path) if wanted is not None else ()
    except CommitNotHere as error:
        raise Refused(sentence_of(error), allowed=allowed) from None
    except WorkspaceError as error:
        raise Invalid({"/path": sentence_of(error)}) from None
    if wanted is None:
        return ()
    for name, number in zip(("line", "endLine"), wanted, strict=True):
        if number > len(lines):
            raise Invalid({f"/{name}": Sentence("comment_line_missing", path=path, number=len(lines))})
    return tuple(map(_cut, lines[wanted[0] - 1 : wanted[1]]))


def _cut(line: str) -> str:
    return line if len(line) <= LONGEST_QUOTED else f"{line[: LONGEST_QUOTED - 1]}…"
