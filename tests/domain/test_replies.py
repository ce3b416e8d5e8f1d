"""What each kind of answer says (behaviour §1.5–1.9, §2.2, §3.2; K-12, K-14, K-16, K-31, K-36)."""

import json
from typing import Any

import pytest

from domain import replies
from domain.values.base import Invalid, Unreadable
from domain.values.json import JSON


def problem(kind: str, text: str) -> str:
    with pytest.raises(Unreadable) as unreadable:
        replies.read(kind, text)
    return str(unreadable.value)


FULL = {
    "agent": "Backend",
    "role": "backend",
    "task": "build",
    "start_phase": 3,
    "end_phase": 4,
    "checkpoint": True,
    "parallel": True,
    "verification": {"pass_criteria": "p", "fail_criteria": "f", "affected_files": ["a.py"]},
}
BARE = {"agent": "A", "role": "custom", "task": "t", "checkpoint": False, "parallel": False}
FEEDBACK = {
    "securityRisks": [{"description": "d", "severity": "CRITICAL"}],
    "edgeCases": ["e"],
    "scalabilityConcerns": [],
    "maintenanceBurden": ["m"],
}
REVIEWED = {
    "verdict": "NEEDS_FIX",
    "summary": "s",
    "issues": [{"severity": "minor", "description": "d", "suggestion": "u"}],
    "pointsOfAgreement": [],
    "pointsOfDisagreement": [{"claim": "c", "explanation": "e", "alternative": "a"}],
    "unexaminedAssumptions": ["u"],
    "missingConsiderations": ["m"],
}
ISSUE = {"id": "i", "title": "t", "detail": "d"}


@pytest.mark.parametrize(
    ("kind", "said", "value"),
    [
        ("subtasks", {"subtasks": [FULL]}, {"subtasks": [FULL]}),
        ("subtasks", {"subtasks": [{"agent": "A", "task": "t", "mood": 1}], "x": 1}, {"subtasks": [BARE]}),
        ("direct_answer", {"direct_answer": "hi", "subtasks": []}, {"direct_answer": "hi", "subtasks": []}),
        ("direct_answer", {"direct_answer": "hi"}, {"direct_answer": "hi", "subtasks": []}),
        ("direct_answer", {"direct_answer": "hi", "subtasks": None}, {"direct_answer": "hi", "subtasks": []}),
        (
            "verdicts",
            {
                "verdicts": [{"agent": "A", "pass": True, "feedback": "f"}, {"agent": "B", "pass": False}],
                "allDone": True,
            },
            {
                "verdicts": [
                    {"agent": "A", "pass": True, "feedback": "f"},
                    {"agent": "B", "pass": False, "feedback": ""},
                ],
                "allDone": True,
            },
        ),
        (
            "verdicts",
            {"verdicts": [{"agent": "A", "subtask": "s2", "pass": True}], "allDone": "true"},
            {"verdicts": [{"agent": "A", "subtask": "s2", "pass": True, "feedback": ""}], "allDone": False},
        ),
        (
            "verdicts",
            {"verdicts": [{"agent": "A", "pass": True}], "allDone": 1},
            {"verdicts": [{"agent": "A", "pass": True, "feedback": ""}], "allDone": False},
        ),
        ("review", REVIEWED | FEEDBACK, REVIEWED | FEEDBACK),
        ("review", {"verdict": "PASS"}, {"verdict": "PASS", "summary": "", "issues": []}),
        ("review", {"verdict": "PASS", "issues": None}, {"verdict": "PASS", "summary": "", "issues": []}),
        ("debate", {"verdict": "APPROVE"}, {"verdict": "APPROVE", "concerns": [], "suggestions": []}),
        (
            "debate",
            {"verdict": "CHALLENGE", "concerns": ["c"], "suggestions": ["s"]} | FEEDBACK,
            {"verdict": "CHALLENGE", "concerns": ["c"], "suggestions": ["s"]} | FEEDBACK,
        ),
        (
            "review_synthesis",
            {"verdict": "PASS", "summary": "s", "resolvedCount": 2, "remainingCount": 1},
            {"verdict": "PASS", "summary": "s", "resolvedCount": 2, "remainingCount": 1},
        ),
        (
            "debate_synthesis",
            {"verdict": "APPROVE", "consensusCount": 3},
            {"verdict": "APPROVE", "summary": "", "consensusCount": 3, "divergenceCount": 0},
        ),
        (
            "review_artifact",
            {"blockingIssues": [ISSUE], "nonBlockingIssues": [ISSUE], "score": 70, "fixPlan": ["f"]},
            {"blockingIssues": [ISSUE], "nonBlockingIssues": [ISSUE], "score": 70, "fixPlan": ["f"]},
        ),
        (
            "review_artifact",
            {"blockingIssues": []},
            {"blockingIssues": [], "nonBlockingIssues": [], "score": None, "fixPlan": []},
        ),
        (
            "review_artifact",
            {"blockingIssues": [], "fixPlan": "Test it."},
            {"blockingIssues": [], "nonBlockingIssues": [], "score": None, "fixPlan": ["Test it."]},
        ),
        (
            "review_artifact",
            {"blockingIssues": [], "fixPlan": " "},
            {"blockingIssues": [], "nonBlockingIssues": [], "score": None, "fixPlan": []},
        ),
    ],
)
def test_an_answer_is_read_as_the_contract_spells_it(kind: str, said: JSON, value: JSON) -> None:
    assert replies.read(kind, json.dumps(said)) == value


@pytest.mark.parametrize(
    ("kind", "said", "told"),
    [
        ("subtasks", {"subtasks": []}, "at /subtasks: should have at least 1 entry."),
        ("subtasks", {"plan": []}, "holds no list of subtasks."),
        ("subtasks", {"subtasks": [{"agent": "A"}]}, "at /subtasks/0/task: is missing."),
        ("subtasks", {"subtasks": [BARE | {"agent": " "}]}, "at /subtasks/0/agent: should not be blank."),
        ("subtasks", {"subtasks": [BARE] * 201}, "at /subtasks: "),
        ("subtasks", {"subtasks": [BARE | {"task": "t" * 65_537}]}, "at /subtasks/0/task: "),
        ("direct_answer", {"direct_answer": " "}, "at /direct_answer: should not be blank."),
        ("direct_answer", {"direct_answer": 7}, "at /direct_answer: "),
        ("direct_answer", {"direct_answer": "hi", "subtasks": [BARE]}, "at /subtasks: there are subtasks beside it."),
        ("verdicts", {"allDone": True}, "holds no list of verdicts."),
        ("verdicts", {"verdicts": {"A": True}}, "holds no list of verdicts."),
        ("verdicts", {"verdicts": []}, "at /verdicts: should have at least 1 entry."),
        ("verdicts", {"verdicts": [{"agent": "A", "pass": "false"}]}, "at /verdicts/0/pass: "),
        ("verdicts", {"verdicts": [{"agent": "A", "pass": 1}]}, "at /verdicts/0/pass: "),
        ("verdicts", {"verdicts": [{"agent": "A", "passed": True}]}, "at /verdicts/0/pass: is missing."),
        (
            "verdicts",
            {"verdicts": [{"agent": "Ä", "pass": False}, {"agent": "ä ", "pass": True}]},
            "at /verdicts: one agent has several verdicts.",
        ),
        ("review", {"verdict": "APPROVE"}, "holds no review verdict."),
        ("review", {"verdict": "PASS", "issues": {}}, "at /issues: "),
        ("review", {"verdict": "PASS", "issues": ["i"]}, "at /issues/0: "),
        ("debate", {"verdict": "PASS"}, "holds no debate verdict."),
        ("debate", {"verdict": "APPROVE", "concerns": [1]}, "at /concerns/0: "),
        ("review_synthesis", {"verdict": "PASS", "resolvedCount": -1}, "at /resolvedCount: "),
        ("debate_synthesis", {"verdict": "APPROVE", "consensusCount": True}, "at /consensusCount: "),
        ("review_artifact", {"score": 100}, "holds no review artifact."),
        ("review_artifact", {"fixPlan": []}, "at /blockingIssues: is missing."),
        ("review_artifact", {"blockingIssues": None}, "at /blockingIssues: "),
        ("review_artifact", {"blockingIssues": "none"}, "at /blockingIssues: "),
        ("review_artifact", {"blocking_issues": []}, "holds no review artifact."),
        ("review_artifact", {"blockingIssues": [ISSUE, {"id": "i", "title": "t"}]}, "at /blockingIssues/1/detail: "),
        ("review_artifact", {"blockingIssues": [ISSUE | {"title": ""}]}, "at /blockingIssues/0/title: "),
        ("review_artifact", {"blockingIssues": [ISSUE | {"id": 1}]}, "at /blockingIssues/0/id: "),
        ("review_artifact", {"blockingIssues": [], "nonBlockingIssues": [{}]}, "at /nonBlockingIssues/0/id: "),
        ("review_artifact", {"blockingIssues": [], "fixPlan": [" "]}, "at /fixPlan/0: should not be blank."),
    ],
)
def test_an_answer_that_does_not_fit_is_unreadable(kind: str, said: JSON, told: str) -> None:
    """K-14, K-16, K-36, F14."""
    assert told in problem(kind, json.dumps(said))


@pytest.mark.parametrize("severity", ["CRITICAL", "Critical", " critical\n"])
def test_a_word_of_a_closed_list_is_read_in_any_case_and_with_blanks_around_it(severity: str) -> None:
    """Our prompts write `critical` and CRITICAL; the finding is not lost over it."""
    content = {"verdict": " needs_fix ", "issues": [{"severity": severity, "description": "d"}]}
    review = replies.review(json.dumps(content))
    assert (review.verdict, [issue.severity for issue in review.issues]) == ("NEEDS_FIX", ["critical"])
    assert replies.debate('{"verdict":"Challenge"}').verdict == "CHALLENGE"
    assert replies.review_synthesis('{"verdict":"pass"}').verdict == "PASS"
    assert replies.debate_synthesis('{"verdict":"approve"}').verdict == "APPROVE"


@pytest.mark.parametrize("severity", ["crit", "criticality", "", 1, None, ["critical"], "criti cal"])
def test_no_other_word_is_taken_for_one_of_a_closed_list(severity: JSON) -> None:
    content: JSON = {"verdict": "PASS", "issues": [{"severity": severity, "description": "d"}]}
    assert "at /issues/0/severity: should be 'critical', 'major' or 'minor'." in problem("review", json.dumps(content))


def test_a_boolean_is_not_accepted_as_a_word() -> None:
    """K-14: tolerance of case ends at closed lists of words."""
    assert problem("verdicts", '{"verdicts":[{"agent":"A","pass":"TRUE"}]}').endswith("should be true or false.")
    assert problem("verdicts", '{"Verdicts":[]}') == "The reply holds no list of verdicts."


def test_a_malformed_blocking_issue_is_not_replaced_by_an_earlier_approval() -> None:
    """K-36: a blocking issue is never dropped."""
    assert problem("review_artifact", '{"blockingIssues":[]}' + '{"blockingIssues":[{"id":"i","title":"t"}]}')


@pytest.mark.parametrize(
    ("given_phase", "phase"),
    [(3, 3), ("3", 3), (" 4 ", 4), (3.0, 3), (2.5, 2.5), (99, 99), (None, None), ("", None), (True, None), ("x", None)],
)
def test_a_phase_is_a_number_or_omitted(given_phase: JSON, phase: float | None) -> None:
    """Contract §5: a numeric string counts as its number, null, "" and booleans as omitted."""
    content: JSON = {"subtasks": [{"agent": "A", "task": "t", "start_phase": given_phase, "end_phase": given_phase}]}
    subtask = replies.subtasks(json.dumps(content)).subtasks[0]
    assert (subtask.start_phase, subtask.end_phase) == (phase, phase)


@pytest.mark.parametrize("careless", ["true", 1, None, [True]])
def test_only_true_asks_for_a_checkpoint(careless: JSON) -> None:
    content: JSON = {"subtasks": [{"agent": "A", "task": "t", "checkpoint": careless, "parallel": careless}]}
    assert replies.read("subtasks", json.dumps(content)) == {"subtasks": [BARE]}


@pytest.mark.parametrize(
    ("said", "score"),
    [(0, 0), (100, 100), (70.4, 70), (70.5, 71), (-5, 0), (1e300, 100), ("70", None), (None, None), (True, None)],
)
def test_the_score_is_advice(said: JSON, score: int | None) -> None:
    assert replies.review_artifact(json.dumps({"blockingIssues": [], "score": said})).score == score


@pytest.mark.parametrize(
    ("text", "phases"),
    [
        ('{"phases_completed":[3,4,5]}', (3, 4, 5)),
        ('done {"phases_completed":[4,3]} bye', (3, 4)),
        ('{"phases_completed":[3,4]}{"phases_completed":[1,2]}', (1, 2)),
        ('{"phases_completed":[3]}', ()),
        ('{"phases_completed":[3,3]}', ()),
        ('{"phases_completed":[3,6]}', ()),
        ('{"phases_completed":[3,4.0]}', ()),
        ('{"phases_completed":[3,true]}', ()),
        ('{"phases_completed":"3,4"}', ()),
        ('{"phases_completed":[3,4', ()),
        ("ok", ()),
    ],
)
def test_an_employee_claims_at_least_two_phases_or_none(text: str, phases: tuple[int, ...]) -> None:
    """K-12."""
    assert replies.phases_completed(text) == phases


def test_a_checklist_is_read_line_by_line() -> None:
    text = (
        "Plan:\n- [ ] setup: lay [depends: a, b]\n  - [x] build it\r\n1. try it [depends: setup]\n2) 마무리\n- no box"
    )
    assert replies.read("checklist", text) == [
        {"id": "setup", "description": "lay", "status": "pending", "dependsOn": ["a", "b"]},
        {"id": "step-1", "description": "build it", "status": "pending"},
        {"id": "step-2", "description": "try it", "status": "pending", "dependsOn": ["setup"]},
        {"id": "step-3", "description": "마무리", "status": "pending"},
    ]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("nothing to do", "The reply holds no checklist."),
        ("<think>- [ ] a</think>", "The reply holds no checklist."),
        ("- [ ] a: x\n- [ ] a: y", "Two steps of the checklist have the same id."),
        ("- [ ] step-1: x\n- [ ] y", "Two steps of the checklist have the same id."),
        ("- [ ] [depends: a]", "A step of the checklist says nothing."),
        ("1. x\n" * 201, "The checklist has more than 200 steps."),
        ("1. " + "x" * 65_537, "A step of the checklist is longer than 65536 characters."),
    ],
)
def test_an_invalid_checklist_is_unreadable(text: str, sentence: str) -> None:
    assert problem("checklist", text) == sentence


def test_an_unknown_kind_is_invalid() -> None:
    with pytest.raises(Invalid) as refused:
        replies.read("poem", "x")
    assert list(refused.value.errors) == ["/kind"]


@pytest.mark.parametrize(
    ("text", "goals", "modules"),
    [
        ('Plan {"goals":["g"],"modules":["m"],"checklist":[{"id":1}]}', ("g",), ("m",)),
        ('{"goals":"g","modules":["m"]}', (), ("m",)),
        ('{"goals":["g"', (), ()),
        ("just words", (), ()),
        ("\x00", (), ()),
    ],
)
def test_the_parts_of_a_plan_are_read_where_they_fit(
    text: str, goals: tuple[str, ...], modules: tuple[str, ...]
) -> None:
    assert replies.plan_parts(text) == replies.PlanParts(goals=goals, modules=modules)


def test_changes_are_read_where_all_of_them_fit() -> None:
    content: dict[str, Any] = {
        "changes": [{"path": "a", "content": ""}, {"path": "b", "patch": "p", "fallbackContent": "f"}]
    }
    assert replies.changes(json.dumps(content)) == (
        replies.FileChange(path="a", content=""),
        replies.FileChange(path="b", patch="p", fallback_content="f"),
    )
    assert replies.changes("I edited the files myself.") == ()


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ([{"path": "a", "content": "x"}, {"filePath": "b", "content": "y"}], "at /changes/1/path: is missing."),
        ([{"path": "c"}], "at /changes/0: neither content nor a patch is given."),
        ([{"path": " ", "content": ""}], "at /changes/0/path: should not be blank."),
        (["c"], "at /changes/0: should be an object."),
        ({"a.py": "x"}, "at /changes: should be a list."),
        (None, "at /changes: should be a list."),
    ],
)
def test_changes_that_do_not_fit_are_unreadable_and_never_dropped(changes: JSON, told: str) -> None:
    with pytest.raises(Unreadable) as unreadable:
        replies.changes(f"Done.\n```json\n{json.dumps({'changes': changes})}\n```")
    assert str(unreadable.value) == f"The list of changes does not fit {told}"
