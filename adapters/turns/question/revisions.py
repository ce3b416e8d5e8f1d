"""A change request in words, for a prompt that names it by its id: the words, and each comment with its lines."""

from collections.abc import Iterator, Mapping
from typing import Final

from adapters.agents.prompts.catalogue import checked
from adapters.turns.folder import workspace_of
from adapters.turns.job import Job
from adapters.workspace import Workspaces
from adapters.workspace.comment_lines import TurnStates, touched_in, whereabouts_of
from domain.session.comments import Comment, CommentAnswer, Whereabouts
from domain.session.past_commands import Whole
from domain.session.revisions import REVISION, Revision, named_in
from domain.session.state import Session
from domain.session.turns import TurnRequested
from domain.values.base import iso
from domain.values.words import Language

Places = Mapping[str, Whereabouts]
"""Where the lines of comments are now, by the ids of the comments."""
COMMENTS: Final = "comments"
"""The passages of prompts for those who have to deal with comments."""
_TEXTS: Final[Mapping[Language, Mapping[str, str]]] = {
    "en": {
        "head": "{by} asks for changes ({at}):",
        "somebody": "A person",
        "whole": "Comment {id} of {by}, on the work as a whole:",
        "file": "Comment {id} of {by}, on {path}:",
        "line": "Comment {id} of {by}, on {path}, line {first}:",
        "lines": "Comment {id} of {by}, on {path}, lines {first} to {last}:",
        "gone": "Comment {id} of {by}, on lines of {path} that are not in the work any more:",
        "old": "Comment {id} of {by}, on lines of {path} before the work:",
        "insists": "{by} insists: {words}",
        "fixed": "The agents' answer: fixed.",
        "wordless": "Taken as fixed; no agent has said a word about it.",
        "declined": "The agents' answer: declined.",
        "answered": "The agents' answer: answered.",
        "unchanged": "Not dealt with so far.",
        "changed": "Changed: {paths}",
    },
    "ko": {
        "head": "{by} 님의 수정 요청 ({at}):",
        "somebody": "사용자",
        "whole": "의견 {id} ({by}), 작업 전체에 대해:",
        "file": "의견 {id} ({by}), {path}:",
        "line": "의견 {id} ({by}), {path} {first}행:",
        "lines": "의견 {id} ({by}), {path} {first}~{last}행:",
        "gone": "의견 {id} ({by}), {path}에서 지금은 없어진 줄에 대해:",
        "old": "의견 {id} ({by}), 작업 전 {path}의 줄에 대해:",
        "insists": "{by} 님이 다시 요청했습니다: {words}",
        "fixed": "에이전트의 답변: 반영했습니다.",
        "wordless": "반영된 것으로 봅니다. 에이전트가 덧붙인 말은 없습니다.",
        "declined": "에이전트의 답변: 받아들이지 않았습니다.",
        "answered": "에이전트의 답변: 답했습니다.",
        "unchanged": "아직 처리되지 않았습니다.",
        "changed": "바꾼 파일: {paths}",
    },
}


def comments_in(request: TurnRequested, session: Session) -> tuple[Comment, ...]:
    """The comments of the revisions that the request names, each once; none that was withdrawn."""
    revisions = _revisions(request, session)
    names = dict.fromkeys(name for revision in revisions for name in revision.comments)
    comments = (session.comments.by_id[name] for name in names if name in session.comments.by_id)
    return tuple(each for each in comments if each.status != "withdrawn")


def places_of_comments(job: Job, workspaces: Workspaces) -> Places:
    """Returns where the lines of the comments are in the work as it is now. Blocks."""
    comments = comments_in(job.request, job.session)
    if not comments:
        return {}
    folders, start = (workspace_of(job, workspaces).home / "repo.git",), job.people.tree if job.people else None
    return whereabouts_of(folders, job.session, comments, head=start)


def touched_comments(job: Job, workspaces: Workspaces, *, tree: str | None, files: tuple[str, ...]) -> tuple[str, ...]:
    """Returns the comments that the job names whose lines its changes have touched: of these files, in the
    state that it has left. Blocks."""
    comments = comments_in(job.request, job.session)
    if not comments or tree is None:
        return ()
    workspace = workspace_of(job, workspaces)
    turn = TurnStates(job.start or workspace.base(), tree, files)
    return touched_in((workspace.home / "repo.git",), job.session, comments, turn)


def revision_words(request: TurnRequested, session: Session, *, whole: Whole, language: str, places: Places) -> str:
    """The words of the revisions that the request names, each with who asked and when, then their comments; empty if it
    names none."""
    texts = _TEXTS[checked(language)]
    parts = [*_wishes(_revisions(request, session), whole, texts)]
    parts += [_comment(each, places.get(each.comment_id), texts) for each in comments_in(request, session)]
    return "\n\n".join(parts)


def _revisions(request: TurnRequested, session: Session) -> tuple[Revision, ...]:
    return named_in(session.revisions, request.context[REVISION].head) if REVISION in request.context else ()


def _wishes(revisions: tuple[Revision, ...], whole: Whole, texts: Mapping[str, str]) -> Iterator[str]:
    for revision in revisions:
        head = texts["head"].format(by=_name(revision.by, texts), at=iso(revision.at))
        yield "\n".join(filter(None, (head, whole(revision.text))))


def _comment(comment: Comment, place: Whereabouts | None, texts: Mapping[str, str]) -> str:
    """Returns where it is now, the lines that it quotes, and its words."""
    now, path = place.now if place else None, comment.path
    fields = {"id": comment.comment_id, "by": _name(comment.by, texts), "path": now.path if now else path}
    if path is None:
        kind = "whole"
    elif comment.line is None:
        kind = "file"
    elif now is None or now.line is None:
        kind = "old" if comment.side == "old" else "gone"
    else:
        kind = "line" if now.line == now.end_line else "lines"
        fields |= {"first": str(now.line), "last": str(now.end_line)}
    lines = [texts[kind].format(**fields), *(f"> {line}" for line in comment.quote), comment.text]
    lines += [_answer(answer, texts) for answer in comment.newest_answers]
    change = comment.newest_change
    if change is not None and change.status == "open" and change.reason:
        lines.append(texts["insists"].format(by=_name(change.by, texts), words=change.reason))
    return "\n".join(lines)


def _answer(answer: CommentAnswer, texts: Mapping[str, str]) -> str:
    """Returns what was said to it, or that nothing was: lines that changed without a word are no agent's answer."""
    paths = ", ".join(answer.changed_paths)
    if answer.answer == "fixed" and not (answer.words.strip() or paths):
        return texts["wordless"]
    parts = (texts[answer.answer], answer.words, texts["changed"].format(paths=paths) if paths else "")
    return " ".join(filter(None, parts))


def _name(actor: str, texts: Mapping[str, str]) -> str:
    return actor.rpartition(":")[2] or texts["somebody"]
