"""The answer about findings: what its rows have in common is made once."""

from types import SimpleNamespace
from typing import Any

import pytest

from domain.session.comments import Comments
from projections.record import findings
from projections.record.findings import findings_view
from tests.domain.findings.test_generated_loops import many


def test_rows_share_what_happened_to_many_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    moments = many(200, looks=5)
    monkeypatch.setattr(findings, "moments_of", lambda *_: iter(moments))
    session: Any = SimpleNamespace(version=moments[-1].version, comments=Comments())
    view = findings_view(session, (), lambda text: text.head)
    events = [event for item in view.items for event in item.life]
    assert len({id(event) for event in events}) == len(set(events)) < len(events) / 2
