"""A session's pull request, as the head of its page shows it."""

from typing import TYPE_CHECKING, Any, Final

from api.web.plain_text import cut
from api.web.session.context import SENTENCE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_NAMES: Final = 2
"""Failing checks and held files that are named; of the others, the number."""
_NAME: Final = 60
"""Characters of the name of a check: a matrix makes long ones."""


def pull_request_shown(pull: "Mapping[str, Any] | None") -> dict[str, Any] | None:
    """Returns what is shown; None where nothing was asked for. One that is not open yet has no number: then only why
    it waits is shown."""
    if not pull or (pull["number"] is None and not pull["rest"] and not pull["unavailable"]):
        return None
    checks = pull["checks"]
    failed = [each["name"] for each in checks["items"] if each["conclusion"] == "failure"] if checks else []
    paths = pull["waiting"]
    return {
        "number": pull["number"],
        "url": pull["url"],
        "state": pull["state"],
        "checks": checks["conclusion"] if checks else "",
        "failed": ", ".join(cut(name, _NAME) for name in failed[:_NAMES]),
        "more_failed": _more(failed),
        "comments": len(pull["comments"]),
        "listed": sum(not each["counts"] for each in pull["comments"]),
        "rest": pull["rest"] or "",
        "paths": [cut(path, 120) for path in paths[:_NAMES]],
        "more_paths": _more(paths),
        "unavailable": cut(pull["unavailable"] or "", SENTENCE),
    }


def _more(names: "Sequence[str]") -> int:
    return max(0, len(names) - _NAMES)
