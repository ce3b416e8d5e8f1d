"""Tells who wrote the lines of a file: combines the history of the repository with the log, and caches the result."""

import threading
from collections import OrderedDict
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Final

from adapters.store.port import Log
from adapters.store.texts import whole
from adapters.workspace import WorkspaceError
from adapters.workspace.blame import blamed
from adapters.workspace.commits import commits_since, is_reachable, lines_before, reachable
from adapters.workspace.history import commit_of, lines_in, shared_base
from api.node.recent import drop, remember
from domain.provenance.claims import BlamedLine, Claims, CommitLines, Surroundings
from domain.provenance.demand import demanded
from domain.provenance.distinction import FAINT
from domain.provenance.work import TurnWork, Works
from domain.values.sentences import Sentence
from projections.record.provenance import SessionAuthors, authors
from projections.views.blame import Blame, BlameLine, Demand

KEPT_SESSIONS: Final = 2_000
KEPT_LINEAGES: Final = 4
KEPT_ANSWERS: Final = 32
"""The most that is kept in memory."""


@dataclass
class _Session:
    """A session's authors at a version, and which of their lines its base already had, if that was asked."""

    version: int
    authors: SessionAuthors
    contested: frozenset[str] | None = None


class _Origins:
    """The log's knowledge of a repository, and what was read of its commits with that."""

    def __init__(self, sessions: dict[str, _Session]) -> None:
        self.sessions = sessions
        self.works = Works.of(work for each in sessions.values() if (work := each.authors.work))
        self.commits: dict[str, CommitLines] = {}


class _Lineage:
    """The origins of the files of one commit with what the log knew."""

    def __init__(self, top: Path, head: str, origins: _Origins, workspaces: Path) -> None:
        self.top, self.head, self._workspaces = top, head, workspaces
        self._sessions, self.works, self._commits = origins.sessions, origins.works, origins.commits
        self._older: dict[str, frozenset[str]] = {}
        self._once: dict[str, frozenset[str]] = {}

    def bases(self) -> list[str]:
        """The commits that the sessions began from."""
        return [work.base for work in self.works.sessions.values() if work.base]

    @cached_property
    def _base(self) -> str | None:
        """The last commit from which all of it comes."""
        return shared_base(self.top, [self.head, *(work.base for work in self.works.sessions.values())])

    @cached_property
    def claims(self) -> Claims:
        works = self.works
        claims = Claims(works, Surroundings(before=self._before, contested=self._contested, removed=self._removed))
        if works.owners:
            base, commits = self._base, self._commits
            claims.read(commits_since(self.top, self.head, base, works.owners, commits, names=works.commits))
        return claims

    def _before(self, session: str) -> Collection[str]:
        base = self.works.sessions[session].base
        if base not in self._older:
            self._older[base] = reachable(self.top, base, self._base)
        return self._older[base]

    def _contested(self, session: str) -> Collection[str]:
        """Lines that the base already had; all of them if the base cannot be found."""
        origin = self._sessions[session]
        if origin.contested is None:
            work = self.works.sessions[session]
            names = {
                turn.words[name]: name for turn in work.turns for name in turn.added if turn.weights[name] >= FAINT
            }
            lines = lines_in(self._repositories(session), work.base, names)
            origin.contested = frozenset(names.values() if lines is None else (names[each] for each in lines))
        return origin.contested

    def _removed(self, session: str) -> Collection[str]:
        """Lines that were removed before the session began: adding them again may only restore them."""
        base = self.works.sessions[session].base
        if base not in self._once:
            self._once[base] = lines_before(self._repositories(session), base, self.works.owners, self._commits)
        return self._once[base]

    def _repositories(self, session: str) -> list[Path]:
        return [self.top, self._workspaces / session / "repo.git"]

    def answer(self, path: str) -> Blame:
        lines = blamed(self.top, path, self.head)
        return Blame(tuple(map(self._line, lines, self.claims.of(lines))))

    def _line(self, line: BlamedLine, work: TurnWork | None) -> BlameLine:
        if work is None:
            return BlameLine(line=line.line, text=line.text, commit=line.commit)
        author = self._sessions[work.session].authors.turns[work.turn]
        finding = demanded(author.findings, work.hunk_of(line.text, line.origin, line.number))
        return BlameLine(
            line=line.line,
            text=line.text,
            commit=line.commit,
            session=work.session,
            turn=work.turn,
            agent=author.agent,
            model=author.model,
            iteration=author.iteration,
            demanded_by=Demand(version=finding.version, title=finding.title) if finding else None,
            validated_by=author.validated_by,
            approved_by=author.approved_by,
        )


class Provenance:
    """Answers, cached until the repository or the log changes. Safe for many threads."""

    def __init__(self, store: Log, workspaces: Path) -> None:
        self._store, self._workspaces = store, workspaces
        self._lock = threading.Lock()
        self._sessions: OrderedDict[str, _Session] = OrderedDict()
        self._known: OrderedDict[object, _Origins] = OrderedDict()
        self._lineages: OrderedDict[object, _Lineage] = OrderedDict()
        self._answers: OrderedDict[object, bytes] = OrderedDict()

    def blame(self, top: Path, path: str, revision: str, sessions: Iterable[tuple[str, int]]) -> bytes:
        """JSON: the lines of a file as a revision has it. `sessions` are those on this repository, oldest first, with
        their versions. Raises WorkspaceError for what the repository does not have, and for commits that only its
        objects have: no branch, tag or session leads there."""
        commit = commit_of(top, revision)
        state = (str(top), commit, tuple(sessions))
        with self._lock:
            if not is_reachable(top, commit, lambda: self._lineage(top, commit, state).bases()):
                raise WorkspaceError(Sentence("revision_not_reachable", revision=revision))
            answer = self._answers.get((state, path))
            if answer is None:
                answer = self._lineage(top, commit, state).answer(path).model_dump_json(by_alias=True).encode()
                remember(self._answers, (state, path), answer, KEPT_ANSWERS)
            return answer

    def forget(self, session: str | None) -> None:
        """Drop what is cached of a session from which a text was taken out, since findings may quote it, or of all."""
        with self._lock:
            drop(self._sessions, session)
            for cache in (self._known, self._lineages, self._answers):
                cache.clear()

    def _lineage(self, top: Path, commit: str, state: tuple[str, str, tuple[tuple[str, int], ...]]) -> _Lineage:
        lineage = self._lineages.get(state)
        if lineage is None:
            place, _, sessions = state
            origins = self._known.get((place, sessions))
            if origins is None:
                origins = _Origins({name: self._session(name, at) for name, at in sessions})
            remember(self._known, (place, sessions), origins, KEPT_LINEAGES)
            lineage = _Lineage(top, commit, origins, self._workspaces)
        return remember(self._lineages, state, lineage, KEPT_LINEAGES)

    def _session(self, name: str, version: int) -> _Session:
        loaded = self._sessions.get(name)
        if loaded is None or loaded.version != version:
            history = self._store.history(name, upto=version)
            loaded = _Session(version, authors(name, history, partial(whole, self._store)))
        return remember(self._sessions, name, loaded, KEPT_SESSIONS)
