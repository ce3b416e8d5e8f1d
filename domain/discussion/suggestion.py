"""What the last judgement of a discussion suggests to the person who decides, to show who was overruled (K-32).

Convergence only ends the discussion. The suggestion comes from the last verdict.
"""

from collections.abc import Mapping
from typing import Any

from domain.session.children import Choice

_SUGGESTS: Mapping[str, Choice] = {
    "NEEDS_FIX": "apply_fix",
    "PASS": "skip",
    "CHALLENGE": "revise",
    "APPROVE": "accept",
}


def suggested(feedback: Mapping[str, Any] | None) -> Choice | None:
    """The choice that this feedback suggests; None if it is unreadable or the discussion was interrupted."""
    if feedback is None or feedback.get("problem") or feedback.get("error"):
        return None
    return _SUGGESTS.get(str(feedback.get("verdict")))
