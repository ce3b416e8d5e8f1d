"""Finds which files the agents of a plan will change, and so who may work at the same time (K-19)."""

from collections.abc import Iterable, Sequence

from domain.values.base import Value
from domain.values.phases import OnlyTrue
from domain.values.sentences import Sentence
from domain.values.words import composed, folded, trimmed

LONGEST_PATH = 4_096
"""Maximum length of a path; no file system has longer ones, so it is unclear what they name."""

Place = tuple[str, ...]
"""The parts of a path below the workspace; empty for the workspace itself."""


class FileClaim(Value):
    """The files that an agent of a plan will change, and whether it asks to work in parallel."""

    agent: str
    parallel: OnlyTrue = False
    affected_files: tuple[str, ...] | None = None


def parallel(claims: Iterable[FileClaim]) -> list[bool]:
    """The agents that work in parallel, in the order of the plan (K-19).

    A claim has to wait if it names no files, or one that is not surely inside the workspace (absolute, leading out of
    it, with a wildcard); if its agent is already working; or if an earlier parallel agent has claimed one of its files,
    or a folder around or inside them. A claim that waits reserves nothing.
    """
    return [reason is None for reason in _reasons(claims)]


def hindrances(claims: Sequence[FileClaim]) -> list[Sentence]:
    """The agents that ask to work in parallel but cannot, each with the reason."""
    pairs = zip(claims, _reasons(claims), strict=True)
    return [Sentence("not_in_parallel", agent=claim.agent, why=reason) for claim, reason in pairs if reason]


def _reasons(claims: Iterable[FileClaim]) -> list[str | None]:
    """Tells why each claim has to wait: empty if it does not ask for parallel work, None if it need not wait."""
    taken = _Taken()
    busy: set[str] = set()
    return [_admit(claim, taken=taken, busy=busy) if claim.parallel else "" for claim in claims]


def _admit(claim: FileClaim, *, taken: "_Taken", busy: set[str]) -> Sentence | None:
    agent, files = folded(claim.agent), claim.affected_files or ()
    places = _places(files)
    if agent in busy:
        return Sentence("claim_has_another_subtask")
    if not places:
        return Sentence("claim_outside_workspace" if files else "claim_without_files")
    for path, place in zip(files, places, strict=True):
        owner = taken.owner(place)
        if owner is not None:
            return Sentence("claim_shares", path=path[:200], agent=owner)
    busy.add(agent)
    for place in places:
        taken.add(place, claim.agent)
    return None


def _places(paths: tuple[str, ...]) -> list[Place]:
    """The places of all paths; empty if one of them is uncertain."""
    places: list[Place] = []
    for path in paths:
        place = place_of(path)
        if place is None:
            return []
        places.append(place)
    return places


def place_of(path: str) -> Place | None:
    """The parts of a relative path, with `.`, `//` and `a/..` removed and case kept; None if it is not surely
    relative."""
    plain = trimmed(path).replace("\\", "/")
    if not plain or len(plain) > LONGEST_PATH or plain[0] in "/~" or plain[1:2] == ":" or set(plain) & set("*?"):
        return None
    parts: list[str] = []
    for part in composed(plain).split("/"):
        if part == ".." and not parts:
            return None
        if part == "..":
            parts.pop()
        elif part not in ("", "."):
            parts.append(part)
    return tuple(parts)


class _Branch:
    """A folder on the way to a claimed path, or the claimed path itself with its agent."""

    def __init__(self) -> None:
        self.agent: str | None = None
        self.below: dict[str, _Branch] = {}


class _Taken:
    """All claimed paths as a tree: a look-up takes only as long as the path, however many there are."""

    def __init__(self) -> None:
        self._root = _Branch()

    def add(self, place: Place, agent: str) -> None:
        branch = self._root
        for part in place:
            branch = branch.below.setdefault(part, _Branch())
        branch.agent = agent

    def owner(self, place: Place) -> str | None:
        """The agent that has claimed the path, a folder around it or something inside it."""
        branch = self._root
        for part in place:
            if branch.agent is not None or part not in branch.below:
                return branch.agent
            branch = branch.below[part]
        while branch.agent is None and branch.below:
            branch = next(iter(branch.below.values()))
        return branch.agent
