"""The documents of forges, parsed strictly: models that name the fields that are needed, and refuse everything else
than what is documented. Fields that are not needed are ignored."""

import re
from collections.abc import Iterable
from typing import Annotated, Final, TypeVar
from urllib.parse import urlsplit

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from adapters.forge.errors import ForgeNonsense
from adapters.forge.port import LOG_CHARACTERS, TEXT_CHARACTERS
from domain.values.base import milliseconds
from domain.values.sentences import Sentence

_CONTROL: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_HIDDEN: Final = re.compile(r"[\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_ESCAPES: Final = re.compile(r"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")
_STAMPS: Final = re.compile(r"^\ufeff?\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3,9}Z (?:\d\d[OE][ +])?", re.MULTILINE)
_SECTIONS: Final = re.compile(r"section_(?:start|end):\d+:[\w.-]+(?:\[[^\]\n]*\])?\r?")
_FAILURE: Final = re.compile(r"^(?:##\[error\]|ERROR: Job failed).*$", re.MULTILINE)
_SHORT: Final = 500
G = TypeVar("G", bound="ForgeDocument")


def cleaned(text: str) -> str:
    """The text with line breaks of one kind, and without control and direction characters."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n")
    return _HIDDEN.sub("", _CONTROL.sub("", lines))


def log_end(text: str) -> str:
    """The end of a job's log, up to where it says that it failed: without time stamps, colours and fold marks."""
    plain = _SECTIONS.sub("", _ESCAPES.sub("", text.replace("\r\n", "\n")))
    lines = _STAMPS.sub("", "\n".join(line.rpartition("\r")[2] for line in plain.split("\n")))
    failures = list(_FAILURE.finditer(lines))
    end = lines[: failures[-1].end()] if failures else lines
    return cleaned(end).strip()[-LOG_CHARACTERS:]


def _text(text: object) -> object:
    return cleaned(text)[:TEXT_CHARACTERS] if isinstance(text, str) else text


def _text_or_empty(text: object) -> object:
    return "" if text is None else _text(text)


def _line(text: object) -> object:
    return " ".join(cleaned(text).split())[:_SHORT] if isinstance(text, str) else text


def _line_or_empty(text: object) -> object:
    return "" if text is None else _line(text)


def _link(url: object) -> object:
    """A link that may be shown; empty for any other."""
    if not isinstance(url, str) or len(url) > 2_000 or not url.isprintable() or " " in url:
        return "" if url is None or isinstance(url, str) else url
    try:
        parts = urlsplit(url)
    except ValueError:
        return ""
    return url if parts.scheme in ("https", "http") and parts.hostname and parts.username is None else ""


def _moment(text: object) -> object:
    if not isinstance(text, str):
        return text
    return milliseconds(text)


def _inside(path: object) -> object:
    """A path below the repository; None for any other."""
    if not isinstance(path, str):
        return path
    segments = path.split("/")
    fits = path.isprintable() and not {"", ".", "..", ".git"} & set(segments) and len(path) <= 4_096
    return path if fits else None


Wording = Annotated[str, BeforeValidator(_text)]
WordingOrEmpty = Annotated[str, BeforeValidator(_text_or_empty)]
OneLine = Annotated[str, BeforeValidator(_line)]
OneLineOrEmpty = Annotated[str, BeforeValidator(_line_or_empty)]
Link = Annotated[str, BeforeValidator(_link)]
Moment = Annotated[int, BeforeValidator(_moment)]
Number = Annotated[int, Field(ge=1, le=2**63 - 1)]
CommitId = Annotated[str, Field(pattern=r"^[0-9a-f]{40}(?:[0-9a-f]{24})?$")]
RefName = Annotated[str, Field(min_length=1, max_length=1_000, pattern=r"^[^\x00-\x20\x7f~^:?*\[\\]+$")]
InnerPath = Annotated[str | None, BeforeValidator(_inside)]
LineNumber = Annotated[int, Field(ge=1, le=2**31 - 1)]
AccountName = Annotated[str, Field(pattern=r"^[A-Za-z0-9_.][A-Za-z0-9_.\[\]-]{0,254}$")]


class ForgeDocument(BaseModel):
    """A part of an answer. Types are not converted; unknown fields are ignored."""

    model_config = ConfigDict(frozen=True, strict=True, extra="ignore", defer_build=True)


def parsed_answer(model: type[G], document: object, host: str) -> G:
    """The document as the model. Raises ForgeNonsense, which names the field."""
    try:
        return model.model_validate(document)
    except ValidationError as error:
        raise _unfit(error, host) from None


def parsed_items(model: type[G], documents: Iterable[object], host: str) -> tuple[G, ...]:
    """Each document as the model. Raises ForgeNonsense, which names the field."""
    return tuple(parsed_answer(model, document, host) for document in documents)


def _unfit(error: ValidationError, host: str) -> ForgeNonsense:
    problem = error.errors(include_url=False, include_input=False)[0]
    field = ".".join(str(each) for each in problem["loc"]) or "-"
    return ForgeNonsense(Sentence("forge_field", host=host, field=field, detail=problem["msg"]))
