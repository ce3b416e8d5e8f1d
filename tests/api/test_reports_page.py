"""The reports page: missing data is marked as missing."""

import re

import pytest
from starlette.testclient import TestClient

from api.web.report_charts import Bar, bars
from tests.api.seen import page
from tests.api.server import delivery, ended, start


def by_model(html: str, caption: str) -> list[str]:
    """The first cells of each row of that table, including the head."""
    table = re.search(rf"<caption>{caption}</caption>.*?</table>", html, re.DOTALL)
    assert table is not None
    return re.findall(r"<tr><t[hd][^>]*>([^<]*)<", table[0])


@pytest.mark.parametrize(
    ("language", "caption", "told"),
    [("en", "By model", ["Model", "not reported"]), ("ko", "모델별", ["모델", "보고되지 않음"])],
)
def test_costs_without_a_model_are_marked(client: TestClient, language: str, caption: str, told: list[str]) -> None:
    ended(client, start(client))
    assert by_model(page(client, f"/reports?name=costs&lang={language}"), caption) == told


def test_named_models_are_shown_beside_unknown_ones(client: TestClient) -> None:
    planner = {"text": "A plan.", "usage": {"inputTokens": 5, "model": "large-1"}}
    ended(client, start(client, delivery({"planner": [planner]})))
    html = page(client, "/reports?name=costs&lang=en")
    assert by_model(html, "By model") == ["Model", "not reported", "large-1"]
    assert "<td>large-1</td>" in html and html.count("<td>not reported</td>") == 5


def test_hours_are_in_the_reader_s_time_and_long_figures_fit_beside_their_bars(client: TestClient) -> None:
    ended(client, start(client, delivery({"planner": [{"error": "network"}, "A plan."]})))
    html = page(client, "/reports?name=waits&lang=en")
    assert re.search(r'<td><time datetime="(\d{4}-\d\d-\d\dT\d\d):00:00[^"]*" data-local>[^<]+ UTC</time></td>', html)
    assert not re.search(r">\d{4}-\d\d-\d\dT", html)
    drawn = str(bars("waits", [Bar("rate limit", 10.0, "101:40:00"), Bar("network", 1.0, "0:01")], 10.0))
    for x, figure in re.findall(r'<text x="([\d.]+)"[^>]*class="bar-figure"[^>]*>([^<]+)<', drawn):
        assert float(x) + 9 * len(figure) <= 400, figure
    assert drawn.count("bar-figure") == 2
