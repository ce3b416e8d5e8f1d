"""Tabs of a real browser that record errors and other unexpected output of pages."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Dialog, Error, Locator, Page, expect

CHROMIUM = Path("/usr/bin/chromium")
ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--process-per-site",
)
PATIENCE_MS = 10_000
"""Milliseconds to wait for something to be shown."""

_VIOLATIONS = """addEventListener("securitypolicyviolation", (event) =>
  console.error(`CSP: ${event.violatedDirective} ${event.blockedURI} ${event.sample}`));"""
_HIDE = """(hidden) => {
  Object.defineProperty(document, "hidden", { value: hidden, configurable: true });
  document.dispatchEvent(new Event("visibilitychange"));
}"""


class Browsing:
    """A browser profile at one site. `said` has console output, exceptions and dialogs of its pages."""

    def __init__(self, context: BrowserContext, url: str) -> None:
        self.url, self.context = url, context
        self.said: list[str] = []
        context.set_default_timeout(PATIENCE_MS)
        context.add_init_script(_VIOLATIONS)

    def tab(self, path: str) -> Page:
        """A new tab with this page, once its script runs."""
        page = self.context.new_page()
        page.on("console", self._heard)
        page.on("pageerror", self._thrown)
        page.on("dialog", self._asked)
        page.goto(self.url + path)
        return page

    def forgive(self, pattern: str) -> None:
        """Expect and remove output that a test causes on purpose, such as a refusal."""
        assert [words for words in self.said if re.search(pattern, words)], (pattern, self.said)
        self.overlook(pattern)

    def overlook(self, pattern: str) -> None:
        """Remove output that may or may not occur."""
        self.said = [words for words in self.said if not re.search(pattern, words)]

    def _heard(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.said.append(f"{message.type}: {message.text} ({message.location['url']})")

    def _thrown(self, error: Error) -> None:
        self.said.append(f"thrown: {error}")

    def _asked(self, dialog: Dialog) -> None:
        self.said.append(f"dialog: {dialog.message}")
        dialog.dismiss()


@contextmanager
def browsing(browser: Browser, url: str, **look: Any) -> Iterator[Browsing]:
    """`look` takes Playwright's options: viewport, color_scheme, locale. At the end no output may be left."""
    context = browser.new_context(**({"viewport": {"width": 1440, "height": 900}, "locale": "en"} | look))
    try:
        result = Browsing(context, url)
        yield result
        assert not result.said, result.said
    finally:
        context.close()


def hide(page: Page, hidden: bool = True) -> None:
    """Hide the page as if the reader had switched tabs; a headless browser shows all of them."""
    page.evaluate(_HIDE, hidden)


def badge(page: Page, words: str) -> None:
    """The state at the top of a session's page."""
    expect(page.locator("[data-badge] .badge")).to_contain_text(words, timeout=PATIENCE_MS)


def shown(page: Page, version: int) -> None:
    """The page has come to this event."""
    expect(page.locator(f"body[data-version='{version}']")).to_be_attached(timeout=PATIENCE_MS)


def live(page: Page, words: str = "live") -> None:
    """Check the connection status on the page."""
    expect(page.locator("[data-live]")).to_have_text(words, timeout=PATIENCE_MS)


def panels(page: Page) -> dict[str, str]:
    """The current panels of a session by name, whether folded or not."""
    result: dict[str, str] = page.evaluate(
        """() => Object.fromEntries([...document.querySelectorAll("main [data-part]")].map((part) => {
          const copy = part.cloneNode(true);
          for (const details of copy.querySelectorAll("details")) details.open = false;
          return [part.dataset.part, copy.innerHTML];
        }))"""
    )
    return result


def unfold(page: Page) -> None:
    """Open everything that is folded."""
    page.evaluate("() => { for (const found of document.querySelectorAll('details')) found.open = true; }")


def button(page: Page | Locator, name: str) -> Locator:
    return page.get_by_role("button", name=name, exact=True)


def start_form(page: Page, kind: str) -> Locator:
    """The start form of a kind, opened as a person would."""
    for place in ("#start", f"#start-{kind}"):
        if page.locator(place).get_attribute("open") is None:
            page.locator(f"{place} > summary").click()
    return page.locator(f"form[data-start={kind}]")


def tab_to(page: Page, wanted: Locator) -> None:
    """Press Tab until the element has the focus."""
    for _ in range(80):
        page.keyboard.press("Tab")
        if wanted.evaluate("(element) => element === document.activeElement"):
            return
    raise AssertionError(f"Tab never comes to {wanted}")
