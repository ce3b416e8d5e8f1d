"""The shared file of the documents can be made again. Run with `-m agents`."""

import shutil
from pathlib import Path

import pytest

from api.share.check import checked
from tests.providers.shared_delivery import made

pytestmark = pytest.mark.agents


@pytest.mark.skipif(shutil.which("bwrap") is None, reason="the name of the host is hidden with bubblewrap")
def test_a_delivery_by_two_programs_is_one_file_that_names_no_machine(tmp_path: Path) -> None:
    made(tmp_path / "delivery.html")
    content = (tmp_path / "delivery.html").read_bytes()
    assert checked(content).problems == ()
    assert len(content) <= 400_000
    assert b"Review blocked in iteration 1" in content and b"Review approved in iteration 2" in content
