"""Tabs of a real browser that write down whatever a page says that no page should."""

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
"""Milliseconds after which something that should have been shown has not."""

_VIOLATIONS = """addEventListener("securitypolicyviolation", (event) =>
  console.error(`CSP: ${event.violatedDirective} ${event.blockedURI} ${event.sample}`));"""
_HIDE = """(hidden) => {
  Object.defineProperty(document, "hidden", { value: hidden, configurable: true });
  document.dispatchEvent(new Event("visibilitychange"));
}"""


class Browsing:
    """A profile of a browser at one site. `said` is what its pages wrote to the console, threw, or asked in dialogs."""

    def __init__(self, context: BrowserContext, url: str) -> None:
        self.url, self.context = url, context
        self.said: list[str] = []
        context.set_default_timeout(PATIENCE_MS)
        context.add_init_script(_VIOLATIONS)

    def tab(self, path: str) -> Page:
        """A new tab that shows this page, with its script at work."""
        page = self.context.new_page()
        page.on("console", self._heard)
        page.on("pageerror", self._thrown)
        page.on("dialog", self._asked)
        page.goto(self.url + path)
        return page

    def forgive(self, pattern: str) -> None:
        """What a test brings about on purpose, a refusal for one, may be said; it must have been."""
        assert [words for words in self.said if re.search(pattern, words)], (pattern, self.said)
        self.overlook(pattern)

    def overlook(self, pattern: str) -> None:
        """What may be said or not, as chance has it."""
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
    """`look` as Playwright names it: viewport, color_scheme, locale. At the end no page may have said anything."""
    context = browser.new_context(**({"viewport": {"width": 1440, "height": 900}, "locale": "en"} | look))
    try:
        found = Browsing(context, url)
        yield found
        assert not found.said, found.said
    finally:
        context.close()


def hide(page: Page, hidden: bool = True) -> None:
    """As if the reader had turned to another tab; a browser without a screen shows all of them."""
    page.evaluate(_HIDE, hidden)


def badge(page: Page, words: str) -> None:
    """The state at the top of a session's page."""
    expect(page.locator("[data-badge] .badge")).to_contain_text(words, timeout=PATIENCE_MS)


def shown(page: Page, version: int) -> None:
    """The page has come to this event."""
    expect(page.locator(f"body[data-version='{version}']")).to_be_attached(timeout=PATIENCE_MS)


def live(page: Page, words: str = "live") -> None:
    """What the page says about its connection."""
    expect(page.locator("[data-live]")).to_have_text(words, timeout=PATIENCE_MS)


def panels(page: Page) -> dict[str, str]:
    """The panels of a session by their names, as they are in the page now; folded or not makes no difference."""
    found: dict[str, str] = page.evaluate(
        """() => Object.fromEntries([...document.querySelectorAll("[data-part]")].map((part) => {
          const copy = part.cloneNode(true);
          for (const details of copy.querySelectorAll("details")) details.open = false;
          return [part.dataset.part, copy.innerHTML];
        }))"""
    )
    return found


def unfold(page: Page) -> None:
    """Opens whatever is folded."""
    page.evaluate("() => { for (const found of document.querySelectorAll('details')) found.open = true; }")


def button(page: Page | Locator, name: str) -> Locator:
    return page.get_by_role("button", name=name, exact=True)


def start_form(page: Page, kind: str) -> Locator:
    """The form that starts a session of a kind, unfolded as a person would."""
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
