"""The session page of every kind: live, at any event, filtered, limited in size, in both languages."""

import re
from typing import Any

import pytest
from starlette.testclient import TestClient

from api.web.session.history import ROWS
from tests.api.scenes import (
    SCENES,
    at_checkpoint,
    exhausted,
    held_fork,
    reached,
    two_iterations,
    under_review,
    waiting_debate,
    waiting_review,
)
from tests.api.seen import Seen, harmless, page
from tests.api.server import delivery, events, session, start, until
from tests.kit.replies import challenge, critique

KINDS = tuple(SCENES)
PANELS = {
    "delivery": {
        "head",
        "task",
        "overview",
        "gantt",
        "found",
        "failure",
        "decision",
        "next",
        "reviews",
        "family",
        "diagram",
        "budget",
        "inputs",
    },
    "orchestration": {
        "head",
        "task",
        "overview",
        "gantt",
        "next",
        "failure",
        "decision",
        "matrix",
        "family",
        "diagram",
        "budget",
        "inputs",
    },
    "review": {"head", "task", "overview", "gantt", "failure", "decision", "discussion", "family", "diagram", "inputs"},
    "debate": {"head", "task", "overview", "gantt", "failure", "decision", "discussion", "family", "diagram", "inputs"},
}
TABS = {"artifacts": "changes", "changes": "changes", "turns": "turns", "worklog": "worklog"}
"""The tabs of panels that are not in the overview."""


def at(client: TestClient, session_id: str, **query: Any) -> dict[str, Any]:
    answer = client.get(f"/sessions/{session_id}/at", params=query)
    assert answer.status_code == 200, answer.text
    body: dict[str, Any] = answer.json()
    return body


def panel(client: TestClient, session_id: str, name: str, **query: Any) -> str:
    return str(at(client, session_id, tab=TABS.get(name, "overview"), **query)["panels"][name][1])


def words_of(html: str) -> str:
    return " ".join(Seen(re.sub(r"(</(?:dt|dd|td|th|h3|li|p)>)", r" \1", html)).text.split())


@pytest.mark.parametrize(
    ("asked", "shown"),
    [
        ("Add a login page", ""),
        ("Add a login page\n\nFive tries a minute.", "Five tries a minute."),
        ("Add a page " * 10, "Add a page " * 10),
    ],
)
def test_the_task_is_at_the_top_once(client: TestClient, asked: str, shown: str) -> None:
    """What the title says already is not said again."""
    session_id = start(client, delivery(task=asked))
    html = at(client, session_id)["panels"]
    assert words_of(html["task"][1]).removeprefix("Task").strip() == shown.strip()
    assert asked.splitlines()[-1] not in words_of(html["inputs"][1])


# -- one code for live and replay --------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_every_panel_is_the_same_live_in_the_page_and_as_of_its_event(client: TestClient, kind: str) -> None:
    session_id = SCENES[kind](client)
    live = at(client, session_id)
    last = len(events(client, session_id))
    assert set(live["panels"]) == PANELS[kind]
    assert at(client, session_id, at=last)["panels"] == live["panels"]
    hashes = dict(re.findall(r'data-part="(\w+)" data-hash="(\w+)"', page(client, f"/sessions/{session_id}")))
    assert hashes == {name: made[0] for name, made in live["panels"].items()}


@pytest.mark.parametrize("kind", KINDS)
def test_past_position_does_not_change_with_later_events(client: TestClient, kind: str) -> None:
    session_id = SCENES[kind](client)
    before = at(client, session_id)
    endpoint, body = {
        "delivery": ("budget", {"addIterations": 1, "reason": "more"}),
        "orchestration": ("reset", {}),
        "review": ("decision", {"decision": "skip"}),
        "debate": ("decision", {"decision": "accept"}),
    }[kind]
    if kind == "delivery":
        session_id = exhausted(client)
        before = at(client, session_id)
    answer = client.post(f"/api/sessions/{session_id}/{endpoint}", json=body)
    assert answer.status_code == 200, answer.text
    after = at(client, session_id)
    assert after["version"] > before["version"]
    assert (after["badge"], after["panels"]["overview"]) != (before["badge"], before["panels"]["overview"])
    assert at(client, session_id, at=before["version"])["panels"] == before["panels"]


@pytest.mark.parametrize("kind", KINDS)
def test_every_event_of_every_kind_can_be_stepped_to(client: TestClient, kind: str) -> None:
    session_id = SCENES[kind](client)
    for version in range(1, len(events(client, session_id)) + 1):
        result = at(client, session_id, at=version)
        assert (result["version"], set(result["panels"])) == (version, PANELS[kind])


def test_a_source_lists_its_forks(client: TestClient) -> None:
    source = two_iterations(client)
    assert 'id="forks"' not in page(client, f"/sessions/{source}")
    fork = held_fork(client, source)
    assert f"/compare?a={source}&amp;b={fork}" in page(client, f"/sessions/{source}")


def test_every_choice_explains_its_effect(client: TestClient) -> None:
    alone, parent = waiting_review(client), under_review(client)
    texts = [" ".join(Seen(page(client, f"/sessions/{each}")).text.split()) for each in (alone, parent)]
    assert "Apply fix: a delivery can start from the findings · Skip & continue: nothing is changed" in texts[0]
    assert "Apply fix: the work goes back and is done again · Skip & continue: it continues as it is" in texts[1]


def test_only_changed_panels_are_sent(client: TestClient) -> None:
    session_id = waiting_review(client)
    last = len(events(client, session_id))
    assert at(client, session_id, since=last)["panels"] == {}
    assert "discussion" in at(client, session_id, since=3)["panels"]


def test_a_version_may_be_kept_for_ever_only_under_the_build_that_made_it(client: TestClient) -> None:
    session_id = waiting_review(client)
    [build] = re.findall(r'data-build="(\w+)"', page(client, f"/sessions/{session_id}"))
    path = f"/sessions/{session_id}/at"
    lasting = client.get(path, params={"at": 3, "v": build}).headers
    assert lasting["cache-control"] == "private, max-age=31536000, immutable"
    assert lasting["vary"] == "Accept-Language, Accept-Encoding"
    for query in ({"at": 3}, {"at": 3, "v": "other"}, {"v": build}, {}):
        assert client.get(path, params=query).headers["cache-control"] == "no-store"


# -- panels ------------------------------------------------------------------------------------------------------------


def test_delivery_shows_reviews_budget_and_changes(client: TestClient) -> None:
    session_id = two_iterations(client)
    reviews = words_of(panel(client, session_id, "reviews"))
    assert "✓ approved" in reviews and "Iteration 2" in reviews and "1 ✕ blocked" in reviews
    blocked = next(e["version"] for e in events(client, session_id) if e["type"].endswith("review_blocking_detected"))
    then = words_of(panel(client, session_id, "reviews", at=blocked))
    assert "✕ blocked" in then and "Fix plan No rate limit" in then and "Blocking issues 1" in then
    artifacts = panel(client, session_id, "artifacts")
    assert '<span class="is-added">+# No rate limit' in artifacts
    assert f'href="/sessions/{session_id}/raw?at=' in artifacts
    budget = panel(client, session_id, "budget")
    assert "Remaining 4" in words_of(budget) and 'class="line is-iterations"' in budget
    assert "Iteration 2/6 Time used" in words_of(panel(client, session_id, "overview"))


def test_the_matrix_keeps_every_verdict_and_links_it_to_its_event(client: TestClient) -> None:
    session_id = at_checkpoint(client)
    answers = [e["version"] for e in events(client, session_id) if e["type"] == "orchestration.verdict_given"]
    html = panel(client, session_id, "matrix")
    cells = re.findall(r'<td class="cell is-(\w+)".*?</td>', html, re.DOTALL)
    assert cells == ["passed", "passed", "passed", "outside", "outside"]
    first = re.search(r'<td class="cell is-passed".*?</td>', html, re.DOTALL)
    assert first is not None
    assert re.findall(r'class="mark (\w+)" href="/sessions/[^"]+at=(\d+)"', first[0]) == [
        ("bad", str(answers[0])),
        ("good", str(answers[1])),
    ]
    claimed = next(e["version"] for e in events(client, session_id) if e["data"].get("claimed"))
    assert 'class="mark claim"' in panel(client, session_id, "matrix", at=claimed)
    assert 'class="mark claim"' not in html


def test_review_shows_rounds_scores_synthesis_and_unresolved_points(client: TestClient) -> None:
    session_id = waiting_review(client)
    html = panel(client, session_id, "discussion")
    seen = Seen(html)
    rounds = [item for item in seen.all("details") if str(item.get("id", "")).startswith("round-")]
    assert [(entry["id"], "open" in entry) for entry in rounds] == [
        ("round-1", False),
        ("round-2", False),
        ("round-3", True),
    ]
    view = session(client, session_id)["convergence"]
    badge = f"Convergence: {view['overallScore']:.2f} (round limit reached)"
    assert badge in words_of(html) and f'class="convergence is-{view["recommendation"]}"' in html
    assert len(re.findall(r"<tr><td>", html)) == 3 and html.count('class="dot is-score"') == 3
    assert "Synthesis" in words_of(html) and "≠ Unresolved points 1 half-up rounding" in words_of(html)
    spoken = [e["version"] for e in events(client, session_id) if e["type"] == "review.round_added"]
    assert all(f'at={version}" data-at="{version}"' in html for version in spoken)


@pytest.mark.parametrize(
    ("kind", "synthesis", "told"),
    [
        ("review", critique(resolvedCount=1, remainingCount=2), "Settled points: 1 · Open points: 2"),
        ("debate", challenge(consensusCount=3, divergenceCount=0), "Agreed points: 3 · Disagreements: 0"),
    ],
)
def test_points_of_a_synthesis_are_listed(client: TestClient, kind: str, synthesis: str, told: str) -> None:
    body = {"kind": kind, "subject" if kind == "review" else "plan": "It rounds.", "maxRounds": 2}
    session_id = start(client, body | {"scenario": {"replies": {"synthesizer": [synthesis]}}})
    html = panel(client, reached(client, session_id, "waiting_for_decision"), "discussion")
    assert told in words_of(html)


def test_a_synthesis_that_failed_says_so(client: TestClient) -> None:
    html = panel(client, waiting_debate(client), "discussion")
    assert "The synthesis failed; the rounds are shown instead." in words_of(html)


def test_decision_is_shown_with_person_and_reason(client: TestClient) -> None:
    session_id = waiting_review(client)
    body = {"decision": "apply_fix", "rationale": "It is worth it"}
    assert client.post(f"/api/sessions/{session_id}/decision", json=body).status_code == 200
    result = at(client, session_id)
    assert "Decision: Apply fix (unauthenticated)" in words_of(result["panels"]["discussion"][1])
    assert "It is worth it" in result["panels"]["discussion"][1]
    assert result["panels"]["decision"][1] == "" and "data-command" not in result["act"]


def test_children_are_linked_both_ways_and_decided_from_their_parent(client: TestClient) -> None:
    parent = start(client, delivery(review={"maxRounds": 1}))
    [child] = until(lambda: session(client, parent)["children"], what="a child")
    reached(client, child, "waiting_for_decision")
    result = at(client, parent)
    assert child in result["follows"] and result["state"] == "reviewing"
    assert "? Awaiting decision" in words_of(result["badge"]) and result["title"].startswith("? ")
    assert f'href="/sessions/{child}"' in result["panels"]["family"][1]
    version = session(client, child)["version"]
    assert f'data-command="/api/sessions/{child}/decision" data-bound="{version}"' in result["act"]
    assert f'href="/sessions/{parent}"' in panel(client, child, "family")
    bound = {"If-Match": f'"{version}"'}
    answer = client.post(f"/api/sessions/{child}/decision", json={"decision": "skip"}, headers=bound)
    assert answer.status_code == 200
    reached(client, parent, "success")
    assert "Skip & continue" in words_of(panel(client, parent, "family"))


def test_verdict_at_the_end_of_a_contribution_is_folded(client: TestClient) -> None:
    html = panel(client, waiting_review(client), "discussion")
    written = re.search(r'<details class="written" id="verdict-1">.*?</details>', html, re.DOTALL)
    assert written is not None and "&#34;verdict&#34;: &#34;NEEDS_FIX&#34;" in written[0]
    assert "<p>I agree, however: half-up rounding</p>" in html


def test_a_fork_names_its_source_at_the_event_where_they_part(client: TestClient) -> None:
    source = two_iterations(client)
    fork = held_fork(client, source)
    forked = next(e for e in events(client, fork) if e["type"] == "session.forked")
    family = panel(client, fork, "family")
    assert f'href="/sessions/{source}?at={forked["data"]["sourceVersion"]}"' in family


def test_a_fork_that_is_held_says_so_and_can_be_continued(client: TestClient) -> None:
    fork = held_fork(client, two_iterations(client))
    assert "‖ Held" in words_of(at(client, fork)["badge"])
    assert "The fork is on hold: no recorded answer fits from here on." in words_of(panel(client, fork, "decision"))
    html = page(client, f"/sessions/{fork}")
    assert commands(html)[:1] == ["continue"] and f'data-follows="{fork}"' in html
    assert client.post(f"/api/sessions/{fork}/continue").status_code == 200
    reached(client, fork, "success", "failed")
    assert "Held" not in panel(client, fork, "overview")


def test_only_finished_sessions_are_not_followed(client: TestClient) -> None:
    waiting, over, short = waiting_review(client), two_iterations(client), exhausted(client)
    assert [at(client, item)["follows"] for item in (waiting, over, short)] == [waiting, "", short]
    assert Seen(page(client, f"/sessions/{over}")).all("body")[0]["data-follows"] == ""
    head = client.get("/api/events", params={"after": 0, "limit": 500}).json()["items"][-1]["position"]
    assert at(client, short)["head"] == head


def test_a_session_under_review_follows_its_discussion_too(client: TestClient) -> None:
    parent = under_review(client)
    [child] = session(client, parent)["children"]
    assert at(client, parent)["follows"] == f"{parent} {child}"


# -- commands ----------------------------------------------------------------------------------------------------------


def commands(html: str) -> list[str]:
    return [re.sub(r".*/", "", str(form["data-command"])) for form in Seen(html).all("form") if "data-command" in form]


@pytest.mark.parametrize(
    ("scene", "endpoints", "told"),
    [
        (waiting_review, ["decision", "cancel"], ["Apply fix", "Skip & continue"]),
        (waiting_debate, ["decision", "cancel"], ["Revise plan", "Accept as is"]),
        (at_checkpoint, ["continue", "revise", "reset"], ["Continue", "Request changes", "Reset for good"]),
        (exhausted, ["budget", "revise"], ["Add budget", "no iterations left"]),
        (two_iterations, ["revise"], ["Request changes"]),
    ],
)
def test_commands_are_offered_live_and_never_in_replay(
    client: TestClient, scene: Any, endpoints: list[str], told: list[str]
) -> None:
    session_id = scene(client)
    html = page(client, f"/sessions/{session_id}")
    assert commands(html) == endpoints
    assert [words for words in told if words not in Seen(html).text] == []
    last = len(events(client, session_id))
    replayed = page(client, f"/sessions/{session_id}?at={last}")
    assert commands(replayed) == [] and "Read-only." in Seen(replayed).text


def test_a_stale_decision_is_refused(client: TestClient) -> None:
    session_id = waiting_review(client)
    version = session(client, session_id)["version"]
    stale = {"If-Match": f'"{version - 1}"'}
    body = {"decision": "skip"}
    assert client.post(f"/api/sessions/{session_id}/decision", json=body, headers=stale).status_code == 412
    assert session(client, session_id)["status"] == "waiting_for_decision"


# -- the list of events ------------------------------------------------------------------------------------------------


def rows(html: str) -> list[int]:
    return [int(match) for match in re.findall(r'data-row="(\d+)"', html)]


def listed(client: TestClient, session_id: str, **query: Any) -> list[int]:
    answer = client.get(f"/sessions/{session_id}/rows", params=query)
    assert answer.status_code == 200, answer.text
    return rows(answer.json()["rows"])


def test_events_are_filtered_on_the_server(client: TestClient) -> None:
    session_id = two_iterations(client)
    history = events(client, session_id)
    reviewer = [e["version"] for e in history if e["data"].get("role") == "reviewer"]
    assert listed(client, session_id, role="reviewer", highlights=0) == reviewer
    bright = listed(client, session_id, highlights=1)
    types = {e["type"].partition(".")[2] for e in history if e["version"] in bright}
    assert types == {
        *("session_started", "attempt_started", "tests_passed", "review_blocking_detected", "review_approved"),
        "session_finished",
    }
    both = set(listed(client, session_id, role="reviewer", highlights=1))
    assert both == set(bright) & set(reviewer) != set()
    html = page(client, f"/sessions/{session_id}?highlights=1&role=reviewer")
    assert html.count("data-row=") == len(both) and 'value="reviewer" checked' in html


def test_replay_marks_the_current_and_later_events(client: TestClient) -> None:
    session_id = two_iterations(client)
    last = len(events(client, session_id))
    html = page(client, f"/sessions/{session_id}?at=9&highlights=0")
    assert html.count(" is-later") == min(last - 9, ROWS // 2)
    [current] = re.findall(r'aria-current="true" data-row="(\d+)"', html)
    assert current == "9"
    assert listed(client, session_id, highlights=0) == list(range(1, last + 1))


def test_important_events_are_listed_first_and_the_choice_is_remembered(client: TestClient) -> None:
    session_id = two_iterations(client)
    last, bright = len(events(client, session_id)), listed(client, session_id, highlights=1)
    client.cookies.clear()
    address = f"/sessions/{session_id}"
    assert rows(page(client, address)) == bright != list(range(1, last + 1))
    assert rows(page(client, f"{address}?highlights=0")) == list(range(1, last + 1))
    assert rows(page(client, address)) == list(range(1, last + 1)), "the last choice"
    html = page(client, f"{address}?highlights=1")
    assert rows(html) == bright and f"Important <span data-lights-count>{len(bright)}</span>" in html
    assert rows(page(client, address)) == bright
    client.cookies.clear()


def test_a_link_to_an_event_that_is_not_important_shows_it(client: TestClient) -> None:
    session_id = two_iterations(client)
    bright = listed(client, session_id, highlights=1)
    other = next(e["version"] for e in events(client, session_id) if e["version"] not in bright and e["version"] > 9)
    html = page(client, f"/sessions/{session_id}?at={other}&highlights=1")
    assert sorted([*bright, other]) == rows(html)
    assert re.search(rf'aria-current="true" data-row="{other}" data-guest', html)
    assert listed(client, session_id, at=other, highlights=1) == sorted([*bright, other])
    [row] = re.findall(r'data-row="(\d+)"', at(client, session_id, at=other)["row"])
    assert int(row) == other
    client.cookies.clear()


# -- tabs: turns and changes -------------------------------------------------------------------------------------------


def test_every_turn_shows_prompt_answer_and_changes(client: TestClient) -> None:
    session_id = two_iterations(client)
    asked = [e["data"] for e in events(client, session_id) if e["type"] == "turn.requested"]
    dev = next(each["turnId"] for each in asked if each["agent"] == "dev")
    html = page(client, f"/sessions/{session_id}/turns/{dev}")
    text = words_of(html)
    assert "T4 · dev implementation, Iteration 1 ✓ answered" in text
    assert "You are the developer of a delivery" in text and "No rate limit" in text
    assert "src/login.py +2 −0" in text
    listed = re.findall(rf'href="/sessions/{session_id}/turns/([^"?]+)"', html)
    assert set(listed) == {turn["turnId"] for turn in asked}
    counts = dict(re.findall(r'data-count="(\w+)">(\d*)<', html))
    assert counts == {"turns": str(len(asked)), "changes": "1", "findings": "1"}
    assert at(client, session_id)["counts"] == {name: int(number) for name, number in counts.items()}


@pytest.mark.parametrize("kind", KINDS)
def test_every_tab_is_the_same_live_and_as_of_its_event(client: TestClient, kind: str) -> None:
    session_id = SCENES[kind](client)
    last = len(events(client, session_id))
    for tab in ("turns", "changes", "findings", "worklog"):
        live = at(client, session_id, tab=tab)
        assert at(client, session_id, at=last, tab=tab)["panels"] == live["panels"], tab
        assert at(client, session_id, at=1, tab=tab)["version"] == 1, tab
        html = page(client, f"/sessions/{session_id}?tab={tab}")
        assert dict(re.findall(r'data-part="(\w+)" data-hash="(\w+)"', html)) == {
            name: made[0] for name, made in live["panels"].items()
        }, tab


def test_changes_can_be_those_of_one_turn(client: TestClient) -> None:
    session_id = two_iterations(client)
    html = panel(client, session_id, "changes")
    [turn] = dict.fromkeys(re.findall(r"turnId=([^\"&]+)", html))
    assert 'class="line is-added' in html and "src/login.py" in html
    assert 'aria-current="true" title="dev">T' in panel(client, session_id, "changes", turnId=turn)


def test_a_turn_or_a_tab_that_does_not_exist_is_refused(client: TestClient) -> None:
    session_id = two_iterations(client)
    assert client.get(f"/sessions/{session_id}/turns/none").status_code == 404
    assert client.get(f"/sessions/{session_id}?tab=poem").status_code == 422


def test_a_failed_delivery_says_which_command_failed_and_how(client: TestClient) -> None:
    failing = ["sh -c 'echo E   assert 301 == 200; exit 3'"]
    session_id = start(client, delivery(maxIterations=1, validationCommands=failing))
    reached(client, session_id, "failed")
    text = words_of(panel(client, session_id, "failure"))
    assert text.startswith("Why: validation failed Iteration 1") and "exit code 3" in text
    assert "E assert 301 == 200" in text
    assert panel(client, two_iterations(client), "failure") == ""


# -- the strip and the whole texts -------------------------------------------------------------------------------------


def test_the_strip_shows_where_things_are(client: TestClient) -> None:
    session_id = two_iterations(client)
    result = at(client, session_id)
    bands = re.findall(r"band tone-(\w+)", result["strip"])
    assert bands == [
        "planning", "architecture", "design", "implementation", "validation", "review", "implementation",
        "validation", "review", "packaging", "success",
    ]  # fmt: skip
    lights = re.findall(r"light is-(\w+)", result["strip"])
    assert lights == ["note", "note", "good", "bad", "note", "good", "good", "good"]
    assert result["lights"] == listed(client, session_id, highlights=1)


def test_the_whole_of_a_long_text_is_a_link_away_as_plain_text(client: TestClient) -> None:
    long = "<script>alert(1)</script> word " * 2_000
    session_id = waiting_review(client, long)
    spoken = next(e["version"] for e in events(client, session_id) if e["type"] == "review.round_added")
    answer = client.get(f"/sessions/{session_id}/raw", params={"at": spoken})
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.text.startswith("I agree, however: <script>") and len(answer.text) > 60_000
    for query, status in (({"at": 9_999}, 404), ({}, 422), ({"at": 1, "field": "nothing"}, 404)):
        assert client.get(f"/sessions/{session_id}/raw", params=query).status_code == status


# -- hostile text, size, language --------------------------------------------------------------------------------------

HOSTILE = "</p></li><script>alert(1)</script><img src=x onerror=alert(2)> \" ' {{ 7*7 }} [a](javascript:x) ‮gnp​ | # x"


@pytest.mark.parametrize("kind", KINDS)
def test_session_page_escapes_hostile_text(client: TestClient, kind: str) -> None:
    session_id = SCENES[kind](client, HOSTILE)
    for version in (None, *range(1, len(events(client, session_id)) + 1, 3)):
        html = page(client, f"/sessions/{session_id}" + (f"?at={version}" if version else ""))
        harmless(html)
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f​‪-‮⁦-⁩]", html)
    shown = Seen(page(client, f"/sessions/{session_id}")).text
    assert "<script>alert(1)</script>" in shown and "⟦U+202E⟧gnp⟦U+200B⟧" in shown and "{{ 7*7 }}" in shown


@pytest.mark.parametrize("kind", KINDS)
def test_a_page_is_bounded_whatever_agents_say(client: TestClient, kind: str) -> None:
    session_id = SCENES[kind](client, "<b>&'\" word " * 5_000)
    assert len(page(client, f"/sessions/{session_id}").encode()) < 600_000


@pytest.mark.parametrize("kind", KINDS)
def test_a_page_speaks_both_languages(client: TestClient, kind: str) -> None:
    session_id = SCENES[kind](client)
    english, korean = (page(client, f"/sessions/{session_id}?lang={language}") for language in ("en", "ko"))
    assert "State diagram" in english and "상태 다이어그램" in korean
    for words in ("State diagram", "Needs you", "Iterations left", "Agreement", "Worklog", "Related"):
        assert words not in Seen(re.sub(r'<(ol class="rows|div class="prose).*?</(ol|div)>', "", korean)).text, words
    assert f'href="/sessions/{session_id}?at=1&amp;lang=ko"' in korean
