"""The announcement of a process that runs turns to the others: which of its agents would fail for sure if they were
asked."""

import json
from collections.abc import Mapping

from adapters.agents.necessities import READY, lack_of
from adapters.agents.team import Team
from domain.values.sentences import from_wire, wire

Announcement = Mapping[str, str]
"""What each agent lacks, by its name; READY for one that lacks nothing that can be known without asking it."""


def announcement_of(team: Team) -> Announcement:
    """Returns what each agent of the team lacks in this process."""
    return {member.name: lack_of(member) for member in team.agents}


def line_of(announcement: Announcement) -> str:
    """The announcement as one line."""
    return json.dumps({name: _data(lack) for name, lack in announcement.items()}, ensure_ascii=False)


def parse(line: str) -> Announcement | None:
    """The announcement in the line; None for a process that announces nothing, or in a way of another version."""
    try:
        data = json.loads(line)
        return {str(name): _lack(lack) for name, lack in data.items()}
    except (ValueError, AttributeError, KeyError, TypeError):
        return None


def _data(lack: str) -> dict[str, object] | None:
    return {"text": str(lack), **wire(lack)} if lack else None


def _lack(data: dict[str, object] | None) -> str:
    return READY if data is None else from_wire(str(data["text"]), data.get("code"), data.get("params"))
