"""The state that every kind of session shares, and how the shared events change it.

States are plain dataclasses. `evolve` makes one private copy, assigns its fields and returns it. Nothing else assigns.
"""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Literal, NamedTuple, Self

from domain.checks.weakening import Weakening
from domain.session.attempts import (
    ONCE,
    NextAttempt,
    Occasion,
    Outstanding,
    PersonWords,
    RetryPolicy,
    Tries,
    after,
    failure_sentence,
    with_words,
)
from domain.session.children import ChildClosed, ChildRequested, OpenChild
from domain.session.comments import CommentAnswered, CommentChanged, CommentMade, Comments
from domain.session.forge import CommitsTaken, ForgeEvent, PullRequestMerged
from domain.session.forks import Reuse, SessionDiverged, SessionForked, SessionReleased
from domain.session.landing import (
    LANDABLE,
    LANDING_FAILED,
    LandingNotTried,
    LandingRequested,
    WorkLanded,
    WorkSentBack,
    unlanded_by,
)
from domain.session.permissions import (
    PermissionChoice,
    PermissionDecided,
    PermissionEvent,
    PermissionQuestion,
    questions_after,
)
from domain.session.pull_request import OwnPullRequest
from domain.session.pull_request import after as forge_after
from domain.session.pull_request import revised as forge_revised
from domain.session.revisions import REVISION, Revision, RevisionRequested, delivered
from domain.session.team_decisions import DecisionPolicy
from domain.session.turns import (
    SCRIPTED,
    AgentSessionsCleared,
    AttemptEnd,
    FenceLevel,
    TurnAnswered,
    TurnAttemptFailed,
    TurnCancelled,
    TurnFailed,
    TurnRequested,
    TurnRetried,
    is_agent_turn,
    is_stand_in,
    weakest,
)
from domain.session.validation import CleanRoom, Flake, Validated, WorkCoverage
from domain.session.workspace import ResultPublished, ReviewedLines, WorkspaceChanges, WorkspacePrepared
from domain.values.base import DomainEvent, Refused, Text, counted, milliseconds, without
from domain.values.budget import Spent
from domain.values.network import RefusedHost, merged
from domain.values.sentences import Sentence
from domain.values.words import thread_name

if TYPE_CHECKING:
    from domain.session.waits import Need


class Moved(Refused):
    """The workspace changed while this turn ran: its changes have to be merged first, and then recorded."""


class EventMetadata(NamedTuple):
    """The session of an event, and its time (milliseconds): they are in the envelope of an event, but not in its
    data."""

    session_id: str
    at: int


@dataclass(kw_only=True)
class Session:
    """The state that the rules of every kind need. Times are milliseconds; `state` is a state of the kind's chart.

    `home` is the session whose workspace this one looks at, if that is not its own.
    """

    takes_comments: ClassVar[bool] = False
    """Whether sessions of this kind have a result of their own, on which people comment."""

    id: str
    kind: str
    state: str
    version: int = 0
    created_at: int
    updated_at: int
    title: str = ""
    origin: str = ""
    labels: tuple[str, ...] = ()
    scenario: Text | None = None
    workspace: str | None = None
    home: str | None = None
    crew: dict[str, str] = field(default_factory=dict)
    recast: dict[str, str] = field(default_factory=dict)
    """The agents that were given a role in a fork, by role."""
    models: dict[str, str] = field(default_factory=dict)
    """The models that were chosen in a fork, by agent."""
    parent: str | None = None
    children: tuple[str, ...] = ()
    open_children: dict[str, OpenChild] = field(default_factory=dict)
    last_choice: str | None = None
    forked_from: str | None = None
    forked_at: int | None = None
    reuse: Reuse | None = None
    held: bool = False
    outstanding: dict[str, Outstanding] = field(default_factory=dict)
    turns: int = 0
    asked: dict[str, int] = field(default_factory=dict)
    asked_roles: dict[str, int] = field(default_factory=dict)
    agent_sessions: dict[str, str] = field(default_factory=dict)
    unheard: tuple[PersonWords, ...] = ()
    """What persons have said and no agent has been told yet."""
    stand_in: bool = False
    """Whether a person gave the newest answer, for an agent."""
    heard_script: bool = False
    """Whether a scripted agent has answered, here or in a discussion of the work."""
    tree: str | None = None
    slot: int = 0
    base: WorkspacePrepared | None = None
    changes: WorkspaceChanges | None = None
    reviewed: ReviewedLines | None = None
    """How much of the changes the last judgement of the work was shown."""
    validated: Validated | None = None
    proves_nothing: Literal["no_tests"] | None = None
    """Why the last validation proves nothing although it passed."""
    weakened: tuple[Weakening, ...] = ()
    """What makes the last validation prove less than before the work."""
    """The last validation of the work as it is now; None before it."""
    clean_room: CleanRoom | None = None
    """The run of that validation in a fresh checkout; None where there was none."""
    coverage: WorkCoverage | None = None
    """What it ran of the lines that the work added; None where that is not asked."""
    flaky: dict[str, Flake] = field(default_factory=dict)
    """The commands that failed and passed on the same tree, each as it was seen last."""
    branch: str | None = None
    branch_problem: Sentence | str | None = None
    """Why there is no branch although the result was handed over."""
    published: str | None = None
    made_of: str | None = None
    """The recorded state that was published, where git stores it in another form."""
    landing: LandingRequested | None = None
    landed: WorkLanded | None = None
    sent_back: WorkSentBack | None = None
    not_tried: LandingNotTried | None = None
    """Why the newest landing was not tried."""
    unlanded: str | None = None
    """Why the newest landing has not merged the result, as a code; None while one is at work, and without one."""
    people_commits: tuple[str, ...] = ()
    """The commits of others that were taken over."""
    comments: Comments = field(default_factory=Comments)
    revisions: tuple[Revision, ...] = ()
    """What people want changed, in the order in which they asked."""
    forge: OwnPullRequest | None = None
    """The pull request of the result; None before one was wanted."""
    spent: Spent = field(default_factory=Spent)
    last_error: Sentence | str | None = None
    retry: RetryPolicy = ONCE
    decisions: DecisionPolicy | None = None
    """How its decisions are made, if the team file says so."""
    failed_turn: Outstanding | None = None
    """The turn whose last attempt failed, as long as a person may retry it."""
    questions: dict[str, PermissionQuestion] = field(default_factory=dict)
    """The permissions that agents wait for, by request; `asking_since`: since when there is at least one."""
    asking_since: int | None = None
    remembered: dict[str, PermissionChoice] = field(default_factory=dict)
    fence: FenceLevel | None = None
    fence_gaps: tuple[str, ...] = ()
    """The weakest fence that any turn ran in, and all gaps of any turn."""
    refused_hosts: tuple[RefusedHost, ...] = ()
    """The hosts that programs of any turn wanted to reach and may not."""

    @property
    def scripted(self) -> bool:
        """True if a scripted agent takes part, which does no real work."""
        return self.heard_script or self.scenario is not None

    @property
    def status(self) -> str:
        """The session's status, in its kind's words."""
        raise NotImplementedError

    @property
    def ended(self) -> bool:
        """Returns whether nothing more happens unless a person acts."""
        raise NotImplementedError

    @property
    def wait(self) -> "Need | None":
        """Returns what a session of this kind waits for, besides permissions and landings."""
        return None

    @property
    def waits(self) -> bool:
        """Returns whether a turn waits for its next attempt."""
        return any(turn.tries.until is not None for turn in self.outstanding.values())

    @property
    def needs_branch(self) -> bool:
        """Returns whether the work waits to be put on its branch until a person has checked out another one."""
        return any(turn.tries.reason == "branch" for turn in self.outstanding.values())

    @property
    def unpublished(self) -> bool:
        """Returns whether the workspace has changes that are not yet published to the person's repository."""
        if self.base is None or self.base.repository is None:
            return False
        return self.tree not in (None, self.base.base_commit, self.published, self.made_of)

    @property
    def unchanged(self) -> bool:
        """Returns whether its agents had a workspace, and no file of it differs from what the work began with."""
        return self.base is not None and not (self.changes is not None and self.changes.files)

    @property
    def commits(self) -> frozenset[str]:
        """The commits that the result consists of, what they began from, and the forms in which it was handed over."""
        base, changes, landed = self.base, self.changes, self.landed
        commits = {self.tree, self.published, self.made_of}
        commits |= {base.base_commit} if base else set()
        commits |= {changes.head, *changes.commits} if changes else set()
        commits |= {landed.commit} if landed else set()
        return frozenset(commit for commit in commits if commit)

    @property
    def result_head(self) -> str | None:
        """The commit that has the result: in the form of the person's repository, where filters made another one."""
        if self.changes is None or not self.changes.files:
            return None
        head = self.changes.head
        return self.published if self.published and self.made_of == head else head

    @property
    def newest_head(self) -> str | None:
        """The commit that has the files as they are now, even where none differs from what the work began with."""
        state = self.changes.head if self.changes else self.base.base_commit if self.base else None
        return self.result_head or state

    @property
    def has_queued_revision(self) -> bool:
        """Returns whether a person wants changes that no agent has been given yet."""
        return any(revision.status == "queued" for revision in self.revisions)

    def guard(self, name: str) -> bool:
        """Returns whether a guard of the kind's chart holds. False for charts without guards."""
        return False

    @property
    def passing(self) -> frozenset[str]:
        """The states of the chart that the session leaves out: a step that leads to one leads past it."""
        return frozenset()

    def receipt(self) -> dict[str, object]:
        """The fields that a kind adds to the answer of a command, after id, kind, version and position."""
        return {}

    def turn(self, turn_id: str, *, allowed: tuple[str, ...] = ()) -> Outstanding:
        """The turn, while it is outstanding. Raises Refused once it is settled: a late answer changes nothing."""
        turn = self.outstanding.get(turn_id)
        if turn is None:
            sentence = Sentence("turn_settled", turn=turn_id)
            raise Refused(sentence, allowed=allowed)
        return turn

    def thread(self, agent: str, role: str) -> str | None:
        """The handle of an agent's conversation in a role, if one was kept."""
        return self.agent_sessions.get(thread_name(agent, role))

    def next(self, metadata: EventMetadata) -> Self:
        """A copy for `evolve` to assign to: the session after one more event."""
        copy = object.__new__(type(self))
        copy.__dict__.update(self.__dict__)
        copy.version += 1
        copy.updated_at = metadata.at
        return copy


def evolve_shared(state: Session, event: DomainEvent, at: int) -> None:
    """Assign the changes of events that every kind of session has; other events change nothing here."""
    if isinstance(event, AttemptEnd):
        if event.fence is not None:
            state.fence = weakest(state.fence, event.fence)
            state.fence_gaps = tuple(sorted({*state.fence_gaps, *event.fence_gaps}))
        if event.refused_hosts:
            state.refused_hosts = merged(state.refused_hosts, event.refused_hosts)
    match event:
        case TurnRequested():
            state.failed_turn = state.failed_turn if event.work in ("package", "land", "wait") else None
            state.turns += 1
            state.asked = counted(state.asked, event.agent)
            state.asked_roles = counted(state.asked_roles, event.role)
            state.outstanding = state.outstanding | {event.turn_id: _requested(event, at, state.unheard)}
            if REVISION in event.context:
                state.revisions = delivered(state.revisions, event.context[REVISION].head)
        case TurnAnswered():
            state.stand_in = is_stand_in(event)
            _tell(state, event.turn_id)
            state.outstanding = without(state.outstanding, event.turn_id)
            if event.agent_session:
                name = thread_name(event.agent, event.role)
                state.agent_sessions = without(state.agent_sessions, name) | {name: event.agent_session}
                state.heard_script = state.heard_script or event.agent_session.startswith(SCRIPTED)
            state.tree = event.tree or state.tree
            state.changes = event.changes or state.changes
            state.reviewed = event.reviewed or state.reviewed
            state.slot = event.slot
            state.spent = state.spent.after(event.usage, by_agent=is_agent_turn(event))
        case TurnAttemptFailed():
            _attempt_failed(state, event)
        case TurnRetried():
            _retried(state, event, at)
        case TurnFailed():
            turn = state.outstanding.get(event.turn_id)
            state.failed_turn = turn if turn is not None and turn.work != "land" else state.failed_turn
            state.outstanding = without(state.outstanding, event.turn_id)
            state.last_error = failure_sentence(event.agent, event.failure)
            if turn is not None and turn.work == "land" and state.status in LANDABLE:
                state.unlanded = LANDING_FAILED
            state.spent = state.spent.after(event.usage, by_agent=is_agent_turn(event))
        case TurnCancelled():
            state.outstanding = without(state.outstanding, event.turn_id)
            state.spent = state.spent.after(event.usage, by_agent=False)
        case PermissionEvent():
            if isinstance(event, PermissionDecided) and event.remember:
                subject = state.questions[event.request_id].subject
                state.remembered = state.remembered | {subject: event.decision}
            state.questions = questions_after(state.questions, event, at)
            state.asking_since = (state.asking_since or at) if state.questions else None
        case CommentMade() | CommentChanged() | CommentAnswered():
            state.comments = state.comments.after(event)
        case AgentSessionsCleared():
            state.agent_sessions = {}
        case RevisionRequested():
            revision = Revision(event.revision_id, event.text, event.comments, event.by, at)
            state.revisions = (*state.revisions, revision)
            state.comments = state.comments.asked_for(event.comments)
            state.forge = state.forge and forge_revised(state.forge, event)
        case LandingRequested():
            state.landing, state.unlanded = event, None
        case WorkLanded():
            state.landed, state.sent_back, state.not_tried = event, None, None
        case WorkSentBack():
            state.sent_back, state.not_tried = event, None
            state.unlanded = unlanded_by(event)
        case LandingNotTried():
            state.not_tried = event
            state.unlanded = unlanded_by(event)
        case WorkspacePrepared():
            state.base = event
        case ResultPublished():
            state.branch, state.published = event.branch or state.branch, event.commit
            state.made_of = event.made_of
            state.branch_problem = None if event.branch else event.sentence or event.problem
        case SessionForked():
            state.forked_from, state.forked_at, state.created_at = event.source, event.source_version, at
            reuse = Reuse(source=event.source, version=event.source_version, mode=event.mode)
            state.reuse = None if event.mode == "ask" else reuse
            state.recast = state.recast | (event.agents or {})
            state.models = state.models | (event.models or {})
            state.parent = None
            if state.decisions is not None and event.author:
                authors = tuple(dict.fromkeys((*state.decisions.authors, event.author)))
                state.decisions = state.decisions.changed(authors=authors)
            state.questions, state.asking_since = {}, None
            state.unlanded = state.forge = None
            if event.wait is not None and event.wait.turn_id is not None:
                _wait_again(state, event.wait.turn_id, event.wait.deadline, at)
        case ForgeEvent():
            _at_forge(state, event, at)
        case SessionDiverged():
            state.reuse = None
            state.held = event.held
        case SessionReleased():
            state.held = False
        case ChildRequested():
            child = OpenChild(kind=event.child_kind, about=event.about, requested_at=at)
            state.children = (*state.children, event.child_id)
            state.open_children = state.open_children | {event.child_id: child}
        case ChildClosed():
            state.open_children = without(state.open_children, event.child_id)
            state.spent = state.spent + event.spent
            state.last_choice = event.choice
            state.heard_script = state.heard_script or bool(event.scripted)
            if event.by == "person":
                hear(state, "decided", child=event.child_id)


def _at_forge(state: Session, event: ForgeEvent, at: int) -> None:
    """The pull request, and the work that has commits of somebody else now, or is part of the base branch."""
    state.forge = forge_after(state.forge, event, at, state.spent.cost_micros or 0)
    if isinstance(event, CommitsTaken):
        if event.head != state.tree:  # it counts lines of the work without them
            state.coverage = None
        if event.validated:
            state.validated = state.validated and state.validated.changed(version=state.version)
        elif event.head != state.tree:  # what was validated was without them
            state.validated = state.clean_room = None
        state.tree, state.changes = event.head, event.changes or state.changes
        if event.changes is not None and state.reviewed is not None:
            state.reviewed = state.reviewed.beside(event.changes)
        state.people_commits = (*state.people_commits, *event.commits)
        if event.published is not None:
            state.published, state.made_of = event.published, None
        if event.base is not None and state.base is not None:
            state.base = state.base.model_copy(update={"base_commit": event.base})
    if isinstance(event, PullRequestMerged) and state.forge is not None:
        state.unlanded = None


def hear(state: Session, occasion: Occasion, words: str = "", *, child: str | None = None) -> None:
    """A person has said something that the next agent is told."""
    state.unheard = with_words(state.unheard, PersonWords(state.version, occasion, words, child))


def _tell(state: Session, turn_id: str) -> None:
    """An agent has answered, and was told what its turn had for it."""
    turn = state.outstanding.get(turn_id)
    if turn is not None and turn.heard and not state.stand_in:
        state.unheard = tuple(words for words in state.unheard if words not in turn.heard)


def _requested(event: TurnRequested, at: int, unheard: tuple[PersonWords, ...]) -> Outstanding:
    return Outstanding(
        turn_id=event.turn_id,
        work=event.work,
        agent=event.agent,
        role=event.role,
        phase=event.phase,
        round=event.round,
        lane=event.lane,
        requested_at=at,
        deadline=event.deadline,
        ordinal=event.ordinal,
        role_ordinal=event.role_ordinal,
        heard=unheard if event.work == "ask" else (),
    )


def _wait_again(state: Session, turn_id: str, deadline: str | None, at: int) -> None:
    turn = state.outstanding[turn_id]._replace(requested_at=at, deadline=deadline)
    state.outstanding = state.outstanding | {turn_id: turn}


def _attempt_failed(state: Session, event: TurnAttemptFailed) -> None:
    turn = state.outstanding[event.turn_id]
    until = milliseconds(event.retry_at) if event.retry_at else None
    step = NextAttempt(event.next, at=until, agent=event.fallback_agent)
    agent = event.fallback_agent or turn.agent
    tries = after(turn.tries, event.failure, step, agent=event.agent)
    _ask_again(state, turn._replace(agent=agent, deadline=event.deadline, tries=tries))
    state.spent = state.spent.after(event.usage, by_agent=is_agent_turn(event))
    if event.agent_session:
        name = thread_name(event.agent, event.role)
        state.agent_sessions = state.agent_sessions | {name: event.agent_session}


def _retried(state: Session, event: TurnRetried, at: int) -> None:
    waiting = state.outstanding.get(event.turn_id)
    turn = waiting or state.failed_turn
    assert turn is not None, "only a turn that waits or has failed is retried"
    hear(state, "retried", event.reason)
    heard = state.unheard if turn.work == "ask" else ()
    fresh = turn._replace(requested_at=at, deadline=event.deadline, tries=Tries(ended=event.attempts), heard=heard)
    if waiting is None:
        _ask_again(state, fresh)
    else:
        state.outstanding = state.outstanding | {turn.turn_id: fresh}
    state.failed_turn = state.last_error = None


def _ask_again(state: Session, turn: Outstanding) -> None:
    """The turn waits for its next attempt, which counts as another question to its agent."""
    ordinal, role_ordinal = state.asked.get(turn.agent, 0), state.asked_roles.get(turn.role, 0)
    again = turn._replace(ordinal=ordinal, role_ordinal=role_ordinal)
    state.outstanding = state.outstanding | {turn.turn_id: again}
    state.asked = counted(state.asked, turn.agent)
    state.asked_roles = counted(state.asked_roles, turn.role)
