"""The changes tab in a browser: two layouts, explanations of lines, commands to copy."""

from playwright.sync_api import Page, expect

from tests.api.scenes import two_iterations
from tests.api.server import Server
from tests.browser.accessible import faults
from tests.browser.browsing import Browsing


def columns(page: Page) -> int:
    """The number of columns of the changes."""
    result: str = page.locator(".block.is-change").first.evaluate(
        "(block) => getComputedStyle(block).gridTemplateColumns"
    )
    return len(result.split())


def test_changes_are_side_by_side_or_in_one_column_as_the_reader_chose(site: Browsing, server: Server) -> None:
    session_id = two_iterations(server.client)
    page = site.tab(f"/sessions/{session_id}?tab=changes")
    assert columns(page) == 2
    page.get_by_label("One column").check()
    assert columns(page) == 1
    page.reload()
    expect(page.get_by_label("One column")).to_be_checked()
    assert columns(page) == 1


def test_a_line_explains_itself_and_commands_are_copied(site: Browsing, server: Server) -> None:
    session_id = two_iterations(server.client)
    site.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page = site.tab(f"/sessions/{session_id}?tab=changes")
    why = page.locator(".by").first
    why.locator("summary").click()
    expect(why).to_contain_text("the task")
    page.get_by_role("heading", name="Take it").click()
    expect(why.locator(".card")).to_be_hidden()
    page.get_by_role("button", name=f"Copy hansard apply {session_id}").click()
    assert page.evaluate("navigator.clipboard.readText()") == f"hansard apply {session_id}"
    assert faults(page) == []
