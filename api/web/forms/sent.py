"""A refused form: what was typed and what was wrong with it, for the page that is shown again."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from api.web.forms.passing import FormOutcome
from domain.values.words import Words


@dataclass(frozen=True, slots=True)
class Sent:
    """`errors` are sentences by field, `words` a message about the whole. Empty without a submitted form."""

    verb: str = ""
    session: str = ""
    values: Mapping[str, str] = field(default_factory=dict)
    errors: Mapping[str, str] = field(default_factory=dict)
    words: str = ""
    status: int = 200
    key: str = ""
    """The key with which the same form may be sent again: the server may have succeeded without being able to say
    so."""

    def to(self, verb: str, session: str) -> bool:
        """Whether it is this form that was sent."""
        return (verb, session) == (self.verb, self.session)

    def typed(self, verb: str, session: str, name: str) -> str:
        return self.values.get(name, "") if self.to(verb, session) else ""

    def error(self, verb: str, session: str, name: str) -> str:
        return self.errors.get(name, "") if self.to(verb, session) else ""


NOTHING: Final = Sent()


def placed(problem: Mapping[str, Any], names: Collection[str]) -> tuple[dict[str, str], str]:
    """Sentences by field, with `/filePaths/1` at the field `filePaths`, counted from 1; and those about no field."""
    at: dict[str, list[str]] = {}
    elsewhere = []
    for error in problem.get("errors", ()):
        name, rest = _place(error["pointer"], names)
        before = f"{' '.join(str(int(part) + 1) if part.isdecimal() else part for part in rest)}: " if rest else ""
        if name:
            at.setdefault(name, []).append(before + error["detail"])
        else:
            elsewhere.append(error["detail"])
    return {name: "; ".join(messages) for name, messages in at.items()}, "; ".join(elsewhere)


def _place(pointer: str, names: Collection[str]) -> tuple[str, list[str]]:
    parts = pointer.split("/")[1:]
    for length in range(len(parts), 0, -1):
        if ".".join(parts[:length]) in names:
            return ".".join(parts[:length]), parts[length:]
    return "", parts


def told_of(say: Words, outcome: FormOutcome, elsewhere: str, marked: str) -> str:
    """The message about the whole; `marked` if every error is shown at its field."""
    answer = outcome.told
    match outcome.status:
        case 412:
            return answer.get("meanwhile") or say.of("live", "stale")
        case 409:
            return f"{say('form.refused')} {answer['detail']}"
        case _ if answer.get("errors"):
            return elsewhere or marked
        case _:
            return str(answer["detail"])
