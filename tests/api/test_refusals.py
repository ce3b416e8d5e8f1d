"""Every endpoint of every kind in every state; commands not allowed get a worded 409 (contract §2, §3)."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

import httpx2 as httpx
import pytest
from starlette.testclient import TestClient

from api.app import create_app
from api.cli.main import carry_out
from api.node.settings import Settings
from domain.delivery.commands import CancelDelivery, RecordValidation
from domain.discussion.commands import CancelDiscussion
from domain.orchestration.commands import ResetOrchestration
from domain.session.children import Decide
from domain.session.turns import RecordPackage
from domain.values.budget import BudgetLimits
from tests.api.server import system
from tests.projections.given import APPROVING, BLOCKING
from tests.projections.stage import DEBATE, REVIEW, Stage, challenge, critique, plan, subtask, verdicts

ENDPOINTS: Final = ("continue", "reset", "cancel", "decision", "budget", "revise")
COMMAND: Final = {"budget": "extend"}
"""The endpoints whose name in `availableCommands` differs."""
CAMEL: Final = re.compile(r"\b[A-Z][a-z]+[A-Z]\w*")
AGREED: Final = "I agree and accept, a valid point."


class Scene(NamedTuple):
    """A session: the way to its state, the wording of the state, and the allowed commands."""

    id: str
    made: Callable[[Stage, str], object]
    told: str
    open: tuple[str, ...]


# -- deliveries ----------------------------------------------------------------------------------------------------


def _delivery(*words: str, **fields: Any) -> Callable[[Stage, str], object]:
    """A delivery whose turns get these answers in order; `passes` is the validation result."""

    def made(stage: Stage, name: str) -> None:
        stage.delivers(name, **fields)
        for word in words:
            turn = stage.turn(name).turn_id
            match word:
                case "passes":
                    stage.do(name, RecordValidation(turn_id=turn, attempt=1, passed=True, summary="1 passed"))
                case "packed":
                    stage.do(name, RecordPackage(turn_id=turn, attempt=1))
                case "fails":
                    stage.fails(name)
                case "cancelled":
                    stage.do(name, CancelDelivery())
                case _:
                    stage.answers(name, word)

    return made


CODED: Final = ("a plan", "an architecture", "a design", "code")
PASSED: Final = (*CODED, "passes", APPROVING)
ONE: Final = BudgetLimits(max_iterations=1)
MORE: Final = ("extend", "revise")
RUNS: Final = ("cancel", "extend", "revise")


def _with_review(stage: Stage, name: str) -> None:
    _delivery(*PASSED, review=REVIEW)(stage, name)


def _with_waiting_review(stage: Stage, name: str) -> None:
    _with_review(stage, name)
    _wait(stage, stage.session(name).children[0])


# -- reviews and debates -------------------------------------------------------------------------------------------


def _discussed(stage: Stage, name: str) -> None:
    stage.discusses(name, strategy=name.partition("-")[0])


def _synthesizing(stage: Stage, name: str) -> None:
    _discussed(stage, name)
    while stage.session(name).state in ("reviewing", "debating"):
        stage.answers(name, _agreed(name))


def _wait(stage: Stage, name: str) -> None:
    """Every agent agrees, until a person has to decide."""
    while stage.session(name).state != "waiting_for_decision":
        stage.answers(name, _agreed(name))


def _agreed(name: str) -> str:
    return AGREED + (critique("PASS") if name.startswith("review") else challenge("APPROVE"))


def _waiting(stage: Stage, name: str) -> None:
    _discussed(stage, name)
    _wait(stage, name)


def _decided(stage: Stage, name: str) -> None:
    _waiting(stage, name)
    stage.do(name, Decide(choice="skip" if name.startswith("review") else "accept"))


def _called_off(stage: Stage, name: str) -> None:
    _discussed(stage, name)
    stage.do(name, CancelDiscussion())


def _discussions(kind: str, speaking: str) -> tuple[Scene, ...]:
    return (
        Scene(f"{kind}-speaking", _discussed, speaking, ("cancel",)),
        Scene(f"{kind}-synthesizing", _synthesizing, "synthesizing", ("cancel",)),
        Scene(f"{kind}-waiting", _waiting, "waiting_for_decision", ("decision", "cancel")),
        Scene(f"{kind}-decided", _decided, "decided", ()),
        Scene(f"{kind}-cancelled", _called_off, "cancelled", ()),
    )


# -- orchestrations ------------------------------------------------------------------------------------------------


def _planned(**fields: Any) -> Callable[[Stage, str], object]:
    return lambda stage, name: stage.orchestrates(name, **fields)


def _worked(*words: Any, **fields: Any) -> Callable[[Stage, str], object]:
    """An orchestration of one agent, whose turns get these answers."""

    def made(stage: Stage, name: str) -> None:
        stage.orchestrates(name, **fields)
        for word in words:
            stage.answers(name, word)

    return made


def _was_reset(stage: Stage, name: str) -> None:
    stage.orchestrates(name).do(name, ResetOrchestration())


def _with_waiting_debate(stage: Stage, name: str) -> None:
    _worked(plan(ONE_PHASE), plan_review=DEBATE)(stage, name)
    _wait(stage, stage.session(name).children[0])


def _with_waiting_work(stage: Stage, name: str) -> None:
    _worked(plan(ONE_PHASE), "done", verdicts(Backend=True), work_review=REVIEW)(stage, name)
    _wait(stage, stage.session(name).children[0])


ONE_PHASE: Final = subtask(start_phase=3, end_phase=3)
PAUSING: Final = subtask(start_phase=3, end_phase=3, checkpoint=True)
GOES_ON: Final = ("reset", "cancel", "extend", "revise")

SCENES: Final = (
    Scene("delivery-planning", _delivery(), "running (planning)", RUNS),
    Scene("delivery-architecture", _delivery(*CODED[:1]), "running (architecture)", RUNS),
    Scene("delivery-design", _delivery(*CODED[:2]), "running (design)", RUNS),
    Scene("delivery-implementation", _delivery(*CODED[:3]), "running (implementation)", RUNS),
    Scene("delivery-validation", _delivery(*CODED), "running (validation)", RUNS),
    Scene("delivery-review", _delivery(*CODED, "passes"), "running (review)", RUNS),
    Scene("delivery-reviewed", _with_review, "running (under_review)", RUNS),
    Scene("delivery-undecided", _with_waiting_review, "running (under_review)", ("decision", *RUNS)),
    Scene("delivery-packaging", _delivery(*PASSED, repository=True), "running (packaging)", RUNS),
    Scene("delivery-success", _delivery(*PASSED, "packed", repository=True), "success", ("revise",)),
    Scene("delivery-failed", _delivery("fails"), "failed", ("retry",)),
    Scene(
        "delivery-exhausted",
        _delivery(*CODED, "passes", BLOCKING, limits=ONE),
        "failed (exhausted)",
        ("extend", "revise"),
    ),
    Scene("delivery-cancelled", _delivery("cancelled"), "cancelled", ()),
    Scene("orchestration-planning", _planned(), "active (planning)", GOES_ON),
    Scene("orchestration-direct", _planned(triage="direct"), "active (direct)", ("reset", "cancel", "revise")),
    Scene("orchestration-working", _worked(plan(ONE_PHASE)), "active (working)", GOES_ON),
    Scene("orchestration-debating", _worked(plan(ONE_PHASE), plan_review=DEBATE), "active (debating)", GOES_ON),
    Scene("orchestration-undecided", _with_waiting_debate, "active (debating)", ("decision", *GOES_ON)),
    Scene("orchestration-judging", _worked(plan(ONE_PHASE), "done"), "active (judging)", GOES_ON),
    Scene("orchestration-reviewing", _with_waiting_work, "active (reviewing)", ("decision", *GOES_ON)),
    Scene(
        "orchestration-checkpoint",
        _worked(plan(PAUSING), "done", verdicts(Backend=True)),
        "checkpoint",
        ("continue", "reset", "cancel", "revise"),
    ),
    Scene(
        "orchestration-partial",
        _worked(plan(ONE_PHASE), "done", verdicts(Backend=False), max_rounds=1),
        "partial",
        ("continue", "reset", "cancel", "extend", "revise"),
    ),
    Scene("orchestration-done", _worked(plan(ONE_PHASE), "done", verdicts(Backend=True)), "done", ("revise",)),
    Scene("orchestration-reset", _was_reset, "reset", ()),
    *_discussions("review", "reviewing"),
    *_discussions("debate", "debating"),
)
CLOSED: Final = [
    pytest.param(scene, endpoint, id=f"{scene.id}-{endpoint}")
    for scene in SCENES
    for endpoint in ENDPOINTS
    if COMMAND.get(endpoint, endpoint) not in scene.open
]


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """All sessions in one log, without a worker."""
    folder: Path = tmp_path_factory.mktemp("refusals")
    stage = Stage(folder)
    for scene in SCENES:
        scene.made(stage, scene.id)
    stage.store.close()
    app = create_app(Settings(database=f"sqlite:///{folder / 'log.db'}"), work=False)
    with TestClient(app, base_url="http://127.0.0.1") as result:
        yield result


def knock(client: httpx.Client, scene: Scene, endpoint: str, **headers: str) -> httpx.Response:
    kind = scene.id.partition("-")[0]
    bodies: dict[str, dict[str, Any]] = {
        "decision": {"decision": "accept" if kind == "debate" else "skip"},
        "revise": {"text": "Change it."},
        "budget": {"addRounds" if kind == "orchestration" else "addMinutes": 1, "reason": "more"},
    }
    return client.post(f"/api/sessions/{scene.id}/{endpoint}", json=bodies.get(endpoint, {}), headers=headers)


@pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene.id)
def test_available_commands_match_the_state(client: TestClient, scene: Scene) -> None:
    assert client.get(f"/api/sessions/{scene.id}").json()["availableCommands"] == list(scene.open)


@pytest.mark.parametrize("scene", ["delivery-undecided", "orchestration-undecided"])
def test_page_and_command_line_show_the_decision(
    client: TestClient, capsys: pytest.CaptureFixture[str], scene: str
) -> None:
    database = system(client).settings.database
    assert carry_out(["show", scene, "--database", database]) == 0
    [line] = [line for line in capsys.readouterr().out.splitlines() if line.startswith("can now")]
    assert line.split(maxsplit=2)[2].startswith("decision, ")
    page = client.get(f"/sessions/{scene}")
    child = client.get(f"/api/sessions/{scene}").json()["session"]["children"][0]
    choices = {"delivery-undecided": ("apply_fix", "skip"), "orchestration-undecided": ("revise", "accept")}[scene]
    assert page.status_code == 200
    assert child in page.text and all(f'"{choice}"' in page.text for choice in choices)


@pytest.mark.parametrize(("scene", "endpoint"), CLOSED)
def test_refusal_names_state_and_allowed_commands(client: TestClient, scene: Scene, endpoint: str) -> None:
    before = client.get(f"/api/sessions/{scene.id}").content
    answer = knock(client, scene, endpoint)
    body = answer.json()
    assert (answer.status_code, body["allowed"]) == (409, list(scene.open))
    kind = scene.id.partition("-")[0]
    article = "An" if kind == "orchestration" else "A"
    assert f"{article} {kind} in the state {scene.told} " in body["detail"]
    allowed = f"Allowed now: {', '.join(scene.open)}." if scene.open else "Nothing is allowed now."
    assert body["detail"].endswith(f" {allowed}")
    assert CAMEL.search(body["detail"]) is None
    assert client.get(f"/api/sessions/{scene.id}").content == before


@pytest.mark.parametrize(
    ("scene", "endpoint", "sentence"),
    [
        ("delivery-planning", "continue", "cannot be continued."),
        ("delivery-planning", "reset", "cannot be reset."),
        ("delivery-undecided", "reset", "cannot be reset."),
        ("delivery-success", "cancel", "cannot be cancelled."),
        ("delivery-success", "decision", "does not wait for a decision."),
        ("delivery-success", "budget", "cannot be given more budget."),
        ("orchestration-done", "budget", "cannot be given more rounds."),
        ("review-speaking", "continue", "cannot be continued."),
        ("review-speaking", "reset", "cannot be reset."),
        ("review-speaking", "budget", "has no budget to extend."),
        ("debate-decided", "budget", "has no budget to extend."),
        ("debate-decided", "cancel", "cannot be cancelled. It has been decided: accept."),
    ],
)
def test_refusal_uses_the_verb_of_the_endpoint(client: TestClient, scene: str, endpoint: str, sentence: str) -> None:
    result = next(case for case in SCENES if case.id == scene)
    assert f" {sentence} " in knock(client, result, endpoint).json()["detail"]


@pytest.mark.parametrize("end", ["done", "reset"])
def test_nothing_to_reset_appears_only_for_resets(client: TestClient, end: str) -> None:
    scene = next(case for case in SCENES if case.id == f"orchestration-{end}")
    text = f"An orchestration in the state {end} cannot be"
    allowed = "Allowed now: revise." if scene.open else "Nothing is allowed now."
    assert knock(client, scene, "cancel").json()["detail"] == f"{text} cancelled. {allowed}"
    nothing = "리셋할 worklog가 없습니다. (There is nothing to reset.)"
    assert knock(client, scene, "reset").json()["detail"] == f"{nothing} {text} reset. {allowed}"


@pytest.mark.parametrize("scene", ["delivery-undecided", "orchestration-undecided", "review-decided"])
def test_refusal_under_a_key_is_repeated_byte_for_byte(client: TestClient, scene: str) -> None:
    result = next(case for case in SCENES if case.id == scene)
    first, again = (knock(client, result, "continue", **{"Idempotency-Key": scene}) for _ in range(2))
    assert "Idempotency-Replayed" not in first.headers
    assert (first.status_code, again.content, again.headers["Idempotency-Replayed"]) == (409, first.content, "true")


def test_parent_that_moved_on_is_reported_first(client: TestClient) -> None:
    scene = next(case for case in SCENES if case.id == "delivery-undecided")
    assert knock(client, scene, "reset", **{"If-Match": '"1"'}).status_code == 412


def test_commands_allowed_by_a_child_do_not_depend_on_the_parents_version(client: TestClient) -> None:
    """A client with that version does not get 304, and an explicit version ignores the discussion."""
    path = "/api/sessions/delivery-undecided"
    version = client.get(path).json()["session"]["version"]
    assert client.get(path, headers={"If-None-Match": f'"{version}"'}).status_code == 200
    assert client.get(path, params={"version": version}).json()["availableCommands"] == list(RUNS)
    planning = client.get("/api/sessions/delivery-planning").headers["ETag"]
    again = client.get("/api/sessions/delivery-planning", headers={"If-None-Match": planning})
    assert again.status_code == 304


def test_amounts_that_a_kind_does_not_have_are_named(client: TestClient) -> None:
    """Contract §3: the pointer names the field that does not belong."""
    answer = client.post("/api/sessions/delivery-planning/budget", json={"addRounds": 1, "reason": "more"})
    assert answer.status_code == 422
    takes = "addIterations, addMinutes, addTokens, addCostMicros"
    [error] = answer.json()["errors"]
    assert error == {
        "pointer": "/addRounds",
        "detail": f"does not belong to the kind delivery, which takes {takes}",
        "code": "field_of_another_kind",
        "params": {"kind": "delivery", "fields": takes.split(", ")},
    }
    rounds = client.post("/api/sessions/orchestration-planning/budget", json={"addMinutes": 1, "reason": "more"})
    assert [error["pointer"] for error in rounds.json()["errors"]] == ["/addMinutes"]
