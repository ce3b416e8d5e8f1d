"""The pictures of the documents, from real sessions. To make them:

HANSARD_SCREENSHOTS=docs ./dev test tests/browser/test_pictures.py
"""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from html import escape
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from api.web.presets import PRESETS
from tests.api.scenes import begun, exhausted, reached, waiting_review
from tests.api.server import ROOT, Server
from tests.browser.browsing import Browsing, badge, browsing, live
from tests.browser.test_looks import PHONE

pytestmark = pytest.mark.skipif(os.environ.get("HANSARD_SCREENSHOTS") != "docs", reason="HANSARD_SCREENSHOTS=docs")
DOCS = ROOT / "docs"
WIDTH = 104
"""Characters per line in the picture of a terminal."""
TERMINAL = """<style>body {{ margin: 0; background: #10151f; }} pre {{ margin: 0; padding: 22px 26px; color: #dfe6f1;
font: 15px/1.45 "DejaVu Sans Mono", monospace; }}</style><pre>{words}</pre>"""


@pytest.fixture
def site(browser: Browser, server: Server) -> Iterator[Browsing]:
    """As wide as documents show a picture well."""
    with browsing(browser, server.url, viewport={"width": 1280, "height": 800}) as result:
        yield result


def picture(page: Page, name: str) -> None:
    """Hide the link to the Korean page if the machine has no Korean font."""
    fonts = subprocess.run(["fc-list", ":lang=ko"], capture_output=True, text=True, check=False).stdout
    if not fonts.strip():
        page.locator("a.language").evaluate_all("(all) => all.forEach((one) => (one.style.display = 'none'))")
    page.screenshot(path=DOCS / name)


def test_a_session(site: Browsing, server: Server) -> None:
    slowly = json.loads(re.sub(r'"delayMs": (\d+)', r'"delayMs": \g<1>0', json.dumps(PRESETS["regression"].body)))
    session_id = reached(server.client, begun(server.client, {**slowly, "title": "Add a login page"}), "success")
    page = site.tab(f"/sessions/{session_id}")
    badge(page, "Success")
    live(page, "finished")
    picture(page, "screenshot.png")


def test_a_decision(site: Browsing, server: Server) -> None:
    page = site.tab(f"/sessions/{waiting_review(server.client, 'Prices round half up, not to even')}")
    badge(page, "Awaiting decision")
    picture(page, "decision.png")


def test_a_phone(browser: Browser, server: Server) -> None:
    exhausted(server.client)
    with browsing(browser, server.url, **PHONE) as site:
        page = site.tab("/")
        live(page)
        picture(page, "phone.png")


def test_a_terminal(site: Browsing, tmp_path: Path) -> None:
    """The end of the example, and the answer to the question why."""
    environment = os.environ | {"HANSARD_DATABASE": str(tmp_path / "log.db"), "LC_ALL": "C.UTF-8"}

    def output_of(*words: str) -> list[str]:
        command = [sys.executable, "-m", "api", *words]
        ran = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, cwd=ROOT)
        whole = (ran.stderr + ran.stdout).replace(sys.executable, "python3").replace(f"{tmp_path}/", "")
        return [f"{line[:WIDTH]}…" if len(line) > WIDTH else line for line in whole.splitlines()]

    shown = re.compile(r"delivery\.(?:session|attempt|tests|review|branch)|^(?:status|summary|used|branch|changed) ")
    example = [line for line in output_of("example") if shown.search(line)]
    changes = [line for line in output_of("changes", "latest") if line[:1] in "+-@ " and line[:3] not in ("+++", "---")]
    lines = ["$ hansard example", *example, "", "$ hansard changes latest", *changes, "", "$ hansard verify"]
    lines += output_of("verify")
    page = site.context.new_page()
    page.set_content(TERMINAL.format(words=escape("\n".join(lines))))
    page.locator("pre").screenshot(path=DOCS / "terminal.png")
