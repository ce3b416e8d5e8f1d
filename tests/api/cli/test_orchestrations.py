"""Orchestrations on the command line: start, message, continue, reset, extend and show."""

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.api.cli.conftest import Hansard, Result, critique, judged, plan, subtask
from tests.api.cli.kept import repository

Scenario = Callable[..., str]
Run = Callable[..., Result]
TEAM = ("-e", "Backend:backend", "--employee", "문서:docs")
WORK = "src/ API를 만들어줘 그리고 문서도"
PLAN = plan(subtask("Backend", "backend", 3, 4), subtask("문서", "docs", 3, 3, checkpoint=True))
JUDGE = [judged("첫 라운드", Backend=True, 문서=True), judged("다 했음", Backend=True)]


@pytest.fixture
def run(hansard: Hansard, scenario: Scenario) -> Run:
    """Orchestrate two agents over two rounds up to a checkpoint, or with these replies."""

    def start(*words: str, replies: dict[str, list[Any]] | None = None) -> Result:
        file = scenario({"planner": [PLAN], "judge": JUDGE} | (replies or {}))
        return hansard("orchestrate", WORK, *TEAM, "--scenario", file, *words)

    return start


def id_of(result: Result) -> str:
    return next(line for line in result.err.splitlines() if "orchestration-" in line).split()[-1]


# --- orchestrate ----------------------------------------------------------------------------------------------------


def test_a_run_is_watched_round_by_round_and_ends_at_its_checkpoint(run: Run) -> None:
    result = run()
    session_id = result.err.splitlines()[0].removeprefix("Session ")
    assert result.code == 6
    assert result.out.splitlines() == [
        f"session  {session_id}",
        "status   checkpoint",
        "mode     orchestrated",
        "agents   Backend  backend  ✓3 ✓4  ✅ done       PASS ok",
        "         문서     docs     ⏸3     ⏸ checkpoint  PASS ok",
        "summary  다 했음",
        "used     round 2/3",
        "team     scripted agents take part, which do no real work",
        "asked        src/ API를 만들어줘 그리고 문서도",
        "changed      nothing",
        "checked      there was no change to check",
        "not checked  nothing",
    ]
    talk = [line.split(maxsplit=4)[-1] for line in result.err.splitlines()]
    assert "Round 1: Backend – phase 3 (development), 문서 – phase 3 (development)" in talk
    assert "PASS: 문서, phase 3 (development): ok" in talk
    assert "Round 2: Backend – phase 4 (debugging)" in talk
    assert result.err.splitlines()[-1] == f"  hansard continue {session_id}     hansard reset {session_id}"


def test_a_run_that_is_done_is_a_success_and_a_script_can_read_it(run: Run) -> None:
    """S1 §2: the judge declares everything done before the last phase."""
    replies = {"planner": [plan(subtask("Backend", "backend", 3, 5))], "judge": [judged("끝냈음", True, Backend=True)]}
    result = run("--json", "--label", "x", "--title", "제목", "--max-rounds", "5", replies=replies)
    session = result.json
    assert (result.code, session["status"], session["summary"]) == (0, "done", "끝냈음")
    assert (session["prompt"], session["title"], session["labels"]) == (WORK, "제목", ["x"])
    assert session["employees"] == [{"name": "Backend", "role": "backend"}, {"name": "문서", "role": "docs"}]
    assert session["maxRounds"] == 5


def test_a_run_whose_rounds_are_used_up_is_continued_to_the_end(hansard: Hansard, run: Run) -> None:
    replies = {"judge": [judged(Backend=False), judged(Backend=True)]}
    replies["planner"] = [plan(subtask("Backend", "backend", 3, 3))]
    result = run("--max-rounds", "1", replies=replies)
    assert result.code == 7
    assert "reason   no rounds left" in result.out
    more = hansard("continue")
    assert (more.code, more.out.splitlines()[1]) == (0, "status   done")
    first = more.err.splitlines()[1]
    assert first.endswith("orchestration.continued           Continued, up to round 2")
    nothing = hansard("continue")
    assert nothing.code == 4
    assert nothing.err.startswith("hansard: There is nothing to continue.")


def test_a_run_that_stops_for_its_plan_has_failed_and_can_be_continued(hansard: Hansard, run: Run) -> None:
    result = run(replies={"planner": ["no plan", "no plan either", "still none", "none"]})
    assert (result.code, result.out.splitlines()[1]) == (1, "status   partial")
    assert "reason   no valid plan" in result.out
    assert hansard("continue").code == 1


def test_rounds_are_extended(hansard: Hansard, run: Run) -> None:
    replies = {"judge": [judged(Backend=False), judged(Backend=True)]}
    replies["planner"] = [plan(subtask("Backend", "backend", 3, 3))]
    session_id = id_of(run("--max-rounds", "1", "--detach", replies=replies))
    result = hansard("extend", session_id, "--rounds", "2", "--reason", "더", "--wait", "--json")
    assert (result.code, result.json["status"], result.json["round"]) == (0, "done", 2)
    refused = hansard("extend", session_id, "--iterations", "2", "--reason", "x")
    assert refused.code == 2
    assert "--iterations: does not belong to the kind orchestration, which takes --rounds" in refused.err


def test_a_direct_answer_is_the_result(hansard: Hansard, scenario: Scenario) -> None:
    result = hansard(
        "orchestrate", "안녕", "--triage", "auto", "--scenario", scenario({"assistant": ["반가워요\x1b[2J"]})
    )
    assert result.code == 0
    assert "mode     direct\n" in result.out
    assert "summary  반가워요⟦U+001B⟧[2J\n" in result.out


def test_a_direct_answer_on_work_that_is_red_already_says_so_wherever_it_is_read(
    hansard: Hansard, scenario: Scenario
) -> None:
    """Nothing is new, so it is done; a person who merges it has to know that it fails."""
    repository(Path())
    file = scenario({"assistant": [{"text": "Tidied; 1 passed.", "files": {"b.txt": "new\n"}}]})
    done = hansard("message", "Tidy up", "--triage", "direct", "--scenario", file, "--validate", "false")
    note = "The validation fails, as before the changes: "
    assert done.code == 0 and f"1 passed. {note}false" in done.out
    assert f"1 passed. {note}false" in hansard("show", "latest").out
    merged = hansard("merge", "latest")
    assert merged.code == 0 and f"{note}`false`." in merged.err


def test_orchestrate_plans_unless_asked_otherwise(hansard: Hansard) -> None:
    started = id_of(hansard("orchestrate", "Build the API, then write its docs", "--detach"))
    assert hansard("show", started, "--json").json["session"]["mode"] == "orchestrated"


def test_the_prompt_comes_from_a_file_or_through_a_pipe(hansard: Hansard, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("prompt.md").write_text("\ufeff- 첫째\n- 둘째\n", encoding="utf-8")
    first = id_of(hansard("orchestrate", "--file", "prompt.md", "--detach", "--fresh"))
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO("셋째".encode())))
    second = id_of(hansard("orchestrate", "-", "--detach", "--fresh"))
    third = id_of(hansard("orchestrate", "- 넷째", "--detach", "--fresh"))
    prompts = [hansard("show", item, "--json").json["session"]["prompt"] for item in (first, second, third)]
    assert prompts == ["- 첫째\n- 둘째", "셋째", "- 넷째"]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ((), "Give the prompt: as text, with --file FILE, or - for stdin."),
        (("  ",), "The prompt is empty."),
        (("--nope",), "Unknown option: --nope."),
        (("x", "--file", "y"), "Give the prompt or --file, not both."),
        (("--file", "missing"), "--file missing: No such file or directory."),
        (("--file", "latin"), "latin is not UTF-8 text."),
        (("--file", "nul"), "nul is not text: it contains a NUL character."),
        (("x", "-e", ":backend"), "--employee :backend: expected name:role, such as Backend:backend."),
        (("x", "-e", "A:backend,a:docs"), "--employee (no. 2) /name: another employee has this name"),
        (("x", "--max-rounds", "51"), "--max-rounds: should be at most 50"),
        (("x", "--triage", "maybe"), "--triage: 'maybe' is not one of auto, direct, orchestrate."),
        (("x", "--plan-review=red-team"), "--plan-review: 'red-team' is not one of debate, perspectives."),
    ],
)
def test_invalid_request_is_a_usage_error(hansard: Hansard, words: tuple[str, ...], sentence: str) -> None:
    Path("latin").write_bytes("é".encode("latin-1"))
    Path("nul").write_bytes(b"a\0b")
    result = hansard("orchestrate", "--fresh", *words)
    assert (result.code, result.out) == (2, "")
    assert sentence in result.err


def test_an_employee_without_a_role_has_the_usual_one(hansard: Hansard) -> None:
    session_id = id_of(hansard("orchestrate", "x", "-e", "Ops 1", "--detach"))
    employees = hansard("show", session_id, "--json").json["session"]["employees"]
    assert employees == [{"name": "Ops 1", "role": "custom"}]


# --- its plan and its work discussed --------------------------------------------------------------------------------


def test_a_review_that_was_imported_without_its_run_is_decided(
    hansard: Hansard, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replies = {"planner": [plan(subtask("Backend", "backend", 3, 3))], "judge": [judged(Backend=True)]}
    review = f"review-{id_of(run('--work-review', replies=replies)).partition('-')[2]}c1"
    file = tmp_path / "review.jsonl"
    file.write_text(hansard("export", review).out, encoding="utf-8")
    monkeypatch.setenv("HANSARD_DATABASE", f"sqlite:///{tmp_path / 'other.db'}")
    assert hansard("import", str(file)).code == 0
    result = hansard("decide", review, "skip")
    assert (result.code, result.err) == (0, f"Decided: skip for {review}.\n")
    assert hansard("show", review, "--json").json["session"]["status"] == "decided"


def test_a_plan_is_debated_revised_accepted_and_its_work_reviewed(hansard: Hansard, run: Run) -> None:
    """K-24, K-25: the debate's two rounds are used up, so the revised plan is final."""
    replies = {"planner": [plan(subtask("Backend", "backend", 3, 3))], "judge": [judged(Backend=True)]}
    replies["reviewer"] = [critique("NEEDS_FIX", ("major", "느리다"))]
    first = run("--work-review=red-team", "--plan-review", replies=replies)
    parent = id_of(first)
    debate = f"debate-{parent.partition('-')[2]}c1"
    assert first.code == 6
    assert f"session      {debate}\nstatus       waiting_for_decision\n" in first.out
    assert "    >    1  " in first.err
    assert first.err.splitlines()[-1] == f"  hansard decide {debate} revise     hansard decide {debate} accept"

    again = hansard("decide", parent, "revise", "--rationale", "- 더 작게")
    second = f"debate-{parent.partition('-')[2]}c2"
    if second not in again.out:  # the rounds of debate are used up: the new plan is final (K-24)
        second = f"review-{parent.partition('-')[2]}c2"
    assert again.code == 6
    assert again.err.splitlines()[0] == f"Decided: revise for {debate}."
    assert "  > " not in again.err.split("Waiting for a decision")[0].split("child_requested")[0]
    assert "[major] 느리다 → mend it" in again.out

    fixed = hansard("decide", second, "apply_fix")
    assert fixed.code == 6
    assert "Backend has to fix what the review found" in fixed.err
    done = hansard("decide", parent, "skip", "--json")
    assert (done.code, done.json["status"]) == (0, "done")
    assert "decision     revise by " in hansard("show", debate).out
    assert hansard("decide", parent, "skip").code == 4


def test_option_without_value_takes_nothing_from_the_prompt(hansard: Hansard) -> None:
    session_id = id_of(hansard("orchestrate", "--work-review", "--plan-review", "debate", "--detach"))
    assert hansard("show", session_id, "--json").json["session"]["prompt"] == "debate"


def test_only_recorded_a_decision_leaves_the_work_to_others(hansard: Hansard, run: Run) -> None:
    parent = id_of(run("--plan-review=perspectives"))
    result = hansard("decide", parent, "accept", "--detach", "--json")
    assert (result.code, result.json["kind"]) == (0, "debate")
    assert "start `hansard serve`" in result.err
    session = hansard("show", parent, "--json").json["session"]
    assert [turn["agent"] for turn in session["outstandingTurns"]] == ["Backend"]


# --- message --------------------------------------------------------------------------------------------------------


def test_latest_is_the_run_that_was_started_not_its_debate(hansard: Hansard, run: Run, tmp_path: Path) -> None:
    parent = id_of(run("--plan-review", "--work-review"))
    debate = hansard("show", parent, "--json").json["session"]["children"][0]
    for words in (("show", "latest"), ("explain", "latest")):
        result = hansard(*words)
        assert f"hansard decide {debate} accept" in result.err, result
    assert hansard("show", "latest", "--json").json["session"]["id"] == parent
    assert hansard("decide", "latest", "accept").code == 6  # a review of the work follows
    assert len(hansard("show", parent, "--json").json["session"]["children"]) > 1
    assert hansard("show", "latest", "--json").json["session"]["id"] == parent
    shared = hansard("share", "latest", "-o", str(tmp_path / "shared.html"))
    assert shared.code == 0 and parent in (tmp_path / "shared.html").read_text()


def test_messages_start_continue_and_reset_runs_of_their_origin(hansard: Hansard, scenario: Scenario) -> None:
    file = scenario({"planner": [PLAN], "judge": [*JUDGE, judged("아직", 문서=False)]})
    first = hansard("message", WORK, *TEAM, "--origin", "방", "--scenario", file)
    session_id = id_of(first)
    assert first.code == 6
    assert first.err.splitlines()[0] == f"Session {session_id}"
    elsewhere = hansard("message", "리셋해", "--origin", "other")
    assert (elsewhere.code, elsewhere.err) == (4, "Rejected: there is nothing to reset.\n")
    unclear = hansard("message", "리셋해줘", "--origin", "방")
    assert (unclear.code, unclear.err.split(". ")[0]) == (4, "Unclear, so nothing was started")
    assert "`hansard message reset`, `hansard message /continue`, `hansard cancel latest`" in unclear.err
    more = hansard("message", "이어서 해줘", "--origin", "방")
    assert more.err.splitlines()[0] == f"Continued session {session_id}."
    assert more.err.splitlines()[1].endswith("Continued, up to round 5")
    assert more.code == 7
    reset = hansard("message", "리셋해", "--origin", "방", "--json")
    assert (reset.code, reset.json["action"], reset.json["reset"]) == (0, "started", True)
    assert hansard("show", session_id, "--json").json["session"]["status"] == "reset"


def test_a_message_waits_for_its_turn_and_the_same_one_counts_once(hansard: Hansard, scenario: Scenario) -> None:
    first = hansard("message", "하나", "--detach", "--scenario", scenario(delay_ms=800))
    assert (first.code, first.err.splitlines()[0]) == (0, f"Session {first.out.strip()}")
    second = hansard("message", "둘", "--scenario", scenario())
    assert second.code == 0
    assert second.err.splitlines()[0].startswith("Queued: orchestration-")
    assert f"Waiting for session {first.out.strip()}.\n" in second.err
    assert "status   done\n" in second.out
    again = hansard("message", "둘", "--json", "--scenario", scenario())
    assert (again.code, again.json["reason"]) == (4, "duplicate")
    assert again.err.startswith(
        "Rejected: the same message just arrived; duplicates are ignored. It started session orch"
    )


def test_queued_message_names_the_decision_it_waits_for(hansard: Hansard, run: Run) -> None:
    busy = id_of(run("--plan-review", "--origin", "방"))
    result = hansard("message", "다음 일", "--origin", "방")
    assert result.code == 6
    assert result.err.splitlines()[-1] == f"hansard: Session {busy} waits for a decision: `hansard inbox` lists it."
    refused = hansard("message", "/continue", "--origin", "방")
    assert (refused.code, refused.out) == (4, "")
    assert refused.err.startswith("Rejected: a run of this conversation is active")


# --- continue, reset, cancel ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        (("continue",), 4, "There is nothing to continue."),
        (("reset",), 4, "There is nothing to reset."),
        (("continue", "--if-version", "3"), 2, "--if-version needs a session id."),
        (("reset", "orchestration-x", "--origin", "y"), 2, "Give a session or --origin, not both."),
        (("continue", "nope"), 3, "There is no session 'nope'."),
    ],
)
def test_nothing_to_go_on_with_is_a_sentence(
    hansard: Hansard, words: tuple[str, ...], code: int, sentence: str
) -> None:
    result = hansard(*words)
    assert (result.code, result.out) == (code, "")
    assert sentence in result.err


def test_a_korean_terminal_refuses_in_korean(hansard: Hansard, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LC_ALL", "ko_KR.UTF-8")
    assert hansard("continue").err.startswith("hansard: 이어서 진행할 작업이 없습니다.")
    assert hansard("show", "nope").err.startswith("hansard: 'nope' 세션이 없습니다.")


def test_only_orchestrations_are_continued(hansard: Hansard) -> None:
    delivery = hansard("run", "-t", "x", "-f", "a", "--test", "true", "--detach").out.strip()
    result = hansard("continue", delivery)
    assert result.code == 4
    assert result.err == (
        f"hansard: Session {delivery} is a delivery; `continue` is only for orchestrations. "
        f"Use `hansard cancel {delivery}`.\n"
    )
    assert hansard("continue", "latest").err == result.err


def test_a_run_is_continued_and_reset_by_its_id_and_the_version_that_was_seen(hansard: Hansard, run: Run) -> None:
    session_id = id_of(run("--origin", "방"))
    stale = hansard("continue", session_id, "--if-version", "1")
    assert stale.code == 4
    assert "not 1" in stale.err
    only = hansard("continue", session_id[:20], "--detach")
    assert (only.code, only.out) == (0, f"{session_id}\n")
    assert hansard("reset", "--origin", "방", "--reason", "- 그만").err == f"Reset session {session_id}.\n"
    assert "- 그만" in hansard("events", session_id).out
    assert hansard("cancel", session_id).code == 4


def test_every_reading_command_knows_a_run(hansard: Hansard, run: Run) -> None:
    session_id = id_of(run("--title", "이름\x1b[2J"))
    shown = hansard("show", session_id)
    assert shown.code == 0
    for line in (
        f"prompt     {WORK}",
        "employees  Backend (backend), 문서 (docs)",
        "plan       version 1",
        "           - 문서 (docs; phases 3; then a checkpoint): 문서의 일",
        "rounds     round 2/3",
        "history    round 1  Backend  phase 3  PASS  ok",
        "can now    continue, reset, cancel, revise",
    ):
        assert line in shown.out.splitlines()
    assert "planning" not in hansard("show", session_id, "--at", "1").out.split("prompt")[0]
    followed = hansard("events", session_id, "--follow").out
    assert followed == hansard("events", session_id).out
    assert len(followed.splitlines()) > 20
    assert session_id in hansard("list", "--kind", "orchestration", "--status", "checkpoint").out
    assert hansard("worklog", session_id).code == 0
    assert "\x1b" not in shown.out
