"""Transcripts read back, from our recordings of real programs and from every other shape that is printed."""

import json
from pathlib import Path
from typing import Any

import pytest

from adapters.agents.activity import Activity
from adapters.agents.transcripts import steps

RECORDED = Path(__file__).parents[1] / "providers" / "recorded"


def lines(*messages: Any) -> str:
    return "\n".join(line if isinstance(line, str) else json.dumps(line) for line in messages)


def activities_in(*messages: Any, calls: int = 10) -> list[tuple[str, str]]:
    result = steps(lines(*messages), calls)
    assert result is not None
    return [(seen.kind, (seen.title or "") if seen.kind == "tool" else (seen.text or "")) for seen in result]


@pytest.mark.parametrize("program", ["claude", "codex", "gemini", "opencode", "qwen"])
def test_a_real_transcript_has_each_call_once_with_its_result_and_then_the_answer(program: str) -> None:
    result = steps((RECORDED / f"{program}.jsonl").read_text("utf-8"), 2)
    assert result is not None
    seen = [each for each in result if each.kind != "notice"]
    assert [each.kind for each in seen] == ["tool", "tool", "message"]
    assert "cat calc.txt; exit 3" in (seen[1].title or "") and "a + b" in (seen[1].text or "")
    assert {each.status for each in seen[:2]} <= {"completed", "failed"}
    assert seen[2].text == "Done: fixed."


def _acp(**update: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "s", "update": update}}


def _chunk(words: str, kind: str = "agent_message_chunk") -> dict[str, Any]:
    return _acp(sessionUpdate=kind, content={"type": "text", "text": words})


def test_pieces_of_acp_are_joined_and_what_was_loaded_is_left_out() -> None:
    call = {"toolCallId": "c1", "kind": "execute", "title": "t", "rawInput": {"command": "pytest -q"}}
    assert activities_in(
        {"jsonrpc": "2.0", "id": 0, "result": {"protocolVersion": 1}},
        _chunk("from the past"),
        {"jsonrpc": "2.0", "id": 1, "result": {}},
        _chunk("Hm, ", "agent_thought_chunk"),
        _chunk("well.", "agent_thought_chunk"),
        _chunk("I run "),
        _chunk("the tests."),
        _acp(sessionUpdate="tool_call", **call),
        _acp(sessionUpdate="tool_call_update", toolCallId="c1", status="completed", rawOutput={"exitCode": 1}),
        _chunk("One fails."),
        {"jsonrpc": "2.0", "id": 2, "result": {"stopReason": "end_turn"}},
    ) == [("thought", "Hm, well."), ("message", "I run the tests."), ("tool", "pytest -q"), ("message", "One fails.")]


def test_text_that_codex_streams_and_then_repeats_is_recorded_once() -> None:
    item = {"type": "agentMessage", "id": "m1", "text": "Fixed it."}
    assert activities_in(
        {"method": "item/agentMessage/delta", "params": {"itemId": "m1", "delta": "Fixed"}},
        {"method": "item/completed", "params": {"item": item}},
        {"method": "item/agentMessage/delta", "params": {"itemId": "m2", "delta": "Then I wa"}},
        {"method": "item/agentMessage/delta", "params": {"itemId": "m2", "delta": "s stopped"}},
    ) == [("message", "Fixed it."), ("message", "Then I was stopped")]


def test_a_call_that_a_program_names_among_its_denials_was_denied() -> None:
    push = {"command": "git push"}
    use = {"type": "tool_use", "id": "1", "name": "Bash", "input": push}
    result = {"type": "tool_result", "tool_use_id": "1", "is_error": True, "content": "failed"}
    denials = [{"tool_name": "Bash", "tool_use_id": "1", "tool_input": push}]
    actual = steps(
        lines(
            {"type": "assistant", "message": {"content": [use]}},
            {"type": "user", "message": {"content": [result]}},
            {"type": "result", "permission_denials": denials},
        ),
        1,
    )
    assert actual is not None
    [seen] = actual
    assert (seen.title, seen.status, seen.text) == ("git push", "denied", "failed")


def test_a_model_speaks_in_pieces_and_a_scripted_agent_prints_its_steps() -> None:
    assert activities_in({"message": "Looks "}, {"message": "good."}, {"usage": {}, "model": "m"}) == [
        ("message", "Looks good.")
    ]
    step = Activity(kind="tool", tool="execute", title="pytest", exit_code=1)
    assert activities_in(step.model_dump_json(by_alias=True, exclude_none=True)) == [("tool", "pytest")]


def test_other_output_of_a_program_is_a_notice() -> None:
    message = {"type": "assistant", "message": {"content": [{"type": "text", "text": "Hello"}]}}
    assert activities_in("warning: slow", "retrying", message) == [
        ("notice", "warning: slow\nretrying\n"),
        ("message", "Hello"),
    ]


@pytest.mark.parametrize(
    "printed",
    [
        "All tests pass.",
        '{"blockingIssues": [], "score": 95}',
        '{"kind": "tool", "tool": "execute", "title": "pytest -q", "status": "completed"}',
        '{"type": 1, "message": [], "method": {}, "params": "x"}',
        "{" * 5_000,
        '{"kind": "tool", "title": {"a": 1}}',
    ],
)
def test_text_that_was_not_counted_as_work_is_only_text(printed: str) -> None:
    """A program cannot claim a call by printing one."""
    assert steps(printed, 0) is None
