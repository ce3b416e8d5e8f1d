"""What a message asks for: a run or a direct answer (`triage`), to continue or reset (`intent`), or nearly that
(`nearly`)."""

from domain.triage.intents import Intent, Suggestion, intent, nearly
from domain.triage.rule import Signal, Triage, triage
from domain.triage.words import DEFAULT_POLICY, POLICIES, SignalWords, TriageWords

__all__ = [
    "DEFAULT_POLICY",
    "POLICIES",
    "Intent",
    "Signal",
    "SignalWords",
    "Suggestion",
    "Triage",
    "TriageWords",
    "intent",
    "nearly",
    "triage",
]
