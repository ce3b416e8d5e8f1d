"""What a worker does with one turn: ask the agent, run the validation, hand the work over.

Each returns the command that records the outcome. Faults of agents, commands and workspaces are outcomes, too.
"""

from adapters.work.bench import Bench, Prepared, failed
from adapters.work.job import Job, ancestors
from adapters.work.recording import deadline_of, outcome_of

__all__ = ["Bench", "Job", "Prepared", "ancestors", "deadline_of", "failed", "outcome_of"]
