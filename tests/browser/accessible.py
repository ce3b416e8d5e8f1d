"""Accessibility checks that run in the page: names, headings, landmarks and contrast."""

from itertools import pairwise

from playwright.sync_api import Page

NAMELESS = """() => {
  const seen = (element) => element.checkVisibility();
  const words = (ids) => ids.split(/\\s+/).map((id) => document.getElementById(id)?.textContent ?? "").join(" ");
  const name = (element) => [
    element.getAttribute("aria-label"), words(element.getAttribute("aria-labelledby") ?? ""),
    ...[...(element.labels ?? [])].map((label) => label.textContent),
    element.matches("input, select, textarea, meter") ? "" : element.textContent, element.title,
  ].join(" ").trim();
  const kinds = "a[href], button, input, select, textarea, summary, meter, svg[role=img], [tabindex='0']";
  return [...document.querySelectorAll(kinds)]
    .filter((element) => seen(element) && element.type !== "hidden" && !name(element))
    .map((element) => element.outerHTML.slice(0, 120));
}"""
"""Controls and pictures without a name."""

HEADINGS = """() => [...document.querySelectorAll("h1, h2, h3, h4, h5, h6")]
  .filter((heading) => heading.checkVisibility() && !heading.closest(".prose"))
  .map((heading) => Number(heading.tagName[1]))"""

TWICE = """() => { const ids = [...document.querySelectorAll("[id]")].map((element) => element.id);
  return [...new Set(ids.filter((id, at) => ids.indexOf(id) !== at))]; }"""
"""Ids that two elements have."""

LANDMARKS = """() => ["header", "nav", "main"].filter((name) => !document.querySelector(name)).concat(
  document.querySelectorAll("main").length === 1 ? [] : ["one main"], document.documentElement.lang ? [] : ["lang"],
  document.querySelector("a[href='#content']") ? [] : ["skip link"], document.title ? [] : ["title"])"""

FAINT = """() => {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const known = new Map();
  const rgba = (colour) => known.get(colour) ?? known.set(colour, painted(colour)).get(colour);
  const painted = (colour) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
    return [r, g, b, a / 255];
  };
  const over = (top, under) => [0, 1, 2].map((n) => top[n] * top[3] + under[n] * (1 - top[3]));
  const light = (colour) => {
    const linear = (n) => (n <= 0.04045 ? n / 12.92 : ((n + 0.055) / 1.055) ** 2.4);
    const [r, g, b] = colour.slice(0, 3).map((n) => linear(n / 255));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ground = (element) => {
    const chain = [];
    for (let at = element; at; at = at.parentElement) chain.unshift(rgba(getComputedStyle(at).backgroundColor));
    return chain.reduce((under, top) => over(top, under), [255, 255, 255]);
  };
  const ratio = (element) => {
    const under = ground(element);
    const [one, two] = [light(over(rgba(getComputedStyle(element).color), under)), light(under)];
    return (Math.max(one, two) + 0.05) / (Math.min(one, two) + 0.05);
  };
  const said = (element) => [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
  const spared = "svg, option, .unseen, .skip, [aria-disabled=true], [disabled]";
  const found = [...document.querySelectorAll("body *")].filter(
    (element) => said(element) && element.checkVisibility() && !element.closest(spared));
  if (!found.length) return ["nothing to read"];
  return found.map((element) => [ratio(element), element]).filter(([value]) => value < 4.5)
    .map(([value, element]) =>
      `${value.toFixed(2)} ${element.tagName}.${element.className}: ${element.textContent.trim().slice(0, 40)}`);
}"""
"""Text with a contrast below 4.5 to 1 (WCAG 1.4.3, AA)."""


def faults(page: Page) -> list[str]:
    """The problems of the current page as text; an empty list if there are none."""
    results = [f"no name: {each}" for each in page.evaluate(NAMELESS)]
    results += [f"no landmark: {each}" for each in page.evaluate(LANDMARKS)]
    results += [f"an id twice: {each}" for each in page.evaluate(TWICE)]
    results += [f"too faint: {each}" for each in page.evaluate(FAINT)]
    levels = page.evaluate(HEADINGS)
    if levels.count(1) != 1:
        results.append(f"one h1, not {levels.count(1)}")
    steps = [f"h{before} is followed by h{after}" for before, after in pairwise(levels) if after > before + 1]
    return results + steps
