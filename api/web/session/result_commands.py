"""The commands that take a session's result."""

from typing import Final

from api.web.session.context import PanelContext

PULLING: Final = ("none", "open")
"""States of a pull request that was asked for and is not over."""


def commands_of(context: PanelContext) -> list[tuple[str, str]]:
    """The commands that take the result, by what they do; none without changed files, or once it is merged. What has a
    pull request, or will have one, is merged by it."""
    result, name = context.result, context.session.id
    pull = result.pull_request if result else None
    if not result or not result.files or (pull and pull.state == "merged"):
        return []
    merge = [] if pull and pull.state in PULLING else [("merge", f"hansard merge {name} --squash")]
    branch = [*merge, ("pr", f"hansard pr {name}")] if result.branch else []
    return [("apply", f"hansard apply {name}"), *branch]
