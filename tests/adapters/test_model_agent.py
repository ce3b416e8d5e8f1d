"""The model adapter: what is sent, what is heard while it speaks, and what each way to fail means."""

import asyncio
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from adapters.agents.activity import Activity
from adapters.agents.model.agent import ModelAgent
from adapters.agents.model.endpoint import ModelSettings
from adapters.agents.port import Limits, Reply, Turn
from adapters.agents.prompts.conversation import Exchange
from adapters.agents.tables import BadTeam
from adapters.agents.team import load
from domain.values.base import MOST, Usage
from tests.adapters.agents_under_test import ask, code
from tests.adapters.endpoint import Endpoint, Said, chunk, event, says

KEY = "sk-open-sesame"
TURN = Turn(turn_id="s-1.t7", session_id="s-1", attempt=1, agent="Vera", role="reviewer", prompt="Review it.")


@pytest.fixture
def endpoint(monkeypatch: pytest.MonkeyPatch) -> Iterator[Endpoint]:
    monkeypatch.setenv("VERA_KEY", KEY)
    with Endpoint() as result:
        yield result


def model(endpoint: Endpoint, **settings: Any) -> ModelAgent:
    fields = {"model": "large-1", "base_url": endpoint.url, "api_key": "env:VERA_KEY", **settings}
    return ModelAgent(ModelSettings(**fields))


def answers(endpoint: Endpoint, said: Said, turn: Turn = TURN, **settings: Any) -> Reply:
    endpoint.said = said
    return ask(model(endpoint, **settings), turn)


# --- what is sent ----------------------------------------------------------------------------------------------------


def test_a_request_has_the_key_and_asks_for_a_stream_with_usage(endpoint: Endpoint) -> None:
    reply = answers(endpoint, Said(says("Fine.")), max_tokens=500, temperature=0.2)
    [(path, headers, body)] = endpoint.calls
    assert path == "/v1/chat/completions"
    assert headers["authorization"] == f"Bearer {KEY}"
    assert body["messages"][-1] == {"role": "user", "content": "Review it."}
    assert (body["model"], body["stream"], body["stream_options"]) == ("large-1", True, {"include_usage": True})
    assert (body["max_tokens"], body["temperature"]) == (500, 0.2)
    assert (reply.text, reply.model, reply.failure) == ("Fine.", "large-1-0612", None)


def test_without_a_key_none_is_sent(endpoint: Endpoint) -> None:
    assert answers(endpoint, Said(says("ok")), api_key=None).failure is None
    assert "authorization" not in endpoint.calls[0][1]


@pytest.mark.parametrize("key", ["", "two\nlines", "sch\u00f6n", "a b"])
def test_a_key_that_cannot_be_sent_is_a_login_problem_that_does_not_repeat_it(
    endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    monkeypatch.setenv("VERA_KEY", key)
    reply = answers(endpoint, Said(says("ok")))
    assert code(reply) == "auth"
    assert reply.failure is not None
    assert not key or key not in reply.failure.detail
    assert endpoint.calls == []


def test_a_conversation_is_sent_from_its_first_turn_on(endpoint: Endpoint) -> None:
    texts = [
        Exchange("Before the reset.", "old", "s-1.t1"),
        Exchange("First.", "one", "s-1.t3"),
        Exchange("Second.", "", "s-1.t5"),
        Exchange("Third.", "three", "s-1.t6"),
    ]
    endpoint.said = Said(says("four"))
    turn = replace(TURN, agent_session="model:.t3", exchanges=lambda: texts)
    reply = ask(model(endpoint), turn)
    sent = [(one["role"], one["content"]) for one in endpoint.calls[0][2]["messages"][1:]]
    assert sent == [
        ("user", "First."),
        ("assistant", "one"),
        ("user", "Third."),
        ("assistant", "three"),
        ("user", "Review it."),
    ]
    assert (reply.resumed, reply.agent_session, reply.new_conversation) == (True, "model:.t3", None)


def test_a_first_turn_starts_a_conversation_under_its_own_name(endpoint: Endpoint) -> None:
    reply = answers(endpoint, Said(says("ok")), replace(TURN, exchanges=lambda: [Exchange("a", "b", "s-1.t1")]))
    assert (reply.resumed, reply.agent_session) == (False, "model:.t7")
    assert len(endpoint.calls[0][2]["messages"]) == 2


@pytest.mark.parametrize("handle", ["model:.t99", "command:user/0123456789abcdef:x", "nonsense"])
def test_a_conversation_that_is_not_in_the_record_is_replaced_by_its_digest(endpoint: Endpoint, handle: str) -> None:
    turn = replace(TURN, agent_session=handle, exchanges=tuple, recap=lambda: "Earlier: yes.")
    reply = answers(endpoint, Said(says("ok")), turn)
    assert endpoint.calls[0][2]["messages"][-1]["content"] == "Earlier: yes.\n\nReview it."
    assert (reply.resumed, reply.agent_session) == (False, "model:.t7")
    assert reply.new_conversation == "The conversation is not in the record of this session."
    assert reply.prompt == "Earlier: yes.\n\nReview it."


def test_only_the_latest_part_of_a_very_long_conversation_is_sent(endpoint: Endpoint) -> None:
    texts = [Exchange(f"Q{n} " + "x" * 99_000, "ok", f"s-1.t{n}") for n in range(1, 7)]
    answers(endpoint, Said(says("ok")), replace(TURN, agent_session="model:.t1", exchanges=lambda: texts))
    sent = [one["content"][:2] for one in endpoint.calls[0][2]["messages"] if one["role"] == "user"]
    assert sent == ["Q3", "Q4", "Q5", "Q6", "Re"]


def test_half_a_surrogate_pair_in_a_prompt_is_sent_too(endpoint: Endpoint) -> None:
    assert answers(endpoint, Said(says("ok")), replace(TURN, prompt="\ud83d")).failure is None


# --- what is heard ---------------------------------------------------------------------------------------------------


def test_text_and_thinking_are_reported_while_the_model_answers(endpoint: Endpoint) -> None:
    endpoint.said = Said(
        (
            chunk({"reasoning_content": "Let me see. "}),
            chunk({"content": "The sign "}),
            chunk({"content": "is wrong."}),
            chunk(finish="stop"),
        ),
        hold=True,
    )
    heard: list[Activity] = []

    async def story() -> Reply:
        both = asyncio.Event()

        def observe(seen: Activity) -> None:
            heard.append(seen)
            if "wrong." in "".join(one.text or "" for one in heard):
                both.set()

        task = asyncio.create_task(model(endpoint).ask(replace(TURN, observe=observe)))
        await asyncio.wait_for(both.wait(), 30)
        assert not task.done()
        endpoint.released.set()
        return await task

    reply = asyncio.run(story())
    assert (heard[0].kind, heard[0].text) == ("thought", "Let me see. ")
    assert "".join(one.text or "" for one in heard if one.kind == "message") == "The sign is wrong."
    assert reply.text == "The sign is wrong."


def test_usage_includes_cached_and_reasoning_tokens(endpoint: Endpoint) -> None:
    used = {"prompt_tokens": 1200, "completion_tokens": 50, "cost": 0.0125}
    used |= {"prompt_tokens_details": {"cached_tokens": 200}, "completion_tokens_details": {"reasoning_tokens": 30}}
    heard: list[Activity] = []
    lines: list[str] = []
    endpoint.said = Said((*says("ok")[:2], event({"choices": [], "usage": used}), b"data: [DONE]\n\n"))
    reply = ask(model(endpoint), replace(TURN, observe=heard.append, transcribe=lines.append))
    figures = Usage(input_tokens=1200, cached_tokens=200, output_tokens=50, reasoning_tokens=30, cost_micros=12_500)
    assert reply.usage == figures
    assert [one.usage for one in heard if one.kind == "usage"] == [figures]
    assert json.loads(lines[0]) == {"message": "ok"}
    assert json.loads(lines[1])["usage"] == used


@pytest.mark.parametrize(
    "used",
    [None, [], {"prompt_tokens": -1}, {"prompt_tokens": 10**400}, {"prompt_tokens": True, "cost": -1}, {"cost": True}],
)
def test_figures_that_make_no_sense_are_unknown(endpoint: Endpoint, used: object) -> None:
    output = Said((*says("ok")[:2], event({"choices": [], "usage": used})))
    assert answers(endpoint, output).usage == Usage()


def test_figures_beyond_what_can_be_recorded_are_the_most_that_can(endpoint: Endpoint) -> None:
    used = {"prompt_tokens": 10**30, "completion_tokens": 7, "cost": 1e300}
    output = Said((*says("ok")[:2], event({"choices": [], "usage": used})))
    assert answers(endpoint, output).usage == Usage(input_tokens=MOST, output_tokens=7, cost_micros=MOST)


def test_an_endpoint_without_streaming_works_too(endpoint: Endpoint) -> None:
    choice = {"index": 0, "message": {"role": "assistant", "content": "Whole."}, "finish_reason": "stop"}
    body = json.dumps({"model": "m", "choices": [choice], "usage": {"prompt_tokens": 3, "completion_tokens": 1}})
    reply = answers(endpoint, Said((body.encode(),), kind="application/json"))
    assert (reply.text, reply.failure, reply.usage.tokens) == ("Whole.", None, 4)


def test_the_key_is_redacted_from_all_output(endpoint: Endpoint) -> None:
    heard: list[Activity] = []
    lines: list[str] = []
    endpoint.said = Said(says(f"Your key is {KEY}."))
    reply = ask(model(endpoint), replace(TURN, observe=heard.append, transcribe=lines.append))
    assert reply.text == "Your key is ***."
    assert KEY not in f"{heard}{lines}"
    failed = answers(endpoint, Said((f'{{"error": {{"message": "bad {KEY}"}}}}'.encode(),), 401, "application/json"))
    assert failed.failure is not None
    assert failed.failure.detail == "HTTP 401: bad ***"


# --- how it fails ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "error", "expected"),
    [
        (429, {"message": "Rate limit reached"}, "rate_limit"),
        (429, {"message": "You exceeded your current quota", "code": "insufficient_quota"}, "auth"),
        (500, {"message": "The server had an error"}, "overloaded"),
        (503, {}, "overloaded"),
        (529, {"message": "Overloaded"}, "overloaded"),
        (401, {"message": "Incorrect API key provided"}, "auth"),
        (403, {"message": "Country not supported"}, "auth"),
        (404, {"message": "The model does not exist"}, "refused"),
        (400, {"message": "Filtered", "code": "content_filter"}, "refused"),
        (400, {"message": "maximum context length is 8192", "code": "context_length_exceeded"}, "limit"),
        (408, {}, "timeout"),
        (413, {}, "limit"),
        (302, {}, "refused"),
        (204, {}, "unreadable"),
    ],
)
def test_a_status_has_a_code(endpoint: Endpoint, status: int, error: dict[str, str], expected: str) -> None:
    body = b"" if status == 204 else json.dumps({"error": error}).encode()
    reply = answers(endpoint, Said((body,), status, "application/json", (("Location", "http://elsewhere.example/"),)))
    assert code(reply) == expected
    assert len(endpoint.calls) == 1
    assert reply.agent_session is None


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ((("Retry-After", "7"),), 7.0),
        ((("Retry-After-Ms", "1500"), ("Retry-After", "2")), 1.5),
        ((("Retry-After", "Wed, 21 Oct 2015 07:28:00 GMT"),), 0.0),
        ((("Retry-After", "-3"),), None),
        ((("Retry-After", "inf"),), None),
        ((("Retry-After", "soon"),), None),
    ],
)
def test_a_limit_says_when_to_ask_again(
    endpoint: Endpoint, headers: tuple[tuple[str, str], ...], seconds: float | None
) -> None:
    reply = answers(endpoint, Said((b"slow down",), 429, "text/plain", headers))
    assert reply.failure is not None
    assert (reply.failure.code, reply.failure.retry_after) == ("rate_limit", seconds)


@pytest.mark.parametrize(
    ("pieces", "expected", "text"),
    [
        ((chunk({"content": "I ca"}),), "network", "I ca"),
        ((chunk({"content": "I ca"}), event({"error": {"code": 502, "message": "upstream"}})), "overloaded", "I ca"),
        ((event({"error": {"code": "rate_limit_exceeded", "message": "slow"}}),), "rate_limit", ""),
        ((event({"error": "boom"}),), "overloaded", ""),
        ((chunk({"content": "x"}), chunk(finish="length")), "limit", "x"),
        ((chunk({"content": "x"}), chunk(finish="content_filter")), "refused", "x"),
        ((chunk({"refusal": "I cannot"}), chunk(finish="stop")), "refused", ""),
        ((chunk({"content": " \n"}), chunk(finish="stop")), "unreadable", " \n"),
        ((chunk({"content": None, "tool_calls": []}), chunk(finish="tool_calls")), "unreadable", ""),
        ((b"data: not json\n\n", event([1]), event({"choices": [3, {"delta": 4}]})), "network", ""),
        ((b"data: " + b"x" * 2_000_000,), "limit", ""),
    ],
)
def test_an_invalid_answer_names_the_reason(
    endpoint: Endpoint, pieces: tuple[bytes, ...], expected: str, text: str
) -> None:
    reply = answers(endpoint, Said(pieces))
    assert (code(reply), reply.text) == (expected, text)


def test_an_answer_without_json_or_stream_is_unreadable(endpoint: Endpoint) -> None:
    assert code(answers(endpoint, Said((b"<html>",), kind="text/html"))) == "unreadable"
    zipped = Said((b"\x1f\x8b",), headers=(("Content-Encoding", "gzip"),))
    assert code(answers(endpoint, zipped)) == "unreadable"


def test_a_reused_conversation_survives_a_failure(endpoint: Endpoint) -> None:
    turn = replace(TURN, agent_session="model:.t3", exchanges=lambda: [Exchange("a", "b", "s-1.t3")])
    assert answers(endpoint, Said((b"",), 500), turn).agent_session == "model:.t3"


def test_an_endpoint_that_is_not_there_is_a_network_failure() -> None:
    with Endpoint() as gone:
        agent = model(gone, api_key=None)
    assert code(ask(agent, TURN)) == "network"


def test_settings_bound_the_silence_and_the_whole(endpoint: Endpoint) -> None:
    silent = Said((chunk({"content": "a"}), b""), hold=True)
    assert code(answers(endpoint, silent, idle_seconds=0.3)) == "idle"
    assert code(answers(endpoint, silent, timeout_seconds=0.3)) == "timeout"
    assert code(answers(endpoint, silent, replace(TURN, limits=Limits(wall_seconds=0.3)))) == "timeout"


@pytest.mark.parametrize("role", ["dev", "backend", "frontend", "custom"])
def test_a_model_is_never_asked_to_write(endpoint: Endpoint, role: str) -> None:
    assert code(answers(endpoint, Said(says("ok")), replace(TURN, role=role, access="write"))) == "refused"
    assert endpoint.calls == []


# --- the team file ---------------------------------------------------------------------------------------------------


def team(folder: Path, text: str) -> Path:
    path = folder / "team.toml"
    path.write_text(f'[[agents]]\nname = "Vera"\nadapter = "model"\n{text}')
    return path


def test_a_model_has_every_role_that_only_writes_text(tmp_path: Path) -> None:
    [vera] = load(team(tmp_path, 'model = "m"\n[agents.settings]\nbase_url = "https://llm.example/v1/"')).agents
    assert (vera.adapter, vera.model) == ("model", "m")
    assert vera.settings == ModelSettings(model="m", base_url="https://llm.example/v1")
    assert {"planner", "reviewer", "judge", "critic", "synthesizer", "assistant"} <= set(vera.roles)
    assert not {"dev", "backend", "custom"} & set(vera.roles)
    [vera] = load(team(tmp_path, 'settings = { model = "n", base_url = "http://[::1]:11434/v1" }')).agents
    assert vera.model == "n"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            'roles = ["reviewer", "dev"]\nsettings = {model = "m", base_url = "http://h"}',
            "roles[1]: 'dev' changes files, which a model cannot",
        ),
        ('roles = "data"\nsettings = {model = "m", base_url = "http://h"}', "roles[0]: 'data' changes files"),
        ('settings = {base_url = "http://h"}', "settings.model: is missing"),
        ('settings = {model = "m"}', "settings.base_url: is missing"),
        ('settings = {model = "m", base_url = "h:80"}', "settings.base_url: must begin with http:// or https://"),
        ('settings = {model = "m", base_url = "http://h:x"}', "settings.base_url: is not an address"),
        ('settings = {model = "m", base_url = "http://u:p@h"}', "settings.base_url: must not contain a login"),
        ('settings = {model = "m", base_url = "http://h?k=1"}', "settings.base_url: must be the address"),
        ('settings = {model = "m", base_url = "http://h/a b"}', "settings.base_url: must not contain spaces"),
        ('settings = {model = "m", base_url = "http://h", api_key = "sk-1"}', "settings.api_key: use env:NAME"),
        ('settings = {model = "m", base_url = "http://h", argv = ["x"]}', "settings.argv: there is no such key"),
    ],
)
def test_a_model_that_cannot_work_is_refused_in_a_sentence(tmp_path: Path, text: str, sentence: str) -> None:
    with pytest.raises(BadTeam) as refused:
        load(team(tmp_path, text))
    assert f"team.toml: agent 'Vera': {sentence}" in str(refused.value)
    assert "sk-1" not in str(refused.value)
