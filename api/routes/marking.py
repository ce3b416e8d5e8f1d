"""The rows of a list, with the machines that sessions wait for."""

from contextlib import suppress

from adapters.store import StoreError
from api.node.marking import waiting_for_machine
from api.system import System
from projections.views.sessions import SessionItem


def marked_list(system: System, items: tuple[SessionItem, ...]) -> tuple[SessionItem, ...]:
    """The rows of a list, with the machines that sessions wait for."""
    machines = _missing_machines(system, items)
    if not machines:
        return items
    return tuple(
        item.model_copy(
            update={"outstanding_turns": waiting_for_machine(item.outstanding_turns, machines.get(item.id))}
        )
        for item in items
    )


def _missing_machines(system: System, items: tuple[SessionItem, ...]) -> dict[str, str]:
    """By session, the machine that it cannot continue without. One query, unless workspaces are out of reach."""
    waiting = [item for item in items if item.outstanding_turns]
    machines: dict[str, str] = {}
    if system.sharing is None or not waiting:
        return machines
    with suppress(StoreError):  # the database is away, and then everything waits
        away = system.sharing.away([name for item in waiting for name in _workspaces_of(item)])
        for item in waiting:
            session = system.sessions.get(item.id) if away.intersection(_workspaces_of(item)) else None
            if session is not None and (machine := system.missing_machine(session)) is not None:
                machines[item.id] = machine
    return machines


def _workspaces_of(item: SessionItem) -> tuple[str, ...]:
    """Where its work may begin: its own workspace, that of its parent, or that of the source of a fork."""
    return tuple(filter(None, (item.id, item.parent, item.forked_from)))
