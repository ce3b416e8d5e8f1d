"""External agents: they claim turns, renew their leases and submit results (contract §4).

A claim is a lease in the same table as every worker's turns; an answer is recorded like any other agent's.
"""

from adapters.turns.external.leases import ExternalTurnSettings, LeaseLost
from adapters.turns.external.queue import TurnFilter
from adapters.turns.external.turns import ExternalTurns, Offer, ResultKey

__all__ = ["ExternalTurnSettings", "ExternalTurns", "LeaseLost", "Offer", "ResultKey", "TurnFilter"]
