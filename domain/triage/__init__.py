"""What a message asks for: a whole run or a direct answer (`triage`), to go on or to start afresh (`intent`)."""

from domain.triage.intents import Intent, intent
from domain.triage.rule import Signal, Triage, triage
from domain.triage.words import DEFAULT_POLICY, POLICIES, WordList, Words

__all__ = ["DEFAULT_POLICY", "POLICIES", "Intent", "Signal", "Triage", "WordList", "Words", "intent", "triage"]
