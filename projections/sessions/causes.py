"""Why a session waits for a person, in a sentence. Imports little, for the command line."""

from typing import Final

_WHY: Final = {
    "converged": "The discussion converged; a person decides.",
    "stalled": "The discussion stalled; a person decides.",
    "limit": "The discussion used up its rounds; a person decides.",
    "error": "An agent failed in the discussion; a person decides.",
    "scope_done": "The requested scope is done; a person decides how to continue.",
    "iterations": "The iterations are used up.",
    "minutes": "The time is used up.",
    "tokens": "The token limit is reached.",
    "cost": "The cost limit is reached.",
    "rounds": "The rounds are used up.",
    "plan_invalid": "There is no valid plan.",
    "agent_failed": "An agent failed.",
    "no_progress": "The last iterations made no progress.",
    "outside_scope": "Files outside the scope were changed; a person decides.",
    "scope_checkpoint": "Files outside the scope were changed; continuing permits these changes.",
    "turn_failed": "A turn has no attempt left; retry it.",
    "validation_not_startable": "A validation command cannot be started.",
    "validation_escapes_workspace": "The validation would test another folder.",
    "setup_failed": "The set-up failed.",
}


def why(cause: str | None) -> str:
    """The sentence for the code of a cause."""
    return _WHY.get(cause or "", "A person decides.")
