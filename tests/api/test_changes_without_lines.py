"""Every changed path of a result is on the page and in the map, also where no line of it has changed."""

import re
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from starlette.testclient import TestClient

from api.web.model import line_count
from tests.api.seen import Seen, page
from tests.api.server import Json, delivery, ended, inside, session, start
from tests.api.test_secrets_in_changes import TEAM, git

PROGRAM = r"""
import pathlib, sys
if sys.argv[1] != "dev":
    sys.exit(print("All good."))
pathlib.Path("shop.py").write_text("TOTAL = 1\n")
pathlib.Path("logo.bin").write_bytes(b"\0\xfe two")
pathlib.Path("new.bin").write_bytes(b"\0\xfd")
pathlib.Path("gone.bin").unlink()
pathlib.Path("empty.txt").write_text("")
pathlib.Path("tool.sh").chmod(0o755)
pathlib.Path("both.sh").chmod(0o755)
pathlib.Path("both.sh").write_text("echo two\n")
pathlib.Path("old.txt").rename("moved.txt")
pathlib.Path("draft.txt").rename("final.txt")
with open("final.txt", "a") as file:
    file.write("one more\n")
pathlib.Path("link").symlink_to("shop.py")
print("Done.")
"""
FILES = {
    "shop.py": b"TOTAL = 0\n",
    "logo.bin": b"\0\xff one",
    "gone.bin": b"\0\xff gone",
    "tool.sh": b"echo tool\n",
    "both.sh": b"echo one\n",
    "old.txt": b"".join(b"line %d\n" % number for number in range(9)),
    "draft.txt": b"".join(b"row %d\n" % number for number in range(9)),
}


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[TestClient, str]]:
    folder = tmp_path_factory.mktemp("paths")
    (folder / "program.py").write_text(PROGRAM)
    words: dict[str, Any] = {"python": sys.executable, "program": folder / "program.py", "how": "-", "folder": folder}
    team = TEAM.format(**words).replace("env = {", "# env = {")
    (folder / "team.toml").write_text(team)
    work = folder / "work"
    work.mkdir()
    for name, content in FILES.items():
        (work / name).write_bytes(content)
    for command in (["init", "-q", "-b", "main"], ["add", "-A"], ["commit", "-q", "-m", "Begin"]):
        git(work, *command)
    with inside(folder, team=folder / "team.toml", sandbox="off") as result:
        body = delivery(workspace=str(work), filePaths=["shop.py"])
        del body["scenario"]
        session_id = start(result, body)
        ended(result, session_id)
        yield result, session_id


def map_of(client: tuple[TestClient, str]) -> list[Json]:
    items: list[Json] = client[0].get(f"/api/sessions/{client[1]}/map").json()["items"]
    return items


def notes(items: list[Json]) -> dict[str, list[list[str]]]:
    return {item["path"]: [list(note.values()) for note in item["notes"]] for item in items if not item["lines"]}


def test_the_map_has_every_path_and_says_what_became_of_it(client: tuple[TestClient, str]) -> None:
    items = map_of(client)
    files = session(*client)["result"]["files"]
    assert {item["path"] for item in items} == {file["path"] for file in files}
    assert notes(items) == {
        "logo.bin": [["binary"]],
        "new.bin": [["binary"], ["added"]],
        "gone.bin": [["binary"], ["deleted"]],
        "empty.txt": [["empty"], ["added"]],
        "tool.sh": [["mode", "100644", "100755"]],
        "both.sh": [["mode", "100644", "100755"]],
        "moved.txt": [["renamed", "old.txt"]],
        "final.txt": [["renamed", "draft.txt"]],
    }
    assert [
        [line["sign"] + line["text"] for line in item["lines"] if line["sign"] != " "]
        for item in items
        if item["path"] == "final.txt" and item["lines"]
    ] == [["+one more"]]
    assert all("notes" not in item for item in items if item["lines"])
    [binary] = [item for item in items if item["path"] == "logo.bin"]
    assert "outside" in [each["fact"] for each in binary["because"]]


def test_a_comment_on_a_binary_file_asks_for_a_look(client: tuple[TestClient, str]) -> None:
    body = {"text": "Which logo is this?", "path": "logo.bin"}
    assert client[0].post(f"/api/sessions/{client[1]}/comments", json=body).status_code == 201
    first = map_of(client)[0]
    assert first["path"] == "logo.bin" and "comment" in [each["fact"] for each in first["because"]]


def test_the_page_lists_as_many_files_as_the_result_has(client: tuple[TestClient, str]) -> None:
    html = page(client[0], f"/sessions/{client[1]}?tab=changes")
    files = session(*client)["result"]["files"]
    assert f'<span class="count">{len(files)}</span>' in html
    for file in files:
        assert f'data-path="{file["path"]}"' in html
    changed = html[: html.index('class="risks"')]
    assert "<code>draft.txt</code> → <code>final.txt</code>" in changed and 'data-path="draft.txt"' not in changed
    assert "<code>old.txt</code> → <code>moved.txt</code>" in changed
    by_risk = html[html.index('class="risks"') :]
    for words in ("binary file", "empty file", "mode <code>100644</code> → <code>100755</code>"):
        assert words in by_risk and words in html[: html.index('class="risks"')]
    assert "renamed from <code>old.txt</code>" in by_risk


def test_a_renamed_file_is_one_in_the_patch_and_in_the_turn(client: tuple[TestClient, str]) -> None:
    answer = client[0].get(f"/api/sessions/{client[1]}/changes").json()
    assert "rename from draft.txt\nrename to final.txt\n" in answer["patch"]
    assert "+one more\n" in answer["patch"] and "-row 1\n" not in answer["patch"]
    turn = re.findall(rf"turnId=({client[1]}\.t\d+)", page(client[0], f"/sessions/{client[1]}?tab=changes"))[0]
    html = page(client[0], f"/sessions/{client[1]}?tab=changes&turnId={turn}")
    assert "<code>draft.txt</code> → <code>final.txt</code>" in html and ">row 1<" not in html


def test_comments_follow_a_renamed_file_on_both_sides(client: tuple[TestClient, str]) -> None:
    http, session_id = client
    for side, line, words in (("new", 10, "Why one more?"), ("old", 2, "Keep this row.")):
        body = {"text": words, "path": "final.txt", "line": line, "side": side}
        assert http.post(f"/api/sessions/{session_id}/comments", json=body).status_code == 201, side
    html = page(http, f"/sessions/{session_id}?tab=changes")
    start = html.index('data-path="final.txt"')
    file = html[start : html.index("</details>\n<details", start) if "</details>\n<details" in html[start:] else None]
    assert "Why one more?" in file and "Keep this row." in file


def test_the_command_names_them(client: tuple[TestClient, str], capsys: pytest.CaptureFixture[str]) -> None:
    from api.cli.changes import _put_files, _put_map  # the rest is a request

    answer: Any = client[0].get(f"/api/sessions/{client[1]}/map").json()
    _put_map(answer, json=False)
    shown = capsys.readouterr().out
    assert "logo.bin  binary file\n" in shown and "tool.sh  mode 100644 → 100755\n" in shown
    assert "moved.txt  renamed from old.txt\n" in shown
    _put_files(client[0].get(f"/api/sessions/{client[1]}/changes").json()["files"], names_files=False)
    assert "draft.txt → final.txt\n" in capsys.readouterr().out


@pytest.mark.parametrize(("language", "word"), [("en", "binary"), ("ko", "바이너리")])
def test_a_binary_file_has_no_number_of_lines(client: tuple[TestClient, str], language: str, word: str) -> None:
    html = page(client[0], f"/sessions/{client[1]}?tab=changes", **{"accept-language": language})
    tree = re.search(r'<ul class="tree">.*?</ul>', html, re.DOTALL)
    assert tree is not None
    parts = [Seen(part).text.split() for part in tree[0].split("<li>")[1:]]
    lines = {words[0]: words[1:] for words in parts}
    for name in ("logo.bin", "new.bin", "gone.bin"):
        assert lines[name][-1] == word and "+0" not in lines[name]
        [head] = re.findall(rf'<details class="file"[^>]*data-path="{name}".*?</summary>', html, re.DOTALL)
        assert "+0" not in head and word in head
    assert lines["both.sh"][-2:] == ["+1", "−1"]


def test_work_on_binary_files_alone_has_no_number_of_lines() -> None:
    files = [(None, None), (None, None)]
    assert line_count(files).binary and not line_count([]).binary
    assert line_count([*files, (2, 1)]) == (2, 1, False)
