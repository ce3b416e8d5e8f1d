"""What programs print while they work, read from our own recordings of the real ones (`tests/providers`)."""

import json
from pathlib import Path

import pytest

from adapters.agents.activity import Activity
from adapters.agents.command.output import messages, text_of, usage_of
from adapters.agents.command.settings import CommandSettings
from adapters.agents.presets.catalogue import preset
from adapters.agents.streams import Stream, activities
from domain.values.base import Usage

RECORDED = Path(__file__).parents[1] / "providers" / "recorded"
STREAMS: tuple[Stream, ...] = ("claude", "codex", "gemini", "opencode", "qwen")


def read(stream: Stream, name: str | None = None) -> list[Activity]:
    lines = (RECORDED / f"{name or stream}.jsonl").read_text("utf-8").splitlines()
    return [result for line in lines for result in activities(stream, json.loads(line))]


def merged(found: list[Activity]) -> list[Activity]:
    """Tool calls with their end."""
    tools: dict[str | None, Activity] = {}
    for one in found:
        if one.kind == "tool":
            fields = {name: value for name, value in one.model_dump().items() if value not in (None, ())}
            tools[one.id] = tools[one.id].model_copy(update=fields) if one.id in tools else one
    return list(tools.values())


@pytest.mark.parametrize("stream", STREAMS)
def test_the_same_turn_looks_the_same_for_every_program(stream: Stream) -> None:
    first, second = merged(read(stream))
    assert (first.tool, first.status) == ("execute", "completed")
    assert "sed -i 's/a - b/a + b/' calc.txt" in (first.title or "")
    assert "cat calc.txt; exit 3" in (second.title or "")
    assert "a + b" in (second.text or "")
    texts = [one.text for one in read(stream) if one.kind == "message"]
    assert texts == ["Done: fixed."]


@pytest.mark.parametrize("stream", ["claude", "codex", "opencode"])
def test_exit_codes_are_shown_if_the_program_reports_them(stream: Stream) -> None:
    second = merged(read(stream))[1]
    assert (second.exit_code, second.status) == (3, "failed")


def test_retries_of_the_program_itself_are_shown() -> None:
    result = read("claude", "claude-401")
    assert {one.kind for one in result} == {"retry"}
    assert {one.failure for one in result} == {"auth"}
    assert (result[0].text or "").startswith("HTTP 401, attempt 1 of ")


@pytest.mark.parametrize(
    ("stream", "words"),
    [
        ("claude", "This command requires approval"),
        ("qwen", 'Qwen Code requires permission to use "Bash", but that permission was not granted.'),
    ],
)
def test_denied_calls_are_marked(stream: Stream, words: str) -> None:
    result = {"type": "tool_result", "tool_use_id": "t1", "is_error": True}
    [actual] = activities(stream, {"type": "user", "message": {"content": [{**result, "content": words}]}})
    assert (actual.id, actual.status) == ("t1", "denied")
    denial = {"tool_name": "Bash", "tool_use_id": "t1", "tool_input": {"command": "pytest -q"}}
    [last] = activities("claude", {"type": "result", "permission_denials": [denial]})
    assert (last.status, last.title, last.tool) == ("denied", "pytest -q", "execute")


@pytest.mark.parametrize("stream", STREAMS)
@pytest.mark.parametrize(
    "message",
    [
        {},
        {"type": []},
        {"type": "assistant", "message": None},
        {"type": "assistant", "message": {"content": [None, 1, {"type": "tool_use", "name": 3}]}},
        {"type": "user", "message": {"content": [{"type": "tool_result", "tool_use_id": "x", "content": [None, {}]}]}},
        {"type": "item.completed", "item": {"type": "file_change", "changes": [None, {}]}},
        {"type": "item.completed", "item": {"type": "todo_list", "items": [None, {"text": 3}]}},
        {"type": "tool_use", "part": {"tool": "bash", "state": {"input": 3, "metadata": {"exit": "x"}}}},
        {"type": "tool_result", "tool_id": "x", "error": {"message": {"a": 1}}},
        {"type": "result", "permission_denials": [{"tool_name": "x", "tool_use_id": "y", "tool_input": "z"}]},
        {"type": "system", "subtype": "api_retry", "error_status": "x", "retry_delay_ms": None, "attempt": None},
        {"type": "error", "error": {"data": None}},
    ],
)
def test_unknown_shapes_are_ignored(stream: Stream, message: dict[str, object]) -> None:
    assert all(isinstance(result, Activity) for result in activities(stream, message))


@pytest.mark.parametrize(
    ("stream", "used"),
    [
        ("claude", Usage(input_tokens=3_690, cached_tokens=600, output_tokens=150, cost_micros=19_612)),
        ("gemini", Usage(input_tokens=3_600, cached_tokens=600, output_tokens=150, reasoning_tokens=21)),
        ("qwen", Usage(input_tokens=3_600, cached_tokens=600, output_tokens=150)),
        (
            "opencode",
            Usage(input_tokens=3_600, cached_tokens=600, output_tokens=150, reasoning_tokens=0, cost_micros=0),
        ),
    ],
)
def test_presets_count_what_the_provider_counted(stream: Stream, used: Usage) -> None:
    known = preset(stream)
    assert known is not None
    settings = CommandSettings.model_validate(known.extended({}))
    result = messages((RECORDED / f"{stream}.jsonl").read_text("utf-8"))
    assert usage_of(result, settings.usage_paths) == used
    assert settings.text_path is not None
    assert text_of(result, settings.text_path) == "Done: fixed."
