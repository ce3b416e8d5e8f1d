"""The prompts: one Markdown file per prompt, strategy and language, and the loader that fills in the values.

A file is `NAME[.STRATEGY].LANGUAGE.md`: a front matter block with the `version`, then the text with placeholders like
`{{task}}`. Texts of users and other agents are in `<material name="…">` blocks, which they cannot close. Headings are
those of the designs (S1, S2; behaviour §1.7–1.9, §2.6). `{{#review}}…{{/review}}` is left out of the prompts of a
delivery without that phase, `{{^review}}…{{/review}}` of those with it; likewise `{{#revision}}…{{/revision}}` where no
person has asked for changes, and `{{#comments}}…{{/comments}}` where they have made no comments.
Once released, a changed text gets the next version number.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Final

from domain.values.base import Invalid
from domain.values.sentences import Sentence
from domain.values.words import PLACE, Language, SafePieces, filled

LANGUAGES: Final[tuple[Language, ...]] = ("en", "ko")

_NAMES: Final = (
    *("plan", "plan_repair", "work", "verdict", "verdict_repair", "direct", "fix", "revise_plan"),
    *("critique", "rebuttal", "review_synthesis", "challenge", "defense", "debate_synthesis"),
    *("delivery_plan", "architecture", "design", "implementation", "review_artifact"),
)

# The first strategy is the default (S2: `review` for work, `debate` for plans).
_STRATEGIES: Final[Mapping[str, tuple[str, ...]]] = {
    "critique": ("review", "red-team"),
    "rebuttal": ("review", "red-team"),
    "challenge": ("debate", "perspectives"),
    "defense": ("debate", "perspectives"),
}

# Every strategy of a kind ends in the same synthesis (S2 phase 2): a strategy is accepted here, but changes nothing.
_ALIKE: Final[Mapping[str, tuple[str, ...]]] = {
    "review_synthesis": ("review", "red-team"),
    "debate_synthesis": ("debate", "perspectives"),
}

_PASSAGE: Final = re.compile(r"\{\{([#^])([a-z]+)\}\}((?:(?!\{\{[#^/]).)*+)\{\{/\2\}\}", re.DOTALL)
_FRONT: Final = re.compile(r"---\nversion: ([1-9][0-9]*)\n---\n\n")


@dataclass(frozen=True, slots=True)
class Prompt:
    """One prompt text; `strategy` is None if the text does not depend on it."""

    name: str
    strategy: str | None
    language: Language
    version: int
    text: str

    @property
    def places(self) -> frozenset[str]:
        """The names of the placeholders."""
        return frozenset(PLACE.findall(self.text))


def names() -> tuple[str, ...]:
    """The names of all prompts: orchestration, review, debate, delivery."""
    return _NAMES


def strategies(name: str) -> tuple[str, ...]:
    """The strategies that have a separate text under this name, the default first; empty for a single text."""
    return _STRATEGIES.get(name, ())


def prompt(
    name: str, *, strategy: str | None = None, language: str = "en", without: frozenset[str] = frozenset()
) -> Prompt:
    """The prompt of that name, for a session `without` these phases; without a strategy, the default one. Invalid at
    /name, /strategy or /language."""
    if name not in _NAMES:
        raise Invalid({"/name": Sentence("prompt_not_found", names=list(_NAMES))})
    return _load(name, _chosen(name, strategy), checked(language), without)


def checked(language: str) -> Language:
    """The language, if there are prompts in it; otherwise Invalid at /language."""
    for candidate in LANGUAGES:
        if candidate == language:
            return candidate
    raise Invalid({"/language": f"prompts are written in {' and '.join(LANGUAGES)}"})


def render(prompt: Prompt, context: Mapping[str, str | SafePieces]) -> str:
    """The text with its placeholders replaced in one pass; missing or blank values become "(none)" or "(없음)".

    No value is expanded again, and none can open or close a material block. ValueError: a key without a placeholder.
    """
    strangers = sorted(context.keys() - prompt.places)
    if strangers:
        raise ValueError(f"the prompt {prompt.name} has no place for {', '.join(strangers)}")

    return filled(prompt.text, context, prompt.language)


def _chosen(name: str, strategy: str | None) -> str | None:
    """The strategy whose text is wanted, None if the name has a single text; Invalid at /strategy."""
    own = _STRATEGIES.get(name, ())
    allowed = own or _ALIKE.get(name, ())
    if strategy is None:
        return own[0] if own else None
    if strategy not in allowed:
        raise Invalid({"/strategy": f"one of {', '.join(allowed)}" if allowed else f"{name} knows no strategies"})
    return strategy if own else None


def _fitted(text: str, without: frozenset[str]) -> str:
    """The text with the passages for these phases left out and those for their absence kept, the innermost first."""

    def passage(match: re.Match[str]) -> str:
        sign, phase, words = match.groups()
        return words if (phase in without) == (sign == "^") else ""

    fitted = _PASSAGE.sub(passage, text)
    return text if fitted == text else _fitted(fitted, without)


@cache
def _load(name: str, strategy: str | None, language: Language, without: frozenset[str]) -> Prompt:
    file = ".".join(part for part in (name, strategy, language, "md") if part)
    source = files("adapters.agents.prompts").joinpath(file).read_text(encoding="utf-8").replace("\r\n", "\n")
    front = _FRONT.match(source)
    if front is None:
        raise ValueError(f"{file} does not begin with its version")
    text = _fitted(source[front.end() :], without)
    return Prompt(name=name, strategy=strategy, language=language, version=int(front[1]), text=text)
