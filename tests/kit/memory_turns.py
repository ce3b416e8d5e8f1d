"""The lease table of the store in memory."""

import threading
from collections import ChainMap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from adapters.store.errors import Conflict, Fenced
from adapters.store.turn_changes import COUNTED, STEP, NewTurn, TurnAgain, TurnChange, TurnEnd, TurnState
from adapters.store.turns import FIRST, LAST, Lease, OpenTurn, TurnPage, TurnPlace, TurnStatus, UsedSoFar


@dataclass(frozen=True, slots=True)
class MemoryTurn:
    """A line of the lease table."""

    request: NewTurn
    state: TurnState
    attempt: int = 0
    worker: str | None = None
    until: int | None = None
    owner: str = ""
    rank: int = 0
    used: str | None = None

    @property
    def open(self) -> OpenTurn:
        request = self.request
        place = (request.work, request.agent, request.role, request.requested_at)
        return OpenTurn(request.turn_id, request.session_id, *place, self.rank)

    def free(self, now: int) -> bool:
        """Whether it may be claimed."""
        return self.request.work != "wait" and (self.until is None or self.until <= now)

    def lease(self) -> Lease | None:
        if self.state != "running" or self.worker is None or self.until is None:
            return None
        request = self.request
        return Lease(
            turn_id=request.turn_id,
            session_id=request.session_id,
            version=request.version,
            work=request.work,
            agent=request.agent,
            role=request.role,
            attempt=self.attempt,
            worker=self.worker,
            until=self.until,
            deadline=request.deadline,
        )


class TurnTable(dict[str, MemoryTurn]):
    """The lease table by turn. `unsettled` has the lines that are not settled, so that no look grows with history;
    `owners` has the owner of each session."""

    def __init__(self, lines: Mapping[str, MemoryTurn] = MappingProxyType({})) -> None:
        super().__init__()
        self.unsettled: dict[str, MemoryTurn] = {}
        self.owners: dict[str, str] = {}
        self.keep(lines)

    def __setitem__(self, turn_id: str, turn: MemoryTurn) -> None:
        super().__setitem__(turn_id, turn)
        self.owners.setdefault(turn.request.session_id, turn.owner)
        if turn.state in ("queued", "running"):
            self.unsettled[turn_id] = turn
        else:
            self.unsettled.pop(turn_id, None)

    def keep(self, lines: Mapping[str, MemoryTurn]) -> None:
        """Take over all of these lines."""
        for turn_id, turn in lines.items():
            self[turn_id] = turn


def apply(turns: ChainMap[str, MemoryTurn], change: TurnChange) -> None:
    """Change the table, in its first map. Raises Fenced or Conflict."""
    if isinstance(change, NewTurn):
        if change.turn_id in turns:
            raise Conflict(f"The turn {change.turn_id} is there already.", streams=[change.session_id])
        owner, rank = _queued(turns, change)
        turns[change.turn_id] = MemoryTurn(change, change.state, owner=owner, rank=rank)
        return
    turn = turns.get(change.turn_id)
    if isinstance(change, TurnAgain):
        if turn is None or (change.attempt is not None and (turn.state, turn.attempt) != ("running", change.attempt)):
            raise Fenced(change.turn_id, change.attempt or 0)
        request = turn.request._replace(agent=change.agent or turn.request.agent, deadline=change.deadline)
        turns[change.turn_id] = replace(turn, request=request, state=change.state, until=change.not_before, used=None)
        return
    if turn is not None and _may_end(turn, change):
        turns[change.turn_id] = replace(turn, state=change.state, until=None, used=None)
    elif change.fenced:
        raise Fenced(change.turn_id, change.said_by)


def _queued(turns: ChainMap[str, MemoryTurn], change: NewTurn) -> tuple[str, int]:
    """The owner of a new turn, and its rank."""
    new, earlier = turns.maps
    assert isinstance(earlier, TurnTable)
    owners = earlier.owners | {turn.request.session_id: turn.owner for turn in new.values()}
    owner = owners.get(change.session_id, owners.get(change.root, change.asked_by))
    unsettled = [turn for turn in {**earlier.unsettled, **new}.values() if turn.state in ("queued", "running")]
    open_turns = [turn for turn in unsettled if turn.request.work != "wait"]
    theirs = [turn for turn in open_turns if turn.owner == owner]
    ours = [turn for turn in theirs if turn.request.session_id == change.session_id]
    places = min(COUNTED, len(theirs)) + min(COUNTED, len(ours)) + change.long
    return owner, change.requested_at + STEP * places


def _may_end(turn: MemoryTurn, change: TurnEnd) -> bool:
    return (not change.before or turn.state in change.before) and change.attempt in (None, turn.attempt)


class MemoryTurns:
    """The lease table."""

    def __init__(self, turns: TurnTable, lock: threading.RLock) -> None:
        self._turns, self._lock = turns, lock

    def _unsettled(self) -> list[MemoryTurn]:
        with self._lock:
            return list(self._turns.unsettled.values())

    def take(self, turn_id: str, worker: str, *, now: int, lease_ms: int) -> Lease | None:
        with self._lock:
            turn = self._turns.get(turn_id)
            if turn is None or turn.state not in ("queued", "running") or not turn.free(now):
                return None
            until, attempt = now + lease_ms, turn.attempt + 1
            taken = replace(turn, state="running", attempt=attempt, worker=worker, until=until, used=None)
            self._turns[turn_id] = taken
        return taken.lease()

    def take_all(self, turn_ids: Sequence[str], worker: str, *, now: int, lease_ms: int) -> list[Lease]:
        leases = (self.take(turn_id, worker, now=now, lease_ms=lease_ms) for turn_id in turn_ids)
        return [lease for lease in leases if lease is not None]

    def waiting(self, now: int) -> bool:
        with self._lock:
            return any(turn.free(now) for turn in self._turns.unsettled.values())

    def open(self, now: int, *, limit: int, after: TurnPlace = FIRST, upto: TurnPlace = LAST) -> TurnPage:
        between = (turn for turn in self._unsettled() if after < turn.open.place <= upto)
        turns = sorted(between, key=lambda turn: turn.open.place)[:limit]
        end = turns[-1].open.place if len(turns) == limit else None
        return TurnPage([turn.open for turn in turns if turn.free(now)], end)

    def unsettled(self) -> list[OpenTurn]:
        turns = sorted((turn.open for turn in self._unsettled()), key=lambda turn: turn.place)
        return [turn for turn in turns if turn.work != "wait"]

    def heartbeat(self, lease: Lease, *, until: int) -> bool:
        return self._change(lease, until=max(lease.until, until))

    def give_back(self, lease: Lease) -> bool:
        return self._change(lease, state="queued", until=None)

    def _change(self, lease: Lease, *, until: int | None, state: TurnState = "running") -> bool:
        with self._lock:
            turn = self._turns.get(lease.turn_id)
            if turn is None or turn.state != "running" or turn.attempt != lease.attempt:
                return False
            latest = until if until is None or turn.until is None else max(turn.until, until)
            self._turns[lease.turn_id] = replace(turn, state=state, until=latest)
            return True

    def keep_usage(self, turn_id: str, attempt: int, used: str) -> None:
        with self._lock:
            turn = self._turns.get(turn_id)
            if turn is not None and (turn.state, turn.attempt) == ("running", attempt):
                self._turns[turn_id] = replace(turn, used=used)

    def usage(self, turn_id: str) -> UsedSoFar | None:
        turn = self._turns.get(turn_id)
        if turn is None or turn.state != "running" or turn.used is None:
            return None
        return UsedSoFar(turn.attempt, turn.used)

    def release(self, worker: str) -> int:
        with self._lock:
            held = [turn for turn in self._unsettled() if turn.state == "running" and turn.worker == worker]
            for turn in held:
                self._turns[turn.request.turn_id] = replace(turn, state="queued", until=None)
        return len(held)

    def recover(self) -> int:
        return 0

    def workers(self) -> tuple[str, ...]:
        return tuple({turn.worker for turn in self._unsettled() if turn.state == "running" and turn.worker is not None})

    def overdue(self, now: int) -> list[tuple[str, str]]:
        requests = (turn.request for turn in self._unsettled())
        return [(each.session_id, each.turn_id) for each in requests if each.deadline and each.deadline < now]

    def held(self, turn_id: str) -> Lease | None:
        turn = self._turns.get(turn_id)
        return None if turn is None else turn.lease()

    def attempts(self, turn_ids: Sequence[str]) -> dict[str, int | None]:
        leases = {turn_id: lease for turn_id in turn_ids if (lease := self.held(turn_id)) is not None}
        return {turn_id: leases[turn_id].attempt if turn_id in leases else None for turn_id in turn_ids}

    def imported(self, turn_ids: Sequence[str]) -> frozenset[str]:
        turns = (self._turns.get(turn_id) for turn_id in turn_ids)
        return frozenset(turn.request.turn_id for turn in turns if turn is not None and turn.state == "held")

    def status(self, turn_id: str) -> TurnStatus | None:
        turn = self._turns.get(turn_id)
        return None if turn is None else TurnStatus(turn.request.session_id, turn.state, turn.attempt, turn.worker)

    def count(self) -> dict[str, int]:
        states = [turn.state for turn in self._unsettled()]
        return {"queued": states.count("queued"), "running": states.count("running")}
