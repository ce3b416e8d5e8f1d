"""Pages as a browser sees them, and what no page may contain."""

import json
from html.parser import HTMLParser
from typing import Any

import httpx2 as httpx

from api.web.assets import SCRIPT
from tests.api.server import delivery, ended, start

BROWSER = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
ELEMENTS = frozenset(
    word
    for line in (
        "html head meta title link script body a header nav h1 h2 h3 h4 h5 h6 span main p b section div form label",
        "select option input button ul ol li time pre code meter dl dt dd br details summary svg path table thead",
        "tbody tr th td blockquote em strong s hr figure figcaption fieldset legend nav",
        "article aside textarea tfoot caption mark",
        "g rect text line circle polygon defs marker pattern tspan output dialog kbd datalist",
    )
    for word in line.split()
)


class Seen(HTMLParser):
    """What a browser would make of a page: its elements and their attributes."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]


def page(client: httpx.Client, path: str, **headers: str) -> str:
    answer = client.get(path, headers=BROWSER | headers)
    assert answer.status_code == 200, answer.text
    return answer.text


def review(*blocking: str) -> str:
    issues = [{"id": f"i{n}", "title": title, "detail": title} for n, title in enumerate(blocking)]
    return json.dumps({"blockingIssues": issues, "nonBlockingIssues": [], "fixPlan": list(blocking)})


def finished(client: httpx.Client, **fields: Any) -> str:
    session_id = start(client, delivery(**fields))
    ended(client, session_id)
    return session_id


def harmless(html: str) -> Seen:
    """Raise AssertionError if text on the page became markup or code."""
    seen = Seen(html)
    assert [script.get("src") for script in seen.all("script")] == [SCRIPT]
    assert {tag for tag, _ in seen.elements} <= ELEMENTS
    for tag, attributes in seen.elements:
        assert not [name for name in attributes if name.startswith("on") or name in ("style", "srcset", "formaction")]
        assert "xlink:href" not in attributes
        for name in ("href", "src", "action"):
            address = attributes.get(name)
            if address is not None and tag != "link":
                text = tag == "a" and attributes.get("rel") == "noopener noreferrer nofollow"
                assert address.startswith("https://" if text else ("/", "#")), f"{tag} {name}={address!r}"
    return seen
