"""Where a session's agents work, and what they have changed there.

Git only looks at the agents' folders through our own repository outside of them (`repo.git`): its configuration, hooks
and attributes are ours, so we never execute anything that an agent puts into its folder (agents rule 7). Agents get
their own `.git` for convenience; we create it, move it in, and never read it.

Everything here blocks: call it from a thread.
"""

from adapters.workspace.git import WorkspaceError, committed, confine
from adapters.workspace.merging import patched
from adapters.workspace.repository import PATCH_BYTES
from adapters.workspace.workspace import Workspace
from adapters.workspace.workspaces import Room, Workspaces, check

__all__ = [
    "PATCH_BYTES",
    "Room",
    "Workspace",
    "WorkspaceError",
    "Workspaces",
    "check",
    "committed",
    "confine",
    "patched",
]
