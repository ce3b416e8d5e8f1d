"""The folders where sessions' agents work, each in a separate one, and which of a person's folders can be worked in.

Git only looks at the agents' folders through our own repository outside of them (`repo.git`): its configuration, hooks
and attributes are ours, so we never execute anything that an agent puts into its folder (agents rule 7). Agents get
their own `.git` for convenience; we create it, move it in, and never read it.
"""

from adapters.workspace.git import DoesNotFit, Lasting, WorkspaceError, committed, confine
from adapters.workspace.patches import patched
from adapters.workspace.repository import PATCH_BYTES
from adapters.workspace.suitable import EXAMPLES, Room, check
from adapters.workspace.workspace import Workspace
from adapters.workspace.workspaces import Workspaces

__all__ = [
    "EXAMPLES",
    "PATCH_BYTES",
    "DoesNotFit",
    "Lasting",
    "Room",
    "Workspace",
    "WorkspaceError",
    "Workspaces",
    "check",
    "committed",
    "confine",
    "patched",
]
