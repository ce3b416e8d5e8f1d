"""The start of a workspace, which its changes are counted from, moved to a later commit of the base branch."""

import json
import secrets
from dataclasses import replace

from adapters.workspace.workspace import Workspace


def based_on(workspace: Workspace, commit: str) -> Workspace:
    """The workspace, whose changes are counted from this commit from now on."""
    file = workspace.home / "repo.git" / "hansard.json"
    fields = json.loads(file.read_text(encoding="utf-8"))
    draft = file.with_name(f"{file.name}.{secrets.token_hex(4)}")
    draft.write_text(json.dumps(fields | {"start": commit}), encoding="utf-8")
    draft.replace(file)
    return replace(workspace, start=commit)
