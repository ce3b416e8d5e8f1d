"""What the library that checks an answer finds wrong with it, in words for people and agents.

The sentence is recorded for good, shown to people and told to the agent that is asked once more, so nothing of Python's
types or of the library's own words belongs into it.
"""

from collections.abc import Mapping
from types import MappingProxyType

from pydantic_core import ErrorDetails

_SENTENCES: Mapping[str, str] = MappingProxyType(
    {
        "missing": "is missing",
        "string_type": "should be a text",
        "bool_type": "should be true or false",
        "int_type": "should be a whole number",
        "tuple_type": "should be a list",
        "model_type": "should be an object",
        "literal_error": "should be {expected}",
        "greater_than_equal": "should be at least {ge}",
        "less_than_equal": "should be at most {le}",
        "string_too_long": "should have at most {max_length} characters",
        "too_long": "should have at most {max_length} entries",
        "too_short": "should have at least {min_length} entries",
        "value_error": "{error}",
    }
)
"""By the library's names of them; what stands in braces it tells beside the name."""


def worded(found: ErrorDetails) -> str:
    """`should have at least 1 entry`: without a capital, without a full stop, without what was sent."""
    sentence = _SENTENCES.get(found["type"], "is not what was asked for").format_map(found.get("ctx", {}))
    return sentence.replace(" 1 entries", " 1 entry").replace(" 1 characters", " 1 character")
