"""The answer about findings: what its rows have in common is made once."""

from types import SimpleNamespace
from typing import Any

import pytest

from domain.session.comments import Comments
from projections.record import findings
from projections.record.findings import findings_view, ledger_of_history
from tests.domain.findings.test_generated_loops import many
from tests.domain.test_replay import recorded
from tests.kit.discussing import DiscussionStory
from tests.kit.replies import critique, disputed, issue


def test_rows_share_what_happened_to_many_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    moments = many(200, looks=5)
    monkeypatch.setattr(findings, "moments_of", lambda *_: iter(moments))
    session: Any = SimpleNamespace(version=moments[-1].version, comments=Comments())
    view = findings_view(session, (), lambda text: text.head)
    events = [event for item in view.items for event in item.life]
    assert len({id(event) for event in events}) == len(set(events)) < len(events) / 2


def test_what_the_author_of_reviewed_work_disagrees_with_is_disputed() -> None:
    """In a review it rebuts, in a debate it defends; claims about something else dispute nothing."""
    words = "`total` fails for an empty basket"
    for strategy in ("review", "red-team"):
        story = DiscussionStory(strategy)
        story.says(critique(issues=[issue(words)]))
        story.says(critique(pointsOfDisagreement=[disputed(words), disputed("Tabs are fine.")]))
        [finding] = ledger_of_history(recorded(story), story.whole).findings
        assert [event.act for event in finding.life] == ["raised", "disputed"]
        assert (finding.disputes, finding.life[1].by) == (1, story.talk.rounds[-1].agent)
