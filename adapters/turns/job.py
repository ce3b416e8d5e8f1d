"""A turn in progress: its lease, its request, and the session as it is now."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, NamedTuple

from adapters.agents.port import Turn
from adapters.agents.prompts import catalogue as prompts
from adapters.fence.network.refusals import Refusals
from adapters.store.port import Store
from adapters.store.turns import Lease
from domain.delivery.state import Delivery
from domain.delivery.validation import Preparation
from domain.orchestration.state import Orchestration
from domain.session.attempts import Outstanding
from domain.session.record import Recorded
from domain.session.state import Session
from domain.session.turns import TurnRequested
from domain.session.workspace import PeopleCommits, ReviewedLines
from domain.values.base import Text, Unknown, milliseconds
from domain.values.sentences import Sentence

if TYPE_CHECKING:
    from adapters.services.site import Site

Load = Callable[[str], Session | None]
"""A session as the log has it."""
LATEST: Final = 2**53
"""No session has as many events."""
Find = Callable[[str, int], Recorded | None]
"""Finds one event of a session by its version."""
LANE = 1_000
"""More folders than a lane ever leaves."""
_UNPREPARED: Final = Preparation()


class RenderedPrompt(NamedTuple):
    """A prompt, the template if it consists of that and the request alone, and how much it shows of the changes."""

    text: str
    template: prompts.Prompt | None = None
    reviewed: ReviewedLines | None = None


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
    whole: Callable[[Text], str] = lambda text: text.head
    """A long text, from the log."""
    people: PeopleCommits | None = None
    """The commits of people on the branch that the turn begins with."""
    question: tuple[Turn, RenderedPrompt] | None = None
    """The question to the agent, if it is already known."""
    refusals: Refusals = field(default_factory=Refusals, compare=False)
    """The hosts that its commands wanted to reach and may not."""
    site: "Site | None" = None
    """The surroundings that its agent shares with the services of the workspace."""

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
        """The preparation of the session's workspace."""
        return self.session.preparation if isinstance(self.session, Delivery | Orchestration) else _UNPREPARED

    @property
    def workspace_env(self) -> Mapping[str, str]:
        """Variables that make the workspace take precedence over the checkout."""
        return self.session.validation_env if isinstance(self.session, Delivery) else {}

    @property
    def start(self) -> str | None:
        """The state of the work that the turn begins with; None for that of the session's beginning."""
        return self.people.tree if self.people is not None else self.session.tree

    @property
    def turn(self) -> Outstanding:
        """The turn as it is now: its agent may have changed since. Raises Refused once it is settled."""
        return self.session.turn(self.request.turn_id)

    @property
    def slot(self) -> int:
        """The number of times that a folder was abandoned: a frozen earlier attempt may still be writing there. An
        attempt with a recorded end no longer writes, so its folder is used again.
        """
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
