"""Telling a primary from the one that it took over from.

A server that froze, or was cut off, may take changes again after its standby was promoted. Who writes to both has two
logs. A promoted server counts a higher timeline, and shares the other's identifier.
"""

import threading
from collections.abc import Mapping
from typing import Any, Final

import psycopg

_ASKED: Final = """
SELECT system_identifier::text, CASE WHEN pg_is_in_recovery() THEN 0
ELSE ('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::int END
FROM pg_control_system()"""


class Primaries:
    """The newest timeline of each server that connections of this process were opened to."""

    def __init__(self) -> None:
        self._newest: dict[str, int] = {}
        self._lock = threading.Lock()
        self._unknown = False

    def compare(self, connection: "psycopg.Connection[Any]") -> int:
        """Returns -1 for a server from which another one has taken over, 1 for one that has just taken over, otherwise
        0, also where it does not tell, as some that only speak PostgreSQL's protocol."""
        if self._unknown:
            return 0
        try:
            system, timeline = connection.execute(_ASKED).fetchone() or ("", 0)
        except psycopg.Error:
            if connection.closed:
                raise
            self._unknown = True
            return 0
        with self._lock:
            newest = self._newest.get(system, timeline)
            self._newest[system] = max(newest, timeline)
        return -1 if 0 < timeline < newest else int(0 < newest < timeline)


def without(parameters: Mapping[str, Any], connection: "psycopg.Connection[Any]") -> dict[str, Any] | None:
    """The parameters of a connection to any of the hosts but this one's; None if there is no other."""
    lists = {name: str(parameters[name]).split(",") for name in ("host", "hostaddr", "port") if parameters.get(name)}
    count = max(map(len, lists.values()), default=0)
    each = {name: values * count if len(values) == 1 else values for name, values in lists.items()}
    here = connection.info.host, str(connection.info.port)
    hosts = each.get("host") or each.get("hostaddr") or []
    ports = each.get("port") or ["5432"] * count
    left = [at for at, there in enumerate(zip(hosts, ports, strict=False)) if there != here]
    if not left:
        return None
    return {**parameters, **{name: ",".join(values[at] for at in left) for name, values in each.items()}}
