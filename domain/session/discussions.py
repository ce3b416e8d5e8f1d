"""Discussions about a session: how one is requested and how its end is recorded."""

from domain.session.attempts import ONCE
from domain.session.children import (
    ChildClosed,
    ChildRequested,
    CloseChild,
    DiscussionBrief,
    OpenChild,
    ParentLink,
    ReviewSettings,
    child_id,
)
from domain.session.decision import Now, S

CHILDREN = 1_000
"""Folders of a session's own agents, before those of its discussions."""


def request_child(
    now: Now[S],
    *,
    kind: str,
    about: str,
    title: str,
    subject: str,
    settings: ReviewSettings,
    max_rounds: int,
    authors: tuple[str, ...] = (),
) -> ChildRequested:
    """Start a discussion: with the same agents, on the same workspace as it is now, linked in both directions.

    `authors` wrote what is discussed.
    """
    state = now.state
    number = len(state.children) + 1
    brief = DiscussionBrief(
        subject=now.text(subject),
        strategy=settings.strategy,
        max_rounds=max_rounds,
        profile=settings.profile,
        title=title,
        labels=state.labels,
        workspace=state.workspace,
        home=state.home or state.id,
        tree=state.tree,
        lane=CHILDREN + number,
        scenario=state.scenario,
        crew=state.crew,
        parent=ParentLink(session_id=state.id, about=about),
        expires_ms=settings.expires_ms,
        expires_as=settings.expires_as,
        retry=state.retry,
        decisions=state.decisions,
        authors=() if state.retry == ONCE else authors,  # nobody took over a turn before
    )
    name = child_id(state.id, kind, number)
    return ChildRequested(
        message=f"A {kind} of {about} begins.", child_id=name, child_kind=kind, about=about, topic=brief
    )


def close_child(child: OpenChild, command: CloseChild) -> ChildClosed:
    """Record how a discussion ended."""
    fields = {name: getattr(command, name) for name in CloseChild.model_fields if name != "blobs"}
    return ChildClosed(
        message=f"The {child.kind} of {child.about} ended: {command.choice}.", about=child.about, **fields
    )


def headline(words: str) -> str:
    """The first line with text, short enough for a title."""
    return next((line.strip() for line in words.splitlines() if line.strip()), "")[:120]
