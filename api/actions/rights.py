"""Rights that depend on more than the scope of a path."""

from typing import Any

from api.actions.declaration import ActionCall
from api.node.scopes import ScopeNeeded, require
from domain.channel.state import Channel
from domain.orchestration.state import Orchestration
from domain.session.state import Session
from domain.values.sentences import Sentence


def may_name_workspace(call: ActionCall[Any], folder: str | None) -> None:
    """Raises ScopeNeeded: only keys with the scope `admin` may name any folder of this machine."""
    if folder is not None and call.scope != "admin" and not call.system.settings.root_folders:
        raise ScopeNeeded("admin", Sentence("roots_needed"))


def may_permit(call: ActionCall[Any], run: Session | None) -> None:
    """Raises ScopeNeeded or Forbidden: to continue a run that waits because of changes outside its scope is to permit
    them."""
    if isinstance(run, Orchestration) and run.state == "checkpoint" and run.asks:
        require("decide", call.scope)
        if run.decisions is not None:
            run.decisions.check_listed(call.actor)


def may_permit_latest(call: ActionCall[Any], channel: str) -> None:
    """Like `may_permit`, for the run of a channel."""
    conversation = call.system.writer.load(channel)
    name = conversation.current[0] if isinstance(conversation, Channel) else None
    may_permit(call, call.system.sessions.get(name) if name else None)
