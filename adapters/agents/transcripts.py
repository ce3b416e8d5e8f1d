"""Transcripts read back: the lines that a program printed, as what its agent said and did.

A transcript does not name the program, but its lines do: each has one known shape. Lines of unknown shapes are left
out, other text is a notice. A program that printed only text has only that text.
"""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any, Final, NamedTuple, get_args

import orjson
from pydantic import ValidationError

from adapters.agents.acp import updates as acp
from adapters.agents.activity import Activity, Kind
from adapters.agents.codex import items as codex
from adapters.agents.speech import Voice
from adapters.agents.streams import Stream, activities

Message = Mapping[str, Any]  # JSON of an external program

_STREAMS: Final[tuple[Stream, ...]] = ("claude", "codex", "gemini", "opencode")
"""One for each shape; Qwen Code prints those of Claude Code."""
_VOICES: Final[tuple[Voice, ...]] = ("message", "thought", "notice")


class Heard(NamedTuple):
    """An activity. A `piece` continues the one before; of two with the same `key`, the second replaces the first."""

    seen: Activity
    piece: bool = False
    key: str | None = None


def steps(transcript: str, calls: int) -> tuple[Activity, ...] | None:
    """The agent's words and tool calls in order, each tool call once with its result; None if the lines are only text.

    `calls` is how many calls were counted while the program ran. Text that claims more of them is not believed.
    """
    collected = _Steps()
    for line in transcript.split("\n"):
        if line.strip():
            collected.add(line)
    all_steps = collected.all()
    if not collected.structured or sum(seen.kind == "tool" for seen in all_steps) > calls:
        return None
    return all_steps


class _Steps:
    """The steps so far. Each has a key, by which it can be replaced."""

    def __init__(self) -> None:
        self.structured = False
        self._steps: dict[str, Activity] = {}
        self._pieces: dict[str, list[str]] = {}

    def add(self, line: str) -> None:
        message = _message(line)
        if message is None:
            self._take(Heard(Activity(kind="notice", text=f"{line}\n"), piece=True))
            return
        if _is_history(message):
            self._steps, self._pieces = {}, {}
        for heard in _heard(message):
            self.structured = True
            if heard.seen.kind != "usage":
                self._take(heard)

    def all(self) -> tuple[Activity, ...]:
        return tuple(
            seen.changed(text="".join(self._pieces[key])) if key in self._pieces else seen
            for key, seen in self._steps.items()
        )

    def _take(self, heard: Heard) -> None:
        seen = heard.seen
        text = seen.text or ""
        key = heard.key or self._key(seen, piece=heard.piece)
        if heard.piece and key in self._pieces:
            self._pieces[key].append(text)
            return
        self._steps[key] = _merged(self._steps.get(key), seen)
        if heard.piece:
            self._pieces[key] = [text]
        else:
            self._pieces.pop(key, None)

    def _key(self, seen: Activity, *, piece: bool) -> str:
        last = next(reversed(self._steps), "")
        if piece and last in self._pieces and self._steps[last].kind == seen.kind:
            return last
        return f"call {seen.id}" if seen.kind == "tool" and seen.id else f"step {len(self._steps)}"


def _merged(earlier: Activity | None, seen: Activity) -> Activity:
    """A call from its beginning and what came later."""
    if earlier is None or seen.kind != "tool":
        return seen
    more = {name: value for name in Activity.model_fields if (value := getattr(seen, name)) not in (None, ())}
    return earlier.changed(**more)


def _message(line: str) -> Message | None:
    if line.startswith("{"):
        with suppress(orjson.JSONDecodeError):
            message = orjson.loads(line)
            return message if isinstance(message, dict) else None
    return None


def _is_history(message: Message) -> bool:
    """True if an agent of ACP has opened its conversation: what it sent before is what was said in earlier turns."""
    match message:
        case {"jsonrpc": "2.0", "id": _, "result": dict(result)}:
            return "stopReason" not in result
        case _:
            return False


def _heard(message: Message) -> Iterator[Heard]:
    match message:
        case {"method": "session/update", "params": {"update": dict(update)}}:
            yield from _of_acp(update)
        case {"method": str(method), "params": dict(fields)}:
            yield from _of_codex(method, fields)
        case {"choices": [{"message": {"content": str(text)}}, *_]} if text.strip():
            yield Heard(Activity(kind="message", text=text))
        case {"kind": str(kind)} if kind in get_args(Kind):
            yield from _as_shown(message)
        case {"type": str()}:
            yield from _of_stream(message)
        case _:
            for voice in _VOICES:
                words = message.get(voice)
                if isinstance(words, str):
                    yield Heard(Activity(kind=voice, text=words), piece=True)


def _of_acp(update: Message) -> Iterator[Heard]:
    if (spoken := acp.spoken(update)) is not None:
        voice, text = spoken
        yield Heard(Activity(kind=voice, text=text), piece=True)
    else:
        yield from map(Heard, acp.activities(update))


def _of_codex(method: str, fields: Message) -> Iterator[Heard]:
    """Codex streams each message in pieces and then sends it again as a whole."""
    if (spoken := codex.spoken(method, fields)) is not None:
        voice, text = spoken
        yield Heard(Activity(kind=voice, text=text), piece=True, key=_speech_key(voice, fields.get("itemId")))
        return
    item = fields.get("item")
    name = item.get("id") if isinstance(item, dict) else None
    for seen in codex.activities(method, fields):
        yield Heard(seen, key=_speech_key(seen.kind, name) if seen.kind in ("message", "thought") else None)


def _speech_key(voice: str, name: object) -> str | None:
    return f"{voice} {name}" if isinstance(name, str) else None


def _of_stream(message: Message) -> Iterator[Heard]:
    for stream in _STREAMS:
        steps_here = list(activities(stream, message))
        if steps_here:
            pieces = message.get("delta") is True
            yield from (Heard(seen, piece=pieces) for seen in steps_here)
            return


def _as_shown(message: Message) -> Iterator[Heard]:
    """A scripted agent prints its activities themselves."""
    with suppress(ValidationError):
        yield Heard(Activity.model_validate_json(orjson.dumps(message)))
