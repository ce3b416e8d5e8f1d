"""Keys of a page: rows, tabs, the history, questions; in dialogs, in fields and while the keyboard writes Hangul."""

from playwright.sync_api import expect

from tests.api.scenes import asking, two_iterations
from tests.api.server import Server, delivery, events, reached, session, start
from tests.browser.browsing import PATIENCE_MS, Browsing, live, shown, tab_to

PRESS = """([key, code]) => document.body.dispatchEvent(new KeyboardEvent("keydown", { key, code, bubbles: true }))"""
"""A key with the letter that another keyboard layout has on it."""
FOCUSED_ROW = "() => Number(document.activeElement.closest('[data-row]')?.dataset.row ?? 0)"
VISIBLE = """() => {
  const box = document.querySelector("[data-rows] [data-scroll]").getBoundingClientRect();
  return [...document.querySelectorAll("[data-row]")].filter((row) => {
    const here = row.getBoundingClientRect();
    return here.top >= box.top - 8 && here.bottom <= Math.min(innerHeight, box.bottom) + 8;
  }).map((row) => Number(row.dataset.row));
}"""


def test_rows_are_entered_where_the_reader_is(site: Browsing, server: Server) -> None:
    page = site.tab(f"/sessions/{two_iterations(server.client)}?highlights=0")
    live(page, "finished")
    visible = page.evaluate(VISIBLE)
    top = page.locator("[data-rows] [data-scroll]").evaluate("(box) => box.scrollTop")
    rows = page.evaluate("() => [...document.querySelectorAll('[data-row]')].map((row) => Number(row.dataset.row))")
    page.keyboard.press("j")
    first = rows.index(page.evaluate(FOCUSED_ROW))
    assert rows[first] in visible[:3]
    page.keyboard.press("j")
    page.keyboard.press("J")
    assert page.evaluate(FOCUSED_ROW) == rows[first + 2]
    page.keyboard.press("k")
    assert page.evaluate(FOCUSED_ROW) == rows[first + 1]
    assert page.locator("[data-rows] [data-scroll]").evaluate("(box) => box.scrollTop") == top
    page.keyboard.press("Enter")
    unfolded = page.locator(f"[data-row='{rows[first + 1]}'] .unfolded")
    expect(unfolded).to_be_visible()
    page.keyboard.press("Enter")
    expect(unfolded).to_have_count(0)


def test_rows_of_turns_begin_at_the_one_that_is_shown(site: Browsing, server: Server) -> None:
    session_id = two_iterations(server.client)
    page = site.tab(f"/sessions/{session_id}/turns/{session_id}.t3")
    live(page, "finished")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    expect(page).to_have_url(f"{site.url}/sessions/{session_id}/turns/{session_id}.t4")
    live(page, "finished")
    page.keyboard.press("k")
    page.keyboard.press("Enter")
    expect(page).to_have_url(f"{site.url}/sessions/{session_id}/turns/{session_id}.t3")


def test_the_history_is_walked_and_played(site: Browsing, server: Server) -> None:
    session_id = two_iterations(server.client)
    last = len(events(server.client, session_id))
    page = site.tab(f"/sessions/{session_id}")
    live(page, "finished")
    lights = page.evaluate("() => JSON.parse(document.querySelector('[data-lights]').dataset.lights)")
    page.keyboard.press("ArrowLeft")
    shown(page, last - 1)
    page.keyboard.press("Shift+ArrowLeft")
    shown(page, max(light for light in lights if light < last - 1))
    page.keyboard.press("ArrowRight")
    shown(page, max(light for light in lights if light < last - 1) + 1)
    page.keyboard.press("Shift+ArrowRight")
    shown(page, min(light for light in lights if light > max(one for one in lights if one < last - 1) + 1))
    page.keyboard.press("Space")
    live(page, "replay")
    expect(page.locator(f"body[data-version='{last}']")).to_be_attached(timeout=3 * PATIENCE_MS)
    page.keyboard.press("l")
    expect(page.locator("body[data-replay]")).to_have_count(0)
    kept = page.evaluate("history.length")
    page.keyboard.press("l")
    assert page.evaluate("history.length") == kept, "no position twice in the history of the browser"
    for number, tab in enumerate(("turns", "changes", "findings", "worklog"), start=2):
        page.keyboard.press(str(number))
        expect(page).to_have_url(f"{site.url}/sessions/{session_id}?tab={tab}")
        live(page, "finished")
    page.keyboard.press("6")
    expect(page).to_have_url(f"{site.url}/sessions/{session_id}?tab=worklog")
    page.keyboard.press("1")
    expect(page).to_have_url(f"{site.url}/sessions/{session_id}")


def test_keys_of_a_dialog_do_nothing_on_the_page_below_it(site: Browsing, server: Server) -> None:
    page = site.tab(f"/sessions/{two_iterations(server.client)}?at=9")
    live(page, "replay")
    page.keyboard.press("?")
    expect(page.locator("#keys")).to_be_visible()
    for key in ("ArrowLeft", "l", "3", "j"):
        page.keyboard.press(key)
    page.keyboard.press("Escape")
    expect(page.locator("#keys")).to_be_hidden()
    page.keyboard.press("ArrowRight")
    shown(page, 10)


def test_letters_are_keys_while_the_keyboard_writes_hangul(site: Browsing, server: Server) -> None:
    page = site.tab(f"/sessions/{two_iterations(server.client)}?at=9&highlights=0")
    live(page, "replay")
    page.evaluate(PRESS, ["ㅓ", "KeyJ"])
    assert page.evaluate(FOCUSED_ROW) == 10
    page.evaluate(PRESS, ["ㅣ", "KeyL"])
    expect(page.locator("body[data-replay]")).to_have_count(0)


def test_a_question_is_answered_in_its_row_alone(site: Browsing, server: Server) -> None:
    session_id = asking(server.client)
    page = site.tab("/")
    live(page)
    page.keyboard.press("d")
    page.keyboard.press("j")
    expect(page.locator(f"[data-waits='{session_id}'] .what > a")).to_be_focused()
    page.keyboard.press("d")
    row = page.locator(f"[data-waits='{session_id}']")
    expect(row.locator("button[value=deny]")).to_be_focused()
    expect(row.get_by_role("alert")).to_contain_text("Press D again or Enter: Deny")
    assert session(server.client, session_id)["outstandingTurns"][0]["waitingFor"] == "permission", (
        "one key does nothing"
    )
    page.keyboard.press("d")
    expect(page.locator(".did")).to_contain_text("Deny")
    expect(page.locator(f"[data-waits='{session_id}']")).to_have_count(0)
    decided = [event for event in events(server.client, session_id) if event["type"] == "turn.permission_decided"]
    assert [event["data"]["decision"] for event in decided] == ["deny"]
    other = asking(server.client)
    page = site.tab(f"/sessions/{other}")
    live(page)
    page.keyboard.press("a")
    assert session(server.client, other)["outstandingTurns"][0]["waitingFor"] == "permission"
    tab_to(page, page.locator(".permitting button[value=allow]"))
    page.keyboard.press("a")
    page.keyboard.press("a")
    expect(page.locator(".permitting")).to_have_count(0)


def test_letter_keys_can_be_switched_off(site: Browsing, server: Server) -> None:
    session_id = asking(server.client)
    page = site.tab("/")
    live(page)
    page.keyboard.press("?")
    page.get_by_label("Letter keys and digits work without Ctrl").uncheck()
    page.keyboard.press("Escape")
    page.locator(f"[data-waits='{session_id}'] .what > a").focus()
    for key in ("d", "d", "j", "?"):
        page.keyboard.press(key)
    expect(page.locator(f"[data-waits='{session_id}'] .what > a")).to_be_focused()
    assert session(server.client, session_id)["outstandingTurns"][0]["waitingFor"] == "permission"


def test_the_key_of_a_command_that_is_not_shown_whole_leads_to_it(site: Browsing, server: Server) -> None:
    ask = {"permission": {"tool": "execute", "title": f"pytest {'tests/test_a.py ' * 40}"}, "text": "Yes."}
    session_id = start(server.client, delivery({"planner": [ask]}))
    reached(server.client, session_id, "turn.permission_requested")
    page = site.tab("/")
    live(page)
    page.locator(f"[data-waits='{session_id}'] .what > a").focus()
    page.keyboard.press("a")
    expect(page).to_have_url(f"{site.url}/sessions/{session_id}#act")
    assert not [event for event in events(server.client, session_id) if event["type"] == "turn.permission_decided"]
