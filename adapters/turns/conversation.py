"""Collects what came before a session: the messages of its conversation, and the sources of a fork.

A message continues the sessions before it: their last result, and their messages.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from adapters.agents.prompts.conversation import Exchange, conversation
from adapters.store.port import Store
from adapters.turns.job import Load
from adapters.workspace.creation import Earlier
from adapters.workspace.history import is_recorded
from domain.orchestration.state import Orchestration
from domain.session.forks import SessionForked
from domain.session.state import Session
from domain.session.turns import TurnRequested

REMEMBERED: Final = 20
"""Earlier sessions of a conversation that are read."""
_FIRST_PROMPTS: Final = ("direct", "plan", "plan_repair")


def earlier_sessions(session: Session, load: Load) -> Iterator[Orchestration]:
    """The nearest first."""
    for _ in range(REMEMBERED):
        if not isinstance(session, Orchestration) or not session.follows:
            return
        earlier = load(session.follows)
        if not isinstance(earlier, Orchestration):
            return
        yield earlier
        session = earlier


def last_result(now: Session, load: Load, root: Path) -> Earlier | None:
    """The newest state of the conversation's work in the same folder; results of reset runs do not count."""
    for session in earlier_sessions(now, load):
        if session.tree is not None and session.workspace == now.workspace and session.status != "reset":
            place = root / (session.home or session.id) / "repo.git"
            return _earlier(session, session.tree, place) if place.is_dir() else None
    return None


def _earlier(session: Orchestration, tree: str, place: Path) -> Earlier:
    """The result as the person's git would have made it, where it was published so and is here; else as recorded."""
    published = session.published if session.branch_problem is None else None
    if published is not None and tree in (published, session.made_of) and is_recorded(place, published):
        return Earlier(place, published, session.branch)
    return Earlier(place, tree, session.branch, stored=False)


def said_before(now: Session, load: Load, request: TurnRequested, language: str) -> str:
    """The messages of the conversation so far, for an agent that joins it."""
    if request.prompt.partition("@")[0] not in _FIRST_PROMPTS:
        return ""
    exchanges = [
        Exchange(session.prompt, session.summary.head if session.summary else "")
        for session in earlier_sessions(now, load)
    ]
    return conversation(exchanges[::-1], language)


def ancestors(store: Store, session: Session) -> Iterator[str]:
    """The sources of a fork, the nearest first."""
    seen: set[str] = set()
    name = session.forked_from
    while name is not None and name not in seen:
        seen.add(name)
        yield name
        forked = store.log(session_id=name, topic=SessionForked.TOPIC)
        name = forked[-1].event.source if forked and isinstance(forked[-1].event, SessionForked) else None
