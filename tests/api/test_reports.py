"""GET /api/reports/{name} and POST /api/policies/lab, and their commands."""

import csv
import io
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from api.openapi.operations import OPERATIONS
from api.routes.policies.lab import LabAnswer
from api.routes.reports import as_csv
from domain.kinds import KINDS
from projections.reports import REPORTS, ReportAnswer
from projections.reports.costs import CostRow
from tests.api import talks
from tests.api.server import Json, delivery, ended, events, inside, start, system

DAY = "2026-11-21"
STUMBLES = {"planner": [{"error": "lost_conversation"}, "A plan."]}
"""The first attempt fails, and the next one answers."""


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """A delivery, a review that a person overruled, and a debate that waits."""
    with inside(tmp_path_factory.mktemp("reports")) as result:
        ended(result, start(result, delivery(labels=["demo"], replies=STUMBLES)))
        waiting = talks.waits(result, talks.review(maxRounds=1, title="=1+1"))
        talks.decided(result, waiting["id"], "apply_fix")
        talks.waits(result, talks.debate(labels=["demo"]))
        yield result


def report(client: TestClient, name: str, **query: object) -> Json:
    answer = client.get(f"/api/reports/{name}", params={key: str(value) for key, value in query.items()})
    assert answer.status_code == 200, answer.text
    body: Json = answer.json()
    return body


def test_an_attempt_after_a_lost_conversation_says_that_it_began_a_new_one(client: TestClient) -> None:
    [lost] = [session["id"] for session in client.get("/api/sessions?kind=delivery").json()["items"]]
    answers = [each["data"] for each in events(client, lost) if each["type"] == "turn.answered"]
    [again] = [answer for answer in answers if answer["role"] == "planner"]
    assert (again["resumed"], again["newConversation"]) == (False, "The conversation was lost.")
    assert {answer["newConversation"] for answer in answers if answer["role"] != "planner"} == {None}


@pytest.mark.parametrize("name", REPORTS)
def test_every_report_looks_as_described(client: TestClient, name: str) -> None:
    result = report(client, name)
    ReportAnswer.model_validate(result)
    assert set(result) == {"name", "asOf", "filters", "rows", "totals"}
    assert result["asOf"] == client.get("/readyz").json()["head"]
    assert result["rows"] or name == "merges", "there is something to tell; of merges tests of pull requests tell"
    assert report(client, name) == result


def test_the_pages_of_a_report_are_its_rows(tmp_path: Path) -> None:
    """All pages show the position of the first one, even though the log grows."""
    with inside(tmp_path) as client:
        ended(client, start(client, delivery(labels=["demo"], replies=STUMBLES)))
        talks.waits(client, talks.debate(labels=["demo"]))
        whole = {name: report(client, name) for name in REPORTS}
        first = {name: report(client, name, limit=1) for name in REPORTS}
        ended(client, start(client, delivery()))
        for name, page in first.items():
            rows = list(page["rows"])
            while "nextCursor" in page:
                page = report(client, name, limit=1, cursor=page["nextCursor"])
                assert (page["asOf"], page["totals"]) == (whole[name]["asOf"], whole[name]["totals"])
                rows += page["rows"]
            assert rows == whole[name]["rows"]


def test_report_includes_the_newest_decisions(client: TestClient) -> None:
    rows = report(client, "decisions")["rows"]
    assert [(row["kind"], row["by"], row["choice"], row["decisions"]) for row in rows] == [
        ("debate", "waiting", None, 1),
        ("review", "person", "apply_fix", 1),
    ]
    totals = report(client, "convergence")["totals"]
    assert (totals["limit"], totals["overruled"]) == (2, 1), "a PASS that was to be fixed"


def test_filters_narrow_it(client: TestClient) -> None:
    assert {row["kind"] for row in report(client, "summary", label="demo")["rows"]} == {"delivery", "debate"}
    assert {row["kind"] for row in report(client, "summary", kind="review")["rows"]} == {"review"}
    assert report(client, "summary", to="2001-01-01")["rows"] == []
    assert report(client, "summary", asOf=1)["totals"]["sessions"] == 1
    assert report(client, "summary", asOf=0)["rows"] == []


def test_a_date_as_end_means_the_end_of_that_day(client: TestClient) -> None:
    result = report(client, "summary", **{"from": "2026-11-20", "to": DAY})["filters"]
    assert (result["from"], result["to"]) == ("2026-11-20T00:00:00.000Z", "2026-11-22T00:00:00.000Z")
    result = report(client, "summary", **{"from": "2026-11-20T09:00:00+09:00", "to": f"{DAY}T00:00:00Z"})["filters"]
    assert (result["from"], result["to"]) == ("2026-11-20T00:00:00.000Z", "2026-11-21T00:00:00.000Z")


@pytest.mark.parametrize(
    ("query", "pointer"),
    [
        ({"from": "yesterday"}, "/from"),
        ({"to": "2026-13-01"}, "/to"),
        ({"from": "2026-11-22", "to": DAY}, "/to"),
        ({"kind": "chat"}, "/kind"),
        ({"label": ""}, "/label"),
        ({"asOf": "-1"}, "/asOf"),
        ({"asOf": "999999999"}, "/asOf"),
        ({"format": "xlsx"}, "/format"),
        ({"lable": "x"}, "/lable"),
        ({"limit": "0"}, "/limit"),
        ({"cursor": "x"}, "/cursor"),
        ({"cursor": "999999999-1"}, "/cursor"),
        ({"cursor": "1-1", "asOf": "2"}, "/cursor"),
    ],
)
def test_invalid_filter_is_named(client: TestClient, query: dict[str, str], pointer: str) -> None:
    answer = client.get("/api/reports/costs", params=query)
    assert answer.status_code == 422, answer.text
    assert [error["pointer"] for error in answer.json()["errors"]] == [pointer]


def test_an_unknown_report_is_not_found(client: TestClient) -> None:
    answer = client.get("/api/reports/profits")
    assert answer.status_code == 404
    assert "there are summary, budgets" in answer.json()["detail"]


@pytest.mark.parametrize("name", REPORTS)
def test_the_rows_as_csv_are_those_of_the_json(client: TestClient, name: str) -> None:
    answer = client.get(f"/api/reports/{name}", params={"format": "csv"})
    assert answer.headers["content-type"] == "text/csv; charset=utf-8"
    assert answer.headers["content-disposition"] == f'attachment; filename="hansard-{name}.csv"'
    header, *lines = csv.reader(io.StringIO(answer.content.decode()))
    assert tuple(header) == REPORTS[name].columns
    rows = report(client, name)["rows"]
    assert lines == [["" if row[column] is None else str(row[column]) for column in header] for row in rows]


@pytest.mark.parametrize("word", ["=1+1", "+1", "-1", "@x", "\tx", "\rx"])
def test_csv_escapes_spreadsheet_formulas(word: str) -> None:
    unknown: Json = dict.fromkeys(CostRow.columns())
    row = CostRow.model_construct(**unknown | {"agent": word, "role": '한글, "x"', "turns": -1})
    _, line = csv.reader(io.StringIO(as_csv(REPORTS["costs"], [row]).decode(), newline=""))
    assert line[2:6] == [f"'{word}", '한글, "x"', "", "-1"]


def test_reports_are_whole_while_the_views_are_rebuilt(client: TestClient) -> None:
    """Over HTTP, readers see the old views until the new ones are complete."""
    before = {name: report(client, name) for name in REPORTS}
    follower = system(client).follower
    rebuilding = threading.Thread(target=lambda: [follower.rebuild() for _ in range(10)])
    rebuilding.start()
    reads = 0
    while rebuilding.is_alive() or not reads:
        assert {name: report(client, name) for name in REPORTS} == before
        reads += 1
    rebuilding.join()
    assert follower.problems() == []


# -- the lab -------------------------------------------------------------------------------------------------------


def lab(client: TestClient, **body: Any) -> Json:
    answer = client.post("/api/policies/lab", json=body)
    assert answer.status_code == 200, answer.text
    LabAnswer.model_validate_json(answer.content)
    data: Json = answer.json()
    return data


def test_recorded_discussions_are_judged_by_other_profiles_and_nothing_is_written(client: TestClient) -> None:
    head = client.get("/readyz").json()["head"]
    result = lab(client, profiles=["seed", {"agreement": 0.0, "stability": 0.0}, {"stall": 0.0}])
    assert [tried["name"] for tried in result["profiles"]] == ["seed@1", "custom@1", "custom@1#2"]
    assert [item["kind"] for item in result["items"]] == ["debate", "review"], "newest first"
    review = result["items"][1]
    assert review["recorded"] == {
        "profile": "seed@1",
        "rounds": 1,
        "stopReason": "limit",
        "choice": "apply_fix",
        "decidedBy": "person",
    }
    assert review["outcomes"][0] == {
        "profile": "seed@1",
        "reason": "limit",
        "round": 1,
        "against": "same",
        "suggestion": "skip",
        "overruled": True,
    }
    assert [tally["discussions"] for tally in result["totals"]] == [2, 2, 2]
    assert result["totals"][0]["same"] == 2
    assert (result["leftOut"], client.get("/readyz").json()["head"]) == (0, head)


def test_the_lab_takes_sessions_or_a_query(client: TestClient) -> None:
    items = lab(client, profiles=["seed"])["items"]
    ids = [item["sessionId"] for item in items]
    assert [item["sessionId"] for item in lab(client, profiles=["seed"], sessionIds=[ids[1], ids[1]])["items"]] == ids[
        1:
    ]
    assert lab(client, profiles=["seed"], query={"kind": "debate", "label": "demo"})["items"] == items[:1]
    assert lab(client, profiles=["seed"], query={"to": "2020-01-01"})["items"] == []
    few = lab(client, profiles=["seed"], limit=1)
    assert (len(few["items"]), few["leftOut"]) == (1, 1)
    example = OPERATIONS["policy_lab"].example
    assert example is not None
    lab(client, **example)


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({}, "/profiles"),
        ({"profiles": []}, "/profiles"),
        ({"profiles": ["seed", "sead"]}, "/profiles/1"),
        ({"profiles": [3]}, "/profiles/0"),
        ({"profiles": [{"agreement": 2}]}, "/profiles/0/agreement"),
        ({"profiles": ["seed"], "limit": 501}, "/limit"),
        ({"profiles": ["seed"], "sessionIds": ["delivery-1"]}, "/sessionIds/0"),
        ({"profiles": ["seed"], "sessionIds": ["review-1"], "query": {}}, "/query"),
        ({"profiles": ["seed"], "query": {"kind": "delivery"}}, "/query/kind"),
        ({"profiles": ["seed"], "query": {"from": "soon"}}, "/query/from"),
        ({"profiles": ["seed"], "agent": "x"}, "/agent"),
    ],
)
def test_invalid_experiment_is_refused_with_a_pointer(client: TestClient, body: Json, pointer: str) -> None:
    answer = client.post("/api/policies/lab", json=body)
    assert answer.status_code == 422, answer.text
    assert [error["pointer"] for error in answer.json()["errors"]] == [pointer]


def test_an_unknown_discussion_is_not_found(client: TestClient) -> None:
    answer = client.post("/api/policies/lab", json={"profiles": ["seed"], "sessionIds": ["review-unknown"]})
    assert answer.status_code == 404


def test_lab_counts_sessions_left_out_for_size(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = lab(client, profiles=["seed"])
    monkeypatch.setattr("api.routes.policies.lab.MOST_CHARACTERS", 0)
    assert len(whole["items"]) == 2
    result = lab(client, profiles=["seed"])
    assert (result["items"], result["leftOut"]) == ([], 2)


def test_a_report_knows_every_kind(client: TestClient) -> None:
    for kind in KINDS:
        assert report(client, "summary", kind=kind)["filters"]["kind"] == kind


def test_an_empty_log_has_empty_reports(tmp_path: Path) -> None:
    """An empty log has empty reports and an empty lab."""
    with inside(tmp_path) as empty:
        assert {name: report(empty, name)["rows"] for name in REPORTS} == {name: [] for name in REPORTS}
        assert report(empty, "summary")["totals"]["sessions"] == 0
        assert lab(empty, profiles=["mysti"])["items"] == []


# -- models ----------------------------------------------------------------------------------------------------------


def test_costs_are_grouped_by_the_model_of_the_agent(tmp_path: Path) -> None:
    planner = {"text": "A plan.", "usage": {"inputTokens": 5, "costMicros": 2, "model": "large-1"}}
    with inside(tmp_path) as client:
        session_id = start(client, delivery({"planner": [planner]}))
        ended(client, session_id)
        result = report(client, "costs")
        assert [(row["agent"], row["tokens"]) for row in result["rows"] if row["model"] == "large-1"] == [
            ("planner", 5)
        ]
        by_model = {row["model"]: (row["turns"], row["costMicros"]) for row in result["totals"]["byModel"]}
        assert by_model == {None: (4, None), "large-1": (1, 2)}
        [answered] = [e["data"] for e in events(client, session_id) if e["data"].get("model")]
        assert (answered["agent"], answered["model"]) == ("planner", "large-1")
        assert client.get(f"/api/sessions/{session_id}/replay").json()["difference"] is None


def test_costs_fall_back_to_the_model_of_the_team_file(tmp_path: Path) -> None:
    roles = ("planner", "architect", "designer", "dev", "reviewer")
    one = [f'[[agents]]\nname = "{role}"\nroles = "{role}"\nadapter = "scripted"\nmodel = "small-2"' for role in roles]
    text = '\n[agents.settings.scenario.replies]\nreviewer = [{text = "{}", usage = {model = "large-1"}}]'
    (tmp_path / "team.toml").write_text("\n".join(one) + text)
    body = {name: value for name, value in delivery().items() if name != "scenario"}
    with inside(tmp_path, team=tmp_path / "team.toml") as client:
        ended(client, start(client, body))
        models = {row["agent"]: row["model"] for row in report(client, "costs")["rows"]}
        assert models == dict.fromkeys(roles[:4], "small-2") | {"reviewer": "large-1"}
        scripted = start(client, delivery())
        ended(client, scripted)
        rows = [row for row in report(client, "costs")["rows"] if row["sessionId"] == scripted]
        assert {row["model"] for row in rows} == {None}, "the session's own scenario stands in for the team"
