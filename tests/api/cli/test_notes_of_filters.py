"""A result that only the person's own git can convert is not offered for a merge."""

import json

import pytest

from api.cli.result_notes import only_applies
from domain.session.workspace import UNCONVERTED
from domain.values.sentences import Sentence, because, packed


@pytest.mark.parametrize("code", UNCONVERTED)
def test_what_git_alone_can_convert_is_only_applied(code: str) -> None:
    facts = {"paths": "a.bin", "filter": "lfs", "command": "x", "detail": "d", "number": "1"}
    problem = because(Sentence("branch_not_made", branch="b"), Sentence(code, **facts))
    assert only_applies({"result": {"branchProblemSentence": json.loads(packed(problem) or "null")}})


def test_another_reason_leaves_the_merge_open() -> None:
    problem = because(Sentence("branch_not_made", branch="b"), Sentence("repository_gone", path="x"))
    assert not only_applies({"result": {"branchProblemSentence": json.loads(packed(problem) or "null")}})
    assert not only_applies({"result": {"branchProblemSentence": None}}) and not only_applies({})
