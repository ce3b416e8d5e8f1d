"""The repositories on this machine that may have the commits of a session."""

from pathlib import Path

from api.node.settings import Settings
from domain.session.state import Session


def folders_of(settings: Settings, session: Session) -> tuple[Path, ...]:
    """Its own, those of the sessions whose workspace it has or comes from, and the person's."""
    root = settings.node_dir / "workspaces"
    names = filter(None, (session.id, session.home, session.forked_from))
    own = tuple(root / name / "repo.git" for name in names)
    theirs = session.base.repository if session.base else None
    return own if theirs is None else (*own, Path(theirs))
