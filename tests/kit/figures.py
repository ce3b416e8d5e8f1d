"""Count the product files that a command and the first opening of a session's page pass; `python -m tests.kit.figures`
prints them. Calls are traced in every thread but those that fold the log and keep answers afterwards."""

import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Final

from starlette.testclient import TestClient

from tests.api.server import delivery, inside, start

ROOT: Final = Path(__file__).parents[2]
ROOMS: Final = ("domain", "adapters", "projections", "api")
AFTERWARDS: Final = ("follower", "answers")
"""Threads that no request waits for."""


class Passed:
    """The product files in which something was called while it watches."""

    def __init__(self) -> None:
        self.files: set[str] = set()
        self._prefixes = tuple(f"{ROOT}/{room}/" for room in ROOMS)
        self._is_watching = False

    def trace(self, frame: FrameType, event: str, _: object) -> None:
        if not self._is_watching or event != "call" or threading.current_thread().name in AFTERWARDS:
            return
        if frame.f_code.co_filename.startswith(self._prefixes):
            self.files.add(frame.f_code.co_filename.removeprefix(f"{ROOT}/"))

    @contextmanager
    def watching(self) -> Iterator[None]:
        self._is_watching = True
        yield
        self._is_watching = False


@contextmanager
def traced() -> Iterator[Passed]:
    """Traces this thread, and all that begin later."""
    passed = Passed()
    threading.setprofile(passed.trace)
    sys.setprofile(passed.trace)
    try:
        yield passed
    finally:
        sys.setprofile(None)
        threading.setprofile(None)  # type: ignore[arg-type]


def files_of(folder: Path, request: Callable[[TestClient, str], object]) -> list[str]:
    """Returns the files that a request about a new session passes; the session is pending."""
    with traced() as passed, inside(folder, work=False) as client:
        session_id = start(client, delivery())
        client.get(f"/api/sessions/{session_id}", headers={"Read-After": "1"})
        with passed.watching():
            request(client, session_id)
        return sorted(passed.files)


def files_of_cancel(folder: Path) -> list[str]:
    """Returns the files that `POST …/cancel` passes until its events are stored; who is woken then is not among
    them."""
    found = files_of(folder, lambda client, session: client.post(f"/api/sessions/{session}/cancel", json={}))
    return [file for file in found if not file.startswith("projections/")]


def files_of_page(folder: Path) -> list[str]:
    """Returns the files that the first opening of a session's page passes."""
    return files_of(folder, lambda client, session: client.get(f"/sessions/{session}"))


if __name__ == "__main__":
    for count in (files_of_cancel, files_of_page):
        with tempfile.TemporaryDirectory() as place:
            sys.stdout.write("\n  ".join([f"{len(result := count(Path(place)))} {count.__name__}", *result, "\n"]))
