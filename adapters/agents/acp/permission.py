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

    async def outcome(self, request: Mapping[str, Any], calls: Mapping[str, Json]) -> Json:
        """The answer to a request, given what is known of the tool calls. Permission is only ever given once."""
        tool_call, choices = request.get("toolCall"), request.get("options")
        call = tool_call if isinstance(tool_call, dict) else {}
        name = str(call.get("toolCallId", ""))[:200]
        options = [one for one in choices if isinstance(one, dict)] if isinstance(choices, list) else []
        wish = wish_of(calls.get(name, {}) | described(call))
        allowed = _option(options, "allow_once")
        if allowed is not None and await self._desk.permitted(wish):
            return allowed
        self.denied.add(name)
        self._observe(wish.denied("tool").changed(id=name or None))
        return _option(options, "reject_once") or _option(options, "reject_always") or {"outcome": "cancelled"}


def _option(options: list[Json], kind: str) -> Json | None:
    option_id = next((one.get("optionId") for one in options if one.get("kind") == kind), None)
    return {"outcome": "selected", "optionId": option_id} if isinstance(option_id, str) else None
