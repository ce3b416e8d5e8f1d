"""Whatever a person is refused with on the Korean page is said in Korean, and nothing of ours is missing there."""

import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any

import httpx2 as httpx
import pytest
from pydantic import BaseModel, ValidationError
from starlette.testclient import TestClient

from adapters.agents.scripted import Scenario
from api.http.problems import invalid
from api.routes import bodies
from api.web.sentences import ENDS, LONGEST, catalogue, in_words
from api.web.words import words
from domain.convergence import named
from domain.convergence.profiles import Thresholds
from domain.values.base import Command, Invalid
from domain.values.strict import Malformed, decode
from tests.api.scenes import at_checkpoint, begun, exhausted
from tests.api.seen import BROWSER, Seen
from tests.api.sentences import FILLED, sentences
from tests.api.server import delivery, inside, session

KOREAN = words("ko")
FORM = BROWSER | {"Content-Type": "application/x-www-form-urlencoded", "Sec-Fetch-Site": "same-origin"}
SCRIPT = FORM | {"Accept": "application/json"}
KEY = "0123456789abcdef" * 2
REACHED = (
    *(
        "api/http/guards.py",
        "api/routes/commands.py",
        "api/routes/starting.py",
        "api/routes/forks.py",
        "api/http/requests.py",
        "api/http/problems.py",
        "api/routes/reports.py",
    ),
    *(
        "api/routes/policies/instants.py",
        "api/web/**/*.py",
        "projections/sessions/inbox.py",
        "projections/sessions/*.py",
    ),
    *(
        "projections/reports/__init__.py",
        "adapters/writer/answers.py",
        "adapters/writer/writer.py",
        "adapters/writer/unit_of_work.py",
    ),
    *("adapters/agents/scripted.py", "adapters/workspace/fitness.py", "adapters/workspace/founding.py"),
    *(
        "adapters/workspace/paths.py",
        "adapters/workspace/git.py",
        "adapters/store/sqlite/store.py",
        "adapters/store/sqlite/views.py",
    ),
    *(
        "adapters/store/sqlite/rows.py",
        "domain/*.py",
        "domain/session/*.py",
        "domain/values/*.py",
        "domain/delivery/**/*.py",
        "domain/orchestration/**/*.py",
    ),
    *("domain/discussion/**/*.py", "domain/channel/**/*.py", "domain/convergence/**/*.py"),
)
"""Where what is said can come to the page."""
SLOW: dict[str, Any] = {"planner": [{"text": "late", "delayMs": 60_000}]}


@pytest.fixture
def client(tmp_path: Path) -> Iterator[TestClient]:
    with inside(tmp_path) as found:
        yield found


def korean(text: str) -> bool:
    return re.search("[가-힣]", text) is not None


# -- the catalogue -----------------------------------------------------------------------------------------------------


UNSEEN = re.compile(
    "|".join(
        (
            "^Only (?!a fork).*",  # what follows from what agents did
            "^Planning can always|^Handing over finished work|^The deadline has not|^An orchestration that is",
            "^Turn 7 |^Two turns at once|^This session reuses no|^The validation 7 has|^No command is known",
            "^A channel (cannot be cancelled|takes messages)|^There is no event type|^7 is there in version",
            "^7 has no version|^HANSARD_DATABASE|^The backup|^The table of|^The newest position|^Position 7 follows",
            "^Another process wrote|^Nothing begins by",
            "^The event at position|SQLite gave|^git 7 failed|^a percent sign|^should be commands with|^not an id$",
        )
    )
)
"""What is said to workers and to whoever keeps the log, at a start, or only within another sentence."""


VERDICTS = {command.REFUSAL for command in Command.__subclasses__()}
"""What no session of another kind takes."""


def test_whatever_our_source_says_to_a_person_is_in_the_catalogue() -> None:
    """A sentence within a sentence is stood in for by one that is known."""
    found = {sentence for sentence in sentences(*REACHED) if not UNSEEN.search(sentence)}
    found |= {f"A delivery in the state running {verdict}." for verdict in VERDICTS}
    assert len(found) > 120
    said = {sentence for sentence in found if any(korean(in_words(KOREAN, each)) for each in _filled(sentence))}
    assert found - said <= {FILLED, f"{FILLED}: {FILLED}"}


def _filled(sentence: str) -> tuple[str, ...]:
    return sentence, sentence.removeprefix(f"{FILLED} "), sentence.replace(FILLED, "unknown field", 1)


JUNK: tuple[Any, ...] = (
    *(None, True, 0, -1, 10**15, 1.5, "", " ", "nope", "x" * 600_000, {}, {"x": 1}, {"enabled": 1}, {"strategy": 1}),
    *([], [None], [""], [" "], ["x" * 2_000], ["x"] * 2_000, [[]], [["a"] * 2_000], [{}], [{"name": "", "x": 1}]),
    *({"maxRounds": 0, "profile": 3}, {"answer": {"text": 1}}, {"budget": {"addRounds": 0}}, {"decision": "x"}),
)
BODIES = (
    *(bodies.DeliveryStart, bodies.OrchestrationStart, bodies.ReviewStart, bodies.DebateStart),
    *(bodies.Decision, bodies.Empty, bodies.Extend, bodies.Cancel, bodies.Fork),
)


@pytest.mark.parametrize("model", BODIES, ids=lambda model: model.__name__)
def test_whatever_is_wrong_with_a_field_is_said_in_korean(model: type[BaseModel]) -> None:
    fields = [field.alias or name for name, field in model.model_fields.items()] + ["stranger"]
    said = set()
    for body in ({field: junk} for field in fields for junk in JUNK):
        try:
            model.model_validate(body, by_name=False)
        except ValidationError as error:
            said |= {found["detail"] for found in invalid(error, body).more["errors"]}
    assert said and {sentence for sentence in said if not korean(in_words(KOREAN, sentence))} == set()


def test_whatever_is_wrong_with_a_scenario_or_a_threshold_is_said_in_korean() -> None:
    entries = [{name: junk} for name in ("text", "files", "error", "delayMs", "usage") for junk in JUNK]
    scenarios = [
        *({"replies": junk} for junk in JUNK),
        *({"replies": {"planner": junk}} for junk in (*JUNK, ["\0"], *([entry] for entry in entries))),
        *({"delayMs": junk} for junk in JUNK),
        {"stranger": 1},
    ]
    said = set()
    for scenario in scenarios:
        said |= _errors(lambda scenario=scenario: Scenario.parse(scenario))
    for name in (*Thresholds.model_fields, "stranger"):
        for junk in JUNK:
            said |= _errors(lambda name=name, junk=junk: named({name: junk}))
    assert len(said) > 10 and {sentence for sentence in said if not korean(in_words(KOREAN, sentence))} == set()


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
def test_what_is_no_json_is_said_in_korean_without_a_word_of_english(text: str) -> None:
    with pytest.raises(Malformed) as refused:
        decode(text)
    told = in_words(KOREAN, str(refused.value))
    assert korean(told) and re.findall("[a-z]{4,}", told.replace("NaN", "")) == []


def test_every_place_of_a_sentence_stands_in_both_languages() -> None:
    def places(words: str) -> set[str]:
        return set(re.findall(r"\{(\w+)\}", words)) - {"article", "given", "what", "name", "state"}

    different = {english for english, told in catalogue().items() if not places(told) <= places(english)}
    assert different == set()
    assert [english for english, told in catalogue().items() if not told.strip()] == []


@pytest.mark.parametrize(
    ("english", "expected"),
    [
        ("There is no session 'nope'.", "'nope' 세션이 없습니다."),
        ("A delivery in the state running (planning) cannot be reset. Allowed now: extend, cancel.",
         "딜리버리 세션은 실행 중 (계획) 상태에서 리셋할 수 없습니다. 지금 할 수 있는 것: 예산 추가, 취소."),
        ("An orchestration in the state done cannot be continued. Nothing is allowed now.",
         "오케스트레이션 세션은 완료 상태에서 계속할 수 없습니다. 지금은 할 수 있는 것이 없습니다."),
        ("should be a string or a list; or should be 1", "텍스트 또는 목록 형식이어야 합니다; 또는 1이어야 합니다"),
        ("lang: should be one of en, ko", "lang: 다음 중 하나여야 합니다: en, ko"),
        ("There is no session 'a. b. c'.", "'a. b. c' 세션이 없습니다."),
        ("Somebody else's words.", "Somebody else's words."),
        ("title: Somebody else's words.", "title: Somebody else's words."),
        ("", ""),
    ],
)  # fmt: skip
def test_sentences_are_said_one_by_one_with_what_they_are_filled_with(english: str, expected: str) -> None:
    assert in_words(KOREAN, english) == expected
    assert in_words(words("en"), english) == english


@pytest.mark.parametrize(
    "part", ["There is no session a. ", "x: ", "; or ", "A a in the state ", "There is no session "]
)
def test_hostile_words_are_looked_up_in_no_time(part: str) -> None:
    text = (part * LONGEST)[:LONGEST]
    assert len(in_words(KOREAN, text)) >= 1
    assert len(in_words(KOREAN, part * ENDS)) >= 1


# -- the page ----------------------------------------------------------------------------------------------------------


def post(client: httpx.Client, path: str, headers: dict[str, str] = FORM, **fields: str) -> httpx.Response:
    return client.post(path, data={"key": KEY, **fields}, headers=headers, follow_redirects=False)


def field_errors(html: str) -> list[str]:
    return [unescape(error) for error in re.findall(r'class="field-error"[^>]*>([^<]+)<', html)]


def test_the_start_form_says_in_korean_what_is_wrong(client: TestClient) -> None:
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


def test_the_script_is_told_the_same_by_fields(client: TestClient) -> None:
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
    fields = {"door": "continue", "version": str(session(client, session_id)["version"])}
    page = post(client, f"/sessions/{session_id}?lang=ko", **fields)
    script = post(client, f"/sessions/{session_id}?lang=ko", SCRIPT, **fields)
    expected = (
        "처리하지 못했습니다: 딜리버리 세션은 실행 중 (계획) 상태에서 계속할 수 없습니다. "
        "지금 할 수 있는 것: 취소, 예산 추가."
    )
    assert (page.status_code, script.status_code) == (409, 409)
    assert expected in Seen(page.text).text
    assert script.json() == {"words": expected, "errors": {}}


def test_an_extension_without_an_amount_is_refused_in_korean(client: TestClient) -> None:
    session_id = exhausted(client)
    fields = {"door": "budget", "reason": "r", "version": str(session(client, session_id)["version"])}
    answer = post(client, f"/sessions/{session_id}?lang=ko", SCRIPT, **fields)
    assert answer.json()["words"] == ("다음 중 하나 이상이 필요합니다: 추가 반복, 추가 시간(분), 추가 토큰, 추가 비용")


def test_what_ends_a_session_is_told_to_the_script_where_the_reader_goes(client: TestClient) -> None:
    run = at_checkpoint(client)
    version = str(session(client, run)["version"])
    stale = post(client, "/decisions?lang=ko", SCRIPT, door="reset", session=run, version="1", really="yes")
    assert (stale.status_code, stale.json()["words"][:10]) == (412, "그 사이 세션이 바")
    done = post(client, "/decisions?lang=ko", SCRIPT, door="reset", session=run, version=version, really="yes")
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
    told = client.get(path, headers={"Accept": "application/json"})
    assert told.status_code == status and expected in told.json()["detail"]


def test_forms_that_no_page_has_are_refused_in_korean(client: TestClient) -> None:
    for typed, expected in (
        ({"start": "poem"}, "start: 다음 중 하나여야 합니다"),
        ({"start": "review", "key": "x"}, "key: 양식에 들어 있던 값이어야 합니다"),
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
    told = client.get("/sessions/nope", headers={"Accept-Language": "ko", "Accept": "*/*"})
    assert told.json()["detail"] == "There is no session 'nope'."
