"""Untrusted text is escaped, invisible characters are spelled out, and Markdown is harmless."""

import re
from urllib.parse import quote

import pytest
from starlette.testclient import TestClient

from api.web.plain_text import newest_of, shown
from api.web.session.context import rendered
from tests.api.seen import BROWSER, finished, harmless, page, review
from tests.api.server import delivery, ended, events, start
from tests.kit.sweeps import sampled

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
TABLE = """<div class="wide-table" tabindex="0"><table>
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
</table></div>"""


@pytest.mark.parametrize("words", sampled(HOSTILE, 0, -1))
def test_all_pages_escape_hostile_text(client: TestClient, words: str) -> None:
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
def test_query_text_is_escaped(client: TestClient, words: str) -> None:
    for path, query in (("/", "q"), ("/", "cursor"), ("/", "kind"), ("/", "status"), ("/", "lang"), ("/", words)):
        harmless(client.get(path, params={query: words}, headers=BROWSER).text)
    answer = client.get(f"/sessions/{quote(words, safe='')}", headers=BROWSER)
    assert answer.status_code == 404
    harmless(answer.text)


def test_hostile_text_is_shown_rather_than_hidden(client: TestClient) -> None:
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
def test_bidi_and_invisible_characters_are_spelled_out(words: str, expected: str) -> None:
    assert shown(words) == expected


@pytest.mark.parametrize(
    ("markdown", "expected"),
    [
        ("# a", "<h3>a</h3>"),
        ("##### a\n# b\n## c\n###### d", "<h3>a</h3>\n<h3>b</h3>\n<h4>c</h4>\n<h5>d</h5>"),
        ("<b>a</b>", "<p>&lt;b&gt;a&lt;/b&gt;</p>"),
        ("[a](javascript:alert(1))", "<p>[a](javascript:alert(1))</p>"),
        ("[a](data:text/html,x)", "<p>[a](data:text/html,x)</p>"),
        ("[a](//evil.example)", f'<p><a {REL}>a</a></p>'),
        ("[a](/sessions/x)", f'<p><a {REL}>a</a></p>'),
        ("[a](https://x.example 't')", f'<p><a href="https://x.example" {REL}>a</a> (x.example)</p>'),
        ("![a](https://x.example/p.png)", f'<p>!<a href="https://x.example/p.png" {REL}>a</a> (x.example)</p>'),
        ("```js\nx\n```", '<pre tabindex="0"><code>x\n</code></pre>'),
        ("a | b\n--|--:\n1 | 2", TABLE),
    ],
)  # fmt: skip
def test_markdown_becomes_tame_html(markdown: str, expected: str) -> None:
    assert rendered(markdown).strip() == expected


def test_deeply_nested_markdown_ends() -> None:
    assert len(rendered("> " * 20_000 + "x")) < 200_000
    assert len(rendered("[" * 30_000)) < 200_000


def test_a_long_worklog_keeps_its_newest_entries() -> None:
    entries = "".join(f"\n### Entry {n}\n\n- {'x' * 400}\n" for n in range(200))
    worklog = f"# Work Log: a\n\n## Plan\n\nb\n\n## Execution Log\n{entries}\n## Final Summary\n\nsuccess\n"
    text, shortened = newest_of(worklog, "en")
    assert shortened and len(text) < 20_000
    assert "### Entry 199\n" in text and "### Entry 0\n" not in text
    assert text.startswith("# Work Log: a\n\n## Plan\n\nb\n") and text.endswith("## Final Summary\n\nsuccess\n")


def test_a_short_worklog_is_whole() -> None:
    worklog = "# Work Log: a\n\n## Execution Log\n\n### Entry 0\n\n- x\n\n## Final Summary\n\n(미완료)\n"
    text, shortened = newest_of(worklog, "en")
    assert (text.split(), shortened) == (worklog.split(), False)


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ("[the docs](https://evil.example/x)", "the docs</a> (evil.example)"),
        ("[good.example](https://evil.example)", "good.example</a> (evil.example)"),
        ("[evil.example/x](https://evil.example/x)", "evil.example/x</a></p>"),
        ("<https://evil.example/x>", "https://evil.example/x</a></p>"),
        ("[one](https://a.example) and [two](http://b.example:80/)", "one</a> (a.example) and <a"),
        ("[x](https://[bad)", "</p>"),
    ],
)
def test_a_link_says_where_it_leads(words: str, text: str) -> None:
    assert text in rendered(words)
