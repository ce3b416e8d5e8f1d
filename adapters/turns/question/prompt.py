"""Renders the text of a prompt: what a request names by number or code, spelled out in the language of the team."""

import hashlib
from collections.abc import Collection, Mapping
from functools import cache
from typing import Final

from adapters.agents.prompts import catalogue as prompts
from adapters.agents.prompts import context, phases
from adapters.turns.job import RenderedPrompt
from adapters.turns.question.revisions import COMMENTS, Places, comments_in, revision_words
from adapters.turns.question.shown_changes import NO_CHANGES, ShownChanges
from domain.discussion.findings import closed_rounds
from domain.orchestration.assignment import assignments
from domain.orchestration.state import Orchestration
from domain.session.past_commands import Whole
from domain.session.revisions import REVISION
from domain.session.state import Session
from domain.session.turns import TurnRequested
from domain.values.base import Blob, Derived, Text
from domain.values.phases import phase_name
from domain.values.sentences import in_language
from domain.values.words import Language

_JUDGED: Final = {"review_artifact": "changes", "verdict": "results", "verdict_repair": "results"}
"""The placeholders with the work, in the prompts of those who judge it."""
SHORT: Final = 400
"""Prompts of up to this many bytes are recorded as they are: how they were made takes as much room."""


def judged_place(request: TurnRequested) -> str | None:
    """The prompt's placeholder for the changes; None if no changes are judged."""
    return _JUDGED.get(request.prompt.partition("@")[0])


def with_changes(words: str, changes: str) -> str:
    """The author's text, followed by the actual changes."""
    return f"{words}\n\n{changes}" if changes else words


def prompt_of(
    request: TurnRequested,
    session: Session,
    *,
    language: str,
    whole: Whole,
    changes: ShownChanges = NO_CHANGES,
    before: str = "",
    places: Places | None = None,
) -> RenderedPrompt:
    """The exact prompt. `changes` says what has changed so far, for those who judge it; `before` contains the earlier
    messages of the conversation, and `places` where the lines of comments are now."""
    name, _, strategy = request.prompt.partition("@")[0].partition(".")
    parts = {REVISION: REVISION in request.context, COMMENTS: bool(comments_in(request, session))}
    without = session.passing.union(part for part, is_there in parts.items() if not is_there)
    chosen = prompts.prompt(name, strategy=strategy or None, language=language, without=without)
    rounds = {place: each for place, text in request.context.items() if (each := closed_rounds(session, text))}
    words = material(request, whole=whole, changes=changes.text, before=before, besides=rounds)
    spelled = _spelled_out(words, prompts.checked(language)) | _of_run(words, session, prompts.checked(language))
    if wishes := revision_words(request, session, whole=whole, language=language, places=places or {}):
        spelled |= {REVISION: wishes}
    plain = not (changes.text or before or spelled)
    text = prompts.render(chosen, {**words, **spelled, **rounds})
    return RenderedPrompt(text, chosen if plain else None, changes.reviewed)


def recorded_prompt(rendered: RenderedPrompt, *, session_id: str, version: int, blobs: list[Blob]) -> Text:
    """A prompt for an event: how it follows from the request of that version, or else its text."""
    text = rendered.text
    length = len(text) if text.isascii() else len(text.encode())
    if rendered.template is None or length <= SHORT:
        short, more = Text.of(text)
        blobs.extend(more)
        return short
    blobs.append(_blob(rendered.template.text))
    derived = Derived(
        what="prompt",
        session_id=session_id,
        version=version,
        template=blobs[-1].digest,
        language=rendered.template.language,
    )
    return Text(length=length, derived=derived)


@cache
def _blob(template: str) -> Blob:
    return Blob(digest=hashlib.sha256(template.encode()).hexdigest(), content=template)


def material(
    request: TurnRequested, *, whole: Whole, changes: str = "", before: str = "", besides: Collection[str] = ()
) -> dict[str, str]:
    """The values of the prompt's placeholders, besides those that are already there."""
    words = {place: whole(text) for place, text in request.context.items() if place not in besides}
    if before:
        words["task"] = f"{words.get('task', '')}\n\n{before}"
    place = judged_place(request)
    return words | {place: with_changes(words.get(place, ""), changes)} if place else words


def _spelled_out(words: Mapping[str, str], language: Language) -> dict[str, str]:
    """The texts that the request names by number or code, in the language of the prompt."""
    spelled = {}
    if number := words.get("phase_number"):
        spelled["phase_name"] = phase_name(int(number), language)
        spelled["phase_instruction"] = phases.phase_instruction(int(number), language)
        spelled["remaining_phases"] = phases.remaining_phases(_numbers(words["remaining_phases"]), language)
        spelled["mode"] = context.work_mode("parallel" if words["mode"] == "parallel" else "sequential", language)
        if not words["previous_results"] and words["mode"] != "parallel":
            spelled["previous_results"] = context.first_agent(language)
    if rubric := words.get("rubric"):
        spelled["rubric"] = "\n\n".join(phases.rubric(number, language) for number in _numbers(rubric))
    return spelled


def _of_run(words: Mapping[str, str], session: Session, language: Language) -> dict[str, str]:
    """The sentences of a run: who is judged for what, and why an answer is asked for again."""
    if not isinstance(session, Orchestration):
        return {}
    spelled = {}
    if words.get("agents"):
        spelled["agents"] = assignments(session, language)
    if words.get("reasons"):
        reasons = [f"- {in_language(reason, language)}" for reason in session.refusals]
        spelled["reasons"] = "\n".join(reasons) or in_language(session.verdict_problem or words["reasons"], language)
    return spelled


def _numbers(words: str) -> list[int]:
    return [int(part) for part in words.split(",") if part]
