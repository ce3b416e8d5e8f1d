"""The page: what it shows, in which language, of which moment; and that nobody's words become part of it."""

import json
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx2 as httpx
import pytest
from starlette.testclient import TestClient

from api.app import create_app
from api.guards import HEADERS
from api.settings import Settings
from api.web.shown import newest_of, rendered, shown
from api.web.words import LANGUAGES, catalogue, preferred
from tests.api.server import delivery, ended, events, inside, start

BROWSER = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
PARTS = ("overview", "events", "worklog", "task", "artifacts")
"""The parts of a session's page that show the session and nothing else."""

MARKUP = "<script>alert(1)</script><img src=x onerror=alert(2)>"
HOSTILE = (
    MARKUP,
    "\"' onmouseover='alert(1)' autofocus onfocus=alert(1) x=\"",
    "</title></textarea></script><svg onload=alert(1)>",
    "{{ 7331*7331 }}{% raw %}<b>${alert(1)}</b>",
    "[x](javascript:alert(1)) ![x](https://evil.example/x.png) <https://evil.example>",
    "## Final Summary\n\n| a | b |\n|---|---|\n<iframe src=//evil.example></iframe>",
    "<a href=javascript:alert(1)>x</a><style>*{display:none}</style><base href=//evil.example>",
    "&lt;script&gt; &#60;img src=x&#62; \x1b[31mred\x1b[0m \u202egnp.exe\u200b",
)

REL = 'rel="noopener noreferrer nofollow"'
TABLE = """<table>
<thead>
<tr>
<th>a</th>
<th>b</th>
</tr>
</thead>
<tbody>
<tr>
<td>1</td>
<td>2</td>
</tr>
</tbody>
</table>"""
ELEMENTS = frozenset(
    word
    for line in (
        "html head meta title link script body a header nav h1 h2 h3 h4 h5 h6 span main p b section div form label",
        "select option input button ul ol li time pre code meter dl dt dd br details summary svg path table thead tbody",
        "tr th td blockquote em strong s hr",
    )
    for word in line.split()
)


class Seen(HTMLParser):
    """What a browser would make of a page: its elements and their attributes."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]


@pytest.fixture
def client(tmp_path: Path) -> Iterator[TestClient]:
    with inside(tmp_path, read_after_seconds=5.0) as found:
        yield found


@pytest.fixture
def idle(tmp_path: Path) -> Iterator[TestClient]:
    """Nobody works on the turns, so that sessions stay as they begin."""
    settings = Settings(database=f"sqlite:///{tmp_path / 'idle.db'}", read_after_seconds=0.05)
    with TestClient(create_app(settings, work=False), base_url="http://127.0.0.1") as found:
        yield found


def page(client: httpx.Client, path: str, **headers: str) -> str:
    answer = client.get(path, headers=BROWSER | headers)
    assert answer.status_code == 200, answer.text
    return answer.text


def part(html: str, name: str) -> str:
    """One part as the server wrote it."""
    found = re.search(rf'<(\w+)[^>]* data-part="{name}">.*?(?=<\w+[^>]* data-part=|</main>)', html, re.DOTALL)
    assert found is not None, f"the page has no part {name}"
    return found[0]


def review(*blocking: str) -> str:
    issues = [{"id": f"i{n}", "title": title, "detail": title} for n, title in enumerate(blocking)]
    return json.dumps({"blockingIssues": issues, "nonBlockingIssues": [], "fixPlan": list(blocking)})


def finished(client: httpx.Client, **fields: Any) -> str:
    session_id = start(client, delivery(**fields))
    ended(client, session_id)
    return session_id


def harmless(html: str) -> Seen:
    """Raises AssertionError for a page on which somebody's words became more than words."""
    seen = Seen(html)
    assert [script.get("src") for script in seen.all("script")] == ["/assets/app.js"]
    assert {tag for tag, _ in seen.elements} <= ELEMENTS
    for tag, attributes in seen.elements:
        assert not [name for name in attributes if name.startswith("on") or name in ("style", "srcset", "formaction")]
        for name in ("href", "src", "action"):
            address = attributes.get(name)
            if address is not None and tag != "link":
                told = tag == "a" and attributes.get("rel") == "noopener noreferrer nofollow"
                assert address.startswith("https://" if told else ("/", "#")), f"{tag} {name}={address!r}"
    return seen


# -- hostile words ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("words", HOSTILE)
def test_no_words_of_anybody_become_part_of_a_page(client: TestClient, words: str) -> None:
    agents = ("planner", "architect", "designer", "dev")
    session_id = start(
        client,
        delivery(
            {**{agent: [words] for agent in agents}, "reviewer": [review(words), {"error": "crash", "text": words}]},
            task=words,
            title=words[:200],
            origin=words[:200],
            labels=[words[:64]],
            filePaths=[re.sub(r"[^ -.0-~]", "", words)],
            validationCommands=[["echo", words], ["true"]],
            maxIterations=1,
        ),
    )
    ended(client, session_id)
    more = {"addIterations": 1, "reason": words}
    assert client.post(f"/api/sessions/{session_id}/budget", json=more).status_code == 200
    ended(client, session_id)
    last = len(events(client, session_id))
    for path in (
        "/",
        f"/sessions/{session_id}",
        f"/sessions/{session_id}?lang=ko",
        *(f"/sessions/{session_id}?at={at}" for at in range(1, last + 1, 7)),
    ):
        html = page(client, path)
        harmless(html)
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u202a-\u202e\u2066-\u2069]", html)
        assert "53743561" not in html


@pytest.mark.parametrize("words", HOSTILE)
def test_what_is_asked_for_is_words_too(client: TestClient, words: str) -> None:
    for path, query in (("/", "q"), ("/", "cursor"), ("/", "kind"), ("/", "status"), ("/", "lang"), ("/", words)):
        harmless(client.get(path, params={query: words}, headers=BROWSER).text)
    answer = client.get(f"/sessions/{quote(words, safe='')}", headers=BROWSER)
    assert answer.status_code == 404
    harmless(answer.text)


def test_hostile_words_are_shown_rather_than_hidden(client: TestClient) -> None:
    session_id = finished(client, task=f"{MARKUP} \u202egnp.exe\u200b", title=MARKUP)
    seen = harmless(page(client, f"/sessions/{session_id}"))
    assert f"{MARKUP} ⟦U+202E⟧gnp.exe⟦U+200B⟧" in seen.text
    assert MARKUP in seen.text


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("plain words, 한국어, 👩‍💻", "plain words, 한국어, 👩‍💻"),
        ("\x1b[31mred\x1b[0m\x07", "red"),
        ("a\r\nb\x00", "a\nb"),
        ("\u202egnp", "⟦U+202E⟧gnp"),
        ("\u2066a\u2069", "⟦U+2066⟧a⟦U+2069⟧"),
        ("zero\u200bwidth\ufeff", "zero⟦U+200B⟧width⟦U+FEFF⟧"),
        ("\u3164", "⟦U+3164⟧"),
        ("\U000e0041", "⟦U+E0041⟧"),
    ],
)
def test_what_steers_or_hides_is_spelt_out(words: str, expected: str) -> None:
    assert shown(words) == expected


@pytest.mark.parametrize(
    ("markdown", "expected"),
    [
        ("# a", "<h3>a</h3>"),
        ("##### a", "<h6>a</h6>"),
        ("<b>a</b>", "<p>&lt;b&gt;a&lt;/b&gt;</p>"),
        ("[a](javascript:alert(1))", "<p>[a](javascript:alert(1))</p>"),
        ("[a](data:text/html,x)", "<p>[a](data:text/html,x)</p>"),
        ("[a](//evil.example)", f'<p><a {REL}>a</a></p>'),
        ("[a](/sessions/x)", f'<p><a {REL}>a</a></p>'),
        ("[a](https://x.example 't')", f'<p><a href="https://x.example" {REL}>a</a></p>'),
        ("![a](https://x.example/p.png)", f'<p>!<a href="https://x.example/p.png" {REL}>a</a></p>'),
        ("```js\nx\n```", "<pre><code>x\n</code></pre>"),
        ("a | b\n--|--:\n1 | 2", TABLE),
    ],
)  # fmt: skip
def test_markdown_becomes_tame_html(markdown: str, expected: str) -> None:
    assert rendered(markdown).strip() == expected


def test_deeply_nested_markdown_ends() -> None:
    assert len(rendered("> " * 20_000 + "x")) < 200_000
    assert len(rendered("[" * 30_000)) < 200_000


# -- languages -------------------------------------------------------------------------------------------------------


def test_every_message_stands_in_both_languages() -> None:
    assert {key for key, both in catalogue().items() if set(both) != set(LANGUAGES)} == set()
    assert [key for key, both in catalogue().items() if not all(text.strip() for text in both.values())] == []


def test_every_message_is_used_and_every_message_used_exists() -> None:
    templates = [
        place.read_text("utf-8")
        for place in (files("api.web") / "templates").iterdir()
        if place.name.endswith(".html") and "say" in place.read_text("utf-8")
    ]
    used = set(re.findall(r'say\("(\w+)"', "\n".join(templates))) | {"recent", "first", "previous", "next", "last"}
    assert used == {key for key in catalogue() if "." not in key}


@pytest.mark.parametrize(
    ("accepted", "expected"),
    [
        ("", "en"),
        ("ko", "ko"),
        ("ko-KR,ko;q=0.9,en-US;q=0.8,en;q=0.7", "ko"),
        ("en-US,en;q=0.9,ko;q=0.8", "en"),
        ("de,ko;q=0.3", "ko"),
        ("fr-FR", "en"),
        ("ko;q=0", "en"),
        ("ko;q=nan", "en"),
        ("ko;q=x,en;q=0.1", "en"),
        ("*", "en"),
    ],
)
def test_the_language_that_the_browser_prefers_is_taken(accepted: str, expected: str) -> None:
    assert preferred(accepted) == expected


def test_a_page_speaks_korean_or_english(client: TestClient) -> None:
    session_id = finished(client, task="Add a login page")
    english = page(client, f"/sessions/{session_id}")
    korean = page(client, f"/sessions/{session_id}", **{"Accept-Language": "ko-KR,ko;q=0.9"})
    assert '<html lang="en">' in english and "Worklog" in english and "Success" in english
    assert '<html lang="ko">' in korean and "작업 로그" in korean and "성공" in korean
    assert "Artifacts" not in Seen(korean).text


def test_a_language_that_was_asked_for_stays(client: TestClient) -> None:
    session_id = finished(client)
    html = page(client, "/?lang=ko", **{"Accept-Language": "en"})
    assert '<html lang="ko">' in html
    assert f'href="/sessions/{session_id}?lang=ko"' in html
    assert '<input type="hidden" name="lang" value="ko">' in html
    assert 'href="/?lang=en"' in html
    assert client.get("/", headers=BROWSER).headers["vary"] == "Accept-Language, Accept"


# -- one version, one page -------------------------------------------------------------------------------------------


def test_a_session_at_a_version_looks_the_same_for_ever(client: TestClient) -> None:
    session_id = finished(client, replies={"reviewer": [review("No rate limit")]}, maxIterations=1)
    before = len(events(client, session_id))
    live = page(client, f"/sessions/{session_id}")
    more = {"addIterations": 1, "reason": "worth it"}
    assert client.post(f"/api/sessions/{session_id}/budget", json=more).status_code == 200
    ended(client, session_id)
    assert len(events(client, session_id)) > before
    replayed = page(client, f"/sessions/{session_id}?at={before}")
    for name in PARTS:
        assert part(replayed, name) == part(live, name), name
    assert "Review blocked at iteration 2." not in replayed


def test_replay_is_unmistakable_and_offers_no_command(client: TestClient) -> None:
    session_id = finished(client, replies={"reviewer": [review("No rate limit")]}, maxIterations=1)
    last = len(events(client, session_id))
    seen = Seen(page(client, f"/sessions/{session_id}?at=5"))
    assert f"as it stood after event 5 of {last}" in " ".join(seen.text.split())
    assert "Read-only." in seen.text
    assert seen.all("form") == []
    assert {"data-version": "5", "data-replay": None}.items() <= seen.all("body")[0].items()
    assert "data-stream" not in seen.all("body")[0]
    hrefs = [(link.get("rel"), link.get("href")) for link in seen.all("a")]
    assert ("prev", f"/sessions/{session_id}?at=4") in hrefs
    assert ("next", f"/sessions/{session_id}?at=6") in hrefs
    assert (None, f"/sessions/{session_id}") in hrefs


def test_each_step_shows_one_event_more(client: TestClient) -> None:
    session_id = finished(client)
    last = len(events(client, session_id))
    for at in (1, 2, last):
        html = page(client, f"/sessions/{session_id}?at={at}")
        assert html.count('<li class="row') == at
    first = Seen(page(client, f"/sessions/{session_id}?at=1"))
    assert "prev" not in [link.get("rel") for link in first.all("a")]


def test_a_session_that_ran_out_of_budget_asks_for_more(client: TestClient) -> None:
    session_id = finished(client, replies={"reviewer": [review("No rate limit")]}, maxIterations=1)
    html = page(client, f"/sessions/{session_id}")
    seen = Seen(html)
    assert "The session waits for you: the iterations are used up." in seen.text
    assert seen.all("form") == [{"data-command": f"/api/sessions/{session_id}/budget", "hidden": None}]
    assert f'hansard extend {session_id} --iterations 2 --reason "…"' in seen.text
    home = page(client, "/")
    assert "Needs you" in home and "Budget used up" in home


def test_a_running_session_can_be_followed_cancelled_and_extended(idle: TestClient) -> None:
    session_id = start(idle)
    assert idle.get("/readyz", headers={"Read-After": "1"}).status_code in (200, 503)
    idle.app.state.system.follower.catch_up()  # type: ignore[attr-defined]
    seen = Seen(page(idle, f"/sessions/{session_id}"))
    assert [form["data-command"] for form in seen.all("form")] == [
        f"/api/sessions/{session_id}/budget",
        f"/api/sessions/{session_id}/cancel",
    ]
    assert f"hansard cancel {session_id}" in seen.text
    stream = {"data-stream": f"/api/sessions/{session_id}/events", "data-after": "3", "data-version": "3"}
    assert stream.items() <= seen.all("body")[0].items()
    assert "At work: planner (planning)" in seen.text


def test_views_that_are_behind_are_not_shown_as_if_they_were_not(idle: TestClient) -> None:
    session_id = start(idle)
    idle.app.state.system.follower.catch_up()  # type: ignore[attr-defined]
    idle.app.state.system.follower.stop()  # type: ignore[attr-defined]
    assert idle.post(f"/api/sessions/{session_id}/cancel", json={}).status_code == 200
    answer = idle.get(f"/sessions/{session_id}", headers=BROWSER)
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
    assert "The views are behind the log" in answer.text


# -- the list --------------------------------------------------------------------------------------------------------


def listed(html: str) -> list[str]:
    return re.findall(r'<a href="/sessions/([a-z0-9-]+)', html)


def test_the_list_goes_on_page_by_page(idle: TestClient) -> None:
    ids = [start(idle) for _ in range(27)]
    for session_id in ids:
        assert idle.post(f"/api/sessions/{session_id}/cancel", json={}).status_code == 200
    idle.app.state.system.follower.catch_up()  # type: ignore[attr-defined]
    first = page(idle, "/")
    [older] = re.findall(r'rel="next" href="([^"]+)"', first)
    second = page(idle, older.replace("&amp;", "&"))
    assert listed(first) == ids[:1:-1]
    assert listed(second) == ids[1::-1]
    assert 'rel="next"' not in second and "Newest" in second


def test_the_list_is_filtered_by_a_plain_form(client: TestClient) -> None:
    good = finished(client, task="Mend the basket")
    bad = finished(client, task="Paint the shed", replies={"reviewer": ["no JSON"]})
    assert listed(page(client, "/?kind=&status=&q=")) == [bad, good]
    assert listed(page(client, "/?status=success")) == [good]
    assert listed(page(client, "/?kind=delivery&q=SHED")) == [bad]
    html = page(client, "/?q=nowhere&status=failed")
    assert listed(html) == [] and "No session fits." in html
    assert 'value="nowhere"' in html and '<option value="failed" selected>' in html


def test_an_empty_list_says_how_to_begin(idle: TestClient) -> None:
    seen = Seen(page(idle, "/"))
    assert 'hansard run -t "Add a --version flag" -f src/cli.py --test "pytest -q"' in seen.text
    assert "the scripted example team answers" in seen.text
    assert seen.all("body")[0]["data-stream"] == "/api/events"


def test_a_team_of_ones_own_needs_no_notice(tmp_path: Path) -> None:
    team = tmp_path / "team.toml"
    team.write_text('[[agents]]\nname = "dev"\nroles = ["dev"]\nadapter = "scripted"\n')
    with inside(tmp_path, team=team) as client:
        assert "the scripted example team answers" not in page(client, "/")


# -- errors ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "status", "title"),
    [
        ("/sessions/delivery-none", 404, "Not found"),
        ("/nowhere", 404, "Not found"),
        ("/?kind=poem", 422, "Invalid address"),
        ("/?cursor=!!", 422, "Invalid address"),
        ("/?qq=misspelt", 422, "Invalid address"),
        ("/?lang=de", 422, "Invalid address"),
        ("/sessions/x?at=0", 422, "Invalid address"),
        ("/sessions/x?at=1.5", 422, "Invalid address"),
    ],
)
def test_browsers_get_errors_as_pages_and_programs_as_problems(
    client: TestClient, path: str, status: int, title: str
) -> None:
    answer = client.get(path, headers=BROWSER)
    assert (answer.status_code, answer.headers["content-type"]) == (status, "text/html; charset=utf-8")
    assert harmless(answer.text).all("html") == [{"lang": "en"}]
    assert f"<h1>{title}</h1>" in answer.text
    problem = client.get(path)
    assert (problem.status_code, problem.headers["content-type"]) == (status, "application/problem+json")


def test_a_version_that_is_not_there_yet_is_not_found(client: TestClient) -> None:
    session_id = finished(client)
    last = len(events(client, session_id))
    answer = client.get(f"/sessions/{session_id}?at={last + 1}", headers=BROWSER)
    assert answer.status_code == 404
    assert f"has no version {last + 1}; it is at {last}." in answer.text


@pytest.mark.parametrize("path", ["/api/sessions/delivery-none", "/api/nowhere", "/api/sessions?kind=poem"])
def test_the_api_answers_problems_to_browsers_too(client: TestClient, path: str) -> None:
    answer = client.get(path, headers=BROWSER)
    assert answer.headers["content-type"] == "application/problem+json"


def test_errors_speak_korean(client: TestClient) -> None:
    answer = client.get("/sessions/none", headers=BROWSER | {"Accept-Language": "ko"})
    assert "<h1>찾을 수 없습니다</h1>" in answer.text


# -- what every page keeps to ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["/", "/?lang=ko", "/nowhere", "/assets/app.js", "/assets/app.css"])
def test_every_answer_carries_the_policy(client: TestClient, path: str) -> None:
    answer = client.get(path, headers=BROWSER)
    assert {name: answer.headers[name] for name in HEADERS} == HEADERS
    assert "require-trusted-types-for 'script'; trusted-types hansard" in answer.headers["content-security-policy"]
    assert "unsafe" not in answer.headers["content-security-policy"]


def test_the_script_has_one_sink_and_loads_nothing_from_elsewhere() -> None:
    script = (files("api.web") / "app.js").read_text("utf-8")
    assert script.count("parseFromString(") == 1
    assert script.count('createPolicy("hansard"') == 1
    sinks = (
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|setHTMLUnsafe|srcdoc|\.style\b"
    )
    assert re.findall(sinks, script) == []
    sheet = (files("api.web") / "app.css").read_text("utf-8")
    assert re.findall(r"https?://|@import|url\(", script + sheet) == []


def test_a_page_does_not_grow_with_its_session(client: TestClient) -> None:
    long = "<b>&'\"" * 700
    replies = {"dev": [long], "reviewer": [review(*[long] * 5)]}
    session_id = finished(client, task=long, replies=replies, maxIterations=20, validationCommands=[["true", long]])
    more = {"addIterations": 10, "reason": long[:2_000]}
    assert client.post(f"/api/sessions/{session_id}/budget", json=more).status_code == 200
    ended(client, session_id)
    last = len(events(client, session_id))
    assert last > 500
    html = page(client, f"/sessions/{session_id}")
    assert html.count('<li class="row') == 400
    assert f'href="/sessions/{session_id}?at={last - 400}"' in html
    assert "Shortened here; the Markdown is whole." in html
    assert len(html.encode()) < 500_000


def test_a_long_worklog_keeps_its_newest_entries() -> None:
    entries = "".join(f"\n### Entry {n}\n\n- {'x' * 400}\n" for n in range(200))
    worklog = f"# Work Log: a\n\n## Plan\n\nb\n\n## Execution Log\n{entries}\n## Final Summary\n\nsuccess\n"
    text, shortened = newest_of(worklog)
    assert shortened and len(text) < 20_000
    assert "### Entry 199\n" in text and "### Entry 0\n" not in text
    assert text.startswith("# Work Log: a\n\n## Plan\n\nb\n") and text.endswith("## Final Summary\n\nsuccess\n")


def test_a_short_worklog_is_whole() -> None:
    worklog = "# Work Log: a\n\n## Execution Log\n\n### Entry 0\n\n- x\n\n## Final Summary\n\n(미완료)\n"
    text, shortened = newest_of(worklog)
    assert (text.split(), shortened) == (worklog.split(), False)
