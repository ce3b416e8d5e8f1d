"""The place `agents` of a judge's prompt: who is judged for which phases, in the language of the prompt.

The request names it in one spelling, whatever the language: `- Backend (backend): judged for phase 3 (개발); pass: …`.
Only these words are translated; texts of agents and planners stay as they are.
"""

import re
from typing import Final

from adapters.agents.prompts import checked
from domain.orchestration.phases import PHASES, phase_name

_PHASE: Final = r"[1-5] \([^()\n]*\)"
_STANDS: Final = re.compile(
    rf"^(?P<who>- .*?\): )(?:(?P<completed>completed)|judged for phase (?P<phases>{_PHASE}(?:, {_PHASE})*))",
    re.MULTILINE,
)
_NUMBER: Final = re.compile(r"([1-5]) \(")


def agents(words: str, language: str = "en") -> str:
    """The lines with phases by their names in that language; Invalid at /language."""
    spoken = checked(language)

    def spelled(found: re.Match[str]) -> str:
        if found["completed"]:
            return found["who"] + ("완료" if spoken == "ko" else "completed")
        numbers = (int(number) for number in _NUMBER.findall(found["phases"]))
        named = ", ".join(f"{number} ({phase_name(number, spoken)})" for number in numbers if number in PHASES)
        return found["who"] + (f"판정할 phase: {named}" if spoken == "ko" else f"judged for phase {named}")

    return _STANDS.sub(spelled, words)
