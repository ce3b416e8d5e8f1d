"""A result's pull request and landing in a few words, as a list shows them."""

from collections.abc import Mapping
from typing import Any, Final

from api.cli.labels import recorded, sentence

_CHECKS: Final = {"success": "checks passed", "failure": "checks failed"}


def pull_request_in_short(pull: Mapping[str, Any]) -> str:
    """Says how the pull request stands, in a few words."""
    if pull["number"] is None:
        waits = sentence("waits for you") if pull.get("rest") or pull.get("hold") else ""
        return ", ".join(filter(None, (sentence("pull request not open yet"), waits)))
    is_open = pull["state"] == "open"
    checks = checks_words(str(pull["checks"])) if pull.get("checks") and is_open else ""
    waits = sentence("waits for you") if is_open and (pull.get("rest") or pull.get("hold")) else ""
    state = f"#{pull['number']} {recorded('pull_state', str(pull['state']))}"
    return ", ".join(filter(None, (state, checks, waits)))


def checks_words(conclusion: str) -> str:
    """Says how checks ended."""
    shown = recorded("pull_checks", conclusion)
    return _CHECKS.get(conclusion, conclusion) if shown == conclusion else shown


def landing_in_short(landing: Mapping[str, Any]) -> str:
    """Says how the newest landing ended, in a few words."""
    match landing["status"]:
        case "landed":
            return sentence("landed on {branch}", branch=landing["onto"])
        case "sent_back":
            return sentence("sent back from {branch}", branch=landing["onto"])
        case _:
            return sentence("not landed on {branch}", branch=landing["onto"])
