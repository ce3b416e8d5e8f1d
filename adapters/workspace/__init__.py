"""Where a session's agents work, and what they have changed there.

Git looks at the agents' folders only through a repository of our own outside of them (`repo.git`): its configuration,
hooks and attributes are ours, so nothing that an agent plants in its folder is ever executed by us (agents rule 7).
The agents get a `.git` of their own for comfort; we make it, move it in, and never read it.

Everything here blocks: call it from a thread.
"""

from adapters.workspace.fitness import Room, check
from adapters.workspace.merging import patched
from adapters.workspace.paths import WorkspaceError, confine
from adapters.workspace.repository import PATCH_BYTES
from adapters.workspace.workspace import Workspace
from adapters.workspace.workspaces import Workspaces

__all__ = ["PATCH_BYTES", "Room", "Workspace", "WorkspaceError", "Workspaces", "check", "confine", "patched"]
