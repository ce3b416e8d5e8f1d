"""External agents: they claim turns, hold on to them, and bring results, whoever and wherever they are (contract §4).

A claim is a lease of the same table that every worker's turns stand in; an answer is recorded as any other agent's.
"""

from adapters.turns.external.desk import Desk, Offer, Receipted
from adapters.turns.external.holding import DeskSettings, Lost
from adapters.turns.external.waiting import Wish

__all__ = ["Desk", "DeskSettings", "Lost", "Offer", "Receipted", "Wish"]
