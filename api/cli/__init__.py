"""The command line: one client of the HTTP API among others, over the network or inside this process (contract §6)."""

from typing import Final

ALLOCATIONS: Final = 50_000
"""The threshold of garbage collection in a command. With Python's default of 700, it would run hundreds of times while
modules are being imported."""
