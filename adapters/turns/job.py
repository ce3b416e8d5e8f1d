"""A turn in progress: its folder, what its conversation continues, and the commands that record how it ended.

A message of a conversation continues the sessions before it: their last result, and their messages.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Final

from adapters.agents.port import Turn
from adapters.agents.prompts.context import Exchange, conversation
from adapters.store import Lease, Store
from adapters.turns.prompting import RenderedPrompt
from adapters.workspace import Workspace, Workspaces
from adapters.workspace.creation import Earlier
from domain.delivery.state import Delivery
from domain.delivery.validation import Preparation
from domain.orchestration.state import Orchestration
from domain.session.attempts import Outstanding
from domain.session.history import SessionForked
from domain.session.record import Recorded
from domain.session.state import Session
from domain.session.turns import TurnRequested
from domain.values.base import Blob, HansardError, Text, Unknown, milliseconds
from domain.values.sentences import Sentence

Load = Callable[[str], Session | None]
"""A session as the log has it."""

REMEMBERED: Final = 20
"""How many earlier sessions of a conversation are read."""
_FIRST_PROMPTS: Final = ("direct", "plan", "plan_repair")


def earlier_sessions(session: Session, load: Load) -> Iterator[Orchestration]:
    """The nearest first."""
    for _ in range(REMEMBERED):
        if not isinstance(session, Orchestration) or not session.follows:
            return
        earlier = load(session.follows)
        if not isinstance(earlier, Orchestration):
            return
        yield earlier
        session = earlier


def last_result(now: Session, load: Load, root: Path) -> Earlier | None:
    """The newest state of the conversation's work in the same folder; results of reset runs do not count."""
    for session in earlier_sessions(now, load):
        if session.tree is not None and session.workspace == now.workspace and session.status != "reset":
            place = root / (session.home or session.id) / "repo.git"
            return Earlier(place, session.tree, session.branch) if place.is_dir() else None
    return None


def said_before(now: Session, load: Load, request: TurnRequested, language: str) -> str:
    """The messages of the conversation so far, for an agent that joins it."""
    if request.prompt.partition("@")[0] not in _FIRST_PROMPTS:
        return ""
    exchanges = [
        Exchange(session.prompt, session.summary.head if session.summary else "")
        for session in earlier_sessions(now, load)
    ]
    return conversation(exchanges[::-1], language)


# -- the job -----------------------------------------------------------------------------------------------------------


ENDED: Final = ("success", "cancelled", "done", "reset", "decided")
"""Statuses in which no one has to continue the session. A failed one may be retried."""
LATEST: Final = 2**53
"""No session has as many events."""
Find = Callable[[str, int], Recorded | None]
"""Finds one event of a session by its version."""
LANE = 1_000
"""More folders than a lane ever leaves."""


_UNPREPARED: Final = Preparation()


@dataclass(frozen=True)
class Job:
    """A turn in progress: the lease, the request, and the current session."""

    lease: Lease
    request: TurnRequested
    session: Session
    load: Load = lambda _: None
    """Another session, from the log."""
    ancestors: Iterable[str] = ()
    """For a fork: its source, the source of that, and so on; looked up as needed."""
    question: tuple[Turn, RenderedPrompt] | None = None
    """What the agent is asked, if that is already known."""

    @property
    def deadline(self) -> int | None:
        """The time at which the turn is stopped, according to the session now."""
        if self.request.deadline is None:
            return None
        if isinstance(self.session, Delivery):
            return self.session.budget.deadline_at
        return milliseconds(self.request.deadline)

    @property
    def preparation(self) -> Preparation:
        """How the session's workspace is prepared."""
        return self.session.preparation if isinstance(self.session, Delivery | Orchestration) else _UNPREPARED

    @property
    def workspace_env(self) -> Mapping[str, str]:
        """Variables that make the workspace take precedence over the checkout."""
        return self.session.validation_env if isinstance(self.session, Delivery) else {}

    @property
    def turn(self) -> Outstanding:
        """The turn as it is now: its agent may have changed since. Raises Refused once it is settled."""
        return self.session.turn(self.request.turn_id)

    @property
    def slot(self) -> int:
        """How often a folder was abandoned: a frozen earlier attempt may still be writing there. An attempt with a
        recorded end no longer writes, so its folder is used again."""
        turn = self.session.outstanding.get(self.request.turn_id)
        ended = turn.tries.ended if turn is not None else 0
        return self.session.slot + max(0, self.lease.attempt - 1 - ended)

    @property
    def folder(self) -> int:
        """The number of the folder: every lane has its own, so that agents can work at once."""
        return self.request.lane * LANE + self.slot


def requested(store: Store, lease: Lease, newest: Find = lambda _, __: None) -> Recorded:
    """The request of a leased turn. A damaged lease says wrongly where it is; then it is looked for in the history."""
    for history in _histories(store, lease, newest):
        for recorded in history:
            if isinstance(recorded.event, TurnRequested) and recorded.event.turn_id == lease.turn_id:
                return recorded
    raise Unknown(Sentence("no_such_turn", id=lease.turn_id))


def _histories(store: Store, lease: Lease, newest: Find) -> Iterator[Sequence[Recorded]]:
    if recorded := newest(lease.session_id, lease.version):
        yield [recorded]
    if 0 < lease.version < LATEST:
        yield store.history(lease.session_id, after=lease.version - 1, upto=lease.version)
    yield store.history(lease.session_id)


def of_record(lease: Lease, request: Recorded, session: Session) -> Lease:
    """The lease with what the record says of its turn: rows of the lease table may be damaged."""
    event = request.event
    assert isinstance(event, TurnRequested), "each lease has a request"
    turn = session.outstanding.get(lease.turn_id)
    agent = event.agent if turn is None else turn.agent
    if (lease.version, lease.work, lease.agent, lease.role) == (request.version, event.work, agent, event.role):
        return lease
    return replace(lease, version=request.version, work=event.work, agent=agent, role=event.role)


def ancestors(store: Store, session: Session) -> Iterator[str]:
    """The sources of a fork, the nearest first."""
    seen: set[str] = set()
    name = session.forked_from
    while name is not None and name not in seen:
        seen.add(name)
        yield name
        forked = store.log(session_id=name, topic=SessionForked.TOPIC)
        name = forked[-1].event.source if forked and isinstance(forked[-1].event, SessionForked) else None


def workspace_of(job: Job, workspaces: Workspaces) -> Workspace:
    """Blocks: the first time, it copies the person's repository."""
    session = job.session
    if session.forked_from is not None:
        workspaces.copy(job.ancestors, session.id)
    source = Path(session.workspace) if session.workspace else None
    earlier = partial(last_result, session, job.load, workspaces.root)
    return workspaces.open(session.home or session.id, source, earlier)


def checkout(job: Job, workspaces: Workspaces, tree: str | None = None) -> Path:
    """The job's folder, in the recorded state or that of `tree`."""
    workspace = workspace_of(job, workspaces)
    return workspace.checkout(tree=tree or job.session.tree, slot=job.folder, resting=partial(has_ended, job.load))


def pristine(job: Job, workspaces: Workspaces, tree: str | None = None) -> Path:
    """The same, without what agents, or the code that they wrote, have left in it."""
    resting, linked = partial(has_ended, job.load), job.preparation.link
    workspace = workspace_of(job, workspaces)
    return workspace.pristine(tree=tree or job.session.tree, slot=job.folder, linked=linked, resting=resting)


def has_ended(load: Load, session_id: str) -> bool:
    """Whether a session has ended well, or for good, so that its folders are not needed: another may have them. Should
    somebody continue it after all, a folder is made again from the record."""
    try:
        session = load(session_id)
    except (HansardError, ValueError):  # what cannot be read may still be wanted
        return False
    if session is None or session.status not in ENDED:
        return False
    return not (session.outstanding or session.open_children)


def left(job: Job, workspaces: Workspaces) -> Path:
    """The job's folder, as its agent left it."""
    workspace = workspace_of(job, workspaces)
    return workspace.in_place or workspace.home / f"tree-{job.folder}" / workspace.prefix


def text(words: str, blobs: list[Blob]) -> Text:
    """Words for a command; what is too long for it goes to the blobs."""
    value, more = Text.of(words)
    blobs.extend(more)
    return value
