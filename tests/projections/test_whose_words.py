"""What a person has said is shown as theirs (contract-3 §18): in the sentence of each event and in every entry of the
worklog, in both languages, and in logs of older versions."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from domain.session.record import Recorded
from projections.record import worklog
from projections.record.describe import describe
from projections.record.explain import explain
from projections.record.records import Records
from tests.golden.make import PLACE
from tests.golden.remarked import remarked
from tests.projections.stage import Stage

SAID: Final = re.compile(r"(Ann|Bob)'s [a-z ]+\.")
"""Whatever is said in the scene names who says it."""
EN, KO, AS_RECORDED = "en", "ko", None
NOBODYS: Final = ("## Plan", "## 계획", "## Final Summary", "## 최종 요약")
"""Sections that name no author: the log above says whose they are."""
PERSON: Final = re.compile(r"(?:person|github|gitlab):(\w+)")
WORDS: Final = ("text", "reason", "rationale", "why")


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Stage:
    made = Stage(Path(tmp_path_factory.mktemp("stage")))
    remarked(made)
    return made


def authors(text: str) -> Iterator[tuple[str, bool]]:
    """Everything that is said in the text, and whether its author is named besides."""
    around = SAID.sub("", text).lower()
    return ((match[0], match[1].lower() in around) for match in SAID.finditer(text))


def data_of(recorded: Recorded) -> dict[str, Any]:
    data: dict[str, Any] = recorded.event.model_dump(mode="json", by_alias=True)
    return data


@pytest.mark.parametrize("language", [EN, KO])
def test_the_sentence_of_an_event_names_who_says_it(stage: Stage, language: Any) -> None:
    told = set[str]()
    for recorded in stage.events():
        data, actor = data_of(recorded), recorded.causation.actor
        for words, named in authors(describe(recorded.event.TOPIC, data, language, actor=actor)):
            assert named, f"{recorded.event.TOPIC}: {words}"
            told.add(words)
    assert len(told) >= 12


@pytest.mark.parametrize("language", [EN, KO, AS_RECORDED])
def test_the_entry_of_the_worklog_names_who_says_it(stage: Stage, language: Any) -> None:
    records, told = Records(stage.store), set[str]()
    for session in stage.sessions():
        log = records.of(session.id, session.version).worklog
        for entry in re.split(r"\n(?=##)", worklog.render(log, session, language=language)):
            if entry.startswith(NOBODYS):
                continue
            for words, named in authors(entry):
                assert named, entry
                told.add(words)
    said = {match[0] for each in stage.events() for match in SAID.finditer(json.dumps(data_of(each)))}
    assert told == said


@pytest.mark.parametrize("language", [EN, KO])
def test_the_explanation_names_who_says_it(stage: Stage, language: Any) -> None:
    for session in stage.sessions():
        text = explain(stage.store.history(session.id), session, language=language).text
        for line in text.splitlines():
            assert all(named for _, named in authors(line)), line


def test_a_remark_of_one_of_several_who_decide_is_that_ones(stage: Stage) -> None:
    session = stage.session("review-voted-on")
    log = Records(stage.store).of(session.id, session.version).worklog
    decision = worklog.render(log, session, language="en").partition("## Decision")[2].splitlines()
    [of_ann] = [line for line in decision if "Ann's remark on two lines." in line]
    [of_bob] = [line for line in decision if "Bob's remark on a line." in line]
    assert of_ann.startswith("- ann, ") and of_bob.startswith("- bob, ")


@pytest.mark.parametrize("language", [EN, KO])
def test_in_logs_of_older_versions_too(language: Any) -> None:
    """Wherever an event itself says which person it is from."""
    found = 0
    for path in sorted(PLACE.glob("*.jsonl")):
        for line in map(json.loads, path.read_text("utf-8").splitlines()):
            data = json.loads(line.get("state", "{}")).get("data") or {}
            who = next(filter(None, (PERSON.fullmatch(str(data.get(name))) for name in ("by", "actor"))), None)
            words = next((data[name] for name in WORDS if isinstance(data.get(name), str) and data[name]), "")
            if who is None or not words:
                continue
            text = describe(line["type"], data, language, actor=who[0])
            if " ".join(words.split())[:100] in text:
                assert who[1] in text.replace(words, ""), text
                found += 1
    assert found > 10
