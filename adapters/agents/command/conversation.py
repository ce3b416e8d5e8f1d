"""The conversation of an agent with its program, and the folder in which its home is."""

import hashlib
import os
import re
import shutil
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from adapters.agents.port import Turn

USER = "user"
_HANDLE = re.compile(r"command:(user|[0-9a-f]{32})(?:/([0-9a-f]{16}))?:([A-Za-z0-9][A-Za-z0-9._:/@+=~-]{0,255})?")
_PROGRAM_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/@+=~-]{0,255}")


@dataclass(frozen=True, slots=True)
class AgentConversation:
    """`home` names a folder of ours (or the user's own home), and is never a path; `id` is the program's own id;
    `folder` is the digest of its working folder, if the conversation can only be continued there."""

    home: str
    id: str = ""
    folder: str = ""

    @property
    def handle(self) -> str:
        return f"command:{self.home}/{self.folder}:{self.id}"


@dataclass(frozen=True, slots=True)
class TurnConversation:
    """The conversation of a turn. `why` says why it is new, if another one was to be resumed."""

    conversation: AgentConversation
    resumed: bool = False
    why: str | None = None


def begun(turn: Turn, *, home: Literal["private", "user"]) -> AgentConversation:
    """A new one. A private home is never shared between attempts: half of its name is the owner, half the attempt."""
    private = _owner(turn) + _digest(turn.turn_id, str(turn.attempt))
    return AgentConversation(USER if home == "user" else private, folder=folder_of(turn))


def folder_of(turn: Turn) -> str:
    return _digest(str(turn.workspace or ""))


def read_handle(handle: str | None) -> AgentConversation | None:
    """The conversation; None if this is not one of our handles."""
    match = _HANDLE.fullmatch(handle or "")
    return AgentConversation(match[1], match[3] or "", match[2] or "") if match else None


def owns(turn: Turn, conversation: AgentConversation) -> bool:
    """True if it belongs to this agent in this session: a fork does not write into its source's home."""
    return conversation.home == USER or conversation.home.startswith(_owner(turn))


def program_id(text: str | None) -> str:
    """The program's own session id; empty if it is not safe as an argument."""
    return text if text and _PROGRAM_ID.fullmatch(text) else ""


def remove(folder: Path) -> None:
    """Delete the folder and everything in it, including read-only files. Does nothing about what is gone, or goes
    meanwhile, as files of a program that has just ended do. Raises OSError."""
    if folder.is_symlink() or not folder.is_dir():
        folder.unlink(missing_ok=True)
        return
    folder.chmod(0o700)
    for inside, names, _ in os.walk(folder):
        for child in (Path(inside, name) for name in names):
            if not child.is_symlink():
                with suppress(FileNotFoundError):
                    child.chmod(0o700)
    shutil.rmtree(folder, onerror=_unless_gone)


def _unless_gone(_: object, __: str, failure: tuple[type[BaseException], BaseException, object]) -> None:
    if not isinstance(failure[1], FileNotFoundError):
        raise failure[1]


def _owner(turn: Turn) -> str:
    return _digest(turn.session_id, turn.agent)


def _digest(*names: str) -> str:
    return hashlib.sha256("\0".join(names).encode(errors="replace")).hexdigest()[:16]
