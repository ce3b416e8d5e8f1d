"""What a worker does with one turn: ask the agent, run the validation, hand the work over.

Each returns the command that records the outcome. Faults of agents, commands and workspaces are outcomes, too.
"""

from adapters.work.bench import Bench
from adapters.work.job import Job

__all__ = ["Bench", "Job"]
