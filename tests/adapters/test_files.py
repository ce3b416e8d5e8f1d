"""Folders: which checkout one belongs to."""

import subprocess
from pathlib import Path

import pytest

from api.node.checkouts import checkout_of


def git(*words: str, cwd: Path) -> str:
    identity = ("-c", "user.name=t", "-c", "user.email=t@localhost", "-c", "commit.gpgsign=false")
    return subprocess.run(
        ("git", *identity, *words), cwd=cwd, check=True, capture_output=True, text=True
    ).stdout.strip()


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """A repository with a folder and a worktree, inside a folder that has an empty `.git`."""
    (tmp_path / ".git").mkdir()
    shop = tmp_path / "shop"
    (shop / "src").mkdir(parents=True)
    git("init", "-q", cwd=shop)
    git("commit", "-q", "--allow-empty", "-m", "first", cwd=shop)
    git("worktree", "add", "-q", str(tmp_path / "beside"), cwd=shop)
    return shop


@pytest.mark.parametrize("folder", ["shop", "shop/src", "beside"])
def test_the_checkout_of_a_folder_is_the_one_that_git_names(shop: Path, folder: str) -> None:
    place = shop.parent / folder
    assert checkout_of(place) == Path(git("rev-parse", "--show-toplevel", cwd=place))


def test_a_folder_that_is_only_named_git_is_not_a_checkout(shop: Path) -> None:
    alone = shop.parent / "alone"
    alone.mkdir()
    assert checkout_of(alone) is None
