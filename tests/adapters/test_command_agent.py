"""The command agent: what goes into the program, what comes back, what is kept to resume."""

import asyncio
import os
import stat
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest

from adapters.agents.activity import Activity
from adapters.agents.command.agent import CommandAgent
from adapters.agents.command.conversation import remove
from adapters.agents.command.settings import CommandSettings
from adapters.agents.port import Reply
from domain.values.base import Usage
from tests.adapters.agents_under_test import TURN, CommandSubject, ask, code, used_when_cancelled


@pytest.fixture
def command(tmp_path: Path) -> CommandSubject:
    return CommandSubject(tmp_path)


@pytest.fixture
def json_command(tmp_path: Path) -> CommandSubject:
    return CommandSubject(tmp_path, output="json")


@pytest.fixture(autouse=True)
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where turns keep what must be gone afterwards."""
    folder = tmp_path / "scratch"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


# --- command: what goes in -------------------------------------------------------------------------------------------


def answer_of(reply: Reply) -> dict[str, Any]:
    assert reply.failure is None, reply.failure
    result: dict[str, Any] = orjson.loads(reply.text)
    return result


def test_the_prompt_goes_to_stdin_and_not_into_the_arguments(json_command: CommandSubject) -> None:
    heard = answer_of(ask(json_command.ordered("--role={role}", "{agent}", orders={"report": "x"})))
    assert heard["stdin"] == "Write the API."
    assert heard["argv"] == ["--role=backend", "Backend"]


def test_places_are_filled_once_and_literally(json_command: CommandSubject) -> None:
    prompt = "{agent} %s {0} {{x}} ${HOME} 한글"
    agent = json_command.ordered("--", "{prompt}", '{"a": 1}', "{session}/{turn}", orders={"report": "x"})
    heard = answer_of(ask(agent, replace(TURN, prompt=prompt)))
    assert heard["argv"] == ["--", prompt, '{"a": 1}', "s-1/t-1"]
    assert heard["stdin"] == ""


@pytest.mark.parametrize(
    ("template", "refused"), [(["{prompt}"], True), (["-p={prompt}"], False), (["--", "{prompt}"], False)]
)
def test_a_prompt_is_never_parsed_as_an_option(
    json_command: CommandSubject, template: list[str], refused: bool
) -> None:
    agent = json_command.ordered(*template, orders={"report": "x"})
    assert code(ask(agent, replace(TURN, prompt="--yolo"))) == ("refused" if refused else None)


def test_the_prompt_file_is_private_and_gone_afterwards(
    json_command: CommandSubject, scratch: Path, tmp_path: Path
) -> None:
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    agent = json_command.ordered("{prompt_file}", orders={"report": "x", "prompt_file": True})
    heard = answer_of(ask(agent, replace(TURN, prompt="한글 {agent}\r\n", workspace=workspace)))
    assert (heard["prompt"], heard["mode"], heard["stdin"]) == ("한글 {agent}\n", 0o600, "")
    assert not Path(heard["argv"][0]).is_relative_to(workspace)
    assert list(scratch.iterdir()) == []


def test_the_program_works_in_the_workspace(json_command: CommandSubject, tmp_path: Path) -> None:
    (tmp_path / "workspace").mkdir()
    agent = json_command.ordered("{workspace}", orders={"report": "x"})
    heard = answer_of(ask(agent, replace(TURN, workspace=tmp_path / "workspace")))
    assert heard["cwd"] == heard["argv"][0] == str(tmp_path / "workspace")


def test_without_a_workspace_a_program_works_in_its_own_empty_folder(
    json_command: CommandSubject, scratch: Path
) -> None:
    heard = answer_of(ask(json_command.ordered(orders={"report": "x"})))
    assert heard["files"] == []
    assert Path(heard["cwd"]).is_relative_to(scratch)
    assert list(scratch.iterdir()) == []


def test_the_environment_is_the_settings_and_not_ours(
    command: CommandSubject, monkeypatch: pytest.MonkeyPatch, scratch: Path
) -> None:
    monkeypatch.setenv("AMBIENT", "ours")
    env = {"CONFIG": "{home}/config", "OPTIONS": '{"a":{"b":1}}'}
    seen = answer_of(ask(command.ordered(orders={"env": True}, env=env)))
    assert "AMBIENT" not in seen
    assert seen["CONFIG"] == f"{seen['HOME']}/config"
    assert seen["OPTIONS"] == '{"a":{"b":1}}'
    assert Path(seen["HOME"]).parent == command.folder / "data" / "homes"
    assert Path(seen["TMPDIR"]).is_relative_to(scratch)


def test_a_secret_reaches_the_program_and_nothing_else(
    command: CommandSubject, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("OUR_KEY", "sk-sesame-{home}")
    (tmp_path / "token").write_text("tk-simsim\n")
    env = {"API_KEY": "env:OUR_KEY", "API_TOKEN": f"file:{tmp_path / 'token'}"}
    seen = answer_of(ask(command.ordered(orders={"env": True}, env=env)))
    assert (seen["API_KEY"], seen["API_TOKEN"]) == ("***", "***")
    failure = ask(command.ordered(orders={"complain": "bad key $API_KEY $API_TOKEN", "exit": 1}, env=env)).failure
    assert failure is not None
    assert failure.detail == "The program ended with exit code 1: bad key *** ***"


@pytest.mark.parametrize("secret", ['se"sa\\me', "열려라-참깨"])
def test_a_secret_is_known_in_json_too(command: CommandSubject, monkeypatch: pytest.MonkeyPatch, secret: str) -> None:
    monkeypatch.setenv("OUR_KEY", secret)
    env = {"API_KEY": "env:OUR_KEY"}
    asked = command.ordered(orders={"env": True}, env=env)
    assert answer_of(ask(asked))["API_KEY"] == "***"


def test_a_secret_that_is_not_there_fails_the_turn(command: CommandSubject, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NOT_SET_ANYWHERE", raising=False)
    reply = ask(command.ordered(orders={}, env={"API_KEY": "env:NOT_SET_ANYWHERE"}))
    assert code(reply) == "auth"
    assert "NOT_SET_ANYWHERE" in reply.failure.detail
    assert command.homes() == []


# --- command: what comes back ----------------------------------------------------------------------------------------


def test_a_missing_program_is_named(tmp_path: Path) -> None:
    failure = ask(CommandAgent(CommandSettings(argv=("no-such-agent-anywhere",)), tmp_path)).failure
    assert failure is not None
    assert failure.code == "refused"
    assert "no-such-agent-anywhere" in failure.detail


def test_a_crash_reports_the_end_of_the_error_output(command: CommandSubject) -> None:
    failure = ask(command.ordered(orders={"complain": "x" * 5_000 + " the end", "exit": 7})).failure
    assert failure is not None
    assert failure.detail.startswith("The program ended with exit code 7: xxx")
    assert failure.detail.endswith("x the end")
    assert len(failure.detail) <= 2_100


def test_a_wrapper_whose_program_is_not_there_is_not_retried(command: CommandSubject) -> None:
    failure = ask(command.ordered(orders={"complain": "sh: 1: claude: not found", "exit": 127})).failure
    assert failure is not None
    assert (failure.code, failure.retryable) == ("refused", False)
    assert failure.detail == "The program ended with exit code 127: sh: 1: claude: not found"


def test_a_banner_is_not_part_of_the_answer(command: CommandSubject) -> None:
    (command.folder / "said").write_text("Tool v1\nModel: x\n\nThe plan.\nA Model: of it.\nTokens: 7\n")
    seen: list[Activity] = []
    agent = command.ordered(orders={"say": str(command.folder / "said")}, skip_lines="(Tool v|Model: |Tokens: )")
    assert ask(agent, replace(TURN, observe=seen.append)).text == "The plan.\nA Model: of it."
    assert [(each.kind, each.text) for each in seen] == [
        *(("notice", "Tool v1"), ("notice", "Model: x"), ("message", "The plan."), ("message", "A Model: of it.")),
        ("notice", "Tokens: 7"),
    ]


def test_the_settings_may_set_stricter_limits_than_the_turn(command: CommandSubject) -> None:
    codes = []
    for bound in ({"timeout_seconds": 0.3}, {"idle_seconds": 0.3}, {"output_bytes": 10}):
        (command.folder / "said").write_text("x" * 1_000)
        orders = {"say": str(command.folder / "said"), "hang": 0 if "output_bytes" in bound else 600}
        codes.append(code(ask(command.ordered(orders=orders, **bound))))
    assert codes == ["timeout", "idle", "limit"]


@pytest.mark.parametrize(
    ("said", "more", "wanted", "detail"),
    [
        ('{"type": "result", "text": "done"}', {"require_final": "result"}, None, ""),
        ('{"type": "start", "text": "hm"}', {"require_final": "result"}, "unreadable", "without its message 'result'"),
        (
            '{"type": "result", "error": {"message": "no quota"}}',
            {"error_path": "error.message"},
            "crash",
            "no quota",
        ),
        ('{"text": "fine", "error": null}', {"error_path": "error"}, None, ""),
        ('{"text": "fine", "is_error": false}', {"error_path": "is_error"}, None, ""),
        ("Hello.", {}, "unreadable", "no JSON object: Hello."),
        ("\x1b[31mNot logged in.\x1b[0m", {}, "auth", "no JSON object: Not logged in."),
        ('{"type": "result"}', {}, "unreadable", "without an answer"),
        ('{"text": "  \\n"}', {}, "unreadable", "without an answer"),
    ],
)
def test_an_exit_code_of_0_proves_nothing(
    json_command: CommandSubject, said: str, more: dict[str, Any], wanted: str | None, detail: str
) -> None:
    (json_command.folder / "said").write_text(said)
    reply = ask(json_command.ordered(orders={"say": str(json_command.folder / "said")}, **more))
    assert code(reply) == wanted
    assert detail in (reply.failure.detail if reply.failure else "")


def test_nul_does_not_reach_the_log(command: CommandSubject) -> None:
    assert ask(command.says("a\0b")).text == "a\ufffdb"


# --- command: conversations ------------------------------------------------------------------------------------------


def talker(command: CommandSubject, session: str = "id-7", **settings: Any) -> CommandAgent:
    reading = {"output": "json", "text_path": "text", "session_path": "session"}
    return command.ordered(
        "start", orders={"report": session}, resume=("resume", "{agent_session}"), **reading, **settings
    )


def test_a_resumed_turn_gets_its_session_id_and_its_home(command: CommandSubject) -> None:
    agent = talker(command, home_files={".agent/settings.json": "{}"})
    first = ask(agent)
    second = ask(agent, replace(TURN, turn_id="t-2", agent_session=first.agent_session))
    assert (answer_of(first)["argv"], answer_of(first)["home"]) == (["start"], [".agent"])
    assert (answer_of(second)["argv"], answer_of(second)["home"]) == (["resume", "id-7"], [".agent", "remembered"])
    assert second.agent_session == first.agent_session


def test_forgetting_deletes_the_home_and_starts_over(command: CommandSubject) -> None:
    agent = talker(command)
    handle = ask(agent).agent_session
    assert handle is not None
    [home] = command.homes()
    (home / "sealed").mkdir()
    (home / "sealed" / "file").touch()
    (home / "sealed").chmod(stat.S_IRUSR | stat.S_IXUSR)
    asyncio.run(agent.forget(handle))
    assert command.homes() == []
    assert answer_of(ask(agent, replace(TURN, turn_id="t-2", agent_session=handle)))["argv"] == ["start"]


def test_forgetting_follows_no_link_out_of_the_home(command: CommandSubject, tmp_path: Path) -> None:
    (tmp_path / "precious").mkdir(mode=0o500)
    agent = talker(command)
    handle = ask(agent).agent_session
    [home] = command.homes()
    (home / "link").symlink_to(tmp_path / "precious")
    asyncio.run(agent.forget(handle or ""))
    assert command.homes() == []
    assert (tmp_path / "precious").stat().st_mode & 0o777 == 0o500


@pytest.mark.parametrize(
    "handle",
    [
        "command:../../precious:",
        "command:/precious:x",
        "command::x",
        "scripted:Backend",
        "command:user:--yolo",
        "command:user:a\n",
    ],
)
def test_a_handle_from_outside_reaches_nothing(command: CommandSubject, handle: str) -> None:
    precious = command.folder / "precious"
    precious.mkdir()
    agent = talker(command)
    asyncio.run(agent.forget(handle))
    assert precious.exists()
    assert answer_of(ask(agent, replace(TURN, agent_session=handle)))["argv"] == ["start"]


def test_a_fork_does_not_write_into_the_home_of_its_source(command: CommandSubject) -> None:
    agent = talker(command)
    handle = ask(agent).agent_session
    forked = ask(agent, replace(TURN, session_id="s-2", agent_session=handle))
    assert answer_of(forked)["argv"] == ["start"]
    assert forked.agent_session != handle


@pytest.mark.parametrize("session", ["--dangerously-skip", "", "a b", "x" * 300, "a\nb"])
def test_a_suspicious_session_id_is_not_kept(command: CommandSubject, session: str) -> None:
    reply = ask(talker(command, session))
    assert (reply.failure, reply.agent_session) == (None, None)
    assert command.homes() == []


def test_a_failed_turn_keeps_the_conversation_and_starts_none(command: CommandSubject) -> None:
    handle = ask(talker(command)).agent_session
    kept = command.homes()
    failing = command.ordered(orders={"exit": 1}, resume=())
    again = ask(failing, replace(TURN, turn_id="t-2", agent_session=handle))
    anew = ask(failing, replace(TURN, turn_id="t-3"))
    assert (again.failure is not None, again.agent_session) == (True, handle)
    assert (anew.failure is not None, anew.agent_session) == (True, None)
    assert command.homes() == kept


def test_a_program_that_cannot_resume_leaves_no_home(json_command: CommandSubject) -> None:
    reply = ask(json_command.ordered(orders={"report": "x"}))
    assert (reply.failure, reply.agent_session) == (None, None)
    assert json_command.homes() == []


def test_the_users_own_home_is_used_where_asked_and_never_deleted(
    command: CommandSubject, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = command.folder / "own"
    own.mkdir()
    monkeypatch.setenv("HOME", str(own))
    agent = talker(command, home="user")
    reply = ask(agent)
    handle = reply.agent_session or ""
    assert handle.startswith("command:user/")
    assert handle.endswith(":id-7")
    asyncio.run(agent.forget(handle))
    assert (own / "remembered").exists()
    assert command.homes() == []


def test_the_data_folder_is_private(command: CommandSubject) -> None:
    ask(talker(command))
    [home] = command.homes()
    assert home.stat().st_mode & 0o777 == 0o700


def test_a_turn_in_another_folder_starts_a_conversation_with_a_digest(command: CommandSubject, tmp_path: Path) -> None:
    agent = talker(command)
    first = ask(agent, replace(TURN, workspace=tmp_path))
    (tmp_path / "other").mkdir()
    moved = replace(TURN, turn_id="t-2", agent_session=first.agent_session, workspace=tmp_path / "other")
    second = ask(agent, replace(moved, recap=lambda: "You planned the API."))
    assert (answer_of(second)["argv"], answer_of(second)["stdin"]) == (
        ["start"],
        "You planned the API.\n\nWrite the API.",
    )
    assert (second.resumed, second.prompt) == (False, "You planned the API.\n\nWrite the API.")
    assert second.new_conversation == "The turn runs in another folder than the conversation."
    assert second.agent_session not in (None, first.agent_session)


def test_a_conversation_lost_by_the_program_starts_again(command: CommandSubject) -> None:
    first = ask(talker(command))
    (command.folder / "lose.py").write_text(
        "import sys; sys.stderr.write('No conversation found with session ID: id-7\\n'); sys.exit(1)"
    )
    settings = talker(command)._settings.model_copy(
        update={"resume_argv": (sys.executable, str(command.folder / "lose.py"), "{agent_session}")}
    )
    again = replace(TURN, turn_id="t-2", agent_session=first.agent_session, recap=lambda: "Earlier: hello.")
    reply = ask(CommandAgent(settings, command.folder / "data"), again)
    assert answer_of(reply)["stdin"] == "Earlier: hello.\n\nWrite the API."
    assert (reply.resumed, reply.new_conversation) == (False, "The program no longer knows the conversation.")


def test_a_later_attempt_in_the_same_conversation_says_that_it_was_interrupted(command: CommandSubject) -> None:
    agent = talker(command)
    first = ask(agent)
    heard = answer_of(ask(agent, replace(TURN, turn_id="t-2", attempt=2, agent_session=first.agent_session)))
    assert heard["stdin"].startswith("Your previous attempt at the following task was interrupted.")
    assert heard["stdin"].endswith("\n\nWrite the API.")


def test_counters_of_a_whole_conversation_become_differences(command: CommandSubject) -> None:
    paths = {"input_tokens": ["usage.in", "usage.cached"], "cached_tokens": "usage.cached", "cumulative": True}
    reading = {"output": "json", "text_path": "text", "session_path": "session", "usage_paths": paths}
    output, handle, spent = command.folder / "said", None, []
    for total in (1_000, 3_500, 4_000):
        output.write_text(f'{{"text": "ok", "session": "s", "usage": {{"in": {total}, "cached": {total // 10}}}}}')
        agent = command.ordered(orders={"say": str(output)}, resume=("{agent_session}",), **reading)
        reply = ask(agent, replace(TURN, agent_session=handle))
        handle = reply.agent_session
        spent.append((reply.usage.input_tokens, reply.usage.cached_tokens))
    assert spent == [(1_100, 100), (2_750, 250), (550, 50)]


def test_arguments_follow_the_access_and_the_model(json_command: CommandSubject) -> None:
    more = {"read_args": ["--plan"], "write_args": ["--edit", "{role}"], "model_args": ["-m", "{model}"], "model": "x1"}
    agent = json_command.ordered("{model_args}", "{access_args}", "--", orders={"report": "x"}, **more)
    assert answer_of(ask(agent))["argv"] == ["-m", "x1", "--plan", "--"]
    assert answer_of(ask(agent, replace(TURN, access="write")))["argv"] == ["-m", "x1", "--edit", "backend", "--"]


def test_one_of_the_login_variables_is_enough_and_one_is_needed(
    command: CommandSubject, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ONE_KEY", raising=False)
    monkeypatch.setenv("OTHER_TOKEN", "tk-simsim")
    agent = command.ordered(orders={"env": True}, keys=["ONE_KEY", "OTHER_TOKEN"])
    assert answer_of(ask(agent))["OTHER_TOKEN"] == "***"
    monkeypatch.delenv("OTHER_TOKEN")
    failure = ask(agent).failure
    assert failure is not None
    assert (failure.code, "ONE_KEY or OTHER_TOKEN" in failure.detail) == ("auth", True)


def test_the_address_of_the_provider_comes_with_its_key(
    command: CommandSubject, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A gateway's token sent to the usual address fails there, and is none of its business."""
    monkeypatch.setenv("SHOP_URL", "http://127.0.0.1:4000/v1 ")
    orders = {"env": True}
    agent = command.ordered(orders=orders, addresses=["SHOP_URL", "OTHER_URL"], network=["provider"])
    said = answer_of(ask(agent))
    assert said["SHOP_URL"] == "http://127.0.0.1:4000/v1" and "OTHER_URL" not in said
    settings = CommandSettings(argv=("x",), addresses=("SHOP_URL",), network=("provider",))
    assert settings.hosts() == ("127.0.0.1:4000",)
    own = command.ordered(orders=orders, addresses=["SHOP_URL"], env={"SHOP_URL": "http://shop.example"})
    assert answer_of(ask(own))["SHOP_URL"] == "http://shop.example", "the settings go before"
    monkeypatch.setenv("SHOP_URL", "http://ann:pw@shop.example")
    failure = ask(agent).failure
    assert failure is not None
    assert failure.code == "auth" and "SHOP_URL" in failure.detail and "pw@" not in failure.detail


# --- command: what it does while it works ----------------------------------------------------------------------------

RETRY = '{"type":"system","subtype":"api_retry","attempt":2,"max_retries":10,"retry_delay_ms":7000,"error_status":%d}\n'


def streaming(command: CommandSubject, said: str, *, hang: float) -> CommandAgent:
    (command.folder / "said").write_text(said)
    orders = {"say": str(command.folder / "said"), "hang": hang}
    return command.ordered(orders=orders, output="json", text_path="result", stream="claude", idle_seconds=0.5)


def test_activities_are_reported_without_secrets(command: CommandSubject, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OUR_KEY", "sk-sesame-1234")
    (command.folder / "said").write_text(
        '{"type":"assistant","message":{"content":[{"type":"text","text":"key sk-sesame-1234"}]}}\n{"result":"ok"}\n'
    )
    heard: list[Activity] = []
    orders = {"say": str(command.folder / "said")}
    env = {"API_KEY": "env:OUR_KEY"}
    agent = command.ordered(orders=orders, output="json", text_path="result", stream="claude", env=env)
    assert ask(agent, replace(TURN, observe=heard.append)).text == "ok"
    assert heard == [Activity(kind="message", text="key ***")]


def test_a_login_that_is_refused_ends_the_program_at_once(command: CommandSubject) -> None:
    failure = ask(streaming(command, RETRY % 401, hang=600)).failure
    assert failure is not None
    assert (failure.code, failure.retryable) == ("auth", False)
    assert "HTTP 401, attempt 2 of 10, next in 7.0 s" in failure.detail


def test_a_program_that_retries_silently_fails_with_the_error_that_it_retried(command: CommandSubject) -> None:
    failure = ask(streaming(command, RETRY % 529, hang=600)).failure
    assert failure is not None
    assert failure.code == "overloaded"
    assert (
        failure.detail
        == "Stopped after 0.5 s without output, while it retried: HTTP 529, attempt 2 of 10, next in 7.0 s."
    )


# --- command: what a turn that is cancelled has used ------------------------------------------------------------------


SPENT = {"input_tokens": "usage.in", "output_tokens": "usage.out"}


@pytest.mark.parametrize(
    ("said", "paths"),
    [
        ('{"usage": {"in": 700, "out": 30}}\n', SPENT),
        ('{"usage": {"in": 700, "out": 30}}', SPENT),  # the line has not ended
        ('Hello.\n{\n  "usage": {\n    "in": 700,\n    "out": 30\n  }\n}\n', SPENT),
        ('[{"usage": {"in": 700}}, {"usage": {"in": 700, "out": 30}}]', SPENT),
        (
            '{"usage": {"in": 400, "out": 10}}\n{"usage": {"in": 300, "out": 20}}\n{"usage": {"in": 1',
            {name: {"path": path, "every": True} for name, path in SPENT.items()},
        ),
    ],
    ids=["a line", "no end of line", "several lines", "a list", "every step"],
)
def test_a_cancelled_turn_has_used_what_its_program_has_reported_so_far(
    command: CommandSubject, said: str, paths: dict[str, Any]
) -> None:
    (command.folder / "said").write_text(said)
    orders = {"say": str(command.folder / "said"), "hang": 600}
    agent = command.ordered(orders=orders, output="json", text_path="text", usage_paths=paths)
    used = asyncio.run(used_when_cancelled(agent, TURN))
    assert used == Usage(input_tokens=700, output_tokens=30)


def test_the_counters_of_a_cancelled_turn_are_not_counted_again(command: CommandSubject) -> None:
    paths = {"input_tokens": "usage.in", "cumulative": True}
    reading = {"output": "json", "text_path": "text", "session_path": "session", "usage_paths": paths}

    def spending(total: int, **orders: Any) -> CommandAgent:
        output = command.folder / "said"
        output.write_text(f'{{"text": "ok", "session": "s", "usage": {{"in": {total}}}}}\n')
        return command.ordered(orders={"say": str(output), **orders}, resume=("{agent_session}",), **reading)

    first = ask(spending(1_000))
    again = replace(TURN, agent_session=first.agent_session)
    hanging = spending(1_700, hang=600)
    used = asyncio.run(used_when_cancelled(hanging, again))
    third = ask(spending(2_000), again)
    assert (first.usage.input_tokens, used.input_tokens, third.usage.input_tokens) == (1_000, 700, 300)


def test_a_program_that_is_stopped_for_a_hopeless_retry_has_used_what_it_reported(command: CommandSubject) -> None:
    said = '{"usage": {"in": 700}}\n{"type":"system","subtype":"api_retry","error_status":401}\n'
    (command.folder / "said").write_text(said)
    reading = {"output": "json", "text_path": "result", "stream": "claude", "usage_paths": {"input_tokens": "usage.in"}}
    reply = ask(command.ordered(orders={"say": str(command.folder / "said"), "hang": 600}, **reading))
    assert (code(reply), reply.usage.input_tokens) == ("auth", 700)


def test_what_goes_while_a_home_is_removed_is_no_problem(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program that has just ended may have a child that still tidies up."""
    home = tmp_path / "home"
    (home / "kept").mkdir(parents=True)
    for name in ("state.sqlite", "state.sqlite-wal", "kept/more"):
        (home / name).write_text("")
    unlink = os.unlink

    def twice(path: str, **where: int) -> None:
        unlink(path, **where)
        unlink(path, **where)

    monkeypatch.setattr(os, "unlink", twice)
    remove(home)
    assert not home.exists()
