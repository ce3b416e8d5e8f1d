"""Signing in with the server's link, and links from other sites for signed-in users."""

import re
from pathlib import Path

from playwright.sync_api import Browser, expect

from tests.api.server import serving


def test_a_link_on_another_site_opens_the_page_signed_in(browser: Browser, tmp_path: Path) -> None:
    with serving(tmp_path, auth="key") as server:
        [link] = re.findall(r"http://\S+/login\?once=\S+", server.log.read_text())
        page = browser.new_context().new_page()
        page.goto(link)
        expect(page.get_by_label("API key")).to_have_count(0)
        page.goto(f"data:text/html,<a href='{server.url}/decisions'>go</a>")
        page.click("a")
        expect(page).to_have_url(f"{server.url}/decisions")
        expect(page.locator("h1")).to_be_visible()
        expect(page.get_by_label("API key")).to_have_count(0)
        stranger = browser.new_context().new_page()
        stranger.goto(f"data:text/html,<a href='{server.url}/decisions'>go</a>")
        stranger.click("a")
        expect(stranger.get_by_label("API key")).to_be_visible()
