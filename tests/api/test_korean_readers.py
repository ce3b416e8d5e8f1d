"""A Korean reader meets no English sentence of ours, whatever happened in a session.

The sentences are not listed here: they are read from the message files and from the source, and looked for in what a
Korean sees of every golden scene. What agents are told is theirs: prompts stay in the language of the prompts.
"""

import ast
import html
import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import cache
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from adapters.proof.transfer import export, take_in
from adapters.store.port import Store
from adapters.store.sqlite.store import SqliteStore
from domain.kinds import KINDS
from domain.session.record import kind_of
from domain.values.words import catalogue
from projections.record.describe import describe
from tests.api.server import inside, system
from tests.golden import details, happenings, runs, scenes
from tests.kit.sweeps import sampled
from tests.projections.stage import Stage
from tests.projections.walks import wander
from tests.scans.sources import files
from tests.simulator.weather import Weather
from tests.simulator.world import World

SCENES = scenes.SCENES | happenings.SCENES | details.SCENES | runs.SCENES
OLD = "halted"
"""A scene that plays by the rules of 0.1.0: today's do not get that far."""
ROOMS = ("domain.values", "projections.record", "api.web")
WORDS = re.compile(r"\b[A-Za-z][A-Za-z']*\b")
FEWEST = 3
"""Words from which on a piece of a sentence is looked for."""
AGENTS_READ = ("domain/delivery/review.py", "domain/delivery/scope.py")
"""Sources whose texts are the subject of a discussion or the history of a prompt."""
HOSTILE = "There is no employee"
"""A sentence that quotes a name with a line break is shown as it is recorded."""


def pieces(text: str) -> Iterator[str]:
    """The parts of a sentence between its parameters that are long enough to be found."""
    for part in re.split(r"\{[^{}]*\}|\n", text):
        piece = part.strip(" .:,;()'\"`")
        if len(WORDS.findall(piece)) >= FEWEST:
            yield piece


@cache
def english() -> dict[str, list[str]]:
    """Every piece of an English sentence of ours, by its first word."""
    korean = "\n".join(both["ko"] for room in ROOMS for both in catalogue(room).values() if "ko" in both)
    found = {piece for room in ROOMS for both in catalogue(room).values() for piece in pieces(both.get("en", ""))}
    for room in ("domain", "projections", "adapters/turns/commands", "adapters/turns/result", "adapters/workspace"):
        for path in files(room):
            if not str(path).endswith(AGENTS_READ):
                found |= {piece for constant in constants(path) for piece in pieces(constant)}
    by_word: dict[str, list[str]] = defaultdict(list)
    for piece in found - {HOSTILE}:
        if piece not in korean:
            by_word[WORDS.findall(piece)[0]].append(piece)
    return by_word


def constants(path: Path) -> Iterator[str]:
    """The texts in a source, without its docstrings."""
    tree = ast.parse(path.read_text("utf-8"))
    docs = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs:
            yield node.value


def bare(text: str) -> set[str]:
    """The pieces of our English in a text."""
    return {piece for word in set(WORDS.findall(text)) for piece in english().get(word, ()) if piece in text}


def seen(page: str) -> str:
    """What a reader sees or hears of a page."""
    page = re.sub(r"<script.*?</script>|<style.*?</style>", "", page, flags=re.DOTALL)
    titles = " ".join(re.findall(r'(?:title|aria-label|placeholder)="([^"]*)"', page))
    return " ".join(html.unescape(f"{re.sub('<[^>]+>', ' ', page)} {titles}").split())


def check(folder: Path, lines: list[bytes]) -> None:
    with closing(SqliteStore(str(folder / "hansard.db"))) as store:
        take_in(store, lines)
    with inside(folder, work=False) as client:
        assert {place: english for place, english in read(client) if english} == {}


def read(client: TestClient) -> Iterator[tuple[str, set[str]]]:
    """What a Korean reads, and the English of ours in it."""
    store = system(client).store
    for session_id in store.rows.streams():
        for recorded in store.history(session_id):
            data = recorded.event.model_dump(mode="json", by_alias=True)
            yield recorded.event_id, bare(describe(recorded.event.TOPIC, data, "ko"))
    ids = [name for name in store.rows.streams() if kind_of(name) in KINDS]
    tabs = ("overview", "changes", "findings", "worklog")
    pages = ["/", "/decisions", *(f"/sessions/{name}/why" for name in ids)]
    pages += [f"/sessions/{name}?tab={tab}" for name in ids for tab in tabs]
    for page in pages:
        answer = client.get(page, headers={"Accept-Language": "ko", "Accept": "text/html"})
        assert answer.status_code == 200, page
        yield page, bare(seen(answer.text))


@pytest.mark.parametrize("scene", sampled(sorted(SCENES.keys() - {OLD}), 0, 3, 6, 9, 12, 15, 18, 21, 24, 27))
def test_a_scene_is_told_in_korean(scene: str, tmp_path: Path) -> None:
    check(tmp_path, told(tmp_path, SCENES[scene]))


def told(folder: Path, scene: Callable[[Stage], None]) -> list[bytes]:
    stage = Stage(folder / "stage")
    with closing(stage.store):
        scene(stage)
        return list(export(stage.store))


@pytest.mark.nightly
@pytest.mark.parametrize("seed", [1, 5, 13, 21])
def test_anything_that_may_happen_is_told_in_korean(seed: int, tmp_path: Path) -> None:
    with closing(wander(tmp_path / "stage", seed, 40).store) as store:
        lines = list(export(store))
    check(tmp_path, lines)


@pytest.mark.nightly
@pytest.mark.parametrize("seed", [3, 7])
def test_a_simulated_log_is_told_in_korean(seed: int, tmp_path: Path) -> None:
    store: Store = World(Weather(seed, 0.3), deliveries=6, orchestrations=4).run().store
    check(tmp_path, list(export(store)))


def test_english_of_ours_is_found() -> None:
    """What the other tests look for is there: a sentence with parameters, and one from the source."""
    assert bare("x There is no session 'delivery-1'. y")
    assert bare("Frontend did not answer in this round, so its work cannot pass")
    assert not bare("계획이 없습니다. The agent wrote this by itself.")
