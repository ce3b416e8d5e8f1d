"""Which machine works on a turn, and what of a workspace is stored (`adapters/turns/result/shared_workspaces.py`)."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from adapters.store.location import open_store
from adapters.store.port import Store
from adapters.store.shares import Shares
from adapters.store.turns import OpenTurn
from adapters.turns.result.shared_workspaces import NearWorkspaces, Sharing
from adapters.workspace import WorkspaceError, Workspaces
from domain.session.state import Session
from tests.adapters.stores_under_test import delivery_story
from tests.kit.postgres import cluster, require

ID = "delivery-1"
OTHER = "delivery-2"
ASKED = OpenTurn("delivery-1.t1", ID, "ask", "Ada", "dev", 1_000)
PLENTY = 10_000_000


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    require()
    result = open_store(cluster().database(tmp_path))
    yield result
    result.close()
    cluster().free(tmp_path)


class Machine:
    """A data folder, with a clock of its own."""

    def __init__(self, store: Store, folder: Path, session: Session | None, limit: int = PLENTY) -> None:
        assert store.shares is not None
        self.shares: Shares = store.shares
        self.workspaces = Workspaces(folder / "workspaces")
        self.sharing = Sharing(store, store.shares, self.workspaces, limit=limit)
        self.sharing.attend()
        self.now = ASKED.requested_at
        self._store, self._session = store, session

    def leaves(self, now: int = ASKED.requested_at) -> bool:
        """Whether the turn is left to others, asked afresh."""
        return NearWorkspaces(self.sharing, lambda *_, **__: self._session, lambda: now).leaves(ASKED)


def project(folder: Path) -> Path:
    """A repository with one commit of some size."""
    run = ("git", "-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-C", str(folder))
    folder.mkdir()
    (folder / "large").write_text("".join(f"{number}\n" for number in range(20_000)))
    for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "one"]):
        subprocess.run([*run, *words], check=True)
    return folder


def test_a_turn_waits_for_the_machine_with_its_workspace_and_is_then_taken(store: Store, tmp_path: Path) -> None:
    session = delivery_story().delivery
    one, two = (Machine(store, tmp_path / name, session) for name in ("one", "two"))
    assert (one.leaves(), two.leaves()) == (False, False)  # nobody has begun
    one.workspaces.open(ID, None)
    one.sharing.keep(session, None)
    assert (one.leaves(), two.leaves(), two.leaves(now=6_000)) == (False, True, False)
    one.sharing.leave()
    assert two.leaves() is False
    two.sharing.bring(session, lambda _: None)
    assert two.workspaces.exists(ID) and one.leaves(now=6_000) is False
    assert one.leaves() is True  # the workspace has moved


def test_unshared_sessions_stay_on_their_machine(store: Store, tmp_path: Path) -> None:
    session = delivery_story().delivery
    one, two = (Machine(store, tmp_path / name, session, limit=10) for name in ("one", "two"))
    one.workspaces.open(ID, project(tmp_path / "project"))
    one.sharing.keep(session, None)
    one.sharing.leave()
    assert two.leaves(now=10**12) is True
    assert two.sharing.waits_for(session, lambda _: None) is not None
    one.sharing._attended = -100.0
    one.sharing.attend()
    assert two.sharing.waits_for(session, lambda _: None) is None
    assert store.shares is not None and not store.shares.states(ID)


def test_the_commit_that_sessions_begin_with_is_stored_once_and_states_as_what_they_add(
    store: Store, tmp_path: Path
) -> None:
    session, folder = delivery_story().delivery, project(tmp_path / "project")
    one, two = (Machine(store, tmp_path / name, session) for name in ("one", "two"))
    workspace = one.workspaces.open(ID, folder)
    tree = workspace.checkout(tree=None, slot=0)
    with (tree / "large").open("a") as file:
        file.write("more\n")
    state = workspace.snapshot(tree, message="more", parent=workspace.base())
    for _ in range(2):
        one.sharing.keep(session, state)
    assert [result.commit for result in one.shares.states(ID)] == [state]
    sizes = [sum(map(len, pack)) for pack in (one.shares.base(workspace.start), one.shares.state(ID, 1))]
    assert sizes[1] < 1_000 < sizes[0]
    two.sharing.bring(session, lambda _: None)
    with (two.workspaces.open(ID, folder).checkout(tree=state, slot=0) / "large").open() as file:
        assert file.read().endswith("19999\nmore\n")


def test_commits_of_an_ended_session_are_removed_and_stored_again_with_the_next_change(
    store: Store, tmp_path: Path
) -> None:
    session, folder = delivery_story().delivery, project(tmp_path / "project")
    one, two, three = (Machine(store, tmp_path / name, session) for name in ("one", "two", "three"))
    workspace = one.workspaces.open(ID, folder)
    states = [changed(one, folder, words) for words in ("first", "second")]
    for state in states:
        one.sharing.keep(session, state)
    two.sharing.bring(session, lambda _: None)  # it has moved: only there may it be removed
    assert one.sharing.withdraw(ID) == one.sharing.tidy() == 0 < two.sharing.withdraw(ID)
    assert two.sharing.tidy() > 100 and not one.shares.has_base(workspace.start)
    assert one.shares.states(ID) == []
    assert (one.leaves(now=10**12), two.leaves()) == (True, False)
    with pytest.raises(WorkspaceError, match="on the machine"):
        three.sharing.bring(session, lambda _: None)
    states.append(changed(two, folder, "third"))
    two.sharing.keep(session, states[-1])
    assert [result.commit for result in one.shares.states(ID)] == states
    for machine in (one, three):
        machine.sharing.bring(session, lambda _: None)
        for state in states:
            machine.workspaces.open(ID, folder).checkout(tree=state, slot=0)


def test_start_commits_stay_while_a_workspace_in_the_store_begins_with_them(store: Store, tmp_path: Path) -> None:
    session, folder = delivery_story().delivery, project(tmp_path / "project")
    one = Machine(store, tmp_path / "one", session)
    for each in (session, delivery_story(OTHER).delivery):
        one.workspaces.open(each.id, folder)
        one.sharing.keep(each, None)
    assert one.sharing.withdraw(ID) == one.sharing.tidy() == 0  # it has changed nothing
    assert one.sharing.withdraw(OTHER) == 0 < one.sharing.tidy()


def test_an_ended_session_is_fetched_before_its_commits_are_removed_elsewhere(store: Store, tmp_path: Path) -> None:
    session, folder = delivery_story().delivery, project(tmp_path / "project")
    one, two = (Machine(store, tmp_path / name, session) for name in ("one", "two"))
    one.workspaces.open(ID, folder)
    state = changed(one, folder, "first")
    one.sharing.keep(session, state)
    one.sharing.leave()  # for good, with its disk
    assert two.sharing.withdraw(ID, fetch=True) > 0
    two.workspaces.open(ID, folder).checkout(tree=state, slot=0)
    assert one.leaves(now=10**12) is True


def changed(machine: Machine, folder: Path, words: str) -> str:
    """A state of the workspace with these words in it."""
    workspace = machine.workspaces.open(ID, folder)
    tree = workspace.checkout(tree=None, slot=0)
    (tree / words).write_text(words)
    return workspace.snapshot(tree, message=words, parent=workspace.base())
