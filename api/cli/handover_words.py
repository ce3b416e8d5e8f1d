"""A result's pull request and landing, in words."""

import os
from collections.abc import Mapping
from typing import Any

from api.cli.labels import sentence
from api.cli.terminal import visible


def pull_request_in_short(pull: Mapping[str, Any]) -> str:
    """Says how the pull request stands, in a few words."""
    from api.cli.labels import recorded

    checks = recorded("pull_checks", str(pull["checks"])) if pull.get("checks") and pull["state"] == "open" else ""
    return " ".join(filter(None, (f"#{pull['number']}", recorded("pull_state", str(pull["state"])), checks)))


def pull_request_words(pull: Mapping[str, Any]) -> str:
    """Says how the pull request stands, with its address, failing checks, and why it waits."""
    from api.cli.labels import recorded

    checks = pull.get("checks")
    lines = [pull["url"] or sentence("not open yet")]
    if pull["number"] is not None:
        lines[0] = (
            f"{pull['url']} ({pull_request_in_short({**pull, 'checks': checks['conclusion'] if checks else None})})"
        )
    if checks and checks["conclusion"] == "failure":
        lines += [f"✕ {each['name']}  {each['url']}" for each in checks["items"] if each["conclusion"] == "failure"]
    lines += [
        f"{each['by']}: {' '.join(str(each['text']).split())[:200]}" for each in pull["comments"][-5:] if each["text"]
    ]
    if pull["rest"]:
        lines.append(recorded("waits_because", pull["rest"]))
        lines += [*pull["waiting"], *([pull["detail"]] if pull["detail"] else [])]
    if pull["unavailable"]:
        lines.append(sentence("waiting for the forge: {why}", why=pull["unavailable"]))
    return "\n".join(visible(line) for line in lines)


def landing_in_short(landing: Mapping[str, Any]) -> str:
    """Says how the newest landing ended, in a few words."""
    match landing["status"]:
        case "landed":
            return sentence("landed on {branch}", branch=landing["onto"])
        case "sent_back":
            return sentence("sent back from {branch}", branch=landing["onto"])
        case _:
            return sentence("not landed on {branch}", branch=landing["onto"])


def landing_words(landing: Mapping[str, Any]) -> str:
    """Says how the newest landing ended, as the record says it."""
    from domain.values.words import of_environment  # only where there is one
    from projections.record.describe import describe_landing

    return describe_landing(landing, of_environment(os.environ))
