"""The agent port: one contract for every adapter, then what is particular to the scripted one."""

import asyncio
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest

from adapters.agents.port import Limits
from adapters.agents.scripted import DAY_MS, Scenario, Scripted
from domain.values.base import Invalid, Usage
from tests.adapters.agents_under_test import SUBJECTS, TURN, ScriptedSubject, Subject, ask, code


@pytest.fixture(params=SUBJECTS.values(), ids=SUBJECTS.keys())
def subject(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Subject]:
    made: Subject = request.param(tmp_path)
    yield made
    made.close()


@pytest.fixture(autouse=True)
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where turns keep what must be gone afterwards."""
    folder = tmp_path / "scratch"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


# --- the contract: every adapter ---------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["ok", "안녕하세요, 끝났습니다.", '{"a": {"b": "{prompt}"}}', "x" * 1_000_000])
def test_an_agent_answers_with_its_text(subject: Subject, text: str) -> None:
    reply = ask(subject.says(text))
    assert (reply.text, reply.failure, reply.truncated) == (text, None, False)
    assert reply.usage == Usage(input_tokens=None, output_tokens=None, cost_micros=None)


def test_an_empty_answer_is_never_accepted(subject: Subject) -> None:
    """A script may want silence; of a program silence is no answer."""
    reply = ask(subject.says(""))
    assert reply.text == ""
    assert code(reply) == (None if isinstance(subject, ScriptedSubject) else "unreadable")


def test_a_failure_is_returned_as_a_value(subject: Subject) -> None:
    reply = ask(subject.fails())
    assert code(reply) == subject.fault
    assert reply.failure.detail != ""
    assert reply.agent_session is None


def test_a_turn_ends_within_its_wall_limit(subject: Subject) -> None:
    reply = ask(subject.hangs(), replace(TURN, limits=Limits(wall_seconds=0.3)))
    assert code(reply) == "timeout"
    assert 0.3 <= reply.seconds < 10


def test_a_silent_turn_ends_within_its_idle_limit(subject: Subject) -> None:
    reply = ask(subject.hangs(), replace(TURN, limits=Limits(wall_seconds=60, idle_seconds=0.3)))
    assert code(reply) == "idle"


def test_a_cancelled_turn_leaves_nothing_running(subject: Subject, scratch: Path) -> None:
    async def story() -> None:
        task = asyncio.create_task(subject.hangs().ask(TURN))
        await subject.asked()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(story())
    assert subject.left_behind() == []
    assert list(scratch.iterdir()) == []


def test_a_turn_that_ran_out_of_time_leaves_nothing_running(subject: Subject, scratch: Path) -> None:
    async def story() -> None:
        task = asyncio.create_task(subject.hangs().ask(replace(TURN, limits=Limits(wall_seconds=2))))
        await subject.asked()
        await task

    asyncio.run(story())
    assert subject.left_behind() == []
    assert list(scratch.iterdir()) == []


def test_an_answer_past_the_limit_is_cut_and_reported(subject: Subject) -> None:
    reply = ask(subject.says("가" * 1_000), replace(TURN, limits=Limits(output_bytes=100)))
    assert (code(reply), reply.truncated, reply.agent_session) == ("limit", True, None)
    assert len(reply.text.encode()) <= 100


def test_a_conversation_is_resumed_by_its_id_until_it_is_deleted(subject: Subject) -> None:
    async def story() -> list[str | None]:
        agent = subject.says("ok")
        first = (await agent.ask(TURN)).agent_session
        second = (await agent.ask(replace(TURN, turn_id="t-2", agent_session=first))).agent_session
        assert first is not None
        await agent.forget(first)
        await agent.forget(first)
        return [first, second]

    first, second = asyncio.run(story())
    assert first is not None
    assert first == second


@pytest.mark.parametrize("handle", ["", "nobody's", "command:user:", "../..", "command:../..:x", "\0"])
def test_what_was_never_kept_is_forgotten_without_error(subject: Subject, handle: str) -> None:
    asyncio.run(subject.says("ok").forget(handle))


# --- scripted --------------------------------------------------------------------------------------------------------


def scripted(replies: dict[str, Any], **more: Any) -> Scripted:
    return Scripted(Scenario.parse({"replies": replies, **more}))


@pytest.mark.parametrize(
    ("replies", "ordinal", "role_ordinal", "text"),
    [
        ({"Backend": ["one", "two"]}, 0, 5, "one"),
        ({"Backend": ["one", "two"]}, 1, 5, "two"),
        ({"Backend": ["one", "two"]}, 7, 5, "two"),
        ({"backend": ["one", "two", "three"]}, 0, 1, "two"),
        ({"Backend": ["by name"], "backend": ["by role"]}, 0, 0, "by name"),
        ({"backend": ["by role"], "BACKEND": ["by any name"]}, 0, 0, "by role"),
        ({"BACKEND": ["one", "two"]}, 1, 0, "two"),
        ({"Frontend": ["not me"]}, 0, 0, "ok"),
    ],
)
def test_the_scenario_is_read_by_name_then_by_role(
    replies: dict[str, Any], ordinal: int, role_ordinal: int, text: str
) -> None:
    reply = ask(scripted(replies), replace(TURN, ordinal=ordinal, role_ordinal=role_ordinal))
    assert reply.text == text


def test_the_same_turn_asked_again_gets_the_same_answer() -> None:
    """At-least-once asking: a lease that expired must not use up an entry."""
    agent = scripted({"Backend": ["one", "two"]})
    assert [ask(agent, replace(TURN, attempt=n)).text for n in (1, 2)] == ["one", "one"]


def test_the_sessions_own_scenario_wins() -> None:
    turn = replace(TURN, scenario='{"replies": {"Backend": ["inline"]}}')
    assert ask(scripted({"Backend": ["from the file"]}), turn).text == "inline"
    assert ask(scripted({"Backend": ["from the file"]}), replace(TURN, scenario='{"replies": {}}')).text == "ok"


def test_a_broken_inline_scenario_is_a_refusal_that_names_the_place() -> None:
    failure = ask(Scripted(), replace(TURN, scenario='{"replies": {"Backend": []}}')).failure
    assert failure is not None
    assert failure.code == "refused"
    assert "/scenario/replies/Backend" in failure.detail


def test_an_entry_may_write_files_and_report_its_cost() -> None:
    entry = {"text": "done", "files": {"src/가.py": "x = 1\n"}, "usage": {"inputTokens": 12, "costMicros": 3}}
    reply = ask(scripted({"Backend": [entry]}))
    assert (reply.text, reply.files) == ("done", {"src/가.py": "x = 1\n"})
    assert reply.usage == Usage(input_tokens=12, output_tokens=None, cost_micros=3)


def test_an_entry_may_name_the_model() -> None:
    reply = ask(scripted({"Backend": [{"text": "done", "usage": {"outputTokens": 2, "model": "large-1"}}]}))
    assert (reply.model, reply.usage) == ("large-1", Usage(output_tokens=2))
    failed = ask(scripted({"Backend": [{"error": "crash", "usage": {"model": "large-1"}}]}))
    assert (code(failed), failed.model) == ("crash", "large-1")
    assert ask(scripted({"Backend": ["ok"]})).model is None


@pytest.mark.parametrize("error", ["timeout", "crash", "refused"])
def test_a_scripted_error_comes_at_once(error: str) -> None:
    reply = ask(scripted({"Backend": [{"error": error, "delayMs": DAY_MS}]}, delayMs=DAY_MS))
    assert code(reply) == error
    assert reply.seconds < 60, "not after a day"


def test_an_entrys_delay_goes_before_the_scenarios() -> None:
    assert ask(scripted({"Backend": [{"text": "now", "delayMs": 0}]}, delayMs=DAY_MS)).text == "now"
    reply = ask(scripted({"Backend": [{"text": "later", "delayMs": 30}]}))
    assert (reply.text, reply.failure) == ("later", None)
    assert reply.seconds >= 0.03


@pytest.mark.parametrize(
    ("role", "reads", "answer"),
    [
        ("planner", "subtasks", {"direct_answer": "ok", "subtasks": []}),
        ("planner", "text", "ok"),
        ("planner", "", "ok"),
        (
            "judge",
            "verdicts",
            {
                "verdicts": [
                    {"agent": "Backend", "pass": True, "feedback": "ok"},
                    {"agent": "Docs", "pass": True, "feedback": "ok"},
                ],
                "allDone": False,
            },
        ),
        ("reviewer", "review_artifact", {"blockingIssues": [], "nonBlockingIssues": [], "score": 100, "fixPlan": []}),
        ("reviewer", "review", {"verdict": "PASS", "summary": "ok", "issues": []}),
        ("critic", "debate", {"verdict": "APPROVE", "concerns": [], "suggestions": []}),
        ("critic", "", {"verdict": "APPROVE", "concerns": [], "suggestions": []}),
        ("synthesizer", "review", "ok"),
        ("coder", "", "ok"),
        ("dev", "text", "ok"),
        ("backend", "", "ok"),
    ],
)
def test_agents_missing_in_the_scenario_give_a_harmless_answer(role: str, reads: str, answer: object) -> None:
    turn = replace(TURN, agent="Somebody", role=role, reads=reads, expects=("Backend", "Docs"))
    text = ask(Scripted(), turn).text
    assert (text if isinstance(answer, str) else orjson.loads(text)) == answer


@pytest.mark.parametrize(
    ("scenario", "pointer"),
    [
        ({"replies": {"a": []}}, "/replies/a"),
        ({"replies": {"a": "ok"}}, "/replies/a"),
        ({"replies": {"a": [1]}}, "/replies/a/0"),
        ({"replies": {"a": ["ok", {"txt": "x"}]}}, "/replies/a/1/txt"),
        ({"replies": {"a/b~": [{"error": "sulks"}]}}, "/replies/a~1b~0/0/error"),
        ({"replies": {"a": [{"delayMs": -1}]}}, "/replies/a/0/delayMs"),
        ({"replies": {"a": [{"delayMs": "3"}]}}, "/replies/a/0/delayMs"),
        ({"replies": {"a": [{"usage": {"inputTokens": True}}]}}, "/replies/a/0/usage/inputTokens"),
        ({"replies": {"a": [{"usage": {"model": ""}}]}}, "/replies/a/0/usage/model"),
        ({"replies": {"a": [{"usage": {"model": "x" * 201}}]}}, "/replies/a/0/usage/model"),
        ({"replies": {"a": [{"files": {"x": None}}]}}, "/replies/a/0/files/x"),
        ({"replies": {"a": ["nul \0"]}}, "/replies/a/0/text"),
        ({"replies": {"a": ["ok"] * 1_001}}, "/replies/a"),
        ({"replies": {f"a{n}": ["ok"] for n in range(201)}}, "/replies"),
        ({"delayMs": DAY_MS + 1}, "/delayMs"),
        ({"reply": {}}, "/reply"),
        ({"replies": {"a": ["\ud800"]}}, ""),
        ({"replies": {"a": [object()]}}, ""),
    ],
)
def test_a_scenario_is_read_strictly(scenario: dict[str, Any], pointer: str) -> None:
    with pytest.raises(Invalid) as refused:
        Scenario.parse(scenario)
    assert list(refused.value.errors) == [pointer]
