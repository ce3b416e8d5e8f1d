"""The relatives of a session: its parent, what it was forked from, and its discussions."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from api.web.session.context import PanelContext
from projections.record.trail import Closed, ForkMark

CHILDREN: Final = 50


class ChildShown(NamedTuple):
    """A discussion of this session; `end` is None while it is open."""

    id: str
    kind: str
    about: str
    strategy: str
    version: int
    end: Closed | None


class Family(NamedTuple):
    parent: str | None
    about: str
    forked_from: Sequence[ForkMark]
    children: Sequence[ChildShown]
    more: int


def family(context: PanelContext) -> Family:
    """The parent of this session and its discussions, with their outcome as recorded here."""
    session = context.session
    ends = {mark.child: mark for mark in context.past(context.trail.closed)}
    opened = context.past(context.trail.opened)
    about = getattr(session, "about", None)
    return Family(
        parent=session.parent,
        about=about.about if about else "",
        forked_from=context.past(context.trail.forks)[-1:],
        children=[
            ChildShown(
                id=mark.child,
                kind=mark.kind,
                about=mark.about,
                strategy=mark.strategy,
                version=mark.version,
                end=ends.get(mark.child),
            )
            for mark in reversed(opened[-CHILDREN:])
        ],
        more=max(0, len(opened) - CHILDREN),
    )
