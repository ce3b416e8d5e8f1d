"""People commit to a session's branch, delete it, reset it, merge it: nothing is overwritten (contract-3 §18)."""

import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2 as httpx
import pytest
from starlette.testclient import TestClient

from api.cli.inbox import inbox
from api.cli.options import Where
from api.cli.session import details, why_stopped
from api.cli.session_list import list_sessions
from tests.api.orchestrating import orchestration, rested, run
from tests.api.pulling import begin, claim, result, team
from tests.api.seen import Seen, page, review
from tests.api.server import Json, delivery, ended, events, inside, only, reached, session, start
from tests.api.test_baseline import repository
from tests.api.test_revisions import git, revise
from tests.kit.replies import plan, subtask, verdicts

ANN = ("-c", "user.name=Ann", "-c", "user.email=ann@localhost", "-c", "commit.gpgsign=false")
ASKS: dict[str, Any] = {"permission": {"title": "make"}}
SECOND: dict[str, Any] = {"text": "Done.", "files": {"b.txt": "two\n"}}


@pytest.fixture
def client(tmp_path: Path) -> Iterator[TestClient]:
    with inside(tmp_path / "data", trust="all", sandbox="off") as result:
        yield result


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return repository(tmp_path / "shop", **{"a.txt": "first\n", "c.txt": "see\n"})


def made(client: httpx.Client, folder: Path, *later: Json, **fields: Any) -> Json:
    """A finished delivery; its developer writes this later."""
    first = {"text": "Done.", "files": {"b.txt": "one\n"}}
    replies = {"dev": [first, *(later or (SECOND,))], "reviewer": [review()] * 4}
    body = {"workspace": str(folder), "validationCommands": ["true"]} | fields
    return ended(client, start(client, delivery(replies, **body)))


def commits(folder: Path, branch: str, tmp_path: Path, **files: str) -> str:
    """Ann commits to the branch, in a worktree of her own."""
    place = tmp_path / "anns"
    git(folder, "worktree", "add", "-f", str(place), branch)
    for path, text in files.items():
        (place / path.replace("_", ".")).write_text(text)
    git(place, "add", "-A")
    git(place, *ANN, "commit", "-qm", "Mine")
    head = git(place, "rev-parse", "HEAD")
    git(folder, "worktree", "remove", "--force", str(place))
    return head


def asked(client: httpx.Client, it: Json) -> None:
    """The developer is at work, and waits for permission."""
    reached(client, it["id"], "turn.permission_requested")


def allow(client: httpx.Client, it: Json) -> None:
    [asks] = only(events(client, it["id"]), "turn.permission_requested")
    body = {"requestId": asks["requestId"], "decision": "allow"}
    answer = client.post(f"/api/sessions/{it['id']}/permission", json=body)
    assert answer.status_code < 300, answer.text


def contains(folder: Path, branch: str, commit: str) -> bool:
    words = ("git", "merge-base", "--is-ancestor", commit, branch)
    return subprocess.run(words, cwd=folder, check=False).returncode == 0


def test_commits_on_the_branch_are_taken_over_first_and_stay_theirs(
    client: TestClient, folder: Path, tmp_path: Path
) -> None:
    it = made(client, folder)
    branch = it["result"]["branch"]
    hers = commits(folder, branch, tmp_path, a_txt="anns\n")
    assert revise(client, it, {"text": "Go on."}).status_code == 202
    after = ended(client, it["id"])
    assert (after["status"], after["result"]["branch"]) == ("success", branch)
    assert git(folder, "show", f"{branch}:a.txt") == "anns" and git(folder, "show", f"{branch}:b.txt") == "two"
    assert contains(folder, branch, hers)
    [event] = only(events(client, it["id"]), "session.commits_taken")
    assert (event["commits"], event["by"]) == ([hers], "Ann")
    assert git(folder, "log", "-1", "--format=%an", hers) == "Ann"
    answered = only(events(client, it["id"]), "turn.answered")
    assert all("a.txt" not in each["files"] for each in answered), "they are no agent's"
    for language, words in (("en", "Commits of Ann"), ("ko", "Ann")):
        address = f"/api/sessions/{it['id']}/worklog"
        assert words in client.get(address, headers={"Accept-Language": language}).text


def test_commits_that_arrive_during_a_turn_are_merged_before_the_publication(
    client: TestClient, folder: Path, tmp_path: Path
) -> None:
    it = made(client, folder, SECOND | ASKS)
    branch = it["result"]["branch"]
    revise(client, it, {"text": "Go on."})
    asked(client, it)
    hers = commits(folder, branch, tmp_path, a_txt="anns\n")
    allow(client, it)
    after = ended(client, it["id"])
    assert after["status"] == "success" and contains(folder, branch, hers)
    assert git(folder, "show", f"{branch}:a.txt") == "anns" and git(folder, "show", f"{branch}:b.txt") == "two"
    assert after["result"]["head"] == git(folder, "rev-parse", branch)
    reviewed = after["result"]["reviewed"]
    assert reviewed["shown"] < reviewed["of"], "no review saw her lines"
    assert "Review saw" in after["finalSummary"]
    assert len(only(events(client, it["id"]), "session.commits_taken")) == 1


def test_what_cannot_be_merged_rests_for_a_person_and_names_the_paths(
    client: TestClient, folder: Path, tmp_path: Path
) -> None:
    it = made(client, folder, SECOND | ASKS)
    branch = it["result"]["branch"]
    revise(client, it, {"text": "Go on."})
    asked(client, it)
    hers = commits(folder, branch, tmp_path, b_txt="anns\n")
    allow(client, it)
    after = ended(client, it["id"])
    assert after["status"] == "failed" and "b.txt" in after["lastError"], after["lastError"]
    assert git(folder, "rev-parse", branch) == hers, "nothing was overwritten"
    assert git(folder, "branch", "--list", "hansard/*").split() == [branch], "and no other branch was made"
    git(folder, "branch", "-f", branch, f"{hers}~1")
    client.post(f"/api/sessions/{it['id']}/retry", json={})
    assert ended(client, it["id"])["status"] == "success"
    assert git(folder, "show", f"{branch}:b.txt") == "two"


def test_a_turn_that_could_not_begin_looks_at_the_branch_again(
    client: TestClient, folder: Path, tmp_path: Path
) -> None:
    """Ann undoes what she has committed, as the refusal says, and keeps both commits."""
    it = made(client, folder, SECOND | ASKS, SECOND)
    branch = it["result"]["branch"]
    revise(client, it, {"text": "Go on."})
    asked(client, it)
    hers = commits(folder, branch, tmp_path, b_txt="anns\n")
    allow(client, it)
    assert ended(client, it["id"])["status"] == "failed"
    revise(client, it, {"text": "On both, please."})
    failed = ended(client, it["id"])
    assert failed["phaseStatuses"]["implementation"] == "failed" and "b.txt" in failed["lastError"]
    later = commits(folder, branch, tmp_path, b_txt="one\n")
    client.post(f"/api/sessions/{it['id']}/retry", json={})
    after = ended(client, it["id"])
    assert after["status"] == "success", after["lastError"]
    assert contains(folder, branch, hers) and contains(folder, branch, later)
    assert git(folder, "show", f"{branch}:b.txt") == "two"


def while_at_work(client: TestClient, folder: Path, tmp_path: Path, **files: str) -> tuple[Json, str]:
    """Ann commits while the developer is at work on her request. The validation fails where both files say no."""
    check = ["sh -c '! grep -q no b.txt || ! grep -q no a.txt'"]
    second = {"text": "Done.", "files": {"b.txt": "no\n"}} | ASKS
    it = made(client, folder, second, {"text": "Done.", "files": {"b.txt": "yes\n"}}, validationCommands=check)
    revise(client, it, {"text": "Go on."})
    asked(client, it)
    hers = commits(folder, it["result"]["branch"], tmp_path, **files)
    allow(client, it)
    return ended(client, it["id"]), hers


def test_what_was_merged_is_validated_before_it_is_published(client: TestClient, folder: Path, tmp_path: Path) -> None:
    after, hers = while_at_work(client, folder, tmp_path, a_txt="yes\n")
    assert after["status"] == "success" and contains(folder, after["result"]["branch"], hers)
    [event] = only(events(client, after["id"]), "session.commits_taken")
    assert event["validated"] == after["result"]["validated"]["commands"]
    address = f"/api/sessions/{after['id']}/worklog"
    assert "Validated together with the work" in client.get(address).text


def test_what_fails_together_rests_and_a_request_gives_both_to_the_developer(
    client: TestClient, folder: Path, tmp_path: Path
) -> None:
    after, hers = while_at_work(client, folder, tmp_path, a_txt="no\n")
    branch = after["result"]["branch"]
    assert after["status"] == "failed" and "Ann" in after["lastError"] and "validation fails" in after["lastError"]
    assert ".." not in after["lastError"], "each sentence ends once"
    assert git(folder, "rev-parse", branch) == hers, "nothing was published over a validation that fails"
    assert only(events(client, after["id"]), "session.commits_taken") == []
    assert {"retry", "revise"} <= set(client.get(f"/api/sessions/{after['id']}").json()["availableCommands"])
    revise(client, after, {"text": "Make both fit."})
    last = ended(client, after["id"])
    assert last["status"] == "success" and contains(folder, branch, hers)
    assert (git(folder, "show", f"{branch}:a.txt"), git(folder, "show", f"{branch}:b.txt")) == ("no", "yes")


@pytest.mark.parametrize("worktree", [False, True])
def test_a_request_is_refused_while_the_branch_is_checked_out(
    client: TestClient, folder: Path, tmp_path: Path, *, worktree: bool
) -> None:
    it = made(client, folder)
    branch = it["result"]["branch"]
    place = tmp_path / "beside" if worktree else folder
    git(folder, *(["worktree", "add", "-q", str(place)] if worktree else ["checkout", "-q"]), branch)
    refused = client.post(f"/api/sessions/{it['id']}/revise", json={"text": "Go on."})
    assert refused.status_code == 409
    assert branch in refused.json()["detail"] and f"{place}:" in refused.json()["detail"]
    assert session(client, it["id"])["version"] == it["version"], "nothing was asked, no budget was used"
    git(place, "checkout", "-q", "--detach")
    revise(client, it, {"text": "Go on."})
    assert ended(client, it["id"])["status"] == "success"
    assert git(folder, "show", f"{branch}:b.txt") == "two"


def test_a_branch_that_is_checked_out_meanwhile_rests_for_a_person(client: TestClient, folder: Path) -> None:
    it = made(client, folder, SECOND | ASKS)
    branch = it["result"]["branch"]
    revise(client, it, {"text": "Go on."})
    asked(client, it)
    git(folder, "checkout", "-q", branch)
    allow(client, it)
    after = ended(client, it["id"])
    assert after["status"] == "failed" and "checked out" in after["lastError"]
    git(folder, "checkout", "-q", it["result"]["base"]["branch"])
    client.post(f"/api/sessions/{it['id']}/retry", json={})
    assert ended(client, it["id"])["status"] == "success"
    assert git(folder, "show", f"{branch}:b.txt") == "two"


def test_a_branch_that_is_checked_out_meanwhile_is_waited_for(tmp_path: Path, folder: Path) -> None:
    """Visibly, and not on the budget's time; the result is put on it once the person has checked out another one."""
    with inside(tmp_path / "slow", trust="all", sandbox="off", retry_seconds=0.1) as client:
        it = made(client, folder, SECOND | ASKS)
        branch = it["result"]["branch"]
        revise(client, it, {"text": "Go on."})
        asked(client, it)
        git(folder, "checkout", "-q", branch)
        allow(client, it)
        reached(client, it["id"], "turn.attempt_failed")
        [turn] = session(client, it["id"])["outstandingTurns"]
        assert turn["waitingFor"] == "branch"
        [failed] = only(events(client, it["id"]), "turn.attempt_failed")
        assert f"The branch {branch} is checked out in {folder};" in failed["failure"]["detail"]
        git(folder, "checkout", "-q", it["result"]["base"]["branch"])
        assert ended(client, it["id"])["status"] == "success"
        assert git(folder, "show", f"{branch}:b.txt") == "two"


@pytest.mark.parametrize("name", ["shop", "Ann's shop"])
def test_a_wait_for_a_branch_says_that_it_is_for_the_person_and_what_to_do_first(
    tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """On the page in both languages, in `show`, `explain` and `list`: what they say first works, and `retry` then."""
    monkeypatch.setenv("HANSARD_LANG", "en")
    folder = repository(tmp_path / name, **{"a.txt": "first\n"})
    with inside(tmp_path / "slow", trust="all", sandbox="off", retry_seconds=60) as client:
        it = made(client, folder, SECOND | ASKS)
        branch = it["result"]["branch"]
        revise(client, it, {"text": "Go on."})
        asked(client, it)
        git(folder, "checkout", "-q", branch)
        allow(client, it)
        reached(client, it["id"], "turn.attempt_failed")
        answer = client.get(f"/api/sessions/{it['id']}").json()
        [turn] = answer["session"]["outstandingTurns"]
        assert (turn["waitingFor"], turn["checkedOutIn"]) == ("branch", str(folder))
        cause = client.get(f"/api/sessions/{it['id']}/explain").json()["cause"]
        first = f"git -C {shlex.quote(str(folder))} switch -"
        for shown in (details(answer["session"], []), why_stopped(answer["session"], [], cause)):
            rows = dict(shown)
            assert f"waits for you: its branch is checked out in {folder}" in rows["waits for"]
            assert rows["next"] == f"first: {first}\nthen: hansard retry {it['id']}"
        list_sessions(where=Where(database=str(tmp_path / "slow" / "hansard.db")))
        assert "running, waits for you: its branch is checked out" in capsys.readouterr().out
        for language, badge in (("en", "Waits for you"), ("ko", "사용자 대기")):
            seen = {"accept-language": language}
            html = page(client, f"/sessions/{it['id']}", **seen)
            head = Seen(html.partition('<header class="head"')[2].partition("</header>")[0]).text
            assert head.count(badge) == 2 and str(folder) in head and first in head, head
            assert "Provider wait" not in head and "제공자 대기" not in head and "is running" not in head
            assert badge in Seen(page(client, "/", **seen)).text
        subprocess.run(("sh", "-c", first), check=True, capture_output=True)
        assert client.post(f"/api/sessions/{it['id']}/retry", json={}).status_code < 300
        assert ended(client, it["id"])["status"] == "success"
        assert "checkedOutIn" not in str(session(client, it["id"]))


def test_the_inbox_has_a_delivery_whose_branch_is_checked_out(
    tmp_path: Path, folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With where that is and what to do there, everywhere the inbox is shown; no longer once the branch is free."""
    monkeypatch.setenv("HANSARD_LANG", "en")
    with inside(tmp_path / "slow", trust="all", sandbox="off", retry_seconds=60) as client:
        it = made(client, folder, SECOND | ASKS)
        branch = it["result"]["branch"]
        revise(client, it, {"text": "Go on."})
        asked(client, it)
        git(folder, "checkout", "-q", branch)
        allow(client, it)
        reached(client, it["id"], "turn.attempt_failed")
        [item] = client.get("/api/decisions?needs=landing").json()["items"]
        told = f"The branch {branch} is checked out in {folder}; it was not changed."
        assert (item["sessionId"], item["cause"], item["choices"]) == (it["id"], "branch_checked_out", ["retry"])
        assert item["checkedOutIn"] == str(folder) and item["summary"].startswith(told)
        first = f"git -C {folder} switch -"
        inbox(where=Where(database=str(tmp_path / "slow" / "hansard.db")))
        shown, said = capsys.readouterr()
        assert it["id"] in shown and told in " ".join(shown.split()), shown
        assert f"{first} && hansard retry {it['id']}" in said, said
        for language, badge in (("en", "Waits for you"), ("ko", "사용자 대기")):
            for path in ("/decisions", "/"):
                html = page(client, path, **{"accept-language": language})
                card = html.partition(f'data-waits="{it["id"]}"')[2].partition("</li>" if path == "/" else "</article>")
                seen = Seen(card[0]).text
                assert badge in seen and str(folder) in seen and first in seen, seen
                assert f"/api/sessions/{it['id']}/retry" in card[0]
        timeline = page(client, f"/sessions/{it['id']}").partition('<svg class="gantt"')[2].partition("</svg>")[0]
        assert 'class="gantt-bar is-you" data-open' in timeline and 'class="gantt-bar is-provider"' not in timeline
        assert Seen(page(client, "/reports").partition("Waited for providers")[2][:200]).text.split()[0] == "0:00"
        subprocess.run(("sh", "-c", first), check=True, capture_output=True)
        assert client.post(f"/api/sessions/{it['id']}/retry", json={}).status_code < 300
        assert ended(client, it["id"])["status"] == "success"
        assert client.get("/api/decisions").json()["items"] == []


def test_a_branch_that_was_deleted_is_made_again(client: TestClient, folder: Path) -> None:
    it = made(client, folder)
    branch = it["result"]["branch"]
    git(folder, "branch", "-D", branch)
    revise(client, it, {"text": "Go on."})
    after = ended(client, it["id"])
    assert (after["status"], after["result"]["branch"]) == ("success", branch)
    assert contains(folder, branch, it["result"]["head"]) and git(folder, "show", f"{branch}:b.txt") == "two"


def test_a_branch_that_was_set_back_moves_forward_again(client: TestClient, folder: Path) -> None:
    it = made(client, folder)
    branch = it["result"]["branch"]
    git(folder, "branch", "-f", branch, it["result"]["base"]["commit"])
    revise(client, it, {"text": "Go on."})
    assert ended(client, it["id"])["status"] == "success"
    assert git(folder, "show", f"{branch}:b.txt") == "two"


def test_a_branch_that_was_merged_while_the_base_was_renamed_goes_on(client: TestClient, folder: Path) -> None:
    it = made(client, folder)
    branch = it["result"]["branch"]
    git(folder, *ANN, "merge", "-q", "--no-ff", "-m", "Merge it", branch)
    git(folder, "branch", "-m", "trunk")
    revise(client, it, {"text": "Go on."})
    after = ended(client, it["id"])
    assert (after["status"], after["result"]["branch"]) == ("success", branch)
    assert git(folder, "show", f"{branch}:b.txt") == "two" and git(folder, "show", "trunk:b.txt") == "one"
    answer = client.post(f"/api/sessions/{it['id']}/land", json={"onto": "main"})
    if answer.status_code == 202:
        landing = ended(client, it["id"])["result"]["landing"]
        assert (landing["status"], landing["onto"]) == ("not_tried", "main")
    assert session(client, it["id"])["status"] == "success"


def test_a_fork_of_a_published_session_has_a_branch_of_its_own(client: TestClient, folder: Path) -> None:
    it = made(client, folder)
    head = it["result"]["head"]
    fork = client.post(f"/api/sessions/{it['id']}/fork", json={"atVersion": it["version"], "mode": "live"}).json()
    name = fork.get("sessionId") or fork["id"]
    assert client.post(f"/api/sessions/{name}/revise", json={"text": "Otherwise."}).status_code == 202
    after = ended(client, name)
    assert after["result"]["branch"] == f"hansard/{name}"
    assert git(folder, "rev-parse", it["result"]["branch"]) == head


def test_the_page_shows_the_result_with_what_people_committed(client: TestClient, folder: Path, tmp_path: Path) -> None:
    it = made(client, folder, {"text": "Nothing to do."})
    commits(folder, it["result"]["branch"], tmp_path, b_txt="anns words\n", c_txt="hers\n")
    revise(client, it, {"text": "Look at mine."})
    assert ended(client, it["id"])["status"] == "success"
    html = page(client, f"/sessions/{it['id']}?tab=changes")
    assert "anns words" in html and "hers" in html
    assert "<code>one" not in html, "what she has replaced is not in the result"


def run_at_work(client: TestClient, folder: Path, tmp_path: Path, **files: str) -> tuple[Json, str]:
    """Ann commits while an agent of a run is at work on her request. The validation fails where both files say no."""
    check = "sh -c '! grep -q no b.txt || ! grep -q no a.txt'"
    work = [{"text": "Done.", "files": {"b.txt": "one\n"}}, {"text": "Done.", "files": {"b.txt": "no\n"}} | ASKS]
    work.append({"text": "Done.", "files": {"b.txt": "yes\n"}})
    replies = {"planner": [plan(subtask("Backend", 3, 3))], "Backend": work}
    replies |= {"judge": [verdicts(Backend=True, all_done=True)] * 4}
    it = run(client, orchestration(replies, workspace=str(folder), validationCommands=[check]))
    assert it["status"] == "done", it
    reached(client, it["id"], "session.result_published")
    revise(client, it, {"text": "Go on."})
    asked(client, it)
    hers = commits(folder, session(client, it["id"])["result"]["branch"], tmp_path, **files)
    allow(client, it)
    reached(client, it["id"], "session.result_published", count=2)
    return rested(client, it["id"]), hers


def test_a_run_validates_what_was_merged_before_it_is_published(
    client: TestClient, folder: Path, tmp_path: Path
) -> None:
    after, hers = run_at_work(client, folder, tmp_path, a_txt="yes\n")
    branch = after["result"]["branch"]
    assert after["status"] == "done" and contains(folder, branch, hers)
    assert (git(folder, "show", f"{branch}:a.txt"), git(folder, "show", f"{branch}:b.txt")) == ("yes", "no")
    [event] = only(events(client, after["id"]), "session.commits_taken")
    assert (event["commits"], event["by"], len(event["validated"])) == ([hers], "Ann", 1)


def test_a_run_publishes_nothing_over_commits_with_which_it_fails(
    client: TestClient, folder: Path, tmp_path: Path
) -> None:
    after, hers = run_at_work(client, folder, tmp_path, a_txt="no\n")
    branch = f"hansard/{after['id']}"
    assert git(folder, "rev-parse", branch) == hers
    assert "Ann" in after["result"]["branchProblem"] and "validation fails" in after["result"]["branchProblem"]
    assert only(events(client, after["id"]), "session.commits_taken") == []
    revise(client, after, {"text": "Make both fit."})
    reached(client, after["id"], "session.result_published", count=3)
    last = rested(client, after["id"])
    assert last["status"] == "done" and contains(folder, branch, hers)
    assert (git(folder, "show", f"{branch}:a.txt"), git(folder, "show", f"{branch}:b.txt")) == ("no", "yes")


def test_an_external_developer_begins_with_what_people_committed(folder: Path, tmp_path: Path) -> None:
    with inside(tmp_path / "data", trust="all", sandbox="off", team=team(tmp_path, "dev")) as client:
        it = begin(client, workspace=str(folder), validationCommands=["true"])
        result(client, claim(client), files={"b.txt": "one\n"})
        made = ended(client, it)
        branch = made["result"]["branch"]
        hers = commits(folder, branch, tmp_path, a_txt="anns\n")
        revise(client, made, {"text": "Go on."})
        turn = claim(client)
        assert (Path(turn["workspace"]) / "a.txt").read_text() == "anns\n"
        later = commits(folder, branch, tmp_path, c_txt="anns, too\n")
        result(client, turn, files={"b.txt": "two\n"})
        after = ended(client, it)
        assert after["status"] == "success", after["lastError"]
        [first, second] = [each["commits"] for each in only(events(client, it), "session.commits_taken")]
        assert (first, second) == ([hers], [later])
        shown = [git(folder, "show", f"{branch}:{name}") for name in ("a.txt", "b.txt", "c.txt")]
        assert shown == ["anns", "two", "anns, too"]
