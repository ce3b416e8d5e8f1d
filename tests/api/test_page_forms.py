"""Commands without script: every form is posted as a browser would, and answered with a page."""

import re
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import httpx2 as httpx
import pytest
from starlette.testclient import TestClient

from api.web.form_data import parsed
from api.web.presets import PRESETS
from api.web.start_form import FORMS
from tests.api.scenes import (
    asking,
    at_checkpoint,
    begun,
    exhausted,
    failed,
    reached,
    under_review,
    waiting_debate,
    waiting_review,
)
from tests.api.seen import BROWSER, Seen, harmless, page
from tests.api.server import Json, delivery, events, inside, only, session, start, until

SLOW: Json = {"planner": [{"text": "late", "delayMs": 60_000}]}
FORM = BROWSER | {"Content-Type": "application/x-www-form-urlencoded", "Sec-Fetch-Site": "same-origin"}
STALE = "The session has changed since you loaded it."


class Form:
    """A form as a browser sees it: its action and its initial values."""

    def __init__(self, html: str) -> None:
        seen = Seen(html)
        [form] = seen.all("form")
        assert form["method"] == "post"
        self.action = str(form["action"])
        self.fields: dict[str, str] = {}
        for field in seen.all("input"):
            if field.get("type") != "checkbox" or "checked" in field:
                self.fields[str(field["name"])] = str(field.get("value") or "")
        for name, words in re.findall(r'<textarea[^>]*name="([^"]+)".*?>\n?(.*?)</textarea>', html, re.DOTALL):
            self.fields[name] = unescape(words)
        for name, choices in re.findall(r'<select[^>]*name="([^"]+)".*?>(.*?)</select>', html, re.DOTALL):
            options = Seen(choices).all("option")
            self.fields[name] = str(next((each for each in options if "selected" in each), options[0])["value"])


def form(html: str, verb: str, session_id: str = "") -> Form:
    """The form of a command; if there are several, the one of that session."""
    results = [
        each for each in re.findall(r"<form.*?</form>", html, re.DOTALL) if f'name="verb" value="{verb}"' in each
    ]
    [one] = [each for each in results if f'name="session" value="{session_id}"' in each or not session_id]
    return Form(one)


def starting(html: str, kind: str) -> Form:
    [match] = re.findall(rf'<form class="starting"[^>]*data-start="{kind}".*?</form>', html, re.DOTALL)
    return Form(match)


def post(client: httpx.Client, path: str, fields: Any, **headers: str) -> httpx.Response:
    content = fields if isinstance(fields, str | bytes) else urlencode(fields)
    return client.post(path, content=content, headers=FORM | headers, follow_redirects=False)


def send(client: httpx.Client, form: Form, **typed: str) -> httpx.Response:
    return post(client, form.action, form.fields | typed)


def done(answer: httpx.Response) -> str:
    """Where a browser goes from here."""
    assert answer.status_code == 303, answer.text
    assert answer.headers["cache-control"] == "no-store"
    return str(answer.headers["location"])


def refused(answer: httpx.Response, status: int) -> Seen:
    """The page that is shown again with errors."""
    assert (answer.status_code, answer.headers["content-type"]) == (status, "text/html; charset=utf-8"), answer.text
    return harmless(answer.text)


def of_session(client: httpx.Client, session_id: str, query: str = "") -> str:
    return page(client, f"/sessions/{session_id}{query}")


def count(client: httpx.Client) -> int:
    return len(client.get("/api/sessions", headers={"Read-After": "0"}).json()["items"])


# -- start -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["approved", "legacy", "continue", "red-team", "perspectives"])
def test_a_preset_is_started_as_programs_would_start_it(client: TestClient, name: str) -> None:
    kind, body = PRESETS[name].kind, PRESETS[name].body
    location = done(send(client, starting(page(client, f"/?preset={name}"), kind)))
    by_form = only(events(client, location.rpartition("/")[2]), f"{kind}.session_started")
    spelt = {name: value for name, value in body.items() if name != "baseline"}  # no form has a field for it
    by_json = only(events(client, start(client, spelt)), f"{kind}.session_started")
    assert by_form == by_json and len(by_form) == 1


TYPED: dict[str, tuple[dict[str, str], Json]] = {
    "delivery": (
        {"task": "Mend it", "filePaths": "a.py\r\n b.py \r\n\r\n", "validationCommands": "true", "maxMinutes": "9"},
        {"task": "Mend it", "filePaths": ["a.py", "b.py"]},
    ),
    "orchestration": (
        {"prompt": "Build src/api", "employees": "Ann: backend\r\nBob", "maxRounds": "4", "triage": "orchestrate"}
        | {"planReview": "on", "planReview.strategy": "perspectives"},
        {"prompt": "Build src/api", "maxRounds": 4},
    ),
    "review": (
        {"subject": "x = 1\r\ny = 2", "strategy": "red-team", "maxRounds": "2"},
        {"subject": "x = 1\ny = 2", "strategy": "red-team", "maxRounds": 2},
    ),
    "debate": ({"plan": "1. Copy.", "labels": "a\r\nb"}, {"labels": ["a", "b"]}),
}


@pytest.mark.parametrize("kind", FORMS)
def test_every_kind_starts_from_its_form(client: TestClient, kind: str) -> None:
    typed, expected = TYPED[kind]
    location = done(send(client, starting(page(client, "/"), kind), **typed))
    view = session(client, location.rpartition("/")[2])
    assert view["kind"] == kind and {name: view[name] for name in expected} == expected


def test_a_form_that_is_sent_twice_starts_one_session_and_a_changed_one_another(client: TestClient) -> None:
    page_form = starting(page(client, "/"), "delivery")
    typed = {"task": "Once", "filePaths": "a.py", "validationCommands": "true"}
    first = done(send(client, page_form, **typed))
    assert done(send(client, page_form, **typed)) == first
    assert done(send(client, page_form, **typed | {"task": "Twice"})) != first
    assert done(send(client, starting(page(client, "/"), "delivery"), **typed)) != first
    until(lambda: count(client) == 3, what="three sessions")


def test_errors_are_at_their_fields_and_input_is_kept(client: TestClient) -> None:
    typed = {"task": 'Mend "it" <b>', "filePaths": "a.py\r\n../x", "testCommand": "true", "scenario": ""}
    answer = send(client, starting(page(client, "/"), "delivery"), **typed)
    seen = refused(answer, 422)
    [wrong] = [field for field in seen.all("textarea") if "aria-invalid" in field]
    assert (wrong["name"], "autofocus" in wrong) == ("filePaths", True)
    [error] = re.findall(r'id="delivery-filePaths-error">([^<]+)<', answer.text)
    assert error.startswith("2: ")
    assert "Not started. Please fix the marked fields." in seen.text
    kept = starting(answer.text, "delivery")
    assert {name: kept.fields[name] for name in typed} == typed | {"filePaths": "a.py\n../x"}
    location = done(send(client, kept, filePaths="a.py\r\nb.py"))
    assert session(client, location.rpartition("/")[2])["filePaths"] == ["a.py", "b.py"]


@pytest.mark.parametrize(
    ("kind", "typed", "names"),
    [
        ("delivery", {"task": "", "filePaths": ""}, ["task"]),
        ("delivery", {"task": "t", "filePaths": "a", "maxIterations": "21"}, ["maxIterations"]),
        ("delivery", {"task": "t", "filePaths": "a", "maxIterations": "many"}, ["maxIterations"]),
        ("orchestration", {"prompt": "p", "scenario": "{nothing"}, ["scenario"]),
        ("orchestration", {"prompt": "p", "workReview": "on", "workReview.strategy": "debate"},
         ["workReview.strategy"]),
        ("review", {"subject": "s", "workspace": "here"}, ["workspace"]),
        ("debate", {"plan": ""}, ["plan"]),
    ],
)  # fmt: skip
def test_every_form_shows_errors_at_their_fields(
    client: TestClient, kind: str, typed: dict[str, str], names: list[str]
) -> None:
    answer = send(client, starting(page(client, "/"), kind), **typed)
    seen = refused(answer, 422)
    fields = [field for tag in ("input", "textarea", "select") for field in seen.all(tag) if "aria-invalid" in field]
    assert sorted(str(field["name"]) for field in fields) == sorted(names)
    opened = re.findall(r'<details class="start-kind" id="start-(\w+)" open>', answer.text)
    assert opened == [kind] and count(client) == 0
    for field in fields:
        assert re.search(rf'id="{field["id"]}-error">[^<]+</p>', answer.text)


# -- commands of a session ---------------------------------------------------------------------------------------------


def test_a_review_is_decided_and_the_page_is_shown(client: TestClient) -> None:
    session_id = waiting_review(client)
    page_form = form(of_session(client, session_id), "decision")
    assert done(send(client, page_form, decision="skip", rationale="It is small")) == f"/sessions/{session_id}"
    made = session(client, session_id)["decision"]
    assert (made["choice"], made["rationale"]) == ("skip", "It is small")


def test_a_discussion_is_decided_from_its_parents_page_and_from_the_inbox(client: TestClient) -> None:
    parents = [under_review(client), under_review(client)]
    children = [session(client, parent)["children"][0] for parent in parents]
    on_page = form(of_session(client, parents[0]), "decision", children[0])
    assert done(send(client, on_page, decision="skip")) == f"/sessions/{parents[0]}"
    in_inbox = form(page(client, "/decisions"), "decision", children[1])
    assert done(send(client, in_inbox, decision="apply_fix")) == "/decisions"
    assert [session(client, child)["decision"]["choice"] for child in children] == ["skip", "apply_fix"]


def test_a_checkpoint_is_continued_from_its_page_and_from_the_inbox(client: TestClient) -> None:
    first, second = at_checkpoint(client), at_checkpoint(client)
    assert done(send(client, form(of_session(client, first), "continue"))) == f"/sessions/{first}"
    assert done(send(client, form(page(client, "/decisions?lang=ko"), "continue", second))) == "/decisions?lang=ko"
    for session_id in (first, second):
        assert only(events(client, session_id), "orchestration.continued") != []


def test_waiting_sessions_are_answered_in_their_rows(client: TestClient) -> None:
    run, spent, broken, asks = at_checkpoint(client), exhausted(client), failed(client), asking(client)
    answers = {
        "continue": (run, {}, "orchestration.continued"),
        "budget": (spent, {"reason": "Almost there"}, "delivery.budget_extended"),
        "retry": (broken, {}, "delivery.retried"),
        "permission": (asks, {"decision": "deny"}, "turn.permission_decided"),
    }
    until(lambda: all(f'data-waits="{each}"' in page(client, "/") for each, _, _ in answers.values()), what="rows")
    html = page(client, "/")
    for verb, (session_id, typed, topic) in answers.items():
        assert done(send(client, form(html, verb, session_id), **typed)) == "/decisions"
        assert len(only(events(client, session_id), topic)) == 1
    assert only(events(client, spent), "delivery.budget_extended")[0]["limits"]["maxIterations"] == 3


def test_a_row_that_gets_more_budget_asks_for_the_reason(client: TestClient) -> None:
    session_id = exhausted(client)
    until(lambda: f'data-waits="{session_id}"' in page(client, "/"), what="the row")
    answer = send(client, form(page(client, "/"), "budget", session_id), addIterations="99")
    seen = refused(answer, 422)
    assert {str(field["name"]) for field in seen.all("input") if "aria-invalid" in field} == {"addIterations", "reason"}
    assert f'id="giving-{session_id}" open' in answer.text


def test_money_is_typed_in_dollars(client: TestClient) -> None:
    usage = {"inputTokens": 1, "outputTokens": 1, "costMicros": 1_000_000}
    dear = delivery({"planner": [{"text": "A plan.", "usage": usage}]}, maxCostMicros=1_000_000)
    session_id = reached(client, begun(client, dear), "failed")
    assert 'name="addCost"' in page(client, "/decisions")
    page_form = form(of_session(client, session_id), "budget")
    assert "addCost" in page_form.fields
    [wrong] = re.findall(r'id="addCost-error">([^<]+)', send(client, page_form, addCost="much", reason="More").text)
    assert wrong
    done(send(client, page_form, addCost="2.50", reason="More"))
    [history] = only(events(client, session_id), "delivery.budget_extended")
    assert history["limits"]["maxCostMicros"] == 3_500_000


@pytest.mark.parametrize("path", ["page", "inbox"])
def test_ending_a_session_needs_a_ticked_box(client: TestClient, path: str) -> None:
    session_id = at_checkpoint(client)
    html = page(client, "/decisions") if path == "inbox" else of_session(client, session_id)
    page_form = form(html, "reset")
    answer = send(client, page_form, reason="seen enough")
    seen = refused(answer, 422)
    [tick] = [field for field in seen.all("input") if field.get("name") == "really"]
    assert tick["aria-invalid"] == "true" and "required" in tick
    assert "This cannot be undone. Tick the box to continue." in seen.text
    assert re.search(r'<details class="more" id="reset[^"]*" open>', answer.text)
    again = form(answer.text, "reset")
    assert again.fields["reason"] == "seen enough"
    assert session(client, session_id)["status"] == "checkpoint"
    done(send(client, again, really="yes"))
    assert session(client, session_id)["status"] == "reset"


def test_a_running_session_is_cancelled_once(client: TestClient) -> None:
    session_id = start(client, delivery(SLOW))
    page_form = form(of_session(client, session_id), "cancel")
    for _ in range(2):
        assert done(send(client, page_form, really="yes", reason="No longer wanted")) == f"/sessions/{session_id}"
    assert session(client, session_id)["status"] == "cancelled"


def test_a_budget_is_extended_once_however_often_the_form_is_sent(client: TestClient) -> None:
    session_id = exhausted(client)
    page_form = form(of_session(client, session_id), "budget")
    for _ in range(2):
        done(send(client, page_form, addIterations="2", reason="Almost there"))
    data = only(events(client, session_id), "delivery.budget_extended")
    assert [(event["why"], event["limits"]["maxIterations"]) for event in data] == [("Almost there", 3)]


def test_errors_of_an_extension_are_at_their_fields(client: TestClient) -> None:
    session_id = exhausted(client)
    answer = send(
        client, form(of_session(client, session_id), "budget"), addIterations="99", reason='"More"', addMinutes="x"
    )
    seen = refused(answer, 422)
    wrong = {str(field["name"]): field.get("value") for field in seen.all("input") if "aria-invalid" in field}
    assert wrong == {"addIterations": "99", "addMinutes": "x"}
    assert re.search(r'id="addIterations-error">[^<]+20', answer.text)
    again = form(answer.text, "budget")
    assert again.fields["reason"] == '"More"'
    nothing = send(client, again, addIterations="", addMinutes="")
    assert "give at least one of addIterations" in refused(nothing, 422).text
    done(send(client, form(nothing.text, "budget"), addIterations="1"))
    assert len(only(events(client, session_id), "delivery.budget_extended")) == 1


# -- bound to the shown version ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["page", "inbox"])
def test_decision_made_elsewhere_is_reported(client: TestClient, path: str) -> None:
    session_id = waiting_review(client)
    page_form = form(page(client, "/decisions") if path == "inbox" else of_session(client, session_id), "decision")
    body = {"decision": "apply_fix"}
    assert client.post(f"/api/sessions/{session_id}/decision", json=body).status_code == 200
    seen = refused(send(client, page_form, decision="skip"), 412)
    assert "Already decided by unauthenticated: Apply fix." in seen.text
    assert [form for form in seen.all("form") if "data-command" in form] == []
    assert session(client, session_id)["decision"]["choice"] == "apply_fix"


def test_late_decision_keeps_the_typed_text(client: TestClient) -> None:
    session_id = waiting_review(client)
    page_form = form(of_session(client, session_id), "decision")
    page_form.fields["version"] = str(int(page_form.fields["version"]) - 1)
    answer = send(client, page_form, decision="skip", rationale="Long & thought <over>")
    seen = refused(answer, 412)
    [message] = [words for words in seen.all("p") if words.get("class") == "answer told"]
    assert (message["role"], "autofocus" in message) == ("alert", True)
    again = form(answer.text, "decision")
    assert again.fields["rationale"] == "Long & thought <over>"
    assert again.fields["key"] != page_form.fields["key"]
    done(send(client, again, decision="skip"))
    assert session(client, session_id)["decision"]["rationale"] == "Long & thought <over>"


def test_a_busy_session_is_ended_while_its_state_is_the_one_seen(client: TestClient) -> None:
    session_id = start(client, delivery(SLOW))
    page_form = form(of_session(client, session_id), "cancel")
    version = int(page_form.fields["version"])
    more = {"addIterations": 1, "reason": "meanwhile"}
    assert client.post(f"/api/sessions/{session_id}/budget", json=more).status_code == 200
    other = {**page_form.fields, "state": "exhausted", "really": "yes"}
    assert STALE in refused(post(client, page_form.action, other), 412).text
    assert session(client, session_id)["version"] > version
    done(send(client, page_form, really="yes"))
    assert session(client, session_id)["status"] == "cancelled"


def test_refused_command_says_why(client: TestClient) -> None:
    session_id = waiting_debate(client)
    page_form = form(of_session(client, session_id), "decision")
    seen = refused(send(client, page_form, decision="skip"), 409)
    assert "Could not be done: " in seen.text and "Allowed now: " in seen.text


def test_each_page_has_a_key_of_its_own_and_the_script_gets_none(client: TestClient) -> None:
    session_id = waiting_review(client)
    keys = {form(of_session(client, session_id), "decision").fields["key"] for _ in range(3)}
    assert len(keys) == 3 and all(re.fullmatch("[0-9a-f]{32}", key) for key in keys)
    act = client.get(f"/sessions/{session_id}/at").json()["act"]
    assert "data-command" in act and 'name="key"' not in act and 'name="really"' not in act


# -- allowed senders and fields ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Sec-Fetch-Site": "same-origin"}, 303),
        ({"Sec-Fetch-Site": "none"}, 303),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "same-site"}, 403),
        ({"Origin": "http://127.0.0.1"}, 303),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Host": "evil.example"}, 421),
    ],
)
def test_only_our_own_pages_may_send_forms(client: TestClient, headers: dict[str, str], status: int) -> None:
    session_id = waiting_review(client)
    page_form = form(of_session(client, session_id), "decision")
    sent = {name: value for name, value in FORM.items() if name != "Sec-Fetch-Site"} | headers
    content = urlencode(page_form.fields | {"decision": "skip"})
    assert client.post(page_form.action, content=content, headers=sent, follow_redirects=False).status_code == status
    expected = "decided" if status == 303 else "waiting_for_decision"
    assert session(client, session_id)["status"] == expected


def test_referrer_policy_lets_our_forms_name_their_origin(client: TestClient) -> None:
    """Without any referrer they would say `Origin: null`, and where there is no Sec-Fetch-Site we would refuse."""
    answer = client.get("/", headers=BROWSER)
    assert answer.headers["referrer-policy"] == "same-origin"
    assert "form-action 'self'" in answer.headers["content-security-policy"]


def test_api_endpoints_take_no_forms_and_pages_take_only_forms(client: TestClient) -> None:
    session_id = waiting_review(client)
    for path in ("/api/sessions", f"/api/sessions/{session_id}/decision"):
        assert post(client, path, {"decision": "skip"}).status_code == 415
    for path in ("/", "/decisions", f"/sessions/{session_id}"):
        assert client.post(path, json={"decision": "skip"}).status_code == 415
        assert (
            post(client, path, "a=b", **{"Content-Type": f"{FORM['Content-Type']}; charset=utf-16"}).status_code == 415
        )
        assert post(client, path, "a=b", **{"Content-Encoding": "gzip"}).status_code == 415


@pytest.mark.parametrize(
    "raw", [b"a=%FF", b"a=%zz", b"a", b"a=1&a=2", "a=é".encode(), b"a=1&&b=2", b"&".join([b"a=1"] * 65)]
)
def test_a_form_is_read_strictly(client: TestClient, raw: bytes) -> None:
    answer = post(client, "/", raw)
    assert answer.status_code == 400
    harmless(answer.text)


def test_a_form_is_read_as_it_was_typed() -> None:
    assert parsed(b"a=%ED%95%9C+%26&b=&c=1%0D%0A2%0A3") == {"a": "한 &", "b": "", "c": "1\n2\n3"}
    assert parsed(b"") == {}


def test_a_form_has_a_largest_size(tmp_path: Path) -> None:
    with inside(tmp_path, max_body_bytes=2_000) as client:
        page_form = starting(page(client, "/"), "review")
        assert send(client, page_form, subject="x" * 6_000).status_code == 413
        kept = send(client, page_form, subject="한" * 500)
        done(kept)
        answer = send(client, page_form, subject="x" * 3_000)
        assert "A body has at most 2000 bytes." in refused(answer, 413).text
        assert starting(answer.text, "review").fields["subject"] == "x" * 3_000


@pytest.mark.parametrize(
    "change",
    [{"key": ""}, {"key": "x" * 32}, {"version": ""}, {"version": "-1"}, {"verb": "poem"}, {"poem": "1"}],
    ids=str,
)
def test_form_fields_that_no_page_sends_are_400(client: TestClient, change: dict[str, str]) -> None:
    session_id = waiting_review(client)
    page_form = form(of_session(client, session_id), "decision")
    answer = send(client, page_form, **{"decision": "skip"} | change)
    assert answer.status_code == 400
    harmless(answer.text)
    assert session(client, session_id)["status"] == "waiting_for_decision"


@pytest.mark.parametrize("session_id", ["review-none", "channel-x", "%2e%2e", "none"])
def test_a_session_that_is_not_there_is_not_found(client: TestClient, session_id: str) -> None:
    fields = {"key": "0" * 32, "verb": "cancel", "version": "1", "really": "yes"}
    assert post(client, f"/sessions/{session_id}", fields).status_code == 404


@pytest.mark.parametrize("path", ["/?kind=review", "/decisions?kind=review", "/sessions/x?role=y", "/?lang=de"])
def test_an_address_that_no_form_is_sent_to_is_refused(client: TestClient, path: str) -> None:
    assert post(client, path, {"key": "0" * 32}).status_code == 422


# -- language, words ---------------------------------------------------------------------------------------------------


def test_stale_decision_is_reported_in_korean(client: TestClient) -> None:
    session_id = waiting_review(client)
    page_form = form(of_session(client, session_id, "?lang=ko"), "decision")
    assert page_form.action == f"/sessions/{session_id}?lang=ko"
    page_form.fields["version"] = "1"
    answer = send(client, page_form, decision="skip", rationale="작습니다")
    assert "그 사이 세션이 변경되었습니다." in refused(answer, 412).text
    again = form(answer.text, "decision")
    assert again.fields["rationale"] == "작습니다"
    assert done(send(client, again, decision="skip")) == f"/sessions/{session_id}?lang=ko"
    run = at_checkpoint(client)
    html = of_session(client, run, "?lang=ko")
    assert "네, 진행합니다" in html
    assert "되돌릴 수 없습니다. 계속하려면 체크하세요." in refused(send(client, form(html, "reset")), 422).text
    debate = form(of_session(client, waiting_debate(client), "?lang=ko"), "decision")
    assert "처리하지 못했습니다: " in refused(send(client, debate, decision="skip"), 409).text
    started = send(client, starting(page(client, "/?lang=ko"), "debate"), plan="", scenario="{")
    assert "시작하지 못했습니다. 표시된 항목을 수정하세요." in refused(started, 422).text
    assert "JSON이 아닙니다:" in started.text
    assert "/sessions/debate-" in done(send(client, starting(started.text, "debate"), plan="계획", scenario=""))


def test_typed_text_is_always_escaped(client: TestClient) -> None:
    words = '"><script>alert(1)</script><img src=x onerror=alert(2)>\u202e'
    answer = send(client, starting(page(client, "/"), "delivery"), task=words, filePaths=words, title=words)
    refused(answer, 422)
    assert "\u202e" not in answer.text
    session_id = waiting_review(client)
    page_form = form(of_session(client, session_id), "decision")
    page_form.fields["version"] = "1"
    refused(send(client, page_form, decision="skip", rationale=words), 412)
