"""`apply` writes every byte of the changes, also where no branch can be made of them, or it says why not."""

import json
from pathlib import Path

import pytest

from api.cli.exits import Failed
from api.cli.merge import _patch_of
from api.cli.repository import Result
from tests.api.cli.conftest import Hansard
from tests.api.cli.kept import FILES, git
from tests.api.cli.test_results import here

__all__ = ["here"]


def test_a_file_that_git_takes_for_binary_is_applied_through_the_persons_filter(
    hansard: Hansard, here: Path, tmp_path: Path
) -> None:
    """Printed changes only say of such a file that it differs."""
    (here / ".gitattributes").write_text("a.txt filter=up -diff\n")
    git(here, "config", "filter.up.clean", "cat")
    git(here, "config", "filter.up.smudge", "tr a-z A-Z")
    git(here, "add", "--all")
    git(here, "commit", "--quiet", "-m", "Filter")
    scenario = tmp_path / "scenario.json"
    scenario.write_text(json.dumps({"replies": {"dev": [{"text": "Wrote it.", "files": FILES}]}}), encoding="utf-8")
    assert hansard("run", "--quick", "-t", "Shout", "--test", "true", "--scenario", str(scenario)).code == 0
    assert hansard("merge", "latest").code == 4
    traced = hansard("trace", "latest")
    assert traced.code == 4 and "has no branch" in traced.err
    applied = hansard("apply", "latest")
    assert applied.code == 0, applied.err
    assert (here / "a.txt").read_text() == FILES["a.txt"].upper()
    assert (here / "new/b.txt").read_text() == FILES["new/b.txt"]


@pytest.mark.parametrize(
    ("line", "is_whole"),
    [
        ("+caf\ufffd", False),
        ("Binary files a/x and b/x differ", False),
        ("[cut here: 10 of 20 bytes]", False),
        ("+café", True),
        ("+[cut here: 10 of 20 bytes]", True),
        (" Binary files a and b differ", True),
    ],
)
def test_printed_changes_that_lack_bytes_are_not_applied(line: str, is_whole: bool) -> None:
    changes = {"base": None, "head": "h", "branch": None, "files": [], "namesFiles": False}
    patch = f"--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n{line}\n"
    result = Result({}, {**changes, "patch": patch}, Path("/"), None)  # type: ignore[typeddict-item]
    if is_whole:
        assert _patch_of(result) == patch.encode()
    else:
        with pytest.raises(Failed, match="Not every byte"):
            _patch_of(result)
