"""What a worker does with one turn: ask the agent, run the validation, publish the work.

Each function returns the command that records the outcome. Failures of agents, commands and workspaces are outcomes,
too.
"""

from adapters.turns.job import Job, ancestors
from adapters.turns.recording import deadline_of, outcome_of
from adapters.turns.runner import Prepared, TurnRunner, failed

__all__ = ["Job", "Prepared", "TurnRunner", "ancestors", "deadline_of", "failed", "outcome_of"]
