"""Templates: texts with places such as `{{task}}`, and material blocks that no value can open or close."""

import re
from collections.abc import Mapping
from typing import Final, Literal

Language = Literal["en", "ko"]
NOTHING: Final[Mapping[Language, str]] = {"en": "(none)", "ko": "(없음)"}

PLACE: Final = re.compile(r"\{\{([a-z_]+)\}\}")
_INVISIBLE: Final = r"[\s\u00ad\u200b-\u200f\u2060\ufeff]*+"
_TAG: Final = re.compile(
    "<(?=" + _INVISIBLE + "/?" + _INVISIBLE + _INVISIBLE.join("material") + ")",
    re.IGNORECASE,
)


def filled(template: str, values: Mapping[str, str], language: Language) -> str:
    """The template with its places replaced in one pass; missing or blank values become "(none)" or "(없음)".

    No value is expanded again, and none can open or close a material block.
    """

    def fill(place: re.Match[str]) -> str:
        value = values.get(place[1], "")
        return closed(value) if value and not value.isspace() else NOTHING[language]

    return PLACE.sub(fill, template)


def closed(words: str) -> str:
    """The text, safe inside a material block: it can neither open nor close one."""
    return _TAG.sub("&lt;", words)
