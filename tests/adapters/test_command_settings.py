"""How programs are described: their command lines, and how what they write is read."""

from pathlib import Path
from typing import Any

import orjson
import pytest
from pydantic import ValidationError

from adapters.agents.command.output import messages, model_of, text_of, usage_of
from adapters.agents.command.settings import CommandSettings, Pick
from domain.values.base import MOST, Usage
from tests.adapters.agents_under_test import CommandSubject, ask


@pytest.fixture
def command(tmp_path: Path) -> CommandSubject:
    return CommandSubject(tmp_path)


@pytest.mark.parametrize(
    ("stdout", "found"),
    [
        ('{"a": 1}', [{"a": 1}]),
        ('{\n  "a": [\n    {"b": 1}\n  ]\n}\n', [{"a": [{"b": 1}]}]),
        ('[{"a": 1}, 2, {"b": 2}]', [{"a": 1}, {"b": 2}]),
        ('starting\n{"a": 1}\nnoise {"c": 3}\n{"b": 2}\r\n', [{"a": 1}, {"b": 2}]),
        ('starting\n{\n  "a": [\n    {"b": 1}\n  ]\n}\n', [{"a": [{"b": 1}]}]),
        ('{"a": "one\u2028line"}\n{"a": 2}', [{"a": "one\u2028line"}, {"a": 2}]),
        ('{"a": 1', []),
        ('{"a": NaN}', []),
        ("[" * 100_000, []),
        ('{"a":\n' * 20_000, []),
        ("", []),
    ],
)
def test_objects_are_found_among_what_a_program_writes(stdout: str, found: list[dict[str, Any]]) -> None:
    assert list(messages(stdout)) == found


@pytest.mark.parametrize(
    ("pick", "text"),
    [
        (Pick(path="a"), "last"),
        (Pick(path="a", every=True), "firstlast"),
        (Pick(path="a", where={"type": "x"}), "first"),
        (Pick(path="a", where={"ok": True}), "last"),
        (Pick(path="a", where={"ok": 1}), None),
        (Pick(path="list.1.b"), "deep"),
        (Pick(path="list.7.b"), None),
        (Pick(path="a.b"), None),
        (Pick(path="list.0"), '{"b":"c"}'),
    ],
)
def test_a_text_is_picked_by_its_path(pick: Pick, text: str | None) -> None:
    result = [{"type": "x", "a": "first"}, {"ok": True, "a": "last"}, {"list": [{"b": "c"}, {"b": "deep"}]}]
    assert text_of(result, pick) == text


# Streams as the programs write them, shortened to what is read.
CLAUDE = (
    {
        "text_path": {"path": "result", "where": {"type": "result"}},
        "session_path": "session_id",
        "error_path": {"path": "result", "where": {"type": "result", "is_error": True}},
        "require_final": "result",
        "usage_paths": {
            "input_tokens": {"path": "usage.input_tokens", "where": {"type": "result"}},
            "output_tokens": {"path": "usage.output_tokens", "where": {"type": "result"}},
            "cost_usd": "total_cost_usd",
            "model": {"path": "message.model", "where": {"type": "assistant"}},
        },
    },
    '{"type":"system","subtype":"init","session_id":"5f-1"}\n'
    '{"type":"assistant","message":{"model":"claude-x","usage":{"input_tokens":1}}}\n'
    '{"type":"result","is_error":false,"result":"Done.","session_id":"5f-1","total_cost_usd":0.0123,'
    '"usage":{"input_tokens":10,"output_tokens":5}}',
    ("Done.", "5f-1", Usage(input_tokens=10, output_tokens=5, cost_micros=12_300), "claude-x"),
)
CODEX = (
    {
        "text_path": {"path": "item.text", "where": {"item.type": "agent_message"}},
        "session_path": "thread_id",
        "require_final": "turn.completed",
        "usage_paths": {"input_tokens": "usage.input_tokens", "output_tokens": "usage.output_tokens"},
    },
    '{"type":"thread.started","thread_id":"th_9"}\n{"type":"item.completed","item":{"type":"agent_message","text":"Done."}}\n'
    '{"type":"item.completed","item":{"type":"reasoning","text":"Hm."}}\n'
    '{"type":"turn.completed","usage":{"input_tokens":7,"output_tokens":2}}',
    ("Done.", "th_9", Usage(input_tokens=7, output_tokens=2), None),
)
GEMINI = (
    {
        "text_path": {"path": "content", "where": {"type": "message", "role": "assistant"}, "every": True},
        "session_path": {"path": "session_id", "where": {"type": "init"}},
        "require_final": "result",
    },
    'Loaded.\n{"type":"init","session_id":"g1"}\n{"type":"message","role":"user","content":"Go"}\n'
    '{"type":"message","role":"assistant","content":"Do"}\n{"type":"message","role":"assistant","content":"ne."}\n'
    '{"type":"result","status":"success"}',
    ("Done.", "g1", Usage(), None),
)
OPENCODE = (
    {
        "text_path": {"path": "part.text", "where": {"type": "text"}, "every": True},
        "session_path": "sessionID",
        "require_final": "step_finish",
        "usage_paths": {
            "input_tokens": {"path": "part.tokens.input", "every": True},
            "cost_usd": {"path": "part.cost", "every": True},
        },
    },
    '{"type":"text","sessionID":"ses_1","part":{"text":"Done."}}\n'
    '{"type":"step_finish","sessionID":"ses_1","part":{"tokens":{"input":3},"cost":0.001}}\n'
    '{"type":"step_finish","sessionID":"ses_1","part":{"tokens":{"input":4},"cost":0.002}}',
    ("Done.", "ses_1", Usage(input_tokens=7, cost_micros=3_000), None),
)


@pytest.mark.parametrize(
    ("reading", "stdout", "read"), [CLAUDE, CODEX, GEMINI, OPENCODE], ids=["claude", "codex", "gemini", "opencode"]
)
def test_the_streams_of_known_programs_can_be_read(
    command: CommandSubject, reading: dict[str, Any], stdout: str, read: tuple[str, str, Usage, str | None]
) -> None:
    (command.folder / "said").write_text(stdout)
    orders = {"say": str(command.folder / "said")}
    reply = ask(command.ordered(orders=orders, output="json", resume=("--resume", "{agent_session}"), **reading))
    assert (reply.failure, reply.text, reply.usage, reply.model) == (None, read[0], read[2], read[3])
    assert (reply.agent_session or "").rsplit(":", 1)[1] == read[1]


def reported(*tokens: object, **pick: object) -> int | None:
    """The input tokens of a program that reports these, one message each."""
    usage_paths = {"input_tokens": {"path": "n", **pick}}
    settings = CommandSettings.model_validate(
        {"argv": ["x"], "output": "json", "text_path": "t", "usage_paths": usage_paths}
    )
    return usage_of([{"n": number} for number in tokens], settings.usage_paths).input_tokens


@pytest.mark.parametrize("tokens", [-1, -(10**30), float("nan"), True, "twelve", "-12", "", None, []])
def test_a_cost_that_is_no_count_is_unknown(tokens: object) -> None:
    assert reported(tokens) is None


@pytest.mark.parametrize("tokens", [1.5e300, 10**30, 10**400, float("inf"), "9" * 30, MOST + 1, MOST])
def test_a_cost_beyond_what_can_be_recorded_is_the_most_that_can(tokens: object) -> None:
    assert reported(tokens) == MOST


def test_a_number_in_quotes_counts() -> None:
    assert reported("12") == 12


def test_a_negative_cost_takes_nothing_from_another() -> None:
    assert reported(700, -700, 30, every=True) == 730
    assert reported(10**30, 10**30, every=True) == MOST


@pytest.mark.parametrize(
    ("named", "model"),
    [
        ("large-1", "large-1"),
        (" large-1\n", "large-1"),
        ("", None),
        ("a\nb", None),
        ("x" * 201, None),
        (4, None),
        ({"large-1": 1}, None),
    ],
)
def test_a_model_is_a_plausible_name_or_unknown(named: object, model: str | None) -> None:
    settings = CommandSettings.model_validate(
        {"argv": ["x"], "output": "json", "text_path": "t", "usage_paths": {"model": "m"}}
    )
    assert model_of([{"m": named}], settings.usage_paths) == model
    assert model_of([{"m": named}], None) is None


# --- command: settings -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"argv": []}, "bare name or an absolute path"),
        ({"argv": [""]}, "bare name or an absolute path"),
        ({"argv": ["./agent"]}, "bare name or an absolute path"),
        ({"argv": ["{agent}"]}, "bare name or an absolute path"),
        ({"argv": ["x", "{promt}"]}, "argv: there is no placeholder {promt}"),
        ({"argv": ["x", "{agent_session}"]}, "argv: there is no placeholder {agent_session}"),
        ({"argv": ["x"], "stdin": "none"}, "needs {prompt} or {prompt_file}"),
        ({"argv": ["x"], "resume_argv": ["x", "{agent_session}"]}, "needs session_path"),
        ({"argv": ["x"], "output": "json"}, "needs text_path"),
        ({"argv": ["x"], "require_final": "result"}, 'require_final needs output = "json"'),
        ({"argv": ["x"], "env": {"A=B": "x"}}, "is not the name"),
        ({"argv": ["x"], "env": {"OPENAI_API_KEY": "sk-written-here"}}, "OPENAI_API_KEY looks like a secret"),
        ({"argv": ["x"], "home_files": {"../x": ""}}, "inside the home"),
        ({"argv": ["x"], "home_files": {"/x": ""}}, "inside the home"),
        ({"argv": ["x"], "home_files": {"x": ""}, "home": "user"}, 'needs home = "private"'),
        ({"argv": ["x"], "timeout_seconds": 0}, "greater than 0"),
        ({"argv": ["x"], "usage_paths": {"cost_usd": "a", "cost_micros": "b"}}, "not both"),
        ({"argv": ["x"], "shell": True}, "not permitted"),
    ],
)
def test_settings_that_cannot_work_are_refused(settings: dict[str, Any], problem: str) -> None:
    with pytest.raises(ValidationError) as refused:
        CommandSettings.model_validate(settings)
    assert problem in str(refused.value)
    assert "sk-written-here" not in refused.value.errors()[0]["msg"]


@pytest.mark.parametrize(
    "settings",
    [
        {
            "argv": ["codex", "exec", "--json", "--skip-git-repo-check", "-s", "workspace-write", "{prompt}"],
            "resume_argv": ["codex", "exec", "resume", "--json", "{agent_session}", "{prompt}"],
            "env": {"OPENAI_API_KEY": "env:OPENAI_API_KEY", "CODEX_HOME": "{home}/.codex"},
            "home_files": {".codex/config.toml": 'model = "gpt-5-codex"\n'},
            "output": "json",
            **CODEX[0],
        },
        {
            "argv": ["claude", "-p", "--output-format", "stream-json", "--verbose", "--permission-mode", "acceptEdits"],
            "resume_argv": [
                "claude",
                "-p",
                "--output-format",
                "stream-json",
                "--verbose",
                "--resume",
                "{agent_session}",
            ],
            "env": {"ANTHROPIC_API_KEY": "env:ANTHROPIC_API_KEY", "DISABLE_AUTOUPDATER": "1"},
            "output": "json",
            **CLAUDE[0],
        },
        {
            "argv": ["copilot", "--allow-all-tools", "--output-format", "json", "-p", "{prompt}"],
            "resume_argv": ["copilot", "--output-format", "json", "--resume={agent_session}", "-p", "{prompt}"],
            "output": "json",
            "text_path": "data.content",
            "session_path": "sessionId",
        },
        {
            "argv": ["opencode", "run", "--format", "json", "{prompt}"],
            "resume_argv": ["opencode", "run", "--format", "json", "-s", "{agent_session}", "{prompt}"],
            "env": {"OPENCODE_CONFIG_CONTENT": '{"model":"stub/stub-model","permission":"allow"}'},
            "output": "json",
            **OPENCODE[0],
        },
    ],
    ids=["codex", "claude", "copilot", "opencode"],
)
def test_the_command_lines_of_known_programs_can_be_said(settings: dict[str, Any]) -> None:
    read = CommandSettings.model_validate_json(orjson.dumps(settings), strict=True)
    assert read.resumes_by_id
    assert read.prompt_on_stdin(read.argv) is (settings["argv"][0] == "claude")
