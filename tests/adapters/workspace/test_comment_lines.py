"""Comments follow their lines through what people and agents do to a repository."""

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from adapters.workspace.comment_lines import TurnStates, touched_in, whereabouts_of
from domain.session.comments import Comment, CommentPlace, Whereabouts
from domain.session.workspace import ChangedFile, WorkspaceChanges, WorkspacePrepared
from tests.domain.test_landing import packaged

SHOP = [
    *("def total(prices):", "    amount = sum(prices)", "    return amount", "", ""),
    *("def discount(prices, percent):", "    amount = total(prices)", "    return amount * percent"),
]


class Shop:
    """A repository with one file, and what its history was at any time."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        self.git("init", "-q", "-b", "main")
        self.base = self.commit(**{"shop.py": SHOP, "other.py": ["import os"]})

    def git(self, *words: str) -> str:
        identity = ("-c", "user.name=Ann", "-c", "user.email=ann@localhost")
        done = subprocess.run(("git", *identity, *words), cwd=self.folder, check=True, capture_output=True, text=True)
        return done.stdout.strip()

    def commit(self, **files: list[str] | None) -> str:
        for name, lines in files.items():
            place = self.folder / name
            place.unlink() if lines is None else place.write_text("".join(f"{line}\n" for line in lines))
        self.git("add", "-A")
        self.git("commit", "-qm", "Work", "--allow-empty")
        return self.git("rev-parse", "HEAD")

    def whereabouts(self, line: int | None, *, seen: str, path: str = "shop.py", **fields: Any) -> Whereabouts:
        """Where a comment on a line of the commit stands in what is checked out."""
        head = self.git("rev-parse", "HEAD")
        session = packaged().delivery
        session.base = WorkspacePrepared(repository=str(self.folder), base_branch="main", base_commit=self.base)
        session.changes = WorkspaceChanges(head=head, files=(ChangedFile(path="a", status="modified"),))
        session.made_of = None
        about = {"path": path, "line": line, "end_line": line, "head": seen, "by": "person:ann", "at": "", "text": "?"}
        comment = Comment(comment_id="c1", **(about | fields))
        return whereabouts_of([self.folder], session, [comment])["c1"]


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    return Shop(tmp_path / "shop")


def at(line: int | None, path: str = "shop.py") -> Whereabouts:
    return Whereabouts(now=CommentPlace(path=path, line=line, end_line=line))


GONE = Whereabouts(outdated=True)
INDENTED = ["class Shop:", *(f"    {line}" if line else "" for line in SHOP)]


def test_a_commit_that_is_still_the_newest_needs_no_following(shop: Shop) -> None:
    assert shop.whereabouts(2, seen=shop.base) == at(2)


@pytest.mark.parametrize(
    ("change", "where"),
    [
        ({"other.py": ["import sys"]}, at(2)),
        ({"shop.py": ["import math", "", *SHOP]}, at(4)),
        ({"shop.py": INDENTED}, at(3)),
        ({"shop.py": [*SHOP[5:], "", *SHOP[:3]]}, at(6)),
        ({"shop.py": None, "store.py": SHOP}, at(2, "store.py")),
        ({"shop.py": None, "store.py": INDENTED}, at(3, "store.py")),
        ({"shop.py": SHOP[5:], "other.py": ["import os", *SHOP[:3]]}, at(3, "other.py")),
        ({"shop.py": [SHOP[0], "    amount = fsum(prices)", *SHOP[2:]]}, GONE),
        ({"shop.py": None}, GONE),
        ({"shop.py": []}, GONE),
        ({"shop.py": ["\0", *SHOP]}, GONE),
    ],
)
def test_a_line_is_followed_or_outdated(shop: Shop, change: dict[str, list[str] | None], where: Whereabouts) -> None:
    shop.commit(**change)
    assert shop.whereabouts(2, seen=shop.base) == where


@pytest.mark.parametrize("back", [["import os", "os.abort()"], ["x = 1", "import os", "os.abort()"]])
def test_a_small_file_is_followed_although_its_old_name_is_back(shop: Shop, back: list[str]) -> None:
    few = ["x = 1", "y = 2", "z = x + y"]
    seen = shop.commit(**{"few.py": few})
    shop.commit(**{"sums.py": few, "few.py": back})
    assert shop.whereabouts(3, seen=seen, path="few.py") == at(3, "sums.py")
    assert shop.whereabouts(2, seen=seen, path="few.py", end_line=3) == Whereabouts(
        now=CommentPlace(path="sums.py", line=2, end_line=3)
    )
    shop.commit(**{"sums.py": [*few, "w = z"]})
    assert shop.whereabouts(3, seen=seen, path="few.py") == GONE, "not the same file any more, and too plain to be sure"


def rebase(shop: Shop) -> None:
    shop.git("checkout", "-q", "main")
    shop.commit(**{"shop.py": ["# A shop.", *SHOP]})
    shop.git("rebase", "-q", "main", "work")


def squash(shop: Shop) -> None:
    shop.git("checkout", "-q", "main")
    shop.commit(**{"other.py": ["import sys"]})
    shop.git("merge", "-q", "--squash", "work")
    shop.commit()


def merge(shop: Shop) -> None:
    shop.git("checkout", "-q", "main")
    shop.commit(**{"shop.py": ["# A shop.", *SHOP]})
    shop.git("merge", "-q", "-m", "Merge", "work")


@pytest.mark.parametrize("way", [rebase, squash, merge])
def test_a_line_is_followed_through_rewritten_history(shop: Shop, way: Callable[[Shop], None]) -> None:
    shop.git("checkout", "-qb", "work")
    seen = shop.commit(**{"shop.py": [*SHOP, "", "", "def tax(prices):", "    return total(prices) / 10"]})
    way(shop)
    head = shop.git("show", "HEAD:shop.py").split("\n")
    line = head.index("    return total(prices) / 10") + 1
    assert shop.whereabouts(12, seen=seen) == at(line)


def test_several_lines_shrink_to_those_that_stand_together(shop: Shop) -> None:
    shop.commit(**{"shop.py": ["import math", "def total(all_prices):", *SHOP[1:]]})
    now = CommentPlace(path="shop.py", line=3, end_line=4)
    assert shop.whereabouts(1, seen=shop.base, end_line=3) == Whereabouts(now=now, outdated=True)


def test_a_line_of_the_base_that_the_work_removed_is_what_the_comment_is_about(shop: Shop) -> None:
    seen = shop.commit(**{"shop.py": [SHOP[0], "    amount = fsum(prices)", *SHOP[2:]]})
    assert shop.whereabouts(2, seen=seen, side="old") == Whereabouts()
    assert shop.whereabouts(3, seen=seen, side="old") == at(3)


def test_a_file_is_followed_by_its_name(shop: Shop) -> None:
    shop.commit(**{"shop.py": None, "store.py": SHOP})
    assert shop.whereabouts(None, seen=shop.base) == at(None, "store.py")
    shop.commit(**{"store.py": None})
    assert shop.whereabouts(None, seen=shop.base) == GONE


def test_of_a_commit_that_is_not_on_this_machine_nothing_is_known(shop: Shop) -> None:
    assert shop.whereabouts(2, seen="d" * 40) == Whereabouts()


@pytest.mark.parametrize(("line", "changed"), [(1, True), (2, False), (3, False), (6, False), (7, True)])
def test_what_was_changed_beside_a_plain_line_has_not_changed_it(shop: Shop, line: int, *, changed: bool) -> None:
    plain = ["delta", "x", "}", "gamma", "y", "}", "zeta", "last"]
    before = shop.commit(**{"plain.txt": plain})
    after = shop.commit(**{"plain.txt": [*plain[1:6], "ZETA", "last"]})
    session = packaged().delivery
    session.base = WorkspacePrepared(repository=str(shop.folder), base_branch="main", base_commit=shop.base)
    about = {"path": "plain.txt", "line": line, "end_line": line, "head": before}
    comment = Comment(comment_id="c1", by="person:ann", at="", text="?", **about)
    turn = TurnStates(before, after, ["plain.txt"])
    assert touched_in([shop.folder], session, [comment], turn) == (("c1",) if changed else ())


SWITCHES = ["{", *(line for name in "abc" for line in (f'"{name}": {{', '"on": true', "},")), "}"]
TWINS = [line for name in "abc" for line in (f"def {name}():", "    x = 1", "    return x", "", "")]
"""Blocks that say the same but for their names; a diff can tell which of them went."""


@pytest.mark.parametrize(("plain", "size", "start"), [(SWITCHES, 3, 1), (TWINS, 5, 0)])
@pytest.mark.parametrize("gone", range(3))
@pytest.mark.parametrize("block", range(3))
def test_a_line_stays_the_one_of_its_block_when_a_copy_of_it_goes(
    shop: Shop, plain: list[str], size: int, start: int, gone: int, block: int
) -> None:
    before = shop.commit(**{"plain.txt": plain})
    after = shop.commit(**{"plain.txt": [*plain[: start + gone * size], *plain[start + (gone + 1) * size :]]})
    line = start + block * size + 2
    now = at(line if block < gone else line - size, "plain.txt")
    assert shop.whereabouts(line, seen=before, path="plain.txt") == (GONE if block == gone else now)
    session = packaged().delivery
    about = {"path": "plain.txt", "line": line, "end_line": line, "head": before}
    comment = Comment(comment_id="c1", by="person:ann", at="", text="?", **about)
    touched = touched_in([shop.folder], session, [comment], TurnStates(before, after, ["plain.txt"]))
    assert touched == (("c1",) if block == gone else ())


def test_another_indentation_changes_a_line(shop: Shop) -> None:
    after = shop.commit(**{"shop.py": [*SHOP[:6], "        amount = total(prices)", SHOP[7]]})
    about = {"path": "shop.py", "head": shop.base, "by": "person:ann", "at": "", "text": "?"}
    comments = [Comment(comment_id=f"c{line}", line=line, end_line=line, **about) for line in (2, 7, 8)]
    turn = TurnStates(shop.base, after, ["shop.py"])
    assert touched_in([shop.folder], packaged().delivery, comments, turn) == ("c7",)


SUMMED = [SHOP[0], "    return fsum(prices)", *SHOP[3:]]
"""The shop after a change that leaves its second and third line out."""
RATED = [*SUMMED[:5], "    return total(prices) * percent / 100"]


@pytest.mark.parametrize(
    ("side", "after", "changed"),
    [
        ("old", RATED, False),
        ("new", ["# A shop.", *RATED], False),
        ("new", [SHOP[0], "    return math.fsum(prices)", *RATED[2:]], True),
        ("old", [SHOP[0], "    amount = sum(prices)", "    return amount", *RATED[2:]], True),
        ("old", [SHOP[0], *RATED[2:]], True),
        ("old", None, True),
    ],
)
def test_lines_that_are_gone_were_dealt_with_where_they_stood(
    shop: Shop, side: str, after: list[str] | None, *, changed: bool
) -> None:
    before = shop.commit(**{"shop.py": SUMMED})
    turn = TurnStates(before, shop.commit(**{"shop.py": after}), ["shop.py"])
    session = packaged().delivery
    session.base = WorkspacePrepared(repository=str(shop.folder), base_branch="main", base_commit=shop.base)
    about = {"path": "shop.py", "line": 2, "end_line": 2, "head": before if side == "old" else shop.base, "side": side}
    comment = Comment(comment_id="c1", by="person:ann", at="", text="?", **about)
    assert touched_in([shop.folder], session, [comment], turn) == (("c1",) if changed else ())


def test_lines_of_a_file_that_is_gone_were_dealt_with_when_it_is_back(shop: Shop) -> None:
    before = shop.commit(**{"shop.py": None})
    session = packaged().delivery
    session.base = WorkspacePrepared(repository=str(shop.folder), base_branch="main", base_commit=shop.base)
    about = {"path": "shop.py", "line": 2, "end_line": 2, "head": before, "side": "old"}
    comment = Comment(comment_id="c1", by="person:ann", at="", text="?", **about)
    for files, changed in (({"other.py": ["import sys"]}, ()), ({"shop.py": SHOP[:3]}, ("c1",))):
        turn = TurnStates(before, shop.commit(**files), list(files))
        assert touched_in([shop.folder], session, [comment], turn) == changed
