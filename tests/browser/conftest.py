"""A browser and a server for the tests of a file: both are gone when it is done."""

import os
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, sync_playwright

from tests.api.server import Server, serving
from tests.browser.browsing import ARGUMENTS, CHROMIUM, Browsing, browsing

MISSING = f"{CHROMIUM} is not there: the page is not tested in a browser (apt-get install -y chromium)"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Debian's chromium. Not for the whole run: while Playwright is there, no test may begin an event loop."""
    if not CHROMIUM.exists():
        assert os.environ.get("CI") != "true", MISSING
        pytest.skip(MISSING)
    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=CHROMIUM, args=list(ARGUMENTS))
        yield found
        found.close()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("site"), max_body_bytes=4_000_000) as found:
        yield found


@pytest.fixture
def site(browser: Browser, server: Server) -> Iterator[Browsing]:
    """A desktop's browser at the server; whatever a page says that none should fails the test."""
    with browsing(browser, server.url) as found:
        yield found
