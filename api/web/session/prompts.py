"""A prompt in its parts: the instructions, and each block of material by its name."""

import re
from collections.abc import Mapping
from typing import Any, Final

from api.web.plain_text import cut
from domain.values.words import NOTHING

PART: Final = 16_000
"""Characters of a part that are filled."""
OPEN: Final = 4_000
"""Parts up to this length are open if they are new."""
MATERIAL: Final = (
    *("task", "subject", "plan", "files", "goals", "architecture", "design", "feedback", "validation", "history"),
    *("changes", "pass_criteria", "fail_criteria", "results", "agents", "employees", "peers", "previous_results"),
    *("rounds", "answer", "synthesis", "convergence", "issues", "reasons"),
)
"""The names of the blocks, which the page has words for."""
INSTRUCTIONS: Final = "instructions"
_MATERIAL: Final = re.compile(r'<material name="([a-z_]{1,40})">\n(.*?)\n</material>', re.DOTALL)
"""No value can open or close a block."""
_NUMBER: Final = re.compile(r"[0-9]+")


def parts_of(prompt: str) -> dict[str, str]:
    """The parts of a prompt as it was sent. The instructions keep a mark where each block was."""
    blocks: dict[str, str] = {}

    def take(block: re.Match[str]) -> str:
        blocks[block[1]] = f"{blocks[block[1]]}\n\n{block[2]}" if block[1] in blocks else block[2]
        return f"⟨{block[1]}⟩"

    rest = _MATERIAL.sub(take, prompt).strip()
    return blocks | {INSTRUCTIONS: rest} if rest else blocks


def sections(parts: Mapping[str, str], earlier: Mapping[str, str]) -> list[dict[str, Any]]:
    """The parts that are not empty; new is what the agent was not sent in its earlier turn, if it
    had one. The first new part is open."""
    filled = {name: words for name, words in parts.items() if words.strip() and words.strip() not in NOTHING.values()}
    shown = [
        _section(name, words, new=bool(earlier) and _is_new(name, words, earlier), first=not earlier)
        for name, words in filled.items()
    ]
    opened = next((part for part in shown if part["open"]), None)
    return [part | {"open": part is opened} for part in shown]


def _section(name: str, words: str, *, new: bool, first: bool) -> dict[str, Any]:
    opens = name == "task" if first else new and name != INSTRUCTIONS
    return {
        "name": name,
        "words": cut(words, PART),
        "size": size(len(words.encode())),
        "new": new,
        "open": opens and len(words) <= OPEN,
    }


def _is_new(name: str, words: str, earlier: Mapping[str, str]) -> bool:
    """Instructions that only name another iteration are not new."""
    before = earlier.get(name, "")
    if name == INSTRUCTIONS:
        before, words = (_NUMBER.sub("0", text) for text in (before, words))
    return before != words


def size(octets: int) -> str:
    return f"{octets} B" if octets < 1000 else f"{octets / 1000:.1f} kB"
