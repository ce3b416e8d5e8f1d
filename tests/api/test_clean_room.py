"""A pass that a clone would confirm (contract-3 §17): what lies around in a workspace proves nothing, and what passes
and fails on the same work is flaky, not wrong."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2 as httpx
import pytest
from starlette.testclient import TestClient

from tests.api.seen import review
from tests.api.server import Json, delivery, ended, events, inside, start
from tests.api.test_baseline import repository, run
from tests.kit.sweeps import sampled


@pytest.fixture
def client(tmp_path: Path) -> Iterator[TestClient]:
    """Without a fence, so that a command can count its runs outside of the workspace."""
    with inside(tmp_path / "data", trust="all", sandbox="off") as result:
        yield result


def data(client: httpx.Client, session: Json, topic: str) -> list[Json]:
    return [each["data"] for each in events(client, session["id"]) if each["type"] == topic]


def report(client: httpx.Client, session: Json) -> Json:
    """The last validation as an artifact."""
    *_, made = (each for each in data(client, session, "delivery.artifact_created") if each["phase"] == "validation")
    answer = client.get(f"/api/sessions/{session['id']}/artifacts/{made['artifactId']}").json()
    result: Json = json.loads(answer["content"])
    return result


GENERATED = {
    "hansard.toml": '[workspace]\nsetup = ["sh generate.sh"]\n',
    "generate.sh": "cp grammar.txt parser.out\n",
    "grammar.txt": "good\n",
    ".gitignore": "parser.out\n",
}


def test_what_the_set_up_builds_is_built_again_from_the_changed_sources(client: httpx.Client, tmp_path: Path) -> None:
    folder = repository(tmp_path / "shop", **GENERATED)
    session = run(client, folder, "grep -qx good parser.out", {"grammar.txt": "bad\n"})
    assert session["status"] == "failed"
    [failed] = data(client, session, "delivery.validation_failed")
    assert failed["cause"] == "only_passes_with_leftovers"
    assert (failed["cleanRoom"]["needed"], failed["cleanRoom"]["same"]) == (True, False)
    assert [command["command"] for command in failed["cleanRoom"]["setup"]] == ["sh generate.sh"]
    assert report(client, session)["reason"] == "only_passes_with_leftovers"


def test_the_output_of_the_fresh_checkout_reaches_the_author(client: httpx.Client, tmp_path: Path) -> None:
    check = "cat parser.out; grep -qx good parser.out\n"
    folder = repository(tmp_path / "shop", **GENERATED, **{"check.sh": check})
    session = run(client, folder, "sh check.sh", {"grammar.txt": "error: lost in the clone\n"})
    [failed] = data(client, session, "delivery.validation_failed")
    assert failed["reasons"] == ["error: lost in the clone"]
    assert "error: lost in the clone" in failed["feedback"]["head"]


def test_work_that_a_clone_confirms_passes_and_says_so(client: httpx.Client, tmp_path: Path) -> None:
    folder = repository(tmp_path / "shop", **GENERATED)
    session = run(client, folder, "test -s parser.out", {"grammar.txt": "better\n"})
    assert session["status"] == "success", session["finalSummary"]
    room = session["report"]["cleanRoom"]
    assert (room["needed"], room["same"], session["report"]["flaky"]) == (True, True, [])
    assert room["seconds"] >= sum(command["seconds"] for command in room["setup"])
    head = client.get(f"/sessions/{session['id']}", headers={"Accept": "text/html"}).text
    assert f"Fresh checkout: {round(room['seconds'])} s" in head
    validated = session["result"]["validated"]
    assert validated == {
        "commands": ["test -s parser.out"],
        "cleanRoom": True,
        "version": validated["version"],
        "passed": True,
    }
    assert events(client, session["id"])[validated["version"] - 1]["type"] == "delivery.tests_passed"


def test_without_a_set_up_the_run_in_the_workspace_is_the_clean_one(client: httpx.Client, tmp_path: Path) -> None:
    """What the first run of the commands left is not there any more: a clone would not have it."""
    check = (
        "test ! -e cache/made || exit 7\ntest ! -e $HOME/made || exit 8\nmkdir -p cache; touch cache/made $HOME/made\n"
    )
    folder = repository(tmp_path / "shop", **{"check.sh": check, ".gitignore": "cache/\n", "a.txt": "a"})
    session = run(client, folder, "sh check.sh", {"a.txt": "b"})
    assert session["status"] == "success", session["finalSummary"]
    assert session["report"]["cleanRoom"]["needed"] is False
    assert session["result"]["validated"]["cleanRoom"] is True


def test_copied_files_are_in_the_fresh_checkout_too(client: httpx.Client, tmp_path: Path) -> None:
    files = {"hansard.toml": '[workspace]\ncopy = [".env"]\n', ".gitignore": ".env\n", "a.txt": "a"}
    folder = repository(tmp_path / "shop", **files)
    (folder / ".env").write_text("KEY=1\n")
    session = run(client, folder, "grep -q KEY .env", {"a.txt": "b"})
    assert session["status"] == "success", session["finalSummary"]
    assert session["report"]["cleanRoom"]["needed"] is True


def test_the_head_of_the_fresh_checkout_is_a_commit_of_the_work(client: httpx.Client, tmp_path: Path) -> None:
    check = (
        'test -z "$(git status --porcelain)" && git show HEAD:a.txt | grep -qx b'
        " && git diff --quiet $HANSARD_BASE -- keep\n"
    )
    files = {"hansard.toml": '[workspace]\nsetup = ["true"]\n', "keep": "k", "a.txt": "a\n"}
    folder = repository(tmp_path / "shop", **files, **{"check.sh": f"grep -qx a a.txt && exit 0\n{check}"})
    assert run(client, folder, "sh check.sh", {"a.txt": "b\n"})["status"] == "success"
    guarded = run(client, folder, "sh check.sh", {"a.txt": "b\n", "keep": "changed"})
    assert guarded["status"] == "failed"


def test_each_fresh_checkout_gets_the_caches_of_the_base_tree_only(client: httpx.Client, tmp_path: Path) -> None:
    """What the set-up of an agent's tree puts into its home is gone with it."""
    set_up = (
        'mkdir -p "$HOME/.cache"\nls "$HOME/.cache" | sort | tr "\\n" " " > seen\n'
        'touch "$HOME/.cache/cache-$(cat name.txt)"\n'
    )
    files = {"hansard.toml": '[workspace]\nsetup = ["sh make.sh"]\n', "make.sh": set_up, ".gitignore": "seen\n"}
    folder = repository(tmp_path / "shop", **files, **{"name.txt": "base"})
    check = ["sh", "-c", "grep -q one name.txt && exit 1; test \"$(cat seen)\" = 'cache-base ' || test ! -s seen"]
    bodies = [{"text": "Done.", "files": {"name.txt": name}} for name in ("one", "two")]
    body = delivery(
        {"dev": bodies, "reviewer": [review()]},
        workspace=str(folder),
        validationCommands=[check],
        baseline=True,
        maxIterations=2,
    )
    session = ended(client, start(client, body))
    assert session["status"] == "success", session["finalSummary"]


@pytest.mark.parametrize("place", sampled([".local/bin", "built", ".cargo/bin", ".shop", ".config/shop"], 0, 1))
def test_what_the_set_up_installs_in_the_home_is_no_cache(client: httpx.Client, tmp_path: Path, place: str) -> None:
    """As `pipx install .` does: what is installed is left alone."""
    set_up = (
        f'mkdir -p "$HOME/.cache" "$HOME/{place}"\ntouch "$HOME/.cache/kept"\n'
        f'test -e "$HOME/{place}/shop" || cp tool.txt "$HOME/{place}/shop"\n'
    )
    check = f'test -e "$HOME/.cache/kept" && grep -qx good "$HOME/{place}/shop"\n'
    files = {"hansard.toml": '[workspace]\nsetup = ["sh make.sh"]\n', "make.sh": set_up, "check.sh": check}
    folder = repository(tmp_path / "shop", **files, **{"tool.txt": "good\n"})
    session = run(client, folder, "sh check.sh", {"tool.txt": "bad\n"})
    assert session["status"] == "failed"
    [failed] = data(client, session, "delivery.validation_failed")
    assert failed["cause"] == "only_passes_with_leftovers"


def test_a_set_up_that_fails_everywhere_is_waited_for(client: httpx.Client, tmp_path: Path) -> None:
    """The registry is away: that is nobody's fault, and no iteration."""
    switch = tmp_path / "registry"
    switch.touch()
    set_up = f"test -e {switch} || {{ echo registry is away; exit 4; }}\n"
    files = {"hansard.toml": '[workspace]\nsetup = ["sh make.sh"]\n', "make.sh": set_up, "a.txt": "a"}
    folder = repository(tmp_path / "shop", **files)
    check = ["sh", "-c", f"rm -f {switch}"]
    body = delivery(
        {"dev": [{"text": "Done.", "files": {"a.txt": "b"}}], "reviewer": [review()]},
        workspace=str(folder),
        validationCommands=[check],
        baseline=False,
        maxIterations=1,
    )
    session_id = start(client, body)
    session = ended(client, session_id)
    failures = [each["failure"] for each in data(client, session, "turn.attempt_failed")]
    failures += [each["failure"] for each in data(client, session, "turn.failed")]
    assert {failure["code"] for failure in failures} == {"setup"}
    assert data(client, session, "delivery.validation_failed") == []


def test_a_folder_without_git_has_no_clean_room(client: httpx.Client, tmp_path: Path) -> None:
    (folder := tmp_path / "plain").mkdir()
    (folder / "a.txt").write_text("a")
    session = run(client, folder, "true", {"a.txt": "b"})
    assert session["status"] == "success", session["finalSummary"]
    assert session["result"]["validated"]["cleanRoom"] is False
    assert "Not checked in a clone." in session["finalSummary"]
    head = client.get(f"/sessions/{session['id']}", headers={"Accept": "text/html"}).text
    assert "Not checked in a clone" in head


def test_clean_rooms_can_be_turned_off(client: httpx.Client, tmp_path: Path) -> None:
    off = GENERATED["hansard.toml"] + "[validation]\nclean_room = false\n"
    folder = repository(tmp_path / "shop", **(GENERATED | {"hansard.toml": off}))
    session = run(client, folder, "grep -qx good parser.out", {"grammar.txt": "bad\n"})
    assert session["status"] == "success"
    assert session["result"]["validated"]["cleanRoom"] is False


# -- flaky is not failed -----------------------------------------------------------------------------------------------


def wobbling(counts: Path, *failing: int, word: str = "changed") -> dict[str, str]:
    """A test that fails at these runs, counted from 0, in the tree whose file has this word, or in any."""
    script = (
        "import pathlib, sys\n"
        f"count, word = pathlib.Path({str(counts)!r}), pathlib.Path('a.txt').read_text()\n"
        f"if {word!r} in word:\n"
        "    number = int(count.read_text()) if count.exists() else 0\n"
        "    count.write_text(str(number + 1))\n"
        f"    if number in {failing}:\n"
        "        sys.exit('FAILED tests/test_a.py::test_wobbles - AssertionError')\n"
    )
    return {"check.py": script, "a.txt": "a"}


def test_a_command_that_fails_once_is_flaky_and_counts_as_passed(client: httpx.Client, tmp_path: Path) -> None:
    folder = repository(tmp_path / "shop", **wobbling(tmp_path / "runs", 0))
    session = run(client, folder, "python3 check.py", {"a.txt": "changed"})
    assert session["status"] == "success", session["finalSummary"]
    flake = {
        "stage": "custom",
        "command": "python3 check.py",
        "runs": 2,
        "failed": 1,
        "tests": ["tests/test_a.py::test_wobbles"],
        "known": False,
    }
    assert session["report"]["flaky"] == [flake]
    assert report(client, session)["flaky"] == [flake]
    [seen] = data(client, session, "delivery.flaky_seen")
    assert {name: seen[name] for name in flake} == flake
    assert "is flaky" in session["finalSummary"]
    head = client.get(f"/sessions/{session['id']}", headers={"Accept": "text/html"}).text
    assert "Flaky: python3 check.py failed 1 of 2 times, then passed" in head
    rows = client.get("/api/reports/quality").json()["totals"]["validation"]
    assert (rows["passed"], rows["failed"], rows["flaky"]) == (1, 0, 1)


def test_a_command_that_fails_every_time_fails(client: httpx.Client, tmp_path: Path) -> None:
    counts = tmp_path / "runs"
    folder = repository(tmp_path / "shop", **wobbling(counts, *range(9)))
    session = run(client, folder, "python3 check.py", {"a.txt": "changed"})
    assert session["status"] == "failed"
    assert data(client, session, "delivery.flaky_seen") == []
    assert counts.read_text() == "3", "once, and twice again"


def test_a_workspace_that_is_out_of_date_is_named_and_not_called_flaky(client: httpx.Client, tmp_path: Path) -> None:
    folder = repository(tmp_path / "shop", **GENERATED)
    session = run(client, folder, "cmp grammar.txt parser.out", {"grammar.txt": "other\n"})
    assert session["status"] == "success", session["finalSummary"]
    assert session["report"]["flaky"] == []
    room = session["report"]["cleanRoom"]
    assert (room["same"], room["stale"]) == (True, ["cmp grammar.txt parser.out"])
    assert report(client, session)["stale"] == ["cmp grammar.txt parser.out"]
    assert data(client, session, "delivery.flaky_seen") == []
    head = client.get(f"/sessions/{session['id']}", headers={"Accept": "text/html"}).text
    assert "cmp grammar.txt parser.out failed in the workspace, whose set-up was out of date" in head


@pytest.mark.parametrize("failing", [(0,), (0, 1)])
def test_what_is_flaky_in_a_prepared_workspace_is_called_so(
    client: httpx.Client, tmp_path: Path, failing: tuple[int, ...]
) -> None:
    folder = repository(tmp_path / "shop", **GENERATED, **wobbling(tmp_path / "runs", *failing))
    session = run(client, folder, "python3 check.py", {"a.txt": "changed"})
    assert session["status"] == "success", session["finalSummary"]
    assert [flake["failed"] for flake in session["report"]["flaky"]] == [len(failing)]
    assert "stale" not in session["report"]["cleanRoom"]


def test_repeated_runs_share_one_set_up_and_nothing_else(client: httpx.Client, tmp_path: Path) -> None:
    """What an earlier run has left, in the folder or in the home, makes no later one pass."""
    counts = tmp_path / "set-ups"
    set_up = f"echo x >> {counts}; mkdir -p built; cp a.txt built\n"
    check = (
        "grep -q changed a.txt || exit 0\n"
        "cmp a.txt built/a.txt || exit 2\n"
        "test -e built/left -a -e $HOME/left && exit 0\ntouch built/left $HOME/left\nexit 1\n"
    )
    files = {
        "hansard.toml": '[workspace]\nsetup = ["sh make.sh"]\n[validation]\nrepeat = 4\n',
        "make.sh": set_up,
        "check.sh": check,
        ".gitignore": "built/\n",
        "a.txt": "a",
    }
    folder = repository(tmp_path / "shop", **files)
    session = run(client, folder, "sh check.sh", {"a.txt": "changed"})
    assert session["status"] == "failed"
    assert data(client, session, "delivery.flaky_seen") == []
    assert len(counts.read_text().split()) == 2, "in the workspace, and once for all repeated runs"


def test_how_often_a_command_is_repeated_is_a_setting(client: httpx.Client, tmp_path: Path) -> None:
    counts = tmp_path / "runs"
    settings = {"hansard.toml": "[validation]\nrepeat = 0\n"}
    folder = repository(tmp_path / "shop", **wobbling(counts, 0), **settings)
    assert run(client, folder, "python3 check.py", {"a.txt": "changed"})["status"] == "failed"
    assert counts.read_text() == "1"


def test_what_is_flaky_without_the_work_is_known(client: httpx.Client, tmp_path: Path) -> None:
    """It fails the first time on the base tree, too, after the baseline has passed."""
    folder = repository(tmp_path / "shop", **wobbling(tmp_path / "runs", 1, 3, word="a"))
    session = run(client, folder, "python3 check.py", {"a.txt": "also a"})
    assert session["status"] == "success", session["finalSummary"]
    [flake] = session["report"]["flaky"]
    assert flake["known"] is True
    assert "is flaky" not in session["finalSummary"]


def test_the_reviewer_reads_of_new_flakes(client: httpx.Client, tmp_path: Path) -> None:
    folder = repository(tmp_path / "shop", **wobbling(tmp_path / "runs", 0))
    session = run(client, folder, "python3 check.py", {"a.txt": "changed"})
    asked = [each for each in data(client, session, "turn.requested") if each["role"] == "reviewer"]
    assert asked[0]["context"]["validation"]["head"].startswith("`python3 check.py` is flaky")


@pytest.mark.parametrize(
    ("line", "says"),
    [("repeat = 6", "5"), ("repeat = -1", "0"), ("repeat = true", "number from 0 to 5"), ("repeat_seconds = -1", "0")],
)
def test_settings_of_repeated_runs_are_checked(client: httpx.Client, tmp_path: Path, line: str, says: str) -> None:
    folder = repository(tmp_path / "shop", **{"hansard.toml": f"[validation]\n{line}\n"})
    body: dict[str, Any] = delivery({}, workspace=str(folder), validationCommands=["true"])
    answer = client.post("/api/sessions", json=body)
    assert answer.status_code == 422
    assert line.partition(" ")[0] in answer.text
    assert says in answer.text


# -- the budget --------------------------------------------------------------------------------------------------------


def test_the_set_up_of_a_fresh_checkout_uses_up_no_budget(client: httpx.Client, tmp_path: Path) -> None:
    files = {"hansard.toml": '[workspace]\nsetup = ["sleep 1.2"]\n', "a.txt": "a"}
    session = run(client, repository(tmp_path / "shop", **files), "true", {"a.txt": "b"})
    [passed] = data(client, session, "delivery.tests_passed")
    assert passed["apartMs"] >= 1_200
    assert session["budget"]["elapsedMs"] < 60_000


def test_the_clock_stands_still_where_the_deadline_is_near(client: httpx.Client, tmp_path: Path) -> None:
    """Otherwise the deadline would end the turn before its outcome could move it."""
    files = {"hansard.toml": '[workspace]\nsetup = ["sleep 0.5"]\n', "a.txt": "a"}
    session = run(client, repository(tmp_path / "shop", **files), "true", {"a.txt": "b"}, maxMinutes=1)
    [held] = data(client, session, "delivery.budget_held")
    [resumed] = data(client, session, "delivery.budget_resumed")
    assert (held["why"], held["turnId"]) == ("setup", resumed["turnId"])
    assert resumed["waited"] >= 500


# -- git inside --------------------------------------------------------------------------------------------------------

IN_A_NEW_REPOSITORY = """\
set -e
new=$(mktemp -d) && cd "$new" && git init -q . && git commit -q --allow-empty -m one
git symbolic-ref --short HEAD
git log -1 --format='%an <%ae> %cn <%ce>'
"""


@pytest.fixture
def named_branch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A person whose git calls the first branch `trunk`, and who says who they are."""
    home = tmp_path / "account"
    home.mkdir()
    settings = "[init]\n\tdefaultBranch = trunk\n[user]\n\tname = Ann\n\temail = ann@example.com\n"
    (home / ".gitconfig").write_text(settings)
    monkeypatch.setenv("HOME", str(home))


@pytest.mark.usefixtures("named_branch")
def test_set_up_and_validation_can_commit_to_a_new_repository(client: httpx.Client, tmp_path: Path) -> None:
    """The one is Hansard; the first branch is called as by the person."""
    settings = '[workspace]\nsetup = ["sh new.sh", "sh -c \\"sh new.sh >made\\""]\n'
    folder = repository(tmp_path / "shop", **{"hansard.toml": settings, "new.sh": IN_A_NEW_REPOSITORY})
    session = run(client, folder, "sh new.sh", {"a.txt": "a\n"})
    assert session["status"] == "success", session["finalSummary"]
    who = "Hansard <hansard@hansard.invalid>"
    [ran] = report(client, session)["runs"]
    assert ran["stdout"] == f"trunk\n{who} {who}\n"


@pytest.mark.usefixtures("named_branch")
def test_a_repository_says_otherwise_who_commits(client: httpx.Client, tmp_path: Path) -> None:
    settings = '[workspace]\nenv = {GIT_AUTHOR_NAME = "Tester", GIT_CONFIG_SYSTEM = "/dev/null"}\n'
    folder = repository(tmp_path / "shop", **{"hansard.toml": settings, "new.sh": IN_A_NEW_REPOSITORY})
    session = run(client, folder, "sh new.sh", {"a.txt": "a\n"})
    [ran] = report(client, session)["runs"]
    assert ran["stdout"] == "master\nTester <hansard@hansard.invalid> Hansard <hansard@hansard.invalid>\n"
