"""A browser and a server per test file, both closed at its end."""

import os
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, sync_playwright

from tests.api.server import Server, serving
from tests.browser.browsing import ARGUMENTS, BROWSER, Browsing, browsing

MISSING = f"{BROWSER} is not there: the page is not tested in a browser (apt-get install -y chromium)"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Debian's Chromium. Not session-wide, as no test may start an event loop while Playwright runs."""
    if not BROWSER.exists():
        assert os.environ.get("CI") != "true", MISSING
        pytest.skip(MISSING)
    with sync_playwright() as playwright:
        result = playwright.chromium.launch(executable_path=BROWSER, args=list(ARGUMENTS))
        yield result
        result.close()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("site"), max_body_bytes=4_000_000) as result:
        yield result


@pytest.fixture
def site(browser: Browser, server: Server) -> Iterator[Browsing]:
    """A desktop browser at the server; unexpected output of a page fails the test."""
    with browsing(browser, server.url) as result:
        yield result
