"""Start sessions of every kind by hand, from every preset, and by keyboard alone."""

from pathlib import Path

import pytest
from playwright.sync_api import Page, Route, expect

from api.web.presets import PRESETS
from tests.api.scenes import asking
from tests.api.server import Server, session
from tests.api.test_before_start import repository
from tests.browser.browsing import PATIENCE_MS, Browsing, badge, button, live, start_form, tab_to
from tests.kit.sweeps import sampled


def _started(page: Page, kind: str) -> str:
    page.wait_for_url(f"**/sessions/{kind}-*", timeout=PATIENCE_MS)
    return page.url.rpartition("/")[2]


@pytest.mark.parametrize("name", sampled(PRESETS, 0, 2, -1))
def test_every_preset_can_be_clicked_and_started(site: Browsing, server: Server, name: str) -> None:
    kind, body = PRESETS[name].kind, PRESETS[name].body
    page = site.tab("/")
    start_form(page, kind)
    page.locator(f"#start-{kind} a.preset[href*='preset={name}#']").click()
    form = page.locator(f"form[data-start={kind}]")
    expect(page.locator(f"#start-{kind} a.preset[aria-current=true]")).to_have_count(1)
    button(form, "Start").click()
    view = session(server.client, _started(page, kind))
    assert (view["kind"], view["title"]) == (kind, body["title"])
    expect(page.get_by_role("heading", level=1)).to_have_text(body["title"])


def test_an_orchestration_is_started_by_hand(site: Browsing, server: Server) -> None:
    page = site.tab("/")
    form = start_form(page, "orchestration")
    form.locator("[name=prompt]").fill("Build src/api.py and describe it.")
    form.locator("[name=employees]").fill("Backend:backend\nDocs:docs")
    form.locator("[name=maxRounds]").fill("2")
    form.locator("[name=triage]").select_option("orchestrate")
    button(form, "Start").click()
    view = session(server.client, _started(page, "orchestration"))
    assert (view["prompt"], view["maxRounds"]) == ("Build src/api.py and describe it.", 2)
    assert view["triage"]["orchestrate"] is True


def test_escape_closes_the_panel_and_keeps_what_was_typed(site: Browsing) -> None:
    page = site.tab("/")
    form = start_form(page, "delivery")
    form.locator("[name=task]").fill("Add a page")
    page.keyboard.press("Escape")
    expect(form).to_be_hidden()
    expect(page.locator("#start > summary")).to_be_focused()
    page.keyboard.press("Enter")
    expect(form.locator("[name=task]")).to_have_value("Add a page")


def test_the_keyboard_does_not_go_below_the_panel(site: Browsing, server: Server) -> None:
    asking(server.client)
    page = site.tab("/?start=delivery")
    live(page)
    below = "() => document.activeElement.closest('[data-part]') !== null"
    for _ in range(60):
        page.keyboard.press("Tab")
        assert not page.evaluate(below)
    page.keyboard.press("Escape")
    tab_to(page, page.locator("[data-waits] .what > a").first)


def test_a_review_is_started_by_hand(site: Browsing, server: Server) -> None:
    page = site.tab("/")
    form = start_form(page, "review")
    form.locator("[name=subject]").fill("Step: login")
    form.locator("[name=strategy]").select_option("red-team")
    form.locator("[name=maxRounds]").fill("1")
    button(form, "Start").click()
    view = session(server.client, _started(page, "review"))
    assert view["strategy"] == "red-team"
    badge(page, "Awaiting decision")


def test_a_delivery_is_started_by_keyboard_alone(site: Browsing, server: Server) -> None:
    page = site.tab("/")
    tab_to(page, page.locator("#start > summary"))
    page.keyboard.press("Enter")
    typed = {"task": "Typed, never clicked.", "validationCommands": "true"}
    for name, words in typed.items():
        tab_to(page, page.locator(f"form[data-start=delivery] [name={name}]"))
        page.keyboard.type(words)
    tab_to(page, page.locator("form[data-start=delivery] .start-go button.strong"))
    page.keyboard.press("Enter")
    view = session(server.client, _started(page, "delivery"))
    assert (view["task"], view["validationCommands"][0]["command"]) == ("Typed, never clicked.", "true")


def test_the_command_that_does_the_same_follows_what_is_typed(site: Browsing) -> None:
    page = site.tab("/")
    form = start_form(page, "delivery")
    command = form.locator("[data-as-command]")
    expect(command).to_be_hidden()
    expect(button(form, "Show the command")).to_be_hidden()
    form.locator("[name=task]").fill("Add a --version flag")
    form.locator("[name=validationCommands]").fill("pytest -q")
    expect(command).to_contain_text("hansard run --task 'Add a --version flag' --validate 'pytest -q'")
    form.locator("[name=task]").fill("Something else")
    expect(command).to_contain_text("hansard run --task 'Something else' --validate 'pytest -q'")
    form.locator("[name=task]").fill("")
    expect(command).to_be_hidden()


def test_what_is_known_before_the_start_follows_the_folder(site: Browsing, tmp_path: Path) -> None:
    settings = '[validation]\ncommands = ["git --version"]\n[delivery]\nmax_iterations = 9\n'
    folder = repository(tmp_path / "shop", **{"hansard.toml": settings})
    (folder / "new.py").write_text("")
    page = site.tab("/")
    form = start_form(page, "delivery")
    known = form.locator("[data-before]")
    expect(known).to_contain_text("A new, empty folder.")
    form.locator("[name=workspace]").fill(str(folder))
    expect(known).to_contain_text("1 uncommitted file stays out")
    expect(known).to_contain_text("git --version ✓ can be started")
    limit = form.locator("[name=maxIterations]")
    expect(limit).to_have_value("")
    expect(limit).to_have_attribute("placeholder", "9")
    form.locator("[name=workspace]").fill("")
    expect(known).to_contain_text("A new, empty folder.")
    expect(limit).to_have_value("6")
    form.locator("[data-folder]").first.click()
    expect(known).to_contain_text("@")


def test_a_slow_answer_about_a_folder_is_shown_although_more_was_typed(site: Browsing, tmp_path: Path) -> None:
    folder = repository(tmp_path / "shop")
    page = site.tab("/")
    form = start_form(page, "delivery")
    expect(form.locator("[data-before]")).to_contain_text("A new, empty folder.")
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route) if "part=command" not in route.request.url else route.continue_()

    page.route("**/start?*", hold)
    with page.expect_request("**/start?*"):
        form.locator("[name=workspace]").fill(str(folder))
    form.locator("[name=task]").fill("Typed meanwhile")
    expect(form.locator("[data-as-command]")).to_contain_text("hansard run --task 'Typed meanwhile'")
    for route in held:
        route.continue_()
    expect(form.locator("[data-before]")).to_contain_text("main@")
    expect(form.locator("[data-as-command]")).to_contain_text("Typed meanwhile")
