"""The OpenAPI document and the reference page: complete, valid, and true to the real answers."""

import json
import re
from collections import Counter
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, get_args

import pytest
from pydantic import BaseModel
from starlette.testclient import TestClient

from api.actions.answers import Done, MessageAnswer, Receipt
from api.actions.bodies import START
from api.actions.catalogue import ACTIONS
from api.app import COMMANDS, VIEWS, create_app
from api.http.problems import TITLES
from api.node.settings import Settings
from api.openapi import Document
from api.openapi.components import SESSIONS
from api.openapi.operations import OPERATIONS
from api.openapi.parameters import AT_ENDPOINTS, QUERY
from api.openapi.problem_details import ProblemDetails
from api.openapi.problems import PROBLEMS
from api.routes.health import Alive, Readiness
from domain.kinds import KINDS, TOPICS
from projections.views import diff, inbox, past, record, sessions
from projections.views.session import DebateView, DeliveryView, OrchestrationView, ReviewView
from tests.api import talks
from tests.api.server import delivery, ended, session, start

ROOT = Path(__file__).parents[2]
METHODS = {"get", "post"}
EXAMPLES = {action.name: action.example for action in ACTIONS}
JSON = "application/json"
STATUS = re.compile(r"[1-5][0-9][0-9]")


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    return Document(COMMANDS, VIEWS).schema


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    folder = tmp_path_factory.mktemp("openapi")
    with TestClient(create_app(Settings(database=f"sqlite:///{folder / 'log.db'}")), base_url="http://127.0.0.1") as at:
        yield at


def operations(document: dict[str, Any]) -> list[tuple[str, str, dict[str, Any]]]:
    return [
        (method, path, operation)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    ]


def nodes(node: Any) -> Iterator[dict[str, Any]]:
    """Every object in the document."""
    if isinstance(node, dict):
        yield node
        node = list(node.values())
    if isinstance(node, list):
        for entry in node:
            yield from nodes(entry)


def resolved(document: dict[str, Any], reference: str) -> Any:
    result: Any = document
    for part in reference.removeprefix("#/").split("/"):
        result = result[part.replace("~1", "/").replace("~0", "~")]
    return result


def plain(path: str) -> str:
    return re.sub(r"\{([a-z_]+):[a-z]+\}", r"{\1}", path)


# -- complete ------------------------------------------------------------------------------------------------------


def test_every_endpoint_is_in_the_document_and_nothing_else(document: dict[str, Any]) -> None:
    endpoints = {("get", plain(path)) for path, *_ in VIEWS} | {("post", plain(path)) for path, *_ in COMMANDS}
    assert {(method, path) for method, path, _ in operations(document)} == endpoints


def test_every_endpoint_below_api_is_described() -> None:
    """An action by its declaration; describe any other new endpoint in `api/openapi/operations.py`."""
    endpoints = [handler.__name__ for path, handler, _ in (*VIEWS, *COMMANDS) if path.startswith("/api/")]
    assert [name for name in endpoints if name not in {*OPERATIONS, *EXAMPLES}] == []


def test_every_query_parameter_is_described() -> None:
    taken = {(handler.__name__, name) for _, handler, _ in VIEWS for name in getattr(handler, "parameters", ())}
    assert {
        (endpoint, name) for endpoint, name in taken if name not in QUERY and (endpoint, name) not in AT_ENDPOINTS
    } == set()


def test_every_kind_has_a_start_request_and_a_view() -> None:
    assert {body.model_fields["kind"].default for body in START.models} == set(KINDS)
    assert {kind for view in SESSIONS for kind in get_args(view.model_fields["kind"].annotation)} == set(KINDS)


def test_every_event_is_described(document: dict[str, Any]) -> None:
    mapping = document["components"]["schemas"]["Event"]["discriminator"]["mapping"]
    assert set(mapping) == set(TOPICS)
    for topic, reference in mapping.items():
        assert resolved(document, reference)["properties"]["type"] == {"const": topic}


def test_every_problem_is_explained() -> None:
    assert set(PROBLEMS) == set(TITLES)


def test_every_command_with_a_body_has_an_example(document: dict[str, Any]) -> None:
    posted = [operation for method, _, operation in operations(document) if method == "post"]
    assert [each["operationId"] for each in posted if "example" not in each["requestBody"]["content"][JSON]] == []


def test_endpoints_document_the_headers_of_the_contract(document: dict[str, Any]) -> None:
    def headers(method: str, path: str) -> set[str]:
        result = document["paths"][path][method].get("parameters", [])
        results = [resolved(document, entry["$ref"]) for entry in result if "$ref" in entry]
        return {parameter["name"] for parameter in results}

    assert headers("post", "/api/sessions") == {"traceparent", "Idempotency-Key", "If-Match"}
    assert headers("post", "/api/message") == {"traceparent", "Idempotency-Key", "If-Match"}
    assert headers("post", "/api/sessions/{id}/cancel") == {"traceparent", "Idempotency-Key", "If-Match"}
    assert headers("get", "/api/sessions/{id}") == {"Read-After", "If-None-Match"}
    assert headers("get", "/api/events") == {"Read-After", "Last-Event-ID"}
    assert headers("post", "/api/policies/triage") == {"traceparent", "Idempotency-Key"}


# -- sound ---------------------------------------------------------------------------------------------------------


def test_endpoints_document_their_content_types_and_statuses(document: dict[str, Any]) -> None:
    report = document["paths"]["/api/reports/{name}"]["get"]["responses"]["200"]["content"]
    assert set(report) == {"application/json", "text/csv"}
    assert report["text/csv"] == {"schema": {"type": "string"}}
    start = document["paths"]["/api/sessions"]["post"]["responses"]
    assert {"202", "408", "412"} <= set(start)
    assert "HEAD" in document["info"]["description"]


def test_it_is_openapi_3_1_with_the_required_parts(document: dict[str, Any]) -> None:
    assert re.fullmatch(r"3\.1\.[0-9]+", document["openapi"])
    assert document["info"]["title"] == "Hansard"
    assert re.fullmatch(r"[0-9]+\.[0-9]+\.[0-9]+", document["info"]["version"])
    assert set(document) == {"openapi", "info", "servers", "security", "tags", "paths", "components"}
    assert document["components"]["securitySchemes"]["bearer"]["scheme"] == "bearer"


def test_every_reference_leads_somewhere_and_every_component_is_used(document: dict[str, Any]) -> None:
    references = {node["$ref"] for node in nodes(document) if isinstance(node.get("$ref"), str)}
    for reference in references:
        assert isinstance(resolved(document, reference), dict)
    mapped = set(document["components"]["schemas"]["Event"]["discriminator"]["mapping"].values())
    for name in document["components"]["schemas"]:
        assert f"#/components/schemas/{name}" in references | mapped


def test_component_names_are_allowed(document: dict[str, Any]) -> None:
    for group in document["components"].values():
        for name in group:
            assert re.fullmatch(r"[A-Za-z0-9._-]+", name)


def test_schema_names_reveal_no_implementation(document: dict[str, Any]) -> None:
    """If two classes share a name, or one class is used both ways, give them separate names."""
    names = [name for name in document["components"]["schemas"] if "__" in name or name.endswith(("-Input", "-Output"))]
    assert names == []
    assert {"ChartStep", "ValidationStep", "GivenVerification", "PlannedVerification", "Profile"} <= set(
        document["components"]["schemas"]
    )


def test_a_field_that_may_be_left_out_of_a_body_takes_null(document: dict[str, Any]) -> None:
    schemas = document["components"]["schemas"]
    bodies = {name: schema for name, schema in schemas.items() if schema.get("additionalProperties") is False}
    del bodies["Thresholds"]
    assert {"DeliveryStart", "WishBody", "Cancel", "Extend", "TurnClaim", "TurnUsage", "PromptBody"} <= set(bodies)
    refusing = [
        f"{name}.{field}"
        for name, schema in bodies.items()
        for field, item in schema.get("properties", {}).items()
        if field not in schema.get("required", ()) and {"type": "null"} not in item.get("anyOf", ())
    ]
    kinds = [f"{kind}Start.kind" for kind in ("Debate", "Delivery", "Orchestration", "Review")]
    assert refusing == ["Claim.parallel", *kinds], "the first takes anything"
    assert schemas["Cancel"]["properties"]["reason"] == {
        "anyOf": [{"maxLength": 2_000, "type": "string"}, {"type": "null"}],
        "default": "",
    }


def test_operation_ids_are_unique(document: dict[str, Any]) -> None:
    counted = Counter(operation["operationId"] for _, _, operation in operations(document))
    assert [name for name, count in counted.items() if count > 1] == []


def test_every_operation_matches_the_openapi_schema(document: dict[str, Any]) -> None:
    tags = {tag["name"] for tag in document["tags"]}
    for method, path, operation in operations(document):
        assert method in METHODS
        assert path.startswith("/")
        assert set(operation["tags"]) <= tags
        assert operation["summary"]
        assert all(STATUS.fullmatch(status) for status in operation["responses"])
        assert any(status.startswith("2") for status in operation["responses"])
        for answer in operation["responses"].values():
            answer = resolved(document, answer["$ref"]) if "$ref" in answer else answer
            assert answer["description"]
            assert all("schema" in content for content in answer.get("content", {}).values())


def test_every_parameter_is_well_formed_and_unique(document: dict[str, Any]) -> None:
    for _, path, operation in operations(document):
        answers = [resolved(document, one["$ref"]) if "$ref" in one else one for one in operation.get("parameters", [])]
        places = [(parameter["in"], parameter["name"]) for parameter in answers]
        assert len(places) == len(set(places))
        assert {name for place, name in places if place == "path"} == set(re.findall(r"\{(\w+)\}", path))
        for parameter in answers:
            assert parameter["in"] in {"path", "query", "header"}
            needed = path == "/api/blame" and parameter["name"] in {"repository", "path"}
            assert parameter["required"] is (needed or parameter["in"] == "path")
            assert parameter["description"]
            assert "schema" in parameter


def test_every_schema_uses_json_schema_2020_12(document: dict[str, Any]) -> None:
    types = {"string", "integer", "number", "boolean", "object", "array", "null"}
    for node in nodes(document["components"]["schemas"]):
        result = node.get("type")
        if isinstance(result, str | list):
            assert set([result] if isinstance(result, str) else result) <= types
        assert not isinstance(node.get("nullable"), bool)
        assert not isinstance(node.get("exclusiveMinimum"), bool)
        if isinstance(node.get("required"), list) and isinstance(node.get("properties"), dict):
            assert set(node["required"]) <= set(node["properties"])


def test_bodies_are_closed_and_answers_may_grow(document: dict[str, Any]) -> None:
    schemas = document["components"]["schemas"]
    assert schemas["DeliveryStart"]["additionalProperties"] is False
    assert schemas["TriageBody"]["additionalProperties"] is False
    assert "additionalProperties" not in schemas["Receipt"]
    assert "additionalProperties" not in schemas["DeliveryView"]


def test_optional_fields_are_not_required(document: dict[str, Any]) -> None:
    schemas = document["components"]["schemas"]
    assert schemas["ParseAnswer"]["required"] == ["value"]
    assert "reason" not in schemas["BudgetSnapshot"]["required"]
    assert "reason" in schemas["BudgetAnswer"]["required"]


def test_the_checked_in_document_is_the_one_that_is_served(client: TestClient) -> None:
    """`python -m api.document > docs/openapi.json` regenerates it."""
    assert (ROOT / "docs" / "openapi.json").read_bytes() == client.get("/openapi.json").content


# -- true ----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def finished(client: TestClient) -> str:
    """A finished delivery, whose stream has ended."""
    body = {**EXAMPLES["start_session"], "validationCommands": ["true"], "scenario": {"replies": {}}}
    response = client.post("/api/sessions", json=body)
    assert response.status_code == 202, response.text
    Receipt.model_validate_json(response.content)
    session_id: str = response.json()["sessionId"]
    stream = client.get(f"/api/sessions/{session_id}/events", headers={"Accept": "text/event-stream"})
    assert "event: end" in stream.text
    return session_id


def test_a_session_looks_as_described(client: TestClient, finished: str) -> None:
    answer = client.get(f"/api/sessions/{finished}?include=events").json()
    assert set(answer) == {"session", "availableCommands", "events"}
    DeliveryView.model_validate(answer["session"])
    for event in answer["events"]:
        record.Envelope.model_validate(event)


def test_an_orchestration_looks_as_described(client: TestClient) -> None:
    """The example of a message, with a valid plan: it reaches its checkpoint, continues and is reset."""
    subtask = {"agent": "Backend", "role": "backend", "task": "Add it", "start_phase": 3, "end_phase": 3}
    plan = json.dumps({"subtasks": [{**subtask, "checkpoint": True}]})
    body = {**EXAMPLES["receive_message"], "scenario": {"replies": {"planner": [plan]}}}
    response = client.post("/api/message", json=body)
    assert MessageAnswer.model_validate_json(response.content).action == "started"
    result = OrchestrationView.model_validate(talks.reached(client, response.json()["sessionId"], "checkpoint"))
    assert result.status == "checkpoint"
    assert result.agents[0].status == "paused"
    for endpoint in ("continue", "reset"):
        answer = client.post(f"/api/orchestrate/{endpoint}", json=EXAMPLES[f"{endpoint}_latest"])
        assert answer.status_code == 200, answer.text
        Done.model_validate_json(answer.content)


@pytest.mark.parametrize(("body", "view"), [(talks.review(), ReviewView), (talks.debate(), DebateView)])
def test_a_discussion_looks_as_described_before_and_after_its_decision(
    client: TestClient, body: dict[str, Any], view: type[ReviewView | DebateView]
) -> None:
    result = view.model_validate(talks.waits(client, body))
    assert result.decision is None and len(result.choices) == 2
    inbox.DecisionPage.model_validate_json(client.get("/api/decisions").content)
    talks.decided(client, result.id, result.choices[1])
    after = view.model_validate(session(client, result.id))
    assert after.decision is not None and not after.decision.expired


def test_a_fork_looks_as_described_and_so_does_looking_back(client: TestClient) -> None:
    """The example of a fork, on a delivery that ran out of budget."""
    blocked = json.dumps({"blockingIssues": [{"id": "1", "title": "no", "detail": "A test is missing."}]})
    source = start(client, delivery({"reviewer": [blocked]}, maxIterations=1))
    end = ended(client, source)
    body = {**EXAMPLES["fork_session"], "atVersion": end["version"]}
    answer = client.post(f"/api/sessions/{source}/fork", json=body)
    assert answer.status_code == 202, answer.text
    forked = Receipt.model_validate_json(answer.content).session_id
    assert DeliveryView.model_validate(ended(client, forked)).forked_from == source
    for path, shape in (
        (f"/api/sessions/{forked}/explain?wish=cancelled", past.Explanation),
        (f"/api/sessions/{forked}/explain?version=3", past.Explanation),
        (f"/api/sessions/{forked}/replay", past.ReplayAnswer),
        (f"/api/sessions/{source}/diff/{forked}", diff.Diff),
    ):
        response = client.get(path)
        assert response.status_code == 200, response.text
        shape.model_validate_json(response.content)


@pytest.mark.parametrize(
    ("path", "shape"),
    [
        ("/api/sessions", sessions.SessionPage),
        ("/api/sessions/{id}/budget", record.BudgetPage),
        ("/api/sessions/{id}/artifacts", record.ArtifactPage),
        ("/api/sessions/{id}/artifacts/{id}.a1", record.ArtifactView),
        ("/healthz", Alive),
        ("/readyz", Readiness),
    ],
)
def test_views_look_as_described(client: TestClient, finished: str, path: str, shape: type[BaseModel]) -> None:
    position = client.get("/api/events?limit=500").json()["items"][-1]["position"]
    headers = {"Read-After": str(position)} if path.startswith("/api/") else {}
    response = client.get(path.replace("{id}", finished), headers=headers)
    assert response.status_code == 200, response.text
    shape.model_validate_json(response.content)


@pytest.mark.parametrize(
    ("method", "path", "headers", "body", "status"),
    [
        ("GET", "/api/sessions/delivery-none", {}, None, 404),
        ("GET", "/api/sessions?mood=good", {}, None, 422),
        ("POST", "/api/sessions/{id}/cancel", {}, {}, 409),
        ("POST", "/api/sessions/{id}/cancel", {"If-Match": '"1"'}, {}, 412),
        ("POST", "/api/sessions", {"If-Match": '"1"'}, EXAMPLES["start_session"], 412),
        ("GET", "/api/sessions/", {}, None, 404),
        ("DELETE", "/api/sessions", {}, None, 405),
        ("GET", "/assets/..%2Fguards.py", {}, None, 404),
    ],
)
def test_problems_look_as_described_and_lead_to_their_explanation(
    client: TestClient, finished: str, method: str, path: str, headers: dict[str, str], body: Any, status: int
) -> None:
    response = client.request(method, path.replace("{id}", finished), headers=headers, json=body)
    assert response.status_code == status
    result = ProblemDetails.model_validate_json(response.content)
    page, anchor = result.type.split("#")
    assert f'id="{anchor}"' in client.get(page).text


def test_examples_of_commands_are_accepted(client: TestClient) -> None:
    started = client.post("/api/sessions", json={**EXAMPLES["start_session"], "scenario": {"delayMs": 60_000}})
    assert started.status_code == 202, started.text
    session = f"/api/sessions/{started.json()['sessionId']}"
    for name, path in (("extend_budget", "budget"), ("cancel_session", "cancel")):
        response = client.post(f"{session}/{path}", json=EXAMPLES[name])
        assert response.status_code == 200, response.text


# -- served --------------------------------------------------------------------------------------------------------


class Seen(HTMLParser):
    """Collects ids, links, and anything a strict content security policy blocks."""

    def __init__(self) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.links: list[str] = []
        self.forbidden: list[str] = []
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in ("meta", "link"):
            self.open.append(tag)
        if tag in ("script", "style", "img", "iframe"):
            self.forbidden.append(tag)
        for name, value in attrs:
            if name == "id":
                self.ids.append(value or "")
            if name == "href":
                self.links.append(value or "")
            if name == "style" or name.startswith("on"):
                self.forbidden.append(name)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def seen(text: str) -> Seen:
    parser = Seen()
    parser.feed(text)
    parser.close()
    assert parser.open == []
    return parser


def test_the_reference_is_one_sound_page_without_script(client: TestClient) -> None:
    response = client.get("/docs")
    assert response.status_code == 200
    assert response.headers["content-type"] == "text/html; charset=utf-8"
    page = seen(response.text)
    assert page.forbidden == []
    assert [name for name, count in Counter(page.ids).items() if count > 1] == []
    for link in page.links:
        assert link.removeprefix("#") in page.ids if link.startswith("#") else link.startswith("/"), link


def test_the_reference_explains_every_endpoint_and_every_problem(client: TestClient, document: dict[str, Any]) -> None:
    ids = seen(client.get("/docs").text).ids
    assert {operation["operationId"] for _, _, operation in operations(document)} <= set(ids)
    assert {f"problem-{status}" for status in TITLES} <= set(ids)
    assert {f"schema-{name}" for name in document["components"]["schemas"]} <= set(ids)


def test_the_reference_shows_korean_as_it_is_and_escapes_markup(client: TestClient) -> None:
    text = client.get("/docs").text
    assert "엔드포인트" in text
    assert "&#34;text&#34;" in text


@pytest.mark.parametrize("path", ["/openapi.json", "/docs", "/assets/reference.css"])
def test_matching_etag_gets_304(client: TestClient, path: str) -> None:
    first = client.get(path)
    tag = first.headers["etag"]
    assert first.status_code == 200
    for case in (tag, f'"other", W/{tag}', "*"):
        again = client.get(path, headers={"If-None-Match": case})
        assert (again.status_code, again.content) == (304, b"")
    assert client.get(path, headers={"If-None-Match": '"other"'}).status_code == 200


def test_the_style_sheet_is_served_as_one(client: TestClient) -> None:
    response = client.get("/assets/reference.css")
    assert response.headers["content-type"] == "text/css; charset=utf-8"
    assert "prefers-color-scheme: dark" in response.text


def test_the_descriptions_name_no_rules_of_the_specification(document: dict[str, Any]) -> None:
    words = [node["description"] for node in nodes(document) if isinstance(node.get("description"), str)]
    assert [each for each in words if re.search(r"§|\b(?:K-\d+|S[1-5])\b", each)] == []
