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
    page.get_by_role("heading", name="Use the result").click()
    expect(why.locator(".card")).to_be_hidden()
    page.get_by_role("button", name=f"Copy hansard apply {session_id}").click()
    assert page.evaluate("navigator.clipboard.readText()") == f"hansard apply {session_id}"
    assert faults(page) == []


def test_lines_are_commented_on_by_click_drag_and_key(site: Browsing, server: Server) -> None:
    session_id = two_iterations(server.client)
    page = site.tab(f"/sessions/{session_id}?tab=changes")
    numbers = page.locator(".is-added > .n[data-line]")
    numbers.first.click()
    page.keyboard.type("Name this after what it returns.")
    page.locator(".commenting[open]").get_by_role("button", name="Comment").click()
    expect(page.locator("#c1")).to_contain_text("Name this after what it returns.")
    above, below = (numbers.nth(each).bounding_box() for each in (0, 1))
    assert above and below
    page.mouse.move(above["x"] + 5, above["y"] + 5)
    page.mouse.down()
    page.mouse.move(below["x"] + 5, below["y"] + 5, steps=3)
    page.mouse.up()
    expect(page.get_by_label("To line")).to_have_value("2")
    page.keyboard.type("Is this tested?")
    page.locator(".commenting[open]").get_by_role("button", name="Comment").click()
    expect(page.locator("#c2")).to_contain_text("src/login.py:1-2")
    page.get_by_role("heading", level=1).click()
    page.keyboard.press("c")
    expect(page.locator(".commenting[open] textarea")).to_be_focused()
    assert faults(page) == []
