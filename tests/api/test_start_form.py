"""The start form: its fields, presets, request, and the equivalent command."""

import re
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from starlette.testclient import TestClient

from api.web.form_body import body_of
from api.web.presets import PRESETS
from api.web.start_form import FORMS, command, forms, values_of
from domain.values.words import words as words_of
from tests.api.scenes import begun, reached
from tests.api.seen import BROWSER, Seen, harmless, page
from tests.api.server import delivery


def named(html: str, kind: str) -> dict[str, dict[str, str | None]]:
    """The attributes of each field of one form, by name."""
    match = re.search(rf'<form class="starting"[^>]*data-start="{kind}".*?</form>', html, re.DOTALL)
    assert match is not None
    seen = Seen(match[0])
    fields = [*seen.all("input"), *seen.all("textarea"), *seen.all("select")]
    return {str(field["name"]): field for field in fields if field.get("type") != "hidden"}


def options(html: str, identity: str) -> list[str | None]:
    match = re.search(rf'<select id="{identity}".*?</select>', html, re.DOTALL)
    assert match is not None
    return [option["value"] for option in Seen(match[0]).all("option")]


def test_each_kind_has_the_fields_that_it_is_started_with(client: TestClient) -> None:
    html = page(client, "/")
    common = {"title", "labels", "workspace", "scenario"}
    limits = {"maxIterations", "maxMinutes", "maxAttempts", "maxTokens", "maxCostMicros"}
    assert set(named(html, "delivery")) == {
        "task", "filePaths", "validationCommands", "testCommand", "fixes", "review", "review.strategy", *limits,
        *common,
    }  # fmt: skip
    assert set(named(html, "orchestration")) == {
        "prompt", "employees", "maxRounds", "triage", "origin", "planReview", "planReview.strategy", "workReview",
        "workReview.strategy", *common,
    }  # fmt: skip
    assert set(named(html, "review")) == {"subject", "strategy", "maxRounds", "profile", *common}
    assert set(named(html, "debate")) == {"plan", "strategy", "maxRounds", "profile", *common}


def test_limits_begin_with_the_seeds_own_and_stay_within_theirs(client: TestClient) -> None:
    fields = named(page(client, "/"), "delivery")
    limits = {name: [fields[name][key] for key in ("value", "min", "max")] for name in ("maxIterations", "maxMinutes")}
    assert limits == {"maxIterations": ["6", "1", "20"], "maxMinutes": ["45", "1", "180"]}


@pytest.mark.parametrize(
    ("identity", "expected"),
    [
        ("review-strategy", ["", "review", "red-team"]),
        ("debate-strategy", ["", "debate", "perspectives"]),
        ("delivery-review-strategy", ["", "review", "red-team"]),
        ("orchestration-planReview-strategy", ["", "debate", "perspectives"]),
        ("orchestration-workReview-strategy", ["", "review", "red-team"]),
        ("debate-profile", ["seed", "shipped-v3", "mysti"]),
        ("orchestration-triage", ["auto", "direct", "orchestrate"]),
    ],
)
def test_only_choices_of_the_kind_are_offered(client: TestClient, identity: str, expected: list[str]) -> None:
    assert options(page(client, "/"), identity) == expected


def test_every_field_has_a_label_and_a_place_for_its_error(client: TestClient) -> None:
    seen = Seen(page(client, "/"))
    labels = {label.get("for") for label in seen.all("label")}
    ids = {attributes.get("id") for _, attributes in seen.elements}
    fields = [field for tag in ("input", "textarea", "select") for field in seen.all(tag) if "data-reads" in field]
    assert len(fields) == sum(len(form.fields) + len(form.more) for form in FORMS.values())
    for field in fields:
        assert f"{field['id']}-error" in ids
        assert str(field["aria-describedby"]).split()[-1] == f"{field['id']}-error"
        assert field.get("type") == "checkbox" or field["id"] in labels


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_fills_the_form_of_its_kind_and_opens_it(client: TestClient, name: str) -> None:
    preset = PRESETS[name]
    html = page(client, f"/?preset={name}")
    opened = re.findall(r'<details class="start-kind" id="start-(\w+)" open>', html)
    assert opened == [preset.kind]
    [current] = [link for link in Seen(html).all("a") if link.get("aria-current") == "true"]
    assert current["href"] == f"/?preset={name}#start"
    filled = next(each for each in forms({"preset": name}) if each.open)
    held = {field: value for field, value in filled.values.items() if value}
    assert held == values_of(FORMS[preset.kind], preset.body)
    fields = {field.name: field.reads for form in FORMS.values() for field in (*form.fields, *form.more)}
    assert set(preset.body) - {"kind", "baseline"} <= set(fields), "the form has a field for all that a preset says"
    harmless(html)


WORDS: Mapping[str, Any] = {
    "delivery": (
        {"task": "Mend it's", "filePaths": "a.py\nb,c.py", "validationCommands": "pytest -q", "maxIterations": "3"},
        [
            "run",
            "--task",
            "Mend it's",
            "--validate",
            "pytest -q",
            "--max-iterations",
            "3",
            "--files",
            "a.py",
            "--files",
            "b\\,c.py",
        ],
    ),
    "orchestration": (
        {"prompt": "-v", "employees": "Backend:backend", "planReview": "on", "planReview.strategy": "perspectives"}
        | {"workReview": "on", "triage": "auto"},
        ["orchestrate", "--employee", "Backend:backend", "--plan-review=perspectives", "--work-review", "--", "-v"],
    ),
    "review": (
        {"subject": "x = 1", "strategy": "red-team", "title": "T"},
        ["review", "--strategy", "red-team", "--title", "T", "x = 1"],
    ),
    "debate": ({}, ["debate", "PLAN"]),
}


@pytest.mark.parametrize("kind", WORDS)
def test_the_command_line_says_the_same(kind: str) -> None:
    values, expected = WORDS[kind]
    form = FORMS[kind]
    every = {field.name: values.get(field.name, "") for field in (*form.fields, *form.more)}
    assert shlex.split(command(form, every)) == ["hansard", *expected]


def test_an_amount_is_typed_and_shown_in_dollars() -> None:
    form = FORMS["delivery"]
    typed = {field.name: "" for field in (*form.fields, *form.more)} | {"task": "x", "maxCostMicros": "2.50"}
    body, errors = body_of(form, typed, words_of("en", "api.web"))
    assert (body["maxCostMicros"], errors) == (2_500_000, {})
    assert command(form, typed).endswith("--max-cost 2.50")


def test_shown_command_passes_any_scenario_on_stdin() -> None:
    values = {field.name: "" for field in (*FORMS["review"].fields, *FORMS["review"].more)}
    scenario = '{"replies": {}}\nSCENARIO\n'
    text = command(FORMS["review"], values | {"subject": "x", "scenario": scenario})
    assert text == "hansard review --scenario - x <<'SCENARIO_'\n{\"replies\": {}}\nSCENARIO\nSCENARIO_"


def test_the_form_answers_with_the_command_for_what_was_typed_without_starting_it(client: TestClient) -> None:
    typed = {"start": "delivery", "task": "<b>Mend</b>", "filePaths": "a.py", "maxMinutes": "9"}
    html = page(client, f"/?{urlencode(typed)}")
    seen = harmless(html)
    assert "hansard run --task '<b>Mend</b>' --max-minutes 9 --files a.py" in seen.text
    assert named(html, "delivery")["maxMinutes"]["value"] == "9"
    assert named(html, "delivery")["maxIterations"]["value"] == ""
    [form] = [form for form in seen.all("form") if form.get("data-start") == "delivery"]
    assert (form["method"], form["action"]) == ("post", "/")
    shows = [button for button in seen.all("button") if button.get("formmethod") == "get"]
    assert ["formnovalidate" in button for button in shows] == [True] * 4


@pytest.mark.parametrize("path", ["/?preset=poem", "/?start=poem", "/?filepaths=a.py"])
def test_invalid_start_link_is_422(client: TestClient, path: str) -> None:
    assert client.get(path, headers=BROWSER).status_code == 422


@pytest.mark.parametrize(
    ("body", "pointers"),
    [
        ({"kind": "delivery", "filePaths": ["../x"], "task": "t"}, ["/filePaths/0"]),
        ({"kind": "delivery", "task": " ", "filePaths": ["a"], "maxIterations": 21}, ["/maxIterations", "/task"]),
        (
            {"kind": "orchestration", "prompt": "p", "workReview": {"enabled": True, "strategy": "debate"}},
            ["/workReview/strategy"],
        ),
        ({"kind": "orchestration", "prompt": "p", "employees": [{"name": ""}]}, ["/employees/0/name"]),
        ({"kind": "review", "subject": "s", "scenario": {"replies": {"x": []}}}, ["/scenario/replies/x"]),
        ({"kind": "debate"}, ["/plan"]),
    ],
)
def test_every_error_leads_to_a_field_of_the_form(client: TestClient, body: Any, pointers: list[str]) -> None:
    answer = client.post("/api/sessions", json=body, headers={"Idempotency-Key": "form-1"})
    assert answer.status_code == 422
    result = sorted(error["pointer"] for error in answer.json()["errors"])
    assert result == pointers
    form = FORMS[body["kind"]]
    names = {field.name for field in (*form.fields, *form.more)}
    for pointer in result:
        parts = pointer.split("/")[1:]
        assert any(".".join(parts[:length]) in names for length in range(1, len(parts) + 1)), pointer


def test_it_speaks_korean(client: TestClient) -> None:
    html = page(client, "/?lang=ko&preset=legacy")
    for words in ("세션 시작", "검증 명령", "최대 반복", "maxAttempts (이전 이름)", "체크포인트 → 계속 → 완료"):
        assert words in html
    assert 'href="/?preset=blocked&amp;lang=ko#start"' in html


def test_the_folder_is_asked_for_at_once_and_known_ones_are_offered(client: TestClient, tmp_path: Path) -> None:
    reached(client, begun(client, delivery(workspace=str(tmp_path))), "success")
    html = page(client, "/?start=delivery")
    assert f'<option value="{tmp_path}">' in html
    delivery_form = html[html.index('data-start="delivery"') :]
    assert delivery_form.index('id="delivery-workspace"') < delivery_form.index('class="more"')
    assert 'list="repositories"' in delivery_form
