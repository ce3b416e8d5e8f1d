"""Sentences of Hansard in the terminal's language: of errors, and of the API's answers."""

import os
from collections.abc import Mapping

from api.web import sentences
from domain.values.sentences import from_wire, sentence_of
from domain.values.words import of_environment


def in_words(text: str) -> str:
    """A sentence of ours in the terminal's language; any other text as it is."""
    return sentences.in_words(sentences.words(of_environment(os.environ)), text)


def words_of(error: Exception) -> str:
    """The message of an error, in the terminal's language where it is a sentence of ours."""
    return in_words(sentence_of(error))


def of_view(text: str, data: Mapping[str, object]) -> str:
    """A text of a view, of which the code and the parameters of its sentence are known."""
    return in_words(from_wire(text, data["code"], data["params"]))
