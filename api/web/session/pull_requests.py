"""A session's pull request, as the head of its page shows it."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from api.web.plain_text import cut
from api.web.session.context import SENTENCE
from projections.views.session import PullRequestView

_NAMES: Final = 2
"""Failing checks and held files that are named; of the others, the number."""
_NAME: Final = 60
"""Characters of the name of a check: a matrix makes long ones."""


class PullRequestShown(NamedTuple):
    """`failed` are the names of checks, `silent` is the number of comments that start nothing, and `rest` says why
    nothing more is done."""

    number: int | None
    url: str | None
    state: str
    checks: str
    failed: str
    more_failed: int
    comments: int
    silent: int
    rest: str
    paths: Sequence[str]
    more_paths: int
    unavailable: str


def pull_request_shown(pull: PullRequestView | None) -> PullRequestShown | None:
    """Returns what is shown; None where nothing was asked for. One that is not open yet has no number: then only why
    it waits is shown."""
    if not pull or (pull.number is None and not pull.rest and not pull.unavailable):
        return None
    failed = [each.name for each in pull.checks.items if each.conclusion == "failure"] if pull.checks else []
    return PullRequestShown(
        number=pull.number,
        url=pull.url,
        state=pull.state,
        checks=pull.checks.conclusion if pull.checks else "",
        failed=", ".join(cut(name, _NAME) for name in failed[:_NAMES]),
        more_failed=_more(failed),
        comments=len(pull.comments),
        silent=sum(not each.counts for each in pull.comments),
        rest=pull.rest or "",
        paths=[cut(path, 120) for path in pull.waiting[:_NAMES]],
        more_paths=_more(pull.waiting),
        unavailable=cut(pull.unavailable or "", SENTENCE),
    )


def _more(names: Sequence[str]) -> int:
    return max(0, len(names) - _NAMES)
