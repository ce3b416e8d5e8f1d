"""One style sheet and one script, immutable under a name with their digest; answers are compressed."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from api.web.assets import SCRIPT, SHEET, bundled
from tests.api.seen import Seen, page
from tests.api.server import inside, serving


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    with inside(tmp_path_factory.mktemp("assets")) as result:
        yield result


def test_every_page_has_one_sheet_and_one_script(client: TestClient) -> None:
    for path in ("/", "/decisions", "/reports"):
        seen = Seen(page(client, path))
        sheets = [link["href"] for link in seen.all("link") if link.get("rel") == "stylesheet"]
        assert (sheets, [script["src"] for script in seen.all("script")]) == ([SHEET], [SCRIPT])


@pytest.mark.parametrize(("path", "kind"), [(SHEET, "text/css"), (SCRIPT, "text/javascript")])
def test_assets_named_by_digest_are_immutable(client: TestClient, path: str, kind: str) -> None:
    answer = client.get(path)
    assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"
    assert answer.headers["content-type"] == f"{kind}; charset=utf-8"
    assert answer.headers["content-encoding"] == "gzip"


def test_modules_are_put_together_without_sharing_their_own_names() -> None:
    first = "const kept = 1;\n\nexport function one() {\n  return kept;\n}\n"
    second = 'import { one } from "./first.js";\n\nconst kept = one() + 1;\n'
    script = bundled({"first": first, "second": second})
    assert "import" not in script and "export" not in script
    assert script.startswith("// first\nconst { one } = (() => {") and "// second\n(() => {" in script


def test_page_is_compressed_for_clients_that_accept_it(client: TestClient) -> None:
    plain = client.get("/", headers={"Accept": "text/html", "Accept-Encoding": "identity"})
    packed = client.get("/", headers={"Accept": "text/html", "Accept-Encoding": "gzip"})
    assert "content-encoding" not in plain.headers and packed.headers["content-encoding"] == "gzip"
    assert int(packed.headers["content-length"]) * 3 < len(plain.content)


@pytest.mark.parametrize(
    ("accepted", "encoding"),
    [
        ("gzip;q=0", None),
        ("gzip; q=0.0, identity", None),
        ("GZIP;Q=0", None),
        ("br, deflate", None),
        ("GZIP", "gzip"),
        ("br;q=1.0, gzip;q=0.2", "gzip"),
    ],
)
def test_a_coding_with_weight_0_is_not_accepted(client: TestClient, accepted: str, encoding: str | None) -> None:
    answer = client.get("/", headers={"Accept": "text/html", "Accept-Encoding": accepted})
    assert answer.headers.get("content-encoding") == encoding
    assert "Accept-Encoding" in answer.headers["vary"]


def test_a_stream_of_events_is_never_compressed(tmp_path: Path) -> None:
    """Each event must be sent at once."""
    with (
        serving(tmp_path) as server,
        server.client.stream("GET", "/api/events", headers={"Accept": "text/event-stream"}) as answer,
    ):
        assert answer.request.headers["accept-encoding"].startswith("gzip")
        assert "content-encoding" not in answer.headers
        assert next(answer.iter_raw()).startswith(b"retry:")
