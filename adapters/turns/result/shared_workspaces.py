"""Workspaces on many machines: a turn is worked on where its workspace is, or after its commits were fetched.

A machine keeps its workspaces in one place, which has a name of its own. What a turn has changed is in the store before
its outcome is recorded, so that no recorded change dies with a machine. A folder without git, and a repository that is
too large to be shared, wait for their machine.
"""

import fcntl
import json
import logging
import os
import secrets
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, TypeVar

from adapters.store.errors import StoreError
from adapters.store.port import Store
from adapters.store.shares import ShareForm, Shares, WorkspaceKeeper
from adapters.store.turns import OpenTurn
from adapters.turns.conversation import ancestors, earlier_sessions
from adapters.turns.job import Load
from adapters.workspace import WorkspaceError, Workspaces
from adapters.workspace.packs import SharedRepository, TooLarge
from domain.session.state import Session
from domain.values.base import HansardError
from domain.values.sentences import Sentence

log = logging.getLogger(__name__)
GRACE_SECONDS: Final = 5.0
"""How long a turn is left to the live machine that has its workspace, or to one that has the person's folder."""
ATTEND_SECONDS: Final = 5.0
_PATIENCE: Final = 30.0
"""How long an unresponsive store is retried before the turn fails."""
_PAUSE: Final = 0.2
_TOLD_FOR: Final = 1.0
"""Seconds for which the holder of a workspace is cached."""
_REMEMBERED: Final = 10_000
T = TypeVar("T")


class Sharing:
    """The workspaces of this place, and what the store has of others. Blocks: call it from threads."""

    def __init__(self, store: Store, shares: Shares, workspaces: Workspaces, *, limit: int) -> None:
        self._store, self._shares, self._workspaces, self._limit = store, shares, workspaces, limit
        self.place = _name_in(workspaces.root.parent)
        self._attended = -ATTEND_SECONDS

    # -- presence --------------------------------------------------------------------------------------------------

    def attend(self) -> None:
        """Turns are worked on here. Often called, seldom said."""
        if time.monotonic() - self._attended >= ATTEND_SECONDS:
            self._shares.attend(self.place, os.uname().nodename)
            self._attended = time.monotonic()

    def leave(self) -> None:
        with suppress(StoreError):
            self._shares.leave(self.place)

    # -- who has it ------------------------------------------------------------------------------------------------

    def is_here(self, name: str) -> bool:
        return self._workspaces.exists(name)

    def keeper(self, session: Session, load: Load) -> tuple[str, WorkspaceKeeper | None]:
        """The workspace that the session's work begins with, its own or the nearest of those it follows, and who has
        it; None if none is known."""
        own = session.home or session.id
        for name in self._names(session, load):
            holder = self._shares.keeper(name)
            if holder is not None or self.is_here(name):
                return name, holder
        return own, None

    def _names(self, session: Session, load: Load) -> Iterator[str]:
        yield session.home or session.id
        yield from ancestors(self._store, session)
        for each in earlier_sessions(session, load):
            if each.tree is not None and each.workspace == session.workspace:
                yield each.home or each.id

    def waits_for(self, session: Session, load: Load) -> str | None:
        """The machine that the session cannot continue without, if no worker runs there."""
        _, keeper = self.keeper(session, load)
        return keeper.machine if keeper is not None and keeper.form != "git" and not keeper.alive else None

    def away(self, names: Sequence[str]) -> set[str]:
        """Those of the workspaces that are only on a machine without a worker."""
        return self._shares.away(names)

    # -- continuing here ---------------------------------------------------------------------------------------------

    def bring(self, session: Session, load: Load) -> None:
        """Make sure that the session's workspace is here, with everything recorded in it. Raises HansardError."""
        name, keeper = _patiently(lambda: self.keeper(session, load))
        if keeper is None:
            return
        if keeper.form != "git":
            if keeper.place != self.place:
                raise WorkspaceError(Sentence("workspace_elsewhere", machine=keeper.machine))
            return
        shared = self._workspaces.shared(name)
        with _alone(shared):
            _patiently(lambda: self._fetch(name, shared, keeper))

    def _fetch(self, name: str, shared: SharedRepository, keeper: WorkspaceKeeper) -> None:
        if not shared.exists:
            facts = json.loads(keeper.facts)
            shared.begin(facts, self._shares.base(facts["start"]))
            log.info("fetched the workspace of %s, which %s had", name, keeper.machine)
        numbers = shared.numbered_states()
        for state in self._shares.states(name):
            if numbers.get(state.number) != state.commit:
                shared.take(state.number, state.commit, self._shares.state(name, state.number))
        if keeper.place != self.place:
            self._shares.keep(name, place=self.place, form="git", facts=keeper.facts)
            if not self._is_stored(name, shared):  # removed while it was fetched: only this machine has it now
                self._shares.keep(name, place=self.place, form="kept", facts=keeper.facts)

    def _is_stored(self, name: str, shared: SharedRepository) -> bool:
        stored = {state.number for state in self._shares.states(name)}
        return shared.numbered_states().keys() <= stored and self._shares.has_base(shared.facts["start"])

    # -- giving away -----------------------------------------------------------------------------------------------

    def keep(self, session: Session, tree: str | None) -> None:
        """Store what the session's workspace holds, up to `tree`, before that is recorded. Raises HansardError."""
        name = session.home or session.id
        if not self.is_here(name):
            return
        shared = self._workspaces.shared(name)
        with _alone(shared):
            states = [tree] if tree else []
            if session.tree and not shared.numbered_states():
                states.insert(0, session.tree)  # recorded before anything was shared
            _patiently(lambda: self._give(name, shared, states))

    def _give(self, name: str, shared: SharedRepository, states: list[str]) -> None:
        before = self._shares.keeper(name)
        if before is not None and before.place == self.place and not states:
            return
        facts = shared.facts
        form = self._share(name, shared, states, before) if _has_git(facts) else "folder"
        if before is None or (before.place, before.form) != (self.place, form):
            self._shares.keep(name, place=self.place, form=form, facts=json.dumps(facts))
            if form == "git" and not self._shares.has_base(facts["start"]):  # removed as nothing began with it
                self._shares.put_base(facts["start"], shared.base_pack(self._limit))

    # -- taking back -----------------------------------------------------------------------------------------------

    def withdraw(self, name: str, *, fetch: bool = False) -> int:
        """Remove the commits of an ended session's workspace from the store. This machine keeps them: as it has the
        workspace, or because it fetches it first. The number of bytes that were removed. Raises HansardError."""
        keeper = self._shares.keeper(name)
        if keeper is None or keeper.form != "git" or (keeper.place != self.place and not fetch):
            return 0
        shared = self._workspaces.shared(name)
        with _alone(shared):
            self._fetch(name, shared, keeper)
            return self._shares.drop(name, place=self.place)

    def is_shared(self, name: str) -> bool:
        """True if the store has commits of the workspace."""
        keeper = self._shares.keeper(name)
        return keeper is not None and keeper.form == "git"

    def tidy(self) -> int:
        """Remove the start commits that nothing in the store needs; the number of bytes."""
        return self._shares.drop_bases()

    def _share(
        self, name: str, shared: SharedRepository, states: list[str], before: WorkspaceKeeper | None
    ) -> ShareForm:
        """Store the base and the states that the store does not have."""
        if before is not None and before.form == "large":
            return "large"
        start, numbers = shared.facts["start"], shared.numbered_states()
        if before is not None and before.form == "kept":  # from the beginning again
            states, numbers = [*(numbers[number] for number in sorted(numbers)), *states], {}
        try:
            if not self._shares.has_base(start):
                self._shares.put_base(start, shared.base_pack(self._limit))
            for state in states:
                if state != start and state not in numbers.values():
                    pack = shared.state_pack(state, self._limit, numbers.values())
                    number = self._shares.put_state(name, state, pack)
                    numbers[number] = state
                    shared.know(number, state)
        except TooLarge as error:
            log.warning("%s stays on this machine: %s (HANSARD_SHARE_BYTES)", name, error)
            return "large"
        return "git"


_Found = tuple[Session | None, str, WorkspaceKeeper | None]
_NOTHING: Final[tuple[float, _Found]] = (0.0, (None, "", None))


class NearWorkspaces:
    """The turns that are left to other machines; belongs to one thread at a time."""

    def __init__(self, sharing: Sharing, load: Load, clock: Callable[[], int], grace: float = GRACE_SECONDS) -> None:
        self._sharing, self._load, self._clock = sharing, load, clock
        self._grace_ms = round(grace * 1000)
        self._known: dict[str, tuple[float, _Found]] = {}

    def leaves(self, turn: OpenTurn) -> bool:
        """True if another machine should run the turn, for now."""
        try:
            session, name, keeper = self._look(turn.session_id)
        except (HansardError, ValueError):  # the caller that uses it gets the error
            return False
        young = self._clock() - turn.requested_at < self._grace_ms
        if session is None or (keeper is None and self._sharing.is_here(name)):
            return False
        if keeper is None:
            return young and (session.tree is not None or _is_missing(session.workspace))
        if keeper.place == self._sharing.place:
            return False
        return keeper.form != "git" or (keeper.alive and young)

    def _look(self, session_id: str) -> "_Found":
        until, location = self._known.get(session_id, _NOTHING)
        if time.monotonic() > until:
            session = self._load(session_id)
            name, keeper = ("", None) if session is None else self._sharing.keeper(session, self._load)
            location = (session, name, keeper)
            if len(self._known) >= _REMEMBERED:
                self._known.clear()
            self._known[session_id] = (time.monotonic() + _TOLD_FOR, location)
        return location


def near(sharing: Sharing | None, load: Load, clock: Callable[[], int]) -> NearWorkspaces | None:
    """The turns that are left to other machines, where there are any."""
    return None if sharing is None else NearWorkspaces(sharing, load, clock)


def _has_git(facts: dict[str, object]) -> bool:
    """True if the work consists of commits only: a person's folder without git is edited in place."""
    return facts["asked"] is None or facts["repository"] is not None


def _is_missing(folder: str | None) -> bool:
    return bool(folder) and not Path(str(folder)).is_dir()


def _name_in(folder: Path) -> str:
    """The name of this place, created once."""
    file = folder / "place"
    folder.mkdir(parents=True, exist_ok=True)
    with suppress(FileExistsError):
        draft = folder / f".place-{secrets.token_hex(4)}"
        draft.write_text(secrets.token_hex(16))
        try:
            os.link(draft, file)
        finally:
            draft.unlink()
    return file.read_text().strip()


@contextmanager
def _alone(shared: SharedRepository) -> Iterator[None]:
    """Other turns of the session may be worked on at the same time, also by other processes of this place."""
    shared.home.mkdir(parents=True, exist_ok=True)
    with (shared.home / "sharing").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _patiently(work: Callable[[], T]) -> T:
    """Do it, again and again while the store does not answer. Raises what it raises last."""
    until = time.monotonic() + _PATIENCE
    while True:
        try:
            return work()
        except StoreError:
            if time.monotonic() > until:
                raise
        time.sleep(_PAUSE)
