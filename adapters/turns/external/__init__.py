"""External agents: they claim turns, hold on to them, and bring results, whoever and wherever they are (contract §4).

A claim is a lease of the same table that every worker's turns stand in; an answer is recorded as any other agent's.
"""

from adapters.turns.external.leases import ExternalTurnSettings, LeaseLost
from adapters.turns.external.queue import TurnFilter
from adapters.turns.external.turns import ExternalTurns, Offer, ResultKey

__all__ = ["ExternalTurnSettings", "ExternalTurns", "LeaseLost", "Offer", "ResultKey", "TurnFilter"]
