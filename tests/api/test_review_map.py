"""The reviewer's map over HTTP and on the page: which hunks, in which order, for which reasons."""

import random
import time
from collections.abc import Iterator

import pytest
from starlette.testclient import TestClient

from projections.record.review_map import RecordedWork, mapped
from tests.api.scenes import begun, reached
from tests.api.seen import page, review
from tests.api.server import Json, delivery, inside, session, system


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    with inside(tmp_path_factory.mktemp("map")) as result:
        yield result


def map_of(client: TestClient, session_id: str, **query: int) -> Json:
    answer = client.get(f"/api/sessions/{session_id}/map", params=query)
    assert answer.status_code == 200, answer.text
    result: Json = answer.json()
    return result


def facts(item: Json) -> list[str]:
    return [each["fact"] for each in item["because"]]


def fixed(client: TestClient) -> str:
    """Two files; the second iteration changes one of them, because the reviewer asked for it."""
    first, second = {"a.py": "one = 1\n", "b.py": "two = 2\n"}, {"b.py": "two = 22\n"}
    replies = {
        "dev": [{"text": "Done.", "files": first}, {"text": "Mended.", "files": second}],
        "reviewer": [review("`two` is wrong"), review()],
    }
    return reached(client, begun(client, delivery(replies, task="Write two files")), "success")


def test_what_a_fix_wrote_comes_first_with_its_event(client: TestClient) -> None:
    session_id = fixed(client)
    items = map_of(client, session_id)["items"]
    assert [item["path"] for item in items] == ["b.py", "a.py"]
    assert [item["place"] for item in items] == [2, 1]
    assert "written_by_fix" in facts(items[0]) and "written_by_fix" not in facts(items[1])
    [why] = [each for each in items[0]["because"] if each["fact"] == "written_by_fix"]
    events = client.get(f"/api/sessions/{session_id}/events").json()["items"]
    assert events[why["version"] - 1]["type"] == "turn.answered"


def test_a_comment_asks_for_a_look_until_it_is_settled(client: TestClient) -> None:
    session_id = fixed(client)
    body = {"text": "Rename this.", "path": "a.py", "line": 1}
    assert client.post(f"/api/sessions/{session_id}/comments", json=body).status_code == 201
    items = map_of(client, session_id)["items"]
    assert items[0]["path"] == "a.py" and "comment" in facts(items[0])
    client.post(f"/api/sessions/{session_id}/comments/c1", json={"status": "resolved"})
    assert all("comment" not in facts(item) for item in map_of(client, session_id)["items"])


def test_it_is_as_of_a_version_and_empty_where_nothing_changed(client: TestClient) -> None:
    session_id = fixed(client)
    assert map_of(client, session_id, version=1) == {"version": 1, "head": None, "items": []}
    last = session(client, session_id)["version"]
    assert map_of(client, session_id, version=last) == map_of(client, session_id)


def test_the_page_has_both_orders(client: TestClient) -> None:
    html = page(client, f"/sessions/{fixed(client)}?tab=changes")
    assert 'id="by-risk"' in html and "written by a fix" in html
    map_part = html[html.index('class="risks"') :]
    assert map_part.index("b.py:1") < map_part.index("a.py:1")


@pytest.mark.benchmark
def test_five_thousand_lines_take_less_than_200_ms(client: TestClient) -> None:
    from api.routes.results import result_in
    from domain.provenance.patches import HunkLine, PatchHunk
    from domain.provenance.path_changes import PatchPart, PathEffect

    session_id = fixed(client)
    inside_system = system(client)
    state = inside_system.sessions.get(session_id)
    assert state is not None
    result = result_in(state)
    assert result is not None
    chance = random.Random(1)  # noqa: S311 - no secret
    hunks = [
        PatchHunk(f"{chance.choice('ab')}.py", tuple(HunkLine("+", "x", at * 20 + each) for each in range(1, 11)))
        for at in range(500)
    ]
    parts = [PatchPart(hunk, PathEffect()) for hunk in hunks]
    work = RecordedWork(state, inside_system.store.history(session_id), result, {})
    began = time.perf_counter()
    assert len(mapped(work, parts, lambda text: text.head)) == len(hunks)
    assert time.perf_counter() - began < 0.2
