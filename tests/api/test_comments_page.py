"""Comments in Changes, without a script: a form below each file, and each comment under its lines."""

import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from adapters.writer.writer import CommandEnvelope
from domain.session.comments import AddComment
from tests.api.scenes import two_iterations
from tests.api.seen import page
from tests.api.server import Json, inside, session, system
from tests.api.test_page_forms import Form, send
from tests.projections.stage import Stage

WORDS = "Name this after what it returns."


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    with inside(tmp_path_factory.mktemp("page")) as result:
        yield result


@pytest.fixture
def made(client: TestClient) -> str:
    return two_iterations(client)


def changes(client: TestClient, made: str, **headers: str) -> str:
    return page(client, f"/sessions/{made}?tab=changes", **headers)


def form_of(html: str, verb: str, words: str) -> Form:
    forms = re.findall(r"<form.*?</form>", html, re.DOTALL)
    [one] = [each for each in forms if f'name="verb" value="{verb}"' in each and words in each]
    return Form(one)


def commented(client: TestClient, made: str, **fields: str) -> str:
    """The page after a comment from the form of the file."""
    form = form_of(changes(client, made), "comments", 'name="path" value="src/login.py"')
    answer = send(client, form, text=WORDS, **fields)
    assert answer.status_code == 303 and answer.headers["Location"].endswith("?tab=changes")
    return changes(client, made)


def comments(client: TestClient, made: str) -> list[Json]:
    items: list[Json] = client.get(f"/api/sessions/{made}/comments").json()["items"]
    return items


def test_a_comment_stands_under_its_line(client: TestClient, made: str) -> None:
    html = commented(client, made, line="1")
    [comment] = comments(client, made)
    assert (comment["path"], comment["line"], comment["text"]) == ("src/login.py", 1, WORDS)
    first, below, second = (html.index(each) for each in ('data-line="1"', WORDS, 'data-line="2"'))
    assert first < below < second


def test_what_was_refused_is_shown_again_with_what_is_wrong(client: TestClient, made: str) -> None:
    form = form_of(changes(client, made), "comments", 'name="path" value="src/login.py"')
    answer = send(client, form, text=WORDS, line="9999")
    assert answer.status_code == 422
    assert WORDS in answer.text and "src/login.py ends at line 2" in answer.text
    assert comments(client, made) == []


def test_a_comment_is_settled_on_the_page(client: TestClient, made: str) -> None:
    html = commented(client, made, line="1")
    answer = send(client, form_of(html, "comment", 'name="part" value="c1"'), status="resolved", reason="Fine.")
    assert answer.status_code == 303
    [comment] = comments(client, made)
    assert (comment["status"], comment["reason"]) == ("resolved", "Fine.")
    assert "is-resolved" in changes(client, made)


def test_the_whole_takes_a_comment_and_markup_stays_text(client: TestClient, made: str) -> None:
    form = form_of(changes(client, made), "comments", 'id="text-whole"')
    send(client, form, text="<b>Good.</b>")
    html = changes(client, made)
    assert "&lt;b&gt;Good.&lt;/b&gt;" in html and "<b>Good.</b>" not in html


def test_a_turn_alone_takes_no_comments(client: TestClient, made: str) -> None:
    turn = re.findall(rf"turnId=({made}\.t\d+)", changes(client, made))[0]
    html = page(client, f"/sessions/{made}?tab=changes&turnId={turn}")
    assert "commenting" not in html and "data-line" not in html


def test_the_page_is_korean_where_the_reader_is(client: TestClient, made: str) -> None:
    commented(client, made, line="1")
    html = changes(client, made, **{"Accept-Language": "ko"})
    assert "이 파일에 의견 남기기" in html and "열림" in html and session(client, made)["id"] in html


def test_a_comment_on_a_delivery_that_has_stopped_is_no_wait(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    stage.delivers().fails("delivery-1")
    while stage.session("delivery-1").outstanding:
        stage.fails("delivery-1")
    stage.at += 600_000
    stage.do("delivery-1", AddComment(text=WORDS, actor="person:ann"))
    stage.store.close()
    (tmp_path / "log.db").rename(tmp_path / "hansard.db")
    with inside(tmp_path, work=False) as later:
        html = page(later, "/sessions/delivery-1")
    assert WORDS in html
    assert "waiting)" not in html


def test_a_thousand_comments_are_shown_within_a_second(client: TestClient, made: str) -> None:
    inside_of = system(client)
    head = session(client, made)["result"]["head"]
    for number in range(1_000):
        remark = AddComment(
            text=f"Comment {number}.",
            path="src/login.py",
            line=1,
            end_line=1,
            quote=("x",),
            head=head,
            actor="person:ann",
        )
        order = CommandEnvelope(session_id=made, command=remark, actor="person:ann", command_id=f"c{number}")
        client.portal.call(inside_of.writer.do, order)  # type: ignore[union-attr]
    changes(client, made)
    took = []
    for _ in range(3):
        began = time.perf_counter()
        assert changes(client, made).count("remark-words") >= 900
        took.append(time.perf_counter() - began)
    assert min(took) < 1.0, took
