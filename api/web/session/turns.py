"""Turns as of a version: what each agent was asked, in the parts of its prompt, what it answered and changed, what a
validation said."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final, NamedTuple
from urllib.parse import quote

from markupsafe import Markup

from api.web.model import money, seconds_or_clock
from api.web.plain_text import cut, short_command
from api.web.session.context import LONG, SENTENCE, PanelContext, event_of, tame, text_of, whole
from api.web.session.diffing import Row as ChangedRow
from api.web.session.diffing import diffed
from api.web.session.finding_rows import FindingRow, ListPlace, place_of
from api.web.session.findings import reported_by
from api.web.session.patches import files_of
from api.web.session.transcript import Row, transcript
from api.web.session.validation_report import ReportShown, RunShown, in_lines, report
from api.web.session.verdict_text import parted
from api.web.session.waits import PERMISSION, TurnWait, verdict_on, wait_of
from domain.delivery.events import ArtifactCreated
from domain.session.turns import TurnRequested
from domain.values.base import Text, Usage, iso
from domain.values.network import RefusedHost
from domain.values.words import NOTHING
from projections.record.artifacts import Artifact
from projections.record.turns import Attempt, TurnEntry

LISTED: Final = 200
"""Turns in the list."""
SUMMARY: Final = 120
"""Characters of what a validation came to, in the list."""
ICONS: Final = {
    "answered": "✓",
    "failed": "✕",
    "rejected": "✕",
    "cancelled": "–",
    "open": "▸",
    "waiting": "‖",
    "asking": "?",
}
AFTER: Final = frozenset({"package", "land"})
"""Work that follows the last iteration or round, if it is not part of one."""


@dataclass(frozen=True, slots=True)
class TurnCard:
    """A turn, its last attempt if one has ended, and the report that a validation made."""

    number: int
    entry: TurnEntry
    attempt: Attempt | None
    open: bool
    """True while it is not over: it runs, or waits for its next attempt."""
    report: Artifact | None
    wait: TurnWait | None
    passed: bool | None
    """The judge's verdict on the work, if there is one."""

    @property
    def id(self) -> str:
        return self.entry.turn_id

    @property
    def state(self) -> str:
        if self.wait:
            return "asking" if self.wait.cause == PERMISSION else "waiting"
        if self.attempt is None or self.open:
            return "open"
        return "rejected" if self.passed is False else self.attempt.outcome


def turns_of(context: PanelContext) -> tuple[TurnCard, ...]:
    """The turns requested by then, in order, without a person's."""
    record, version = context.record, context.version
    reports = [made for made in record.artifacts if made.version <= version and made.phase == "validation"]
    entries = [entry for entry in record.turns.values() if entry.version <= version and entry.work != "wait"]
    cards = []
    for number, entry in enumerate(sorted(entries, key=lambda entry: entry.version), start=1):
        ended = [attempt for attempt in entry.attempts if attempt.version <= version]
        last = ended[-1] if ended else None
        made = _after(reports, last) if last and entry.work == "validate" else None
        is_open, wait = entry.status(version) == "requested", wait_of(context, entry.turn_id)
        cards.append(TurnCard(number, entry, last, is_open, made, wait, verdict_on(context, entry)))
    return tuple(cards)


# -- what is shown -----------------------------------------------------------------------------------------------------
class CameTo(NamedTuple):
    """The first command of a validation that failed; `commands` is their number."""

    commands: int
    command: str
    run: RunShown | None


class TurnLine(NamedTuple):
    """A turn in the list. `by` is the person who answered for the agent, `files` the number of those it changed."""

    id: str
    number: int
    agent: str
    by: str
    role: str
    phase: str | None
    place: int
    work: str
    state: str
    icon: str
    seconds: str
    cost: str
    files: int
    ran: CameTo | None
    failed_by: str
    wait: TurnWait | None
    current: bool


class PromptPart(NamedTuple):
    name: str
    words: str
    size: str
    new: bool
    open: bool


class ReplyShown(NamedTuple):
    """The words of an answer, the findings of a verdict, and its JSON as it was written."""

    words: Markup | str
    findings: Sequence[FindingRow] | None
    json: str
    of: ListPlace
    cut: bool


class FailureShown(NamedTuple):
    code: str
    detail: str


class WholeTurn(NamedTuple):
    """All that is known of a turn, besides its line; its long texts are a link away."""

    live: str
    steps: Sequence[Row]
    transcript: bool
    requested: int
    began: str
    ended: int | None
    attempt: int | None
    model: str
    usage: Usage | None
    resumed: bool | None
    fence: str
    fence_gaps: Sequence[str]
    refused_hosts: Sequence[RefusedHost]
    prompt: Sequence[PromptPart]
    prompt_size: str
    has_prompt: bool
    reply: ReplyShown
    paths: Sequence[str]
    changes: Sequence[ChangedRow]
    failure: FailureShown | None
    report: ReportShown | None
    artifact: int | None


class TurnGroup(NamedTuple):
    """The turns of an iteration or a round, by its number; 0 before the first, "after" after the last."""

    number: int | str
    turns: Sequence[TurnLine]


class Sum(NamedTuple):
    turns: int
    cost: str
    tokens: int | None


class TurnsTab(NamedTuple):
    """The list, grouped by iteration or round, and one turn with its neighbours; `line` is that turn in the list."""

    sum: Sum
    rounds: bool
    groups: Sequence[TurnGroup]
    line: TurnLine | None
    one: WholeTurn | None
    previous: str | None
    next: str | None


def turns(context: PanelContext) -> TurnsTab:
    """The list, and one turn: the one named, else one at work, else an agent's last."""
    cards = turns_of(context)
    chosen = [turn for turn in cards if turn.id == context.turn] or [turn for turn in cards if turn.open]
    answers = [turn for turn in cards if turn.entry.work == "ask"]
    one = next(reversed(chosen or answers or cards), None)
    groups = groupby(
        cards[-LISTED:], key=lambda turn: turn.entry.number or ("after" if turn.entry.work in AFTER else 0)
    )
    at = cards.index(one) if one else 0
    usages = [turn.attempt.usage for turn in cards if turn.attempt]
    return TurnsTab(
        sum=Sum(
            len(cards), money(_sum([usage.cost_micros for usage in usages])), _sum([usage.tokens for usage in usages])
        ),
        rounds=context.session.kind != "delivery",
        groups=[TurnGroup(number, [_line(context, turn, one) for turn in group]) for number, group in groups],
        line=_line(context, one, one) if one else None,
        one=_whole(context, cards, one) if one else None,
        previous=cards[at - 1].id if one and at > 0 else None,
        next=cards[at + 1].id if one and at + 1 < len(cards) else None,
    )


def live(context: PanelContext, turn_id: str) -> str:
    """The address at which a page asks what an agent does right now; nothing for a past version."""
    is_past = context.version != context.record.version
    return (
        ""
        if is_past or context.imported
        else f"/api/sessions/{quote(context.session.id)}/turns/{quote(turn_id)}/activity"
    )


# -- reading -----------------------------------------------------------------------------------------------------------
def patch_of(context: PanelContext, attempt: Attempt) -> str:
    """The changes of files in an attempt."""
    return whole(context, text_of(event_of(context, attempt.version), "patch"))


def report_of(context: PanelContext, turn: TurnCard) -> ReportShown | None:
    """The commands that a validation ran."""
    made = event_of(context, turn.report.version) if turn.report else None
    return report(whole(context, made.content)) if isinstance(made, ArtifactCreated) else None


PART: Final = 16_000
"""Characters of a part that are filled."""
OPEN: Final = 4_000
"""Parts up to this length are open if they are new."""
MATERIAL: Final = (
    *("task", "subject", "plan", "files", "goals", "architecture", "design", "feedback", "validation", "history"),
    *("changes", "pass_criteria", "fail_criteria", "results", "agents", "employees", "peers", "previous_results"),
    *("rounds", "answer", "synthesis", "convergence", "issues", "reasons", "revision", "so_far"),
)
"""The names of the blocks, which the page has words for."""
INSTRUCTIONS: Final = "instructions"
_MATERIAL: Final = re.compile(r'<material name="([a-z_]{1,40})">\n(.*?)\n</material>', re.DOTALL)
"""No value can open or close a block."""
_NUMBER: Final = re.compile(r"[0-9]+")


def parts_of(prompt: str) -> dict[str, str]:
    """The parts of a prompt as it was sent. The instructions keep a mark where each block was."""
    blocks: dict[str, str] = {}

    def take(block: re.Match[str]) -> str:
        blocks[block[1]] = f"{blocks[block[1]]}\n\n{block[2]}" if block[1] in blocks else block[2]
        return f"⟨{block[1]}⟩"

    rest = _MATERIAL.sub(take, prompt).strip()
    return blocks | {INSTRUCTIONS: rest} if rest else blocks


def sections(parts: Mapping[str, str], earlier: Mapping[str, str]) -> list[PromptPart]:
    """The parts that are not empty; new is what the agent was not sent in its earlier turn, if it
    had one. The first new part is open."""
    filled = {name: words for name, words in parts.items() if words.strip() and words.strip() not in NOTHING.values()}
    shown = [
        _section(name, words, new=bool(earlier) and _is_new(name, words, earlier), first=not earlier)
        for name, words in filled.items()
    ]
    opened = next((part for part in shown if part.open), None)
    return [part._replace(open=part is opened) for part in shown]


def size(octets: int) -> str:
    return f"{octets} B" if octets < 1000 else f"{octets / 1000:.1f} kB"


def _after(reports: Sequence[Artifact], attempt: Attempt) -> Artifact | None:
    return next((made for made in reports if made.version > attempt.version), None)


def _line(context: PanelContext, turn: TurnCard, current: TurnCard | None) -> TurnLine:
    entry, attempt, ran = turn.entry, turn.attempt, report_of(context, turn)
    state = "failed" if ran and not ran.passed else turn.state
    return TurnLine(
        id=turn.id,
        number=turn.number,
        agent=cut(entry.agent, 60),
        by=cut((attempt and attempt.by) or "", 60),
        role=cut(entry.role, 40),
        phase=entry.phase,
        place=entry.number,
        work=entry.work,
        state=state,
        icon=ICONS[state],
        seconds=seconds_or_clock(round(attempt.seconds * 1000)) if attempt else "",
        cost=money(attempt.usage.cost_micros) if attempt else "",
        files=len(attempt.files) if attempt else 0,
        ran=_came_to(ran) if ran else None,
        failed_by=(attempt and attempt.failure) or "",
        wait=turn.wait,
        current=turn is current,
    )


def _came_to(ran: ReportShown) -> CameTo:
    failed = next((run for run in ran.runs if not run.passed), None)
    command = cut(short_command(failed.command), SUMMARY) if failed else ""
    return CameTo(len(ran.runs) + ran.more, command, failed)


def _whole(context: PanelContext, cards: Sequence[TurnCard], turn: TurnCard) -> WholeTurn:
    attempt = turn.attempt
    event = event_of(context, attempt.version) if attempt else None
    prompt, reply, patch = (text_of(event, name) for name in ("prompt", "reply", "patch"))
    return WholeTurn(
        live=live(context, turn.id) if turn.open else "",
        steps=transcript(context, turn.entry, reply.head),
        transcript=bool(attempt and attempt.activity),
        requested=turn.entry.version,
        began=iso(turn.entry.requested_at),
        ended=attempt.version if attempt else None,
        attempt=attempt.number if attempt else None,
        model=cut((attempt and attempt.model) or "", 80),
        usage=attempt.usage if attempt else None,
        resumed=attempt.resumed if attempt else None,
        fence=(attempt and attempt.fence) or "",
        fence_gaps=attempt.fence_gaps if attempt else (),
        refused_hosts=attempt.refused_hosts if attempt else (),
        prompt=_prompt(context, cards, turn),
        prompt_size=size(prompt.length) if prompt.length else "",
        has_prompt=bool(prompt.length),
        reply=_reply(context, turn, reply),
        paths=[cut(change.path, SENTENCE) for change in attempt.files[:50]] if attempt else [],
        changes=diffed(files_of(whole(context, patch))),
        failure=_failure(context, attempt) if attempt else None,
        report=report_of(context, turn),
        artifact=turn.report.version if turn.report else None,
    )


def _reply(context: PanelContext, turn: TurnCard, reply: Text) -> ReplyShown:
    reports = reported_by(context, turn.entry)
    words, verdict = (reply.head, "") if reports is None or reply.digest is not None else parted(reply.head)
    return ReplyShown(
        words=_readable(words) if words.strip() else "",
        findings=reports if verdict else None,
        json=in_lines(verdict),
        of=place_of(context),
        cut=reply.digest is not None,
    )


def _readable(reply: str) -> Markup:
    """Markdown; an answer that is only JSON, in lines."""
    lines = in_lines(reply)
    return tame(reply if lines == reply else f"```json\n{lines}\n```")


def _prompt(context: PanelContext, cards: Sequence[TurnCard], turn: TurnCard) -> list[PromptPart]:
    """The parts of its prompt; new is what the same agent was not asked in the same role before."""
    same = [card for card in cards if (card.entry.agent, card.entry.role) == (turn.entry.agent, turn.entry.role)]
    before = [card for card in same if card.number < turn.number]
    return sections(_parts(context, turn), _parts(context, before[-1]) if before else {})


def _parts(context: PanelContext, turn: TurnCard) -> dict[str, str]:
    """Of the prompt as it was sent; while nobody has answered, what the request consists of."""
    attempt = turn.attempt
    prompt = text_of(event_of(context, attempt.version), "prompt") if attempt and attempt.prompt else Text()
    if prompt.length:
        return parts_of(whole(context, prompt))
    request = event_of(context, turn.entry.version)
    values = request.context if isinstance(request, TurnRequested) else {}
    return {name: whole(context, values[name]) for name in MATERIAL if name in values}


def _failure(context: PanelContext, attempt: Attempt) -> FailureShown:
    return FailureShown(attempt.failure or attempt.outcome, cut(context.worded(attempt.detail), LONG))


def _sum(numbers: Sequence[int | None]) -> int | None:
    values = [number for number in numbers if number is not None]
    return sum(values) if values else None


def _section(name: str, words: str, *, new: bool, first: bool) -> PromptPart:
    opens = name == "task" if first else new and name != INSTRUCTIONS
    return PromptPart(name, cut(words, PART), size(len(words.encode())), new, opens and len(words) <= OPEN)


def _is_new(name: str, words: str, earlier: Mapping[str, str]) -> bool:
    """Instructions that only name another iteration are not new."""
    before = earlier.get(name, "")
    if name == INSTRUCTIONS:
        before, words = (_NUMBER.sub("0", text) for text in (before, words))
    return before != words
