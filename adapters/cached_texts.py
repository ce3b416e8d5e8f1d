"""The register of everything that caches texts of a log: all of it forgets a session from which a text was taken out,
and every session once the log has gone back.

Whatever is made of events and kept, in memory or beside the log, joins the register of its log. Nothing else decides
what to drop after a redaction.
"""

from collections.abc import Callable, Sequence

from domain.session.record import Recorded, redacted_sessions

Forget = Callable[[str | None], None]
"""Drops what is cached of a session, or of all of them (None), or everything if that cannot be told apart. Cheap, from
any thread."""


class Forgetting:
    """Passes redactions on to the caches that joined, in the order in which they joined. From any thread."""

    def __init__(self) -> None:
        self._caches: list[Forget] = []

    def join(self, *caches: Forget) -> None:
        """Add caches. What they keep already is not dropped."""
        self._caches += caches

    def everything(self) -> None:
        """Drop what is cached of every session: the log has gone back, and what was read may never have been."""
        for forget in tuple(self._caches):
            forget(None)

    def seen(self, events: Sequence[Recorded]) -> None:
        """Drop what quotes the texts that these events have taken out, in this process or another one."""
        for session_id in redacted_sessions(events):
            for forget in tuple(self._caches):
                forget(session_id)
