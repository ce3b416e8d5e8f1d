"""Tabs of a real browser that record errors and other unexpected output of pages."""

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Dialog, Error, Locator, Page, Request, expect

CHROMIUM = Path("/usr/bin/chromium")
_WITHOUT_WINDOWS = Path("/usr/bin/chromium-headless-shell")
BROWSER = _WITHOUT_WINDOWS if _WITHOUT_WINDOWS.exists() else CHROMIUM
"""The same pages with half of the work, where it is installed; speed is measured with what people have."""
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
    """A browser profile at one site. `said` has console output, exceptions and dialogs of its pages. Each tab has a
    look of its own: `viewport` and what `emulate_media` takes."""

    def __init__(self, context: BrowserContext, url: str, look: Mapping[str, Any]) -> None:
        self.url, self.context = url, context
        self.said: list[str] = []
        self._viewport = look.get("viewport")
        self._media = {name: value for name, value in look.items() if name != "viewport"}
        self._listens: list[Callable[[Request], None]] = []

    def tab(self, path: str, *, script: str = "") -> Page:
        """A new tab with this page, once its script runs, and before it this one."""
        page = self.context.new_page()
        if self._viewport:
            page.set_viewport_size(self._viewport)
        if self._media:
            page.emulate_media(**self._media)
        if script:
            page.add_init_script(script)
        page.on("console", self._heard)
        page.on("pageerror", self._thrown)
        page.on("dialog", self._asked)
        page.goto(self.url + path)
        return page

    def asked(self, pattern: str = "") -> list[str]:
        """The addresses that pages ask for from now on, of those that match."""
        addresses: list[str] = []

        def listen(request: Request) -> None:
            if re.search(pattern, request.url):
                addresses.append(request.url)

        self.context.on("request", listen)
        self._listens.append(listen)
        return addresses

    def leave(self, kept: Page) -> None:
        """Close all tabs but this one, and forget what they have stored and what they were allowed."""
        for listen in self._listens:
            self.context.remove_listener("request", listen)
        for page in self.context.pages:
            if page != kept:
                page.close()
        self.context.unroute_all()
        self.context.clear_permissions()
        self.context.clear_cookies()
        session = self.context.new_cdp_session(kept)
        session.send("Storage.clearDataForOrigin", {"origin": self.url, "storageTypes": "all"})
        session.detach()

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


class _Profile(NamedTuple):
    """A profile between two tests. It has one tab, at a page without a script: with a tab at the site, the next one
    needs no new process, and that is most of the work of its start."""

    context: BrowserContext
    tab: Page


_PROFILES: WeakKeyDictionary[Browser, dict[str, list[_Profile]]] = WeakKeyDictionary()
"""Those that no test uses, by site and look."""
_OF_A_TAB = ("viewport", "color_scheme", "forced_colors")
_DESKTOP = {"viewport": {"width": 1440, "height": 900}, "locale": "en"}


@contextmanager
def browsing(browser: Browser, url: str, **look: Any) -> Iterator[Browsing]:
    """`look` takes Playwright's options: viewport, color_scheme, locale. At the end no output may be left. The profile
    was used before, and has nothing left of that."""
    of_tabs = {name: look.pop(name) for name in _OF_A_TAB if name in look and "is_mobile" not in look}
    waiting = _PROFILES.setdefault(browser, {}).setdefault(repr((url, sorted(look.items()))), [])
    profile = waiting.pop() if waiting else _profile(browser, url, look)
    result = Browsing(profile.context, url, of_tabs)
    try:
        yield result
        assert not result.said, result.said
        result.leave(profile.tab)
    except BaseException:
        profile.context.close()
        raise
    waiting.append(profile)


def _profile(browser: Browser, url: str, look: Mapping[str, Any]) -> _Profile:
    context = browser.new_context(**(_DESKTOP | dict(look)))
    context.set_default_timeout(PATIENCE_MS)
    context.add_init_script(_VIOLATIONS)
    tab = context.new_page()
    tab.goto(f"{url}/healthz")
    return _Profile(context, tab)


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
