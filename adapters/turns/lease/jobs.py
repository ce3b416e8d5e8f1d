"""Makes the jobs of turns that were claimed."""

from functools import partial

from adapters.store.port import Store
from adapters.store.texts import whole
from adapters.store.turns import Lease
from adapters.turns.conversation import ancestors
from adapters.turns.job import Job, of_record, requested
from adapters.writer.writer import Writer
from domain.session.state import Session
from domain.session.turns import TurnRequested


class Jobs:
    """Makes the jobs of a worker. Blocks."""

    def __init__(self, store: Store, writer: Writer) -> None:
        self._store, self._writer = store, writer

    def first(self, lease: Lease) -> Job:
        """The job of a turn that was just claimed: nothing is read that this process knows."""
        return self._made(lease, self._cached(lease))

    def now(self, lease: Lease) -> Job:
        """The job as the log has it now."""
        return self._made(lease, None)

    def _cached(self, lease: Lease) -> Session | None:
        """The session as this process knows it, where it cannot be older than the turn's request. What a fork reuses
        and what an earlier attempt has changed are read from the log."""
        session = self._writer.cached(lease.session_id)
        if session is None or session.version < lease.version or session.reuse is not None or lease.attempt > 1:
            return None
        return session

    def _made(self, lease: Lease, session: Session | None) -> Job:
        session = session or self._writer.load(lease.session_id)
        request = requested(self._store, lease, self._writer.newest.request)
        assert session is not None and isinstance(request.event, TurnRequested), "each lease has a request"
        lease = of_record(lease, request, session)
        sources = ancestors(self._store, session)
        return Job(lease, request.event, session, self._writer.load, sources, partial(whole, self._store))
