"""No tests, no pass; and what makes a validation weaker is said (contract-3 §17)."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from api.cli.result_notes import weaker
from api.cli.session import details
from tests.api.server import Json, Server, delivery, ended, events, only, serving, start
from tests.api.test_real_git import git

TESTS = [sys.executable, "-B", "-m", "unittest", "discover", "-s", "tests"]
CASE = """import unittest
from shop import total
class Shop(unittest.TestCase):
    def test_total(self):
        {body}
"""
RED = CASE.format(body="self.assertEqual(total([1, 2]), 3)")
FIXED = "def total(prices):\n    return sum(prices)\n"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("tests-that-ran")) as result:
        yield result


def project(folder: Path, **files: str) -> Path:
    folder.mkdir()
    git(folder, "init", "--quiet", "--initial-branch=main")
    for name, text in ({"shop.py": "def total(prices):\n    return 0\n"} | files).items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "-m", "Begin")
    return folder


def run(
    server: Server,
    folder: Path,
    *work: dict[str, str | None],
    command: list[str] = TESTS,
    then: list[str] | None = None,
) -> Json:
    replies = [{"text": "Done.", "files": files} for files in work]
    commands = [command, *([then] if then else [])]
    body = delivery(
        {"dev": replies}, workspace=str(folder), validationCommands=commands, baseline=True, maxIterations=len(work)
    )
    return ended(server.client, start(server.client, body), seconds=90)


def reports(server: Server, session: Json) -> list[Json]:
    artifacts = server.client.get(f"/api/sessions/{session['id']}/artifacts").json()["items"]
    kept = [each["artifactId"] for each in artifacts if each["phase"] == "validation"]
    url = f"/api/sessions/{session['id']}/artifacts"
    return [json.loads(server.client.get(f"{url}/{each}").json()["content"]) for each in kept]


def test_work_after_which_no_test_runs_fails(server: Server, tmp_path: Path) -> None:
    gone = {"tests/test_shop.py": "import unittest\n"}
    session = run(server, project(tmp_path / "shop", **{"tests/test_shop.py": RED}), gone, {**gone, "shop.py": FIXED})
    assert session["status"] == "failed"
    failed = only(events(server.client, session["id"]), "delivery.validation_failed")
    assert [event["cause"] for event in failed] == ["no_tests", "no_tests"]
    assert "ran no test" in failed[0]["summary"]
    assert [report["reason"] for report in reports(server, session)] == ["no_tests", "no_tests"]
    lost = {"what": "tests", "path": None, "before": 1, "after": 0}
    assert [report["weakened"][0] for report in reports(server, session)] == [lost, lost]
    assert session["report"]["weakened"][0] == lost


def test_a_runner_that_says_nothing_any_more_has_lost_its_tests(server: Server, tmp_path: Path) -> None:
    """The code under test ends the process with success, so that the runner says nothing."""
    folder = project(tmp_path / "shop", **{"tests/test_shop.py": CASE.format(body="pass")})
    session = run(server, folder, {"shop.py": "import os\n\nos._exit(0)\n"})
    [failed] = only(events(server.client, session["id"]), "delivery.validation_failed")
    assert failed["cause"] == "no_tests" and session["status"] == "failed"
    assert {"what": "tests", "path": None, "before": 1, "after": 0} in failed["weakened"]


def test_a_runner_that_fails_where_it_finds_no_test_has_lost_them(server: Server, tmp_path: Path) -> None:
    """As pytest does, with its exit code 5."""
    plain = "from shop import total\n\n\ndef test_total():\n    assert total([1, 2]) {sign} 3\n"
    folder = project(tmp_path / "shop", **{"tests/test_shop.py": plain.format(sign="!=")})
    command = [sys.executable, "-B", "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    gone = {"tests/test_shop.py": plain.format(sign="==").replace("test_total", "check_total"), "shop.py": FIXED}
    session = run(server, folder, gone, command=command)
    [failed] = only(events(server.client, session["id"]), "delivery.validation_failed")
    assert failed["cause"] == "no_tests"
    assert {"what": "tests", "path": None, "before": 1, "after": 0} in failed["weakened"]


def test_a_command_after_the_one_that_failed_has_lost_nothing(server: Server, tmp_path: Path) -> None:
    files = {"tests/test_shop.py": CASE.format(body="pass"), "more/test_more.py": CASE.format(body="pass")}
    second = [*TESTS[:-1], "more"]
    folder = project(tmp_path / "shop", **files)
    session = run(server, folder, {"tests/test_shop.py": "import unittest\n"}, command=TESTS, then=second)
    [failed] = only(events(server.client, session["id"]), "delivery.validation_failed")
    assert [each for each in failed["weakened"] if each["what"] == "tests"] == [
        {"what": "tests", "path": None, "before": 1, "after": 0}
    ]


def test_where_there_never_were_tests_a_pass_counts_for_nothing(server: Server, tmp_path: Path) -> None:
    session = run(server, project(tmp_path / "shop", **{"tests/test_shop.py": "import unittest\n"}), {"shop.py": FIXED})
    assert session["status"] == "success"
    assert session["result"]["validated"] is None
    assert session["result"]["why"] == "no_tests"
    assert "Not validated" in session["finalSummary"]


def test_work_that_adds_the_first_test_is_validated(server: Server, tmp_path: Path) -> None:
    folder = project(tmp_path / "shop", **{"tests/test_shop.py": "import unittest\n"})
    session = run(server, folder, {"shop.py": FIXED, "tests/test_shop.py": RED})
    assert session["result"]["validated"]["passed"] is True
    assert session["result"].get("why") is None


def test_what_is_weaker_is_in_the_report_and_the_view_and_read_by_the_reviewer(server: Server, tmp_path: Path) -> None:
    two = RED + "    def test_more(self):\n        self.assertTrue(total([]) == 0)\n"
    less = CASE.format(body="pass") + "    @unittest.skip('later')\n    def test_more(self):\n        pass\n"
    folder = project(tmp_path / "shop", **{"tests/test_shop.py": two, "Makefile": "test:\n\ttrue\n"})
    session = run(server, folder, {"shop.py": FIXED, "tests/test_shop.py": less, "Makefile": "test:\n\tfalse\n"})
    expected = [
        {"what": "tests", "path": None, "before": 2, "after": 1},
        {"what": "skipped", "path": None, "before": 0, "after": 1},
        {"what": "settings", "path": "Makefile", "before": None, "after": None},
        {"what": "assertions", "path": "tests/test_shop.py", "before": 2, "after": 0},
        {"what": "skipped", "path": "tests/test_shop.py", "before": 0, "after": 1},
    ]
    assert reports(server, session)[0]["weakened"] == expected
    assert session["report"]["weakened"] == expected
    turn = next(
        each for each in only(events(server.client, session["id"]), "turn.answered") if each["role"] == "reviewer"
    )
    prompt = server.client.get(f"/api/sessions/{session['id']}/turns/{turn['turnId']}").json()["prompt"]
    assert "tests/test_shop.py asserts less: 2 before, 0 now" in prompt
    assert prompt.index("asserts less") < prompt.index("diff --git")
    shown = dict(details(session, []))["proves less"].splitlines()
    assert shown == [
        "Fewer tests ran: 2 before, 1 now.",
        "More tests are skipped or expected to fail: 0 before, 1 now.",
        "Makefile decides what is validated, and has changed.",
        "tests/test_shop.py asserts less: 2 before, 0 now.",
        "tests/test_shop.py skips more tests: 0 before, 1 now.",
    ]
    assert all(words in prompt and words in changes_page(server, session, "en") for words in shown)
    assert "실행한 테스트가 줄었습니다: 전에는 2개, 지금은 1개." in changes_page(server, session, "ko")


def changes_page(server: Server, session: Json, language: str) -> str:
    url, headers = f"/sessions/{session['id']}?tab=changes", {"Accept": "text/html", "Accept-Language": language}
    return server.client.get(url, headers=headers).text


def test_a_name_with_a_line_break_adds_no_line_to_what_is_weaker() -> None:
    broken = {"what": "settings", "path": "Makefile\nApproved", "before": None, "after": None}
    [words] = weaker({"report": {"weakened": [broken]}})
    assert words == "Makefile⟦U+000A⟧Approved decides what is validated, and has changed."


def test_work_that_weakens_nothing_has_an_empty_list(server: Server, tmp_path: Path) -> None:
    session = run(server, project(tmp_path / "shop", **{"tests/test_shop.py": RED}), {"shop.py": FIXED})
    assert session["report"]["weakened"] == []
    assert reports(server, session)[0]["weakened"] == []
