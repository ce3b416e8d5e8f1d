"""Shows what a session changed: the files as a tree, line by line, each line by the turn that wrote it, with what
demanded it, which validation ran on it, and who approved it."""

import posixpath
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final, NamedTuple

from api.web.model import LineCount, line_count
from api.web.plain_text import cut
from api.web.session.comments import put_under_lines, threads_of
from api.web.session.context import SENTENCE, PanelContext, event_of, whole
from api.web.session.diffing import Changed, Row, rows_of
from api.web.session.patches import FilePatch, as_one, counts, files_of, net
from api.web.session.result_commands import commands_of
from api.web.session.turns import TurnCard, patch_of, turns_of
from domain.checks.weakening import weakening_sentence
from domain.delivery.events import ValidationFailed
from domain.delivery.state import Delivery
from domain.kinds import allowed_actions
from domain.orchestration.state import Orchestration
from domain.provenance.path_changes import renamed_paths
from projections.record.review_map import change_of, renames_of
from projections.views.session import ResultView


class Taken(NamedTuple):
    """The place of the changes, and the commands that fetch them."""

    branch: str | None
    problem: str
    commits: int
    commands: Sequence[tuple[str, str]]


class TurnChanges(NamedTuple):
    id: str
    number: int
    agent: str
    lines: LineCount


@dataclass(frozen=True, slots=True)
class ChangesShown:
    """`head` is the commit that comments are about, None where nobody may make one; `focus` the turn and `file` the
    path that is looked at. `weaker` says what makes the validation prove less than before."""

    head: str | None
    remarks: Sequence[Row]
    revisable: bool
    open: int
    state: str
    focus: str
    file: str
    turns: Sequence[TurnChanges]
    count: int
    lines: LineCount
    folders: Sequence[tuple[str, Sequence[Row]]]
    files: Sequence[Row]
    marked: Collection[str]
    weaker: Sequence[str]
    taken: Taken | None


def changes(context: PanelContext) -> ChangesShown:
    """The turns that changed files, and the changes of one of them or of all."""
    done = [turn for turn in turns_of(context) if turn.attempt and turn.attempt.patch]
    made = [(turn, files_of(patch_of(context, turn.attempt))) for turn in done if turn.attempt]
    shown = [(turn, files) for turn, files in made if context.turn in ("", turn.id)]
    origins = Origins(context)
    by_turn = {turn.number: origins.of(turn) for turn, _ in shown}
    result = context.result
    files = _joined(_net(shown), result) if context.turn else _whole(context, shown)
    marks = _marks(result, origins.failing()) if result else {}
    rows = rows_of(files, by_turn, alone=context.file)
    for row in rows:
        row["marks"] = marks.get(row["path"], ())
    shown_rows = [row for row in rows if context.file in ("", row["path"])]
    others = put_under_lines(threads_of(context), shown_rows) if not context.turn else []
    takes = context.session.takes_comments and not context.turn
    return ChangesShown(
        head=context.session.result_head if takes and "comments" in context.may else None,
        remarks=others if not context.file else [],
        revisable={"revise"} <= {*context.may} & {*allowed_actions(context.session)} and not context.turn,
        open=len(context.session.comments.open),
        state=context.badge,
        focus=context.turn,
        file=context.file,
        turns=[_turn(turn, parts) for turn, parts in made],
        count=len(files),
        lines=line_count((None, None) if row["binary"] else (row["added"], row["removed"]) for row in rows),
        folders=[(folder, list(group)) for folder, group in groupby(rows, _folder)],
        files=shown_rows,
        marked={mark for group in marks.values() for mark in group},
        weaker=[context.worded(weakening_sentence(each)) for each in context.session.weakened] if result else [],
        taken=_taken(context, result) if result else None,
    )


FAILED: Final = "delivery.validation_failed"
PASSED: Final = "delivery.tests_passed"


@dataclass(frozen=True, slots=True)
class Evidence:
    """Something that an event said; `who` where somebody said it."""

    version: int
    words: str = ""
    who: str = ""


@dataclass(frozen=True, slots=True)
class LineOrigin:
    """A turn that changed files. `passed` says whether the first validation after it did."""

    id: str
    number: int
    agent: str
    model: str
    place: int
    demanded: Evidence | None
    validated: Evidence | None
    passed: bool
    approved: Evidence | None


class Origins:
    """Reads what a session's history says around its turns, as of one version."""

    def __init__(self, context: PanelContext) -> None:
        self._context = context
        entries = [entry for entry in context.record.entries[: context.version] if entry.topic in (FAILED, PASSED)]
        self._validations = [(entry.version, entry.topic == PASSED) for entry in entries]

    def of(self, turn: TurnCard) -> LineOrigin:
        ended = turn.attempt.version if turn.attempt else turn.entry.version
        validated, passed = self._validated(ended)
        return LineOrigin(
            id=turn.id,
            number=turn.number,
            agent=cut(turn.entry.agent, 60),
            model=cut((turn.attempt and turn.attempt.model) or "", 80),
            place=turn.entry.number,
            demanded=self._demanded(turn),
            validated=validated,
            passed=passed,
            approved=self._approved(turn, ended),
        )

    def failing(self) -> tuple[str, ...]:
        """Returns why the last validation failed; nothing where it passed."""
        last = self._validations[-1:]
        return self._reasons(last[0][0]) if last and not last[0][1] else ()

    def _reasons(self, version: int) -> tuple[str, ...]:
        event = event_of(self._context, version)
        assert isinstance(event, ValidationFailed), "entries say what an event is"
        if event.sentence and event.reasons == (event.sentence,):
            return (self._context.worded(event.sentence),)
        return event.reasons or (event.summary,)

    def _demanded(self, turn: TurnCard) -> Evidence | None:
        """The last finding before the turn was requested."""
        before = turn.entry.version
        blocked = [mark for mark in self._context.trail.outcomes if not mark.approved and mark.version < before]
        failed = [version for version, passed in self._validations if not passed and version < before]
        evidence = [
            Evidence(mark.version, cut(mark.issues[0][0], SENTENCE) if mark.issues else "") for mark in blocked[-1:]
        ]
        evidence += [Evidence(version, cut(self._reasons(version)[0], SENTENCE)) for version in failed[-1:]]
        evidence += [mark for mark in self._verdicts(turn, passed=False) if mark.version < before][-1:]
        return max(evidence, key=lambda each: each.version, default=None)

    def _validated(self, ended: int) -> tuple[Evidence | None, bool]:
        """The first validation after it that passed, as `hansard blame` names it; else the first that ran."""
        after = [(version, passed) for version, passed in self._validations if version > ended]
        if not after:
            return None, False
        version, passed = next((each for each in after if each[1]), after[0])
        return Evidence(version, "" if passed else cut(self._reasons(version)[0], SENTENCE)), passed

    def _approved(self, turn: TurnCard, ended: int) -> Evidence | None:
        marks = self._context.past(self._context.trail.outcomes)
        evidence = [Evidence(mark.version, who=self._by(mark.version)) for mark in marks if mark.approved]
        evidence += self._verdicts(turn, passed=True)
        return min((each for each in evidence if each.version > ended), key=lambda each: each.version, default=None)

    def _by(self, version: int) -> str:
        return cut(self._context.record.entries[version - 1].role, 60)

    def _verdicts(self, turn: TurnCard, *, passed: bool) -> list[Evidence]:
        """The words of the judge, or of a person, on the agent's work."""
        session = self._context.session
        if not isinstance(session, Orchestration):
            return []
        places = [place for place, agent in enumerate(session.agents) if agent.agent == turn.entry.agent]
        marks = self._context.past(self._context.trail.verdicts)
        of = [mark for mark in marks if mark.place in places and mark.passed == passed and mark.by != "nobody"]
        return [Evidence(mark.version, cut(mark.feedback, SENTENCE), mark.by) for mark in of]


def _net(shown: Sequence[tuple[TurnCard, Sequence[FilePatch]]]) -> list[Changed]:
    made = net((turn.number, patches) for turn, patches in shown)
    files = [Changed(file.path, file.lines, file.composed, file.change) for file in made]
    return sorted(files, key=lambda file: posixpath.split(file.path))


def whole_changes(context: PanelContext) -> list[Changed]:
    """Every changed file of the result."""
    done = [turn for turn in turns_of(context) if turn.attempt and turn.attempt.patch]
    return _whole(context, [(turn, files_of(patch_of(context, turn.attempt))) for turn in done if turn.attempt])


def _whole(context: PanelContext, shown: Sequence[tuple[TurnCard, Sequence[FilePatch]]]) -> list[Changed]:
    """The same, from the patches of all turns."""
    files, result = _with_people(context, _net(shown)), context.result
    if result is None:
        return files
    rows, paths = _joined(files, result), {file.path for file in files}
    rows += [Changed(file.path, (), change=change_of(file)) for file in result.files if file.path not in paths]
    return sorted(rows, key=lambda file: posixpath.split(file.path))


def _joined(files: list[Changed], result: ResultView | None) -> list[Changed]:
    """The files, each renamed one as one."""
    if result is None:
        return files
    by_path = {file.path: file for file in files}
    renames = renamed_paths({file.path: file.change for file in files}, renames_of(result))
    gone = {change.renamed_from for change in renames.values()}
    rows = []
    for file in files:
        if file.path in gone:
            continue
        if (change := renames.get(file.path)) is not None:
            old = by_path[change.renamed_from]
            lines = () if change.keeps_bytes else as_one(old.lines, file.lines)
            file = Changed(file.path, lines, file.composed and old.composed, change)
        rows.append(file)
    return rows


def _with_people(context: PanelContext, files: list[Changed]) -> list[Changed]:
    """The files as the result has them, where people's commits are part of it: no turn wrote those lines."""
    session = context.session
    if not isinstance(session, Delivery) or session.status != "success" or not session.people_commits:
        return files
    by_path = {file.path: file for file in files}
    real = files_of(whole(context, session.contents["packaging"])) if "packaging" in session.contents else []
    as_it_is = [Changed(patch.path, patch.lines, change=patch.change) for patch in real]
    rows = [by_path.get(each.path, each) if _says(by_path.get(each.path)) == _says(each) else each for each in as_it_is]
    return sorted(rows, key=lambda file: posixpath.split(file.path)) if real else files


def _says(file: Changed | None) -> list[tuple[str, str]]:
    lines = file.lines if file is not None else ()
    return [(line.kind, line.words) for line in lines if line.kind in ("added", "removed")]


def _folder(row: Row) -> str:
    return posixpath.dirname(str(row["path"]))


def _turn(turn: TurnCard, files: Sequence[FilePatch]) -> TurnChanges:
    numbers = ((None, None) if file.change.binary and not file.lines else counts(file.lines) for file in files)
    return TurnChanges(turn.id, turn.number, cut(turn.entry.agent, 60), line_count(numbers))


def _taken(context: PanelContext, result: ResultView) -> Taken:
    problem = cut(context.worded(context.session.branch_problem), SENTENCE)
    return Taken(result.branch, problem, len(result.commits), commands_of(context))


def _marks(result: ResultView, failing: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Notes on files, by path."""
    marks = {}
    for file in result.files:
        properties = {
            "decides": file.decides is not None,
            "unnamed": result.names_files and not file.named,
            "ignored": file.ignored,
            "outside": file.path in result.outside,
            "fails": any(file.path in line for line in failing),
        }
        marks[file.path] = tuple(mark for mark, holds in properties.items() if holds)
    return marks
