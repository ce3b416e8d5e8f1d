"""The fence that held a session's programs, in words."""

from collections.abc import Mapping
from typing import Final

NAMES: Final[Mapping[str, str]] = {"bwrap": "bubblewrap", "landlock": "Landlock", "none": "none"}
GAPS: Final[Mapping[str, str]] = {
    "files": "any file of the account can be read and written",
    "hidden_files": "a folder that should be hidden can be read",
    "metadata": "size, times and permissions of any file can be seen and changed",
    "network": "any address can be reached",
    "udp": "any address can be reached by datagrams",
    "sockets": "sockets of other programs can be opened",
    "shared_memory": "shared memory of other programs can be opened",
    "processes": "other processes can be seen, and may be signalled",
    "survivors": "what outlives a turn is found and ended, not prevented",
}
"""The meaning of a gap, as a text for people."""
