"""What a parent does: it has something of its own discussed, and takes down how the discussion ended."""

from typing import TypeVar

from domain.discussion.topic import DiscussionBrief, Link, ReviewSettings
from domain.session.children import Child, ChildClosed, ChildRequested, CloseChild, child_id
from domain.session.draft import Draft
from domain.session.state import Session

S = TypeVar("S", bound=Session)

CHILDREN = 1_000
"""The folders of a session's own agents come before those of the discussions about it."""


def request_child(
    draft: Draft[S], *, kind: str, about: str, title: str, subject: str, wish: ReviewSettings, max_rounds: int
) -> None:
    """Have something discussed: by the same agents, over the same workspace as it is now, linked both ways."""
    session = draft.session
    number = len(session.children) + 1
    topic = DiscussionBrief(
        subject=draft.text(subject),
        strategy=wish.strategy,
        max_rounds=max_rounds,
        profile=wish.profile,
        title=title,
        labels=session.labels,
        workspace=session.workspace,
        home=session.home or session.id,
        tree=session.tree,
        lane=CHILDREN + number,
        scenario=session.scenario,
        crew=session.crew,
        parent=Link(session_id=session.id, about=about),
        expires_ms=wish.expires_ms,
        expires_as=wish.expires_as,
    )
    name = child_id(session.id, kind, number)
    draft.record(
        ChildRequested(message=f"A {kind} of {about} begins.", child_id=name, child_kind=kind, about=about, topic=topic)
    )


def close_child(draft: Draft[S], command: CloseChild) -> Child | None:
    """Take down how a child ended; None when nobody waits for it any more."""
    child = draft.session.open_children.get(command.child_id)
    if child is None:
        return None
    said = f"The {child.kind} of {child.about} ended: {command.choice}."
    draft.record(ChildClosed(message=said, about=child.about, **command.model_dump(exclude={"blobs"})))
    return child


def headline(words: str) -> str:
    """The first line that says something, short enough for a title."""
    return next((line.strip() for line in words.splitlines() if line.strip()), "")[:120]
