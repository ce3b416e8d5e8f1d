"""The Korean page gives reasons for refusals in Korean."""

import re
from html import unescape
from typing import Any

import httpx2 as httpx
import orjson
import pytest
from pydantic import BaseModel, ValidationError
from starlette.testclient import TestClient

from adapters.agents.scripted import Scenario
from api.actions import bodies
from api.actions.budget import Extend
from api.actions.control import Cancel, Empty
from api.actions.decision import Decision
from api.actions.fork import Fork
from api.http.problems import document, invalid, of
from api.web.sentences import in_words, told_in, words
from domain.convergence.profiles import Thresholds, named
from domain.values.base import Invalid, Refused
from domain.values.json import Malformed, decode
from domain.values.sentences import Sentence, sentence_of
from tests.api.scenes import at_checkpoint, begun, exhausted, reached
from tests.api.seen import BROWSER, Seen
from tests.api.server import delivery, session

KOREAN = words("ko")
FORM = BROWSER | {"Content-Type": "application/x-www-form-urlencoded", "Sec-Fetch-Site": "same-origin"}
SCRIPT = FORM | {"Accept": "application/json"}
KEY = "0123456789abcdef" * 2
SLOW: dict[str, Any] = {"planner": [{"text": "late", "delayMs": 60_000}]}


def korean(text: str) -> bool:
    return re.search("[가-힣]", text) is not None


# -- fields ------------------------------------------------------------------------------------------------------------


JUNK: tuple[Any, ...] = (
    *(None, True, 0, -1, 10**15, 1.5, "", " ", "nope", "x" * 600_000, {}, {"x": 1}, {"enabled": 1}, {"strategy": 1}),
    *([], [None], [""], [" "], ["x" * 2_000], ["x"] * 2_000, [[]], [["a"] * 2_000], [{}], [{"name": "", "x": 1}]),
    *({"maxRounds": 0, "profile": 3}, {"answer": {"text": 1}}, {"budget": {"addRounds": 0}}, {"decision": "x"}),
)
BODIES = (
    *(bodies.DeliveryStart, bodies.OrchestrationStart, bodies.ReviewStart, bodies.DebateStart),
    *(Decision, Empty, Extend, Cancel, Fork),
)


@pytest.mark.parametrize("model", BODIES, ids=lambda model: model.__name__)
def test_field_errors_are_korean(model: type[BaseModel]) -> None:
    fields = [field.alias or name for name, field in model.model_fields.items()] + ["stranger"]
    texts = set()
    for body in ({field: junk} for field in fields for junk in JUNK):
        try:
            model.model_validate(body, by_name=False)
        except ValidationError as error:
            texts |= {item["detail"] for item in invalid(error, body).more["errors"]}
    assert texts and {sentence for sentence in texts if not korean(in_words(KOREAN, sentence))} == set()


def test_scenario_and_threshold_errors_are_korean() -> None:
    entries = [{name: junk} for name in ("text", "files", "error", "delayMs", "usage") for junk in JUNK]
    scenarios = [
        *({"replies": junk} for junk in JUNK),
        *({"replies": {"planner": junk}} for junk in (*JUNK, ["\0"], *([entry] for entry in entries))),
        *({"delayMs": junk} for junk in JUNK),
        {"stranger": 1},
    ]
    texts = set()
    for scenario in scenarios:
        texts |= _errors(lambda scenario=scenario: Scenario.parse(scenario))
    for name in (*Thresholds.model_fields, "stranger"):
        for junk in JUNK:
            texts |= _errors(lambda name=name, junk=junk: named({name: junk}))
    assert len(texts) > 10 and {sentence for sentence in texts if not korean(in_words(KOREAN, sentence))} == set()


def _errors(tried: Any) -> set[str]:
    try:
        tried()
    except Invalid as error:
        return set(error.errors.values())
    return set()


@pytest.mark.parametrize(
    "text",
    [
        *("", "{", "[1,]", '{"a" 1}', "{'a': 1}", '{"a": 1} x', '"\t"', '"a', r'"\q"', r'"\uZZZZ"', "NaN", "1e999"),
        *('{"a": 1, "a": 2}', "9" * 30, "[" * 70 + "]" * 70, r'"\u0000"', r'"\ud800"', '{"a": 1,}', "\ufeff{}", "\0"),
    ],
)
def test_json_errors_are_entirely_korean(text: str) -> None:
    with pytest.raises(Malformed) as refused:
        decode(text)
    page_text = in_words(KOREAN, sentence_of(refused.value))
    assert korean(page_text) and re.findall("[a-z]{4,}", page_text.replace("NaN", "")) == []


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        (Sentence("session_not_found", id="nope"), "'nope' 세션이 없습니다."),
        (Sentence("cannot_be_reset", kind="delivery", status="running", state="planning"),
         "구현 작업 세션은 실행 중 (계획) 상태에서 리셋할 수 없습니다."),
        (Sentence("cannot_be_continued", kind="orchestration", status="done", state="done",
                  after=[Sentence("nothing_allowed_now")]),
         "오케스트레이션 세션은 완료 상태에서 계속할 수 없습니다. 지금은 가능한 작업이 없습니다."),
        (Sentence("not_one_of", choices=["en", "ko"]), "다음 중 하나여야 합니다: en, ko"),
        ("A plain text.", "A plain text."),
        ("", ""),
    ],
)  # fmt: skip
def test_a_sentence_is_worded_by_its_code_with_the_names_of_its_values(sentence: str, expected: str) -> None:
    assert in_words(KOREAN, sentence) == expected
    assert in_words(words("en"), sentence) == sentence


def test_a_problem_of_the_wire_is_worded_by_its_code() -> None:
    refused = Refused(
        Sentence("cannot_be_reset", kind="delivery", status="running", state="planning"), allowed=("extend", "cancel")
    )
    text = orjson.loads(document(of(refused)))
    assert (text["code"], text["params"]["kind"]) == ("cannot_be_reset", "delivery")
    assert told_in(KOREAN, text)["detail"] == (
        "구현 작업 세션은 실행 중 (계획) 상태에서 리셋할 수 없습니다. 지금 가능한 작업: 예산 추가, 취소."
    )
    assert told_in(KOREAN, {"detail": "Somebody else's words."})["detail"] == "Somebody else's words."


# -- the page ----------------------------------------------------------------------------------------------------------


def post(client: httpx.Client, path: str, headers: dict[str, str] = FORM, **fields: str) -> httpx.Response:
    return client.post(path, data={"key": KEY, **fields}, headers=headers, follow_redirects=False)


def field_errors(html: str) -> list[str]:
    return [unescape(error) for error in re.findall(r'class="field-error"[^>]*>([^<]+)<', html)]


def test_start_form_errors_are_korean(client: TestClient) -> None:
    typed = {"start": "delivery", "task": "", "filePaths": "../x", "maxIterations": "many", "scenario": "{not json"}
    answer = post(client, "/?lang=ko", **typed)
    assert answer.status_code == 422 and "시작하지 못했습니다." in Seen(answer.text).text
    assert field_errors(answer.text) == ["JSON이 아닙니다: 1행 2열, 큰따옴표로 묶은 이름이 있어야 합니다."]
    answer = post(client, "/?lang=ko", **typed | {"scenario": ""})
    assert field_errors(answer.text) == ["필수 항목입니다", "정수여야 합니다"]
    answer = post(client, "/?lang=ko", **typed | {"scenario": "", "task": "t", "maxIterations": "2"})
    assert field_errors(answer.text)[0] == "1: '../x': 작업 폴더를 벗어납니다."
    answer = post(client, "/?lang=ko", start="delivery", task="t", filePaths="a", workspace="/nowhere")
    assert "존재하는 폴더여야 합니다" in field_errors(answer.text)


def test_script_gets_the_same_errors_by_field(client: TestClient) -> None:
    typed = {"start": "delivery", "task": "t", "filePaths": "a\n../x", "validationCommands": "true"}
    answer = post(client, "/?lang=ko", SCRIPT, **typed)
    assert (answer.status_code, answer.headers["content-type"]) == (422, "application/json")
    assert answer.json() == {
        "words": "시작하지 못했습니다. 표시된 항목을 수정하세요.",
        "errors": {"filePaths": "2: '../x': 작업 폴더를 벗어납니다."},
    }
    done = post(client, "/?lang=ko", SCRIPT, **typed | {"filePaths": "a"})
    assert done.status_code == 200
    path = done.json()["to"]
    assert re.fullmatch(r"/sessions/delivery-\w{10}\?lang=ko", path)
    assert session(client, path[10:29])["task"] == "t"


def test_a_command_that_is_refused_says_so_in_korean(client: TestClient) -> None:
    session_id = begun(client, delivery(SLOW))
    fields = {"verb": "continue", "version": str(session(client, session_id)["version"])}
    page = post(client, f"/sessions/{session_id}?lang=ko", **fields)
    script = post(client, f"/sessions/{session_id}?lang=ko", SCRIPT, **fields)
    expected = (
        "처리하지 못했습니다: 구현 작업 세션은 실행 중 (계획) 상태에서 계속할 수 없습니다. "
        "지금 가능한 작업: 취소, 예산 추가, 수정 요청."
    )
    assert (page.status_code, script.status_code) == (409, 409)
    assert expected in Seen(page.text).text
    assert script.json() == {"words": expected, "errors": {}}


def test_an_extension_without_an_amount_is_refused_in_korean(client: TestClient) -> None:
    session_id = exhausted(client)
    fields = {"verb": "budget", "reason": "r", "version": str(session(client, session_id)["version"])}
    answer = post(client, f"/sessions/{session_id}?lang=ko", SCRIPT, **fields)
    assert answer.json()["words"] == ("다음 중 하나 이상이 필요합니다: 추가 반복, 추가 시간(분), 추가 토큰, 추가 비용")


def test_script_gets_the_next_address_after_a_reset(client: TestClient) -> None:
    run = at_checkpoint(client)
    version = str(session(client, run)["version"])
    stale = post(client, "/decisions?lang=ko", SCRIPT, verb="reset", session=run, version="1", really="yes")
    assert (stale.status_code, stale.json()["words"][:10]) == (412, "그 사이 세션이 변")
    done = post(client, "/decisions?lang=ko", SCRIPT, verb="reset", session=run, version=version, really="yes")
    assert (done.status_code, done.json()) == (200, {"to": "/decisions?lang=ko"})
    assert session(client, run)["status"] == "reset"


@pytest.mark.parametrize(
    ("path", "status", "expected"),
    [
        ("/sessions/nope?lang=ko", 404, "'nope' 세션이 없습니다."),
        ("/?lang=ko&kind=poem", 422, "kind: 다음 중 하나여야 합니다: delivery, orchestration, review, debate"),
        ("/?lang=ko&strange=1", 422, "strange: 알 수 없는 매개변수입니다."),
        ("/decisions?lang=ko&cursor=x", 422, "cursor: 이 목록의 커서가 아닙니다"),
        ("/reports?lang=ko&from=x", 422, "from: ISO 8601 형식의 시각이어야 합니다. 날짜도 됩니다"),
        ("/reports?lang=ko&name=x", 422, "name: 다음 중 하나여야 합니다"),
    ],
)
def test_pages_of_errors_speak_korean(client: TestClient, path: str, status: int, expected: str) -> None:
    answer = client.get(path, headers=BROWSER)
    assert answer.status_code == status and expected in Seen(answer.text).text
    response = client.get(path, headers={"Accept": "application/json"})
    assert response.status_code == status and expected in response.json()["detail"]


def test_forms_that_no_page_has_are_refused_in_korean(client: TestClient) -> None:
    for typed, expected in (
        ({"start": "poem"}, "start: 다음 중 하나여야 합니다"),
        ({"start": "review", "key": "x"}, "key: 양식에 있던 값을 그대로 보내야 합니다"),
        ({"start": "review", "stranger": "x"}, "stranger: 알 수 없는 항목입니다"),
    ):
        answer = post(client, "/?lang=ko", **typed)
        assert answer.status_code == 400 and expected in Seen(answer.text).text
    other = client.post("/?lang=ko", content=b"{}", headers=FORM | {"Content-Type": "application/json"})
    assert other.status_code == 415 and "UTF-8로 보내세요." in Seen(other.text).text


def test_the_api_stays_english(client: TestClient) -> None:
    for headers in ({}, {"Accept-Language": "ko"}, {"Accept": "application/json", "Accept-Language": "ko"}, BROWSER):
        answer = client.get("/api/sessions/review-none", headers=headers)
        assert answer.json()["detail"] == "There is no session 'review-none'."
    response = client.get("/sessions/nope", headers={"Accept-Language": "ko", "Accept": "*/*"})
    assert response.json()["detail"] == "There is no session 'nope'."


# -- recorded reasons --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("replies", "settings", "expected", "english"),
    [
        ({"planner": [{"error": "refused"}]}, {}, "planner: 요청을 거부했습니다(시나리오).", "rejected the request"),
        (
            {},
            {"baseline": True, "validationCommands": ["no-such-program"]},
            "검증 명령 `no-such-program`을 시작할 수 없습니다.",
            "cannot be started",
        ),
    ],
)
def test_the_reason_of_a_failed_turn_is_korean_on_the_korean_page(
    client: TestClient, replies: dict[str, Any], settings: dict[str, Any], expected: str, english: str
) -> None:
    session_id = reached(client, begun(client, delivery(replies, **settings)), "failed")
    for tab in ("overview", "turns"):
        seen = Seen(client.get(f"/sessions/{session_id}?lang=ko&tab={tab}", headers=BROWSER).text).text
        assert expected in seen and english not in seen, tab
    listed = Seen(client.get("/decisions?lang=ko", headers=BROWSER).text).text
    assert expected in listed and english not in listed


def test_a_cancelled_delivery_says_so_in_korean_with_the_reason(client: TestClient) -> None:
    session_id = begun(client, delivery(SLOW))
    fields = {"verb": "cancel", "reason": "not now", "version": str(session(client, session_id)["version"])}
    post(client, f"/sessions/{session_id}?lang=ko", really="yes", **fields)
    reached(client, session_id, "cancelled")
    seen = Seen(client.get(f"/sessions/{session_id}?lang=ko", headers=BROWSER).text).text
    assert "취소됨: not now" in seen and "cancelled: not now" not in seen
