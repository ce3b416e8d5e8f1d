"""The pictures of the documents, from real sessions. To make them:

HANSARD_SCREENSHOTS=docs ./dev test tests/browser/test_pictures.py
"""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from html import escape
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from api.web.presets import PRESETS
from tests.adapters.workspace.given import git
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


STRIP_WIDTH = 100
"""Characters per line in the moving picture."""
STRIP = """<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}"
 font-family="ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace" font-size="14">
<title>A session survives kill -9</title>
<style>
text {{ fill: #dfe6f1; white-space: pre; animation: appear 16s step-end infinite; }}
.typed {{ fill: #ffffff; font-weight: bold; }} .kill {{ fill: #ff8a80; font-weight: bold; }}
@keyframes appear {{ 0% {{ opacity: 0; }} }}
@media (prefers-reduced-motion: reduce) {{ text {{ animation: none; }} }}
</style>
<rect width="100%" height="100%" rx="8" fill="#10151f"/>
{lines}
</svg>
"""
FIXED = {"prices.py": "def total(prices):\n    return sum(prices)\n"}
SCRIPT = {"dev": [{"text": "Count the first price, too.", "delayMs": 4_000, "files": FIXED}]}
TEST = """import unittest

from prices import total


class Prices(unittest.TestCase):
    def test_total(self):
        self.assertEqual(total([1, 2]), 3)
"""


def strip(lines: list[tuple[str, str]]) -> str:
    """A terminal in which one line after the other appears; all of them where motion is not wanted."""
    rows = []
    for n, (style, words) in enumerate(lines):
        part = 80 * n / len(lines)
        shown = f"{words[:STRIP_WIDTH]}…" if len(words) > STRIP_WIDTH else words
        rows.append(
            f"<style>@keyframes l{n} {{ 0% {{ opacity: 0; }} {part:.1f}%, 100% {{ opacity: 1; }} }}</style>"
            f'<text x="20" y="{32 + 20 * n}" class="{style}" style="animation-name: l{n}">{escape(shown)}</text>'
        )
    return STRIP.format(width=8.5 * STRIP_WIDTH + 40, height=20 * len(lines) + 34, lines="\n".join(rows))


def test_a_crash(tmp_path: Path) -> None:
    """A process that is killed while an agent works, and the next one, which goes on."""
    place = tmp_path / "shop"
    (place / "tests").mkdir(parents=True)
    (place / "tests" / "__init__.py").touch()
    (place / "tests" / "test_prices.py").write_text(TEST)
    (place / "prices.py").write_text("def total(prices):\n    return sum(prices[1:])\n")
    git(place, "init", "--quiet", "--initial-branch=main")
    git(place, "add", "--all")
    git(place, "-c", "user.name=Ann", "-c", "user.email=ann@example.com", "commit", "--quiet", "-m", "Begin")
    scenario = tmp_path / "script.json"
    scenario.write_text(json.dumps({"replies": SCRIPT}))
    environment = os.environ | {"HANSARD_DATABASE": str(tmp_path / "log.db"), "LC_ALL": "C.UTF-8"}
    words = ["run", "-t", "The first price is left out", "--test", "python3 -m unittest -q"]
    shown = re.compile(r"baseline_|Started impl|[a-z] answered in|unattended|tests_passed|_approved|branch_|succeeded$")

    def lines_of(output: str) -> list[tuple[str, str]]:
        found = [line for line in output.replace(f"{tmp_path}/", "").splitlines() if shown.search(line)]
        return [("", re.sub(r"^( *\d+)  \S+ (\S+)  \S+ +", r"\1  \2  ", line)) for line in found]

    command = [sys.executable, "-m", "api"]
    first = subprocess.Popen(
        [*command, *words, "--scenario", str(scenario)], env=environment, cwd=place, stderr=subprocess.PIPE, text=True
    )
    assert first.stderr is not None
    before = ""
    for line in first.stderr:
        before += line
        if "Started implementation" in line:
            break
    time.sleep(2)
    first.send_signal(signal.SIGKILL)
    first.communicate()
    ran = [
        subprocess.run([*command, *more], env=environment, cwd=place, capture_output=True, text=True, check=True)
        for more in (["resume", "latest"], ["verify"])
    ]
    typed = " ".join(f'"{word}"' if " " in word else word for word in words)
    picture = strip(
        [
            ("typed", f"$ hansard {typed}"),
            *lines_of(before),
            ("kill", "$ kill -9 PID        # in the middle of an agent's turn"),
            ("", ""),
            ("typed", "$ hansard resume latest"),
            *lines_of(ran[0].stderr),
            ("", ""),
            ("typed", "$ hansard verify"),
            ("", (ran[1].stdout + ran[1].stderr).replace(f"{tmp_path}/", "").strip()),
        ]
    )
    (DOCS / "crash.svg").write_text(picture, encoding="utf-8")
