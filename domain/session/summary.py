"""The summary of a session: its status, what it waits for, why, and what a person may choose then."""

from typing import NamedTuple

from domain.session.landing import LANDABLE
from domain.session.state import Session
from domain.session.waits import Need, WaitsFor, branch, forge, held, landing, permission


class Summary(NamedTuple):
    """A session in short, as it is wherever it is listed; `wait` is None where nothing waits for a person."""

    status: str
    wait: Need | None

    @property
    def waits_for(self) -> WaitsFor | None:
        return None if self.wait is None else self.wait.waits_for

    @property
    def cause(self) -> str | None:
        return None if self.wait is None else self.wait.cause

    @property
    def choices(self) -> tuple[str, ...]:
        return () if self.wait is None else self.wait.choices


def summary_of(session: Session) -> Summary:
    """Returns what the session waits for: first what its kind waits for, then a branch that a person has checked out,
    what an agent asks, a fork that is held, a landing that did not succeed, and its pull request."""
    wait = session.wait or (branch() if session.needs_branch else None) or (permission() if session.questions else None)
    if wait is None and session.held and not session.ended:
        wait = held()
    if wait is None and session.unlanded is not None and session.status in LANDABLE:
        wait = landing(session.unlanded)
    if wait is None and session.forge is not None and session.forge.rest is not None and session.status in LANDABLE:
        wait = forge(session.forge.rest)
    return Summary(session.status, wait)
