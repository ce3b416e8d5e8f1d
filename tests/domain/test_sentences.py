"""Every sentence has one code, in both languages; nothing is lost on the wire."""

import copy
import pickle
import re
from string import Formatter

import orjson
import pytest
from pydantic import TypeAdapter

from domain.session.attempts import Failure
from domain.values.sentences import Sentence, because, from_wire, in_language, rewritten, sentence_of, wire
from domain.values.words import catalogue

CATALOGUE = catalogue("domain.values")
DERIVED = {"article", "where", "kind", "status", "state"}


def places(text: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(text) if name} - DERIVED


def test_every_korean_text_uses_the_placeholders_of_the_english_one() -> None:
    for code, both in CATALOGUE.items():
        assert both["ko"].strip(), code
        assert "en" not in both or places(both["ko"]) <= places(both["en"]), code


def test_events_and_states_keep_a_sentence_with_its_code() -> None:
    adapter: TypeAdapter[Sentence | str] = TypeAdapter(Sentence | str)
    inner = Sentence("reply_without", what=Sentence("list_of_verdicts"))
    again = adapter.validate_json(adapter.dump_json(inner))
    assert (again, in_language(again, "ko")) == (inner, "답변에 판정 목록이 없습니다.")
    assert adapter.validate_json(adapter.dump_json("A plain text.")) == "A plain text."


@pytest.mark.parametrize("code", ["no_such_code", "end_by_time"])
def test_an_unknown_sentence_is_shown_as_recorded(code: str) -> None:
    data = {"text": "As it came.", "code": code, "params": {"number": "x"}}
    assert in_language(TypeAdapter(Sentence).validate_python(data), "ko") == "As it came."


def test_a_sentence_is_its_english_text_with_code_and_parameters() -> None:
    sentence = Sentence("session_not_found", id="x")
    assert sentence == "There is no session 'x'."
    assert (sentence.code, sentence.params) == ("session_not_found", {"id": "x"})
    assert in_language(sentence, "ko") == "'x' 세션이 없습니다."
    assert copy.deepcopy(sentence).params == sentence.params


def test_an_unknown_code_is_a_mistake_and_a_plain_text_is_shown_as_it_is() -> None:
    with pytest.raises(KeyError):
        Sentence("no_such_code")
    assert in_language("A plain text.", "ko") == "A plain text."
    assert wire("A plain text.") == {}


def test_the_wire_keeps_sentences_within_a_sentence() -> None:
    inner = Sentence("commands_allowed", commands=["`npm test`", "`make`"])
    outer = Sentence("command_not_allowed", command="rm", detail=inner)
    sent = orjson.loads(orjson.dumps(wire(outer)))
    again = from_wire(outer, sent["code"], sent["params"])
    assert in_language(again, "ko") == in_language(outer, "ko")
    assert not re.search("only|allowed", in_language(outer, "ko").replace("HANSARD_COMMANDS_ALLOWED", ""))


@pytest.mark.parametrize("code", ["no_such_code", "session_not_found", None, 7])
def test_a_problem_of_another_version_is_shown_as_it_came(code: object) -> None:
    assert in_language(from_wire("Something else.", code, {"other": 1}), "ko") == "Something else."


def test_values_are_called_by_the_names_that_people_know() -> None:
    sentence = Sentence("cannot_be_cancelled", kind="orchestration", status="running", state="planning")
    assert sentence == "An orchestration in the state running (planning) cannot be cancelled."
    names = {"running": "실행 중", "planning": "계획", "orchestration": "오케스트레이션"}
    output = in_language(sentence, "ko", lambda _, value: names.get(value, value))
    assert output == "오케스트레이션 세션은 실행 중 (계획) 상태에서 취소할 수 없습니다."


def test_an_error_says_its_sentence() -> None:
    sentence = Sentence("blank")
    assert sentence_of(ValueError(sentence)) is sentence
    assert sentence_of(ValueError("plain")) == "plain"


# -- failures ------------------------------------------------------------------------------------------------------


def test_a_sentence_without_its_secrets_has_none_in_its_parameters() -> None:
    output = because(Sentence("program_ended", number=3), "the key is hunter2")
    kept = rewritten(output, lambda text: text.replace("hunter2", "***"))
    assert str(kept) == "The program ended with exit code 3: the key is ***"
    assert "hunter2" not in str(wire(kept)) and in_language(kept, "ko").endswith("the key is ***")


def test_a_failure_keeps_its_sentence_through_the_record() -> None:
    failure = Failure.of("timeout", Sentence("stopped_after", number=3.0))
    kept = Failure.model_validate_json(failure.model_dump_json(by_alias=True))
    assert (kept.detail, in_language(kept.why, "ko")) == ("Stopped after 3 s.", "3초 만에 중단했습니다.")
    assert Failure.of("crash", "boom").sentence is None


def test_a_copy_keeps_a_text_that_is_not_in_the_catalogue() -> None:
    """Also one whose code has no English text."""
    sentence = because(Sentence("file_not_found"), "no lock file")
    for again in (copy.deepcopy(sentence), copy.copy(sentence), pickle.loads(pickle.dumps(sentence))):  # noqa: S301 - ours
        assert (str(again), again.code, again.params) == (str(sentence), sentence.code, sentence.params)
