"""Answers an agent's requests for permission over ACP."""

from collections.abc import Callable, Mapping
from typing import Any

from adapters.agents.acp.updates import described, wish_of
from adapters.agents.activity import Activity
from adapters.agents.asking import PermissionDesk

Json = dict[str, Any]


class Permissions:
    """The requests of one turn. `denied` are the tool calls that got no permission."""

    def __init__(self, desk: PermissionDesk, observe: Callable[[Activity], None]) -> None:
        self._desk, self._observe = desk, observe
        self.denied: set[str] = set()

    async def outcome(self, given: Mapping[str, Any], known: Mapping[str, Json]) -> Json:
        """The answer to a request, given what is known of the tool calls. Permission is only ever given once."""
        asked, listed = given.get("toolCall"), given.get("options")
        call = asked if isinstance(asked, dict) else {}
        name = str(call.get("toolCallId", ""))[:200]
        options = [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
        wish = wish_of(known.get(name, {}) | described(call))
        allowed = _option(options, "allow_once")
        if allowed is not None and await self._desk.permitted(wish):
            return allowed
        self.denied.add(name)
        self._observe(wish.denied("tool").changed(id=name or None))
        return _option(options, "reject_once") or _option(options, "reject_always") or {"outcome": "cancelled"}


def _option(options: list[Json], kind: str) -> Json | None:
    found = next((one.get("optionId") for one in options if one.get("kind") == kind), None)
    return {"outcome": "selected", "optionId": found} if isinstance(found, str) else None
