"""How many product files a reader opens who follows one request. New subjects of their own have raised these figures;
from here they may only fall."""

from pathlib import Path

import pytest

from tests.kit.figures import files_of_cancel, files_of_page

pytestmark = pytest.mark.nightly


def test_a_command_passes_few_files_until_it_is_stored(tmp_path: Path) -> None:
    found = files_of_cancel(tmp_path)
    assert "api/actions/control.py" in found, "the action itself is among them"
    assert len([file for file in found if file.startswith("api/")]) <= 10
    assert len(found) <= 48


def test_the_first_opening_of_a_page_passes_few_files(tmp_path: Path) -> None:
    found = files_of_page(tmp_path)
    assert "api/web/session/routes.py" in found
    assert len(found) <= 115
