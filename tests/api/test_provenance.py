"""Authors of lines after people rewrite a branch: agents' lines are found again, and people's lines
are never claimed."""

import itertools
import json
import random
from collections.abc import Iterator
from pathlib import Path

import httpx2 as httpx
import pytest

from tests.api.lines import Place, new_repository
from tests.api.server import ended, events, inside

BASE = ["def total(prices):", "    return sum(prices)", "", "def first(prices):", "    return prices[0]"]
WORK = [
    *BASE,
    "",
    "def average_price(prices):",
    "    if not prices:",
    "        return None",
    "    return total(prices) / len(prices)",
]
OURS = WORK[5:]
PEOPLES = ["."] * len(BASE)


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    with inside(tmp_path_factory.mktemp("provenance")) as result:
        yield result


@pytest.fixture
def place(client: httpx.Client, tmp_path: Path) -> Place:
    return new_repository(tmp_path / "shop", {"shop.py": BASE, "readme.md": ["# Shop"]}, client)


def test_every_line_of_a_delivery_is_claimed_and_no_other(place: Place) -> None:
    session = place.deliver({"shop.py": WORK})
    branch = session["result"]["branch"]
    assert place.claimed("shop.py", branch) == [*PEOPLES, *OURS]
    assert place.claimed("shop.py") == PEOPLES
    place.git("merge", "--quiet", branch)
    assert place.claimed("shop.py") == [*PEOPLES, *OURS]


def test_only_what_a_branch_or_a_tag_leads_to_is_read(place: Place, client: httpx.Client) -> None:
    """Given a commit with a secret that was amended away, a reader does not get at it; a tag shows it again."""
    place.merged({"shop.py": WORK})
    place.write({"secret.txt": ["hunter2"]})
    place.git("add", "--all")
    place.git("commit", "--quiet", "--message=Secret")
    gone = place.git("rev-parse", "HEAD").strip()
    assert place.claimed("secret.txt", gone) == ["."]
    place.git("reset", "--quiet", "--hard", "HEAD~1")
    asked = {"repository": str(place.folder), "path": "secret.txt", "revision": gone}
    for revision in (gone, gone[:12], "ORIG_HEAD", "HEAD@{1}"):
        answer = client.get("/api/blame", params=asked | {"revision": revision})
        assert (answer.status_code, "hunter2" in answer.text) == (404, False), revision
    place.git("tag", "kept", gone)
    assert place.claimed("secret.txt", "kept") == ["."]
    place.git("checkout", "--quiet", "--detach", "HEAD~0")
    assert place.claimed("shop.py") == [*PEOPLES, *OURS]


@pytest.mark.parametrize("message", ["--no-edit", "--message=Average"])
def test_lines_stay_claimed_after_an_amend_and_a_persons_line_in_it_is_not(place: Place, message: str) -> None:
    """The person's line has the same text as one of the agent's; with and without trailers."""
    place.merged({"shop.py": WORK})
    more = ["def last(prices):", "    if not prices:", "        return None", "    return prices[-1]"]
    place.write({"shop.py": [*more, *WORK], "extra.py": [WORK[-1].strip()]})
    place.git("add", "--all")
    place.git("commit", "--quiet", "--amend", message)
    assert place.claimed("shop.py") == [".", ".", ".", ".", *PEOPLES, *OURS]
    assert place.claimed("extra.py") == ["."]


def test_a_persons_brace_in_an_amended_commit_is_not_claimed(place: Place) -> None:
    agents = [
        "function average(prices) {",
        "  if (!prices.length) {",
        "    return 0;",
        "  }",
        "  return sum(prices);",
        "}",
    ]
    mine = ["function mine() {", "  return 0;", "}"]
    place.merged({"shop.js": agents})
    place.commit({"shop.js": [*mine, *agents[:4], agents[4], *agents[5:], *mine]}, "--amend", "--no-edit")
    assert place.claimed("shop.js") == [".", ".", ".", *agents, ".", ".", "."]


def test_lines_are_found_again_after_a_squash_without_trailers(place: Place) -> None:
    session = place.deliver({"shop.py": WORK})
    place.git("merge", "--squash", session["result"]["branch"])
    place.commit({"readme.md": ["# Shop", "Mine, too."]}, message="All in one")
    assert place.claimed("shop.py") == [*PEOPLES, *OURS]
    assert place.claimed("readme.md") == [".", "."]


def test_moved_and_reindented_lines_stay_the_agents(place: Place) -> None:
    """Within the file, into another one, with a renamed file."""
    place.merged({"shop.py": WORK})
    place.commit({"shop.py": [*OURS, *BASE]}, message="Move up")
    assert place.claimed("shop.py") == [*OURS, *PEOPLES]
    indented = ["class Shop:", *(f"    {line}" if line else line for line in OURS)]
    place.commit({"shop.py": BASE, "prices.py": indented}, message="Move out")
    assert place.claimed("shop.py") == PEOPLES
    assert place.claimed("prices.py") == [".", *indented[1:]]
    place.git("mv", "prices.py", "shop_prices.py")
    place.commit({}, message="Rename")
    assert place.claimed("shop_prices.py") == [".", *indented[1:]]


def test_a_rebase_and_a_cherry_pick_keep_the_claims(place: Place) -> None:
    session = place.deliver({"shop.py": WORK})
    place.commit({"readme.md": ["# Shop", "More."]}, message="Meanwhile")
    place.git("cherry-pick", "--no-commit", session["result"]["head"])
    place.git("commit", "--quiet", "-m", "Picked")
    place.git("branch", "--quiet", "-D", session["result"]["branch"])
    assert place.claimed("shop.py") == [*PEOPLES, *OURS]


def test_lines_rewritten_or_copied_by_a_person_are_not_claimed(place: Place) -> None:
    place.merged({"shop.py": WORK})
    place.commit({"copy.py": OURS}, message="Copy")
    assert place.claimed("copy.py") == ["."] * len(OURS)
    place.commit({"shop.py": BASE}, message="Take it out")
    place.commit({"shop.py": [*BASE, "", "def average_price(prices):", "    return 0"]}, message="Write my own")
    assert place.claimed("shop.py") == [*PEOPLES, ".", ".", "."]


def test_line_broken_and_restored_by_a_person_is_not_claimed(place: Place) -> None:
    """By hand or with `git revert`, whether or not an agent once wrote the line."""
    place.merged({"shop.py": WORK})
    place.commit({"shop.py": [*WORK[:-1], "    return 0"]}, message="Break the agent's line")
    place.git("revert", "--no-edit", "HEAD")
    assert place.claimed("shop.py") == [*PEOPLES, *OURS[:-1], "."]


def test_a_restored_line_stays_a_persons_when_it_moves_with_an_agents_line(place: Place) -> None:
    first, second = "cheapest_price = min(prices)", "dearest_price = max(prices)"
    place.merged({"shop.py": [*BASE, first, second]})
    place.commit({"shop.py": [*BASE, second]}, message="Break it")
    place.git("revert", "--no-edit", "HEAD")
    place.commit({"shop.py": BASE, "extremes.py": [first, second]}, message="Move both")
    assert place.claimed("extremes.py") == [".", second]


RIGHT, WRONG = (
    [BASE[0], f"    return {way}(price.amount_in_cents for price in prices)", *BASE[2:]] for way in ("sum", "max")
)


@pytest.mark.parametrize("restored", ["revert", "by hand"])
def test_a_persons_line_that_they_restore_is_theirs_though_an_agent_restored_it_too(
    place: Place, restored: str
) -> None:
    """The agent's result is never merged."""
    place.commit({"shop.py": RIGHT}, message="All in cents")
    place.commit({"shop.py": WRONG}, message="Break it")
    session = place.deliver({"shop.py": RIGHT})
    assert place.claimed("shop.py", session["result"]["branch"]) == [".", RIGHT[1], *PEOPLES[2:]]
    if restored == "revert":
        place.git("revert", "--no-edit", "HEAD")
    else:
        place.commit({"shop.py": RIGHT}, message="Restore it")
    assert place.claimed("shop.py") == PEOPLES


def test_a_line_that_an_agent_restores_is_the_agents_where_the_commit_names_the_turn(place: Place) -> None:
    place.commit({"shop.py": RIGHT}, message="All in cents")
    place.commit({"shop.py": WRONG}, message="Break it")
    session = place.deliver({"shop.py": RIGHT})
    trailers = place.git("log", "-1", "--format=%(trailers:only,unfold)", session["result"]["branch"])
    place.git("merge", "--quiet", "--squash", session["result"]["branch"])
    place.commit({}, message=f"Restore it\n\n{trailers}")
    assert place.claimed("shop.py") == [".", RIGHT[1], *PEOPLES[2:]]


def test_lines_that_say_little_are_found_at_their_place(place: Place) -> None:
    """A file of imports alone, and imports between a person's lines; not those that the person adds elsewhere."""
    imports = ["from shop import total", "from shop import first"]
    session = place.deliver({"__init__.py": imports, "shop.py": ["import sys", *BASE, *OURS]})
    place.git("merge", "--squash", session["result"]["branch"])
    place.commit({"mine.py": [*imports, "import sys"]}, message="All in one")
    assert place.claimed("__init__.py") == imports
    assert place.claimed("shop.py") == ["import sys", *PEOPLES, *OURS]
    assert place.claimed("mine.py") == [".", ".", "."]


def test_common_lines_of_a_person_are_not_claimed_for_work_that_never_arrived(place: Place) -> None:
    script = [
        "import os",
        "from typing import Any",
        "",
        "def main():",
        "    pass",
        "",
        'if __name__ == "__main__":',
        "    main()",
    ]
    place.deliver({"tool.py": [*script, "print(os.environ)"]})
    place.commit({"mine.py": script}, message="My own tool")
    assert place.claimed("mine.py") == ["."] * len(script)


def test_a_line_that_the_base_has_is_never_claimed_by_its_words(place: Place) -> None:
    """The agent moves a person's lines: they stay the person's."""
    place.merged({"shop.py": [*BASE[3:], "", *BASE[:2]], "copy.py": ["import shop", *BASE[:2]]})
    assert [line for line in place.claimed("shop.py") if line.strip(".")] == []
    place.commit({"readme.md": ["x"]}, "--amend", "--message=Mine")
    assert [line for line in place.claimed("shop.py") if line.strip(".")] == []


def test_moving_lines_does_not_change_their_author(place: Place) -> None:
    first = place.merged({"shop.py": WORK})
    second = place.merged({"shop.py": [*OURS, *BASE, "", "TAX_RATE_OF_TODAY = 0.19"]})
    sessions = {line["text"].strip(): line["session"] for line in place.blame("shop.py") if line["text"].strip()}
    assert sessions["def average_price(prices):"] == first["id"]
    assert sessions["TAX_RATE_OF_TODAY = 0.19"] == second["id"]
    assert sessions["def total(prices):"] is None


def test_each_line_names_the_finding_that_demanded_it(place: Place) -> None:
    """Of two findings, the one that names the place; the earlier turn answers none."""
    issues = [
        {"id": "a", "title": "The empty basket", "detail": "`average_price` fails for no prices, see shop.py:7"},
        {"id": "b", "title": "Docs are missing", "detail": "readme.md says nothing of it"},
    ]
    blocked = json.dumps({"blockingIssues": issues, "nonBlockingIssues": [], "score": 40, "fixPlan": []})
    passed = json.dumps({"blockingIssues": [], "nonBlockingIssues": [], "score": 90, "fixPlan": []})
    early = [*BASE, "", "def average_price(prices):", "    return total(prices) / len(prices)"]
    second = {"shop.py": WORK, "readme.md": ["# Shop", "Averages, too."], "other.txt": ["by the way"]}
    result = place.merged({"shop.py": early}, second, reviews=[blocked, passed])
    shop = {line["text"].strip(): line for line in place.blame("shop.py")}
    assert shop["def average_price(prices):"]["demandedBy"] is None
    assert shop["def average_price(prices):"]["iteration"] == 1
    assert shop["if not prices:"]["demandedBy"]["title"] == "The empty basket"
    assert shop["if not prices:"]["iteration"] == 2
    assert place.blame("readme.md")[1]["demandedBy"]["title"] == "Docs are missing"
    assert place.blame("other.txt")[0]["demandedBy"] is None
    history = events(place.client, result["id"])
    types = dict(zip(itertools.count(1), (event["type"] for event in history), strict=False))
    line = shop["if not prices:"]
    assert types[line["demandedBy"]["version"]] == "delivery.review_blocking_detected"
    assert types[line["validatedBy"]] == "delivery.tests_passed"
    assert types[line["approvedBy"]["version"]] == "delivery.review_approved"


def test_work_reused_by_a_fork_stays_with_the_source(place: Place) -> None:
    session = place.deliver({"shop.py": WORK})
    answer = place.client.post(f"/api/sessions/{session['id']}/fork", json={"atVersion": 3})
    forked = ended(place.client, answer.json()["sessionId"])
    assert forked["status"] == "success" and forked["result"]["branch"] != session["result"]["branch"]
    branch = forked["result"]["branch"]
    assert {line["session"] for line in place.blame("shop.py", branch)} == {None, session["id"]}
    place.git("merge", "--quiet", "--squash", branch)
    place.commit({}, message="All in one")
    assert place.claimed("shop.py") == [*PEOPLES, *OURS]
    assert {line["session"] for line in place.blame("shop.py")} == {None, session["id"]}


def test_other_revisions_are_refused_by_name(place: Place) -> None:
    place.deliver({"shop.py": WORK})
    query = {"repository": str(place.folder), "path": "shop.py"}
    for words in ("nope", "--all", "HEAD:shop.py", ""):
        answer = place.client.get("/api/blame", params=query | {"revision": words})
        assert answer.status_code == (200 if not words else 404), words


def test_a_repository_that_no_longer_exists_is_named(place: Place) -> None:
    place.deliver({"shop.py": WORK})
    place.folder.rename(place.folder.with_name("moved"))
    answer = place.client.get("/api/blame", params={"repository": str(place.folder), "path": "shop.py"})
    assert answer.status_code == 404
    assert answer.json()["detail"] == f"The repository {place.folder} no longer exists."


def test_a_block_that_an_agent_moves_stays_the_persons_with_its_faint_lines(place: Place) -> None:
    block = ["function mine(prices) {", "  if (!prices.length) {", "    return 0;", "  }", "  return prices[0];", "}"]
    place.commit({"shop.js": [*block, "", "const rate_of_today = 0.19;"]})
    written = ["function theirs(prices) {", "  return prices[1];", "}"]
    place.merged({"shop.js": ["const rate_of_today = 0.19;", "", *written, "", *block]})
    result = place.claimed("shop.js")
    assert [line for line in result[-len(block) :] if line != "."] == []
    assert "function theirs(prices) {" in result and "  return prices[1];" in result
    place.commit({"other.txt": ["x"]}, "--amend", "--message=Mine")
    assert [line for line in place.claimed("shop.js")[-len(block) :] if line != "."] == []


ALPHA = ["def f():", "    logger.debug('done')", "    return 1"]


@pytest.mark.parametrize("path", ["up.py", "alpha.py"])
def test_one_line_like_an_agents_is_a_persons_where_nothing_was_merged(place: Place, path: str) -> None:
    place.deliver({"alpha.py": ALPHA})
    place.commit({path: ["import os", "x = 1", ALPHA[1], "y = 2"]})
    assert place.claimed(path) == ["."] * 4


def test_a_persons_line_below_a_squash_is_theirs_and_the_agents_stay_the_agents(place: Place) -> None:
    """The person's commit goes below the squashed work, as a rebase puts it there."""
    session = place.deliver({"alpha.py": ALPHA})
    place.git("merge", "--quiet", "--squash", session["result"]["branch"])
    place.commit({}, message="Took it over")
    place.git("checkout", "--quiet", "-B", "upstream", "HEAD~1")
    place.commit({"up.py": ["import os", "x = 1", ALPHA[1], "y = 2"]})
    place.git("checkout", "--quiet", "main")
    place.git("rebase", "--quiet", "upstream")
    assert place.claimed("up.py") == ["."] * 4
    assert place.claimed("alpha.py") == ALPHA


def test_lines_that_only_an_earlier_iteration_had_are_a_persons(place: Place) -> None:
    first = ["def f():", "    logger.debug('finished at last')", "    audit.record('finished at last')", "    return 1"]
    blocked = json.dumps({"blockingIssues": [{"id": "a", "title": "Log less", "detail": "alpha.py"}], "score": 40})
    passed = json.dumps({"blockingIssues": [], "nonBlockingIssues": [], "score": 90, "fixPlan": []})
    place.deliver({"alpha.py": first}, {"alpha.py": ALPHA}, reviews=[blocked, passed])
    place.commit({"up.py": ["x = 1", first[1], first[2], "y = 2"]})
    assert place.claimed("up.py") == ["."] * 4


@pytest.mark.parametrize("message", ["Took it over", ""])
def test_one_line_that_an_agent_adds_stays_the_agents_at_its_place_after_a_squash(place: Place, message: str) -> None:
    line = "TAX_RATE_OF_TODAY = 0.19"
    session = place.deliver({"shop.py": [*BASE[:2], line, *BASE[2:]]})
    place.git("merge", "--quiet", "--squash", session["result"]["branch"])
    place.commit({"readme.md": ["# Shop", message, "More."]}, message="Took it over")
    assert place.claimed("shop.py") == [".", ".", line, ".", ".", "."]
    assert place.claimed("readme.md") == [".", ".", "."]


@pytest.mark.parametrize("seed", range(3))
def test_generated_lines_of_a_person_are_theirs_whatever_an_agent_wrote_elsewhere(place: Place, seed: int) -> None:
    """Short lines, braces, blank lines and the agent's own lines, each between lines of the person, nothing merged."""
    chance = random.Random(seed)  # noqa: S311
    pool = ["}", "{", "", "    return None", "import os", "x = 1", "    pass", "    logger.debug('done')"]
    pool += [f"    report_total_{number}(prices, 'quarter {number}')" for number in range(8)]
    agents = {f"app{number}.py": chance.sample(pool, 9) for number in range(2)}
    place.deliver(agents)
    theirs = [line for lines in agents.values() for line in lines]
    mine: dict[str, list[str]] = {}
    for number in range(3):
        lines = mine.setdefault(f"mine{number}.py", [])
        for at, line in enumerate(chance.sample(theirs, 6)):
            lines += [f"my_own_{number}_{at} = {at}", line]
    place.commit(mine)
    for path, lines in mine.items():
        assert place.claimed(path) == ["."] * len(lines), (path, lines, agents)
