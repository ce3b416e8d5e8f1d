"""Which settings of which repository a person trusts: nothing from a clone runs before that."""

import os
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

import orjson

from adapters.files import private_folder
from adapters.project.settings import Project

Policy = Literal["ask", "all"]


class Trust:
    """The trusted digests, one per checkout, in a private file. If the settings change, the person is asked again."""

    def __init__(self, file: Path, policy: Policy = "ask") -> None:
        self._file, self._policy = file, policy

    def covers(self, checkout: Path, project: Project) -> bool:
        """Whether the project's settings may take effect."""
        if project.digest is None or self._policy == "all":
            return True
        entry = self._read().get(str(checkout.resolve()))
        return entry is not None and entry.get("digest") == project.digest

    def effective(self, checkout: Path, project: Project) -> Project:
        """The project with only its trusted settings."""
        return project if self.covers(checkout, project) else project.untrusted()

    def grant(self, checkout: Path, project: Project, *, by: str, at: datetime | None = None) -> None:
        """Trust these settings of this checkout from now on. Raises OSError."""
        moment = (at or datetime.now(UTC)).isoformat(timespec="seconds")
        entries = self._read() | {str(checkout.resolve()): {"digest": project.digest or "", "by": by, "at": moment}}
        private_folder(self._file.parent)
        handle, name = tempfile.mkstemp(prefix=".trust-", dir=self._file.parent)
        with os.fdopen(handle, "wb") as written:
            written.write(orjson.dumps(entries, option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS))
        Path(name).replace(self._file)

    def _read(self) -> dict[str, dict[str, str]]:
        """The trusted digests; with a damaged file, nothing is trusted."""
        try:
            found = orjson.loads(self._file.read_bytes())
        except (OSError, ValueError):
            return {}
        if not isinstance(found, dict):
            return {}
        return {path: entry for path, entry in found.items() if isinstance(entry, dict)}
