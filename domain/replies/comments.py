"""Reads what an agent says to a person's comments, beside its text (contract-3 §18)."""

from collections import Counter
from contextlib import suppress
from typing import Annotated, Final, Literal, get_args

from pydantic import BeforeValidator, Field, ValidationError, field_validator, model_validator

from domain.replies.extraction import Object, Shape, find, parted
from domain.replies.shapes import MaybeFew, MaybeWords, ReplyShape, SomeWords, fitted, in_any_case
from domain.values.base import Unreadable
from domain.values.sentences import Sentence

SCRIPT_WORDS: Final = str(Sentence("recorded_script_words"))
"""The words with which a scripted agent answers every comment, as its script cannot know of them. They do not count
where the lines changed."""
_NAME: Final = "answers_to_comments"
_MOST: Final = 1_000
_Said = Literal["fixed", "declined", "answered"]


class AnsweredComment(ReplyShape):
    """An answer to one comment. Only `fixed` needs no words: the changes speak for it."""

    comment_id: Annotated[SomeWords, Field(max_length=40)] = Field(alias="id")
    answer: Annotated[_Said, BeforeValidator(in_any_case(get_args(_Said)))]
    words: Annotated[MaybeWords, Field(max_length=16_000)] = ""
    changed_paths: MaybeFew[Annotated[SomeWords, Field(max_length=4_096)]] = Field(default=(), alias="changed")

    @model_validator(mode="after")
    def _says_why(self) -> "AnsweredComment":
        if self.answer != "fixed" and not self.words.strip():
            raise ValueError(Sentence("answer_without_words", comment=self.comment_id, answer=self.answer))
        return self


class _CommentAnswers(ReplyShape):
    comments: Annotated[tuple[AnsweredComment, ...], Field(max_length=_MOST)]

    @field_validator("comments")
    @classmethod
    def _one_each(cls, comments: tuple[AnsweredComment, ...]) -> tuple[AnsweredComment, ...]:
        if len({each.comment_id for each in comments}) < len(comments):
            raise ValueError(Sentence("several_answers_to_a_comment"))
        return comments


def comment_answers(text: str, names: frozenset[str]) -> tuple[AnsweredComment, ...]:
    """Returns the answers to comments that the reply has; none for a reply without them. Raises `Unreadable`, also for
    one to a comment that is not one of `names`."""
    reply = find(text, _ANSWERS)
    answers = reply.comments if reply is not None else ()
    for each in answers:
        if each.comment_id not in names:
            choices = sorted(names, key=lambda name: (len(name), name))
            raise Unreadable(Sentence("answer_to_unknown_comment", given=each.comment_id, choices=choices))
    return answers


def readable_answers(text: str, names: frozenset[str]) -> tuple[AnsweredComment, ...]:
    """Returns those answers of an illegible reply that can be read: each as if the others were not there."""
    try:
        answers = find(text, _SINGLE) or ()
    except Unreadable:  # it contradicts itself
        return ()
    counts = Counter(each.comment_id for each in answers)
    return tuple(each for each in answers if each.comment_id in names and counts[each.comment_id] == 1)


def without_answers(text: str) -> str:
    """Returns a reply without the JSON in which it answers comments; any other reply as it is."""
    prose, data = parted(text, "comments")
    return prose if data is not None and _each(data) else text


def _answers(data: Object) -> bool:
    return "comments" in data


def _fit(data: Object) -> _CommentAnswers:
    return fitted(_CommentAnswers, data, name=_NAME)


def _each(data: Object) -> tuple[AnsweredComment, ...]:
    """Those answers that fit."""
    items, answers = data["comments"], list[AnsweredComment]()
    for each in items[:_MOST] if isinstance(items, list) else ():
        with suppress(ValidationError):
            answers.append(AnsweredComment.model_validate(each, by_alias=True, by_name=False))
    return tuple(answers)


_SINGLE: Final = Shape(name=_NAME, keys=("comments",), claims=_answers, fit=_each)
_ANSWERS: Final = Shape(name=_NAME, keys=("comments",), claims=_answers, fit=_fit)
