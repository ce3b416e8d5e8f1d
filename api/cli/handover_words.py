"""A result's pull request and landing, in words."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from api.cli.handover_in_short import pull_request_in_short
from api.cli.labels import recorded, sentence
from api.cli.result_notes import only_applies
from api.cli.tables import shortened
from api.cli.terminal import visible
from api.node.checkouts import is_bare
from domain.values.words import of_environment
from projections.record.status import why

if TYPE_CHECKING:
    from api.cli.answers import ResultView

_CHECKS_SHOWN: Final = 5
_COMMENT: Final = 80
"""Cells of a comment."""


def rest_words(cause: str) -> str:
    """Says why nothing more is done about a pull request."""
    shown = recorded("waits_because", cause)
    if shown != cause:
        return shown

    return why(cause)


def pull_request_words(pull: Mapping[str, Any]) -> str:
    """Says how the pull request stands, with its address, failing checks, and why it waits."""
    checks = pull.get("checks")
    lines = [pull["url"] or sentence("not open yet")]
    if pull["number"] is not None:
        shown = {**pull, "checks": checks["conclusion"] if checks else None, "rest": None}
        lines[0] = f"{pull['url']} ({pull_request_in_short(shown)})"
    if checks and checks["conclusion"] == "failure":
        failed = [each for each in checks["items"] if each["conclusion"] == "failure"]
        lines += [f"✕ {each['name']}  {each['url']}" for each in failed[:_CHECKS_SHOWN]]
        if len(failed) > _CHECKS_SHOWN:
            lines.append(sentence("and {n} more", n=len(failed) - _CHECKS_SHOWN))
    comments = [each for each in pull["comments"] if each["text"]]
    lines += [f"{each['by']}: {shortened(str(each['text']), _COMMENT)}" for each in comments[-5:]]
    if pull["rest"]:
        lines.append(rest_words(pull["rest"]))
        lines += [*pull["waiting"], *([pull["detail"]] if pull["detail"] else [])]
    if pull["unavailable"]:
        lines.append(sentence("waiting for the forge: {why}", why=pull["unavailable"]))
    return "\n".join(visible(line) for line in lines)


def landing_words(landing: Mapping[str, Any]) -> str:
    """Says how the newest landing ended, as the record says it."""
    from projections.record.describe import describe_landing

    return describe_landing(landing, of_environment(os.environ))


def to_use(result: "ResultView") -> tuple[str, str] | None:
    """The command for a result, and what it is for; None where nothing is left to do. A bare repository has no checkout
    to merge into."""
    pull = result.get("pullRequest")
    if pull and pull["state"] == "merged":
        return None
    if pull and (pull["rest"] or pull["state"] in ("none", "open")):
        return "To go on with the pull request:", "pr"
    if only_applies({"result": result}):
        return "To have the result in your checkout:", "apply"
    if not (result["branch"] or result.get("branchProblem")):
        return "To see the changes as a patch:", "changes"
    bare = is_bare(Path(result["repository"])) if result["repository"] else False
    return "To merge the result:", "land" if bare else "merge"
