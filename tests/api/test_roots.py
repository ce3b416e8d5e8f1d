"""Allowed roots of workspaces, and who may choose one (contract-2 §15)."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from tests.api.orchestrating import message
from tests.api.server import delivery, inside
from tests.api.test_scopes import line, of


@pytest.fixture
def roots(tmp_path: Path) -> Path:
    (tmp_path / "projects" / "app").mkdir(parents=True)
    (tmp_path / "private").mkdir()
    (tmp_path / "projects" / "link").symlink_to(tmp_path / "private")
    return tmp_path / "projects"


@pytest.fixture
def limited(tmp_path: Path, roots: Path) -> Iterator[TestClient]:
    with inside(tmp_path, work=False, roots=f"{roots}:/nowhere") as result:
        yield result


@pytest.mark.parametrize(("place", "status"), [("app", 202), (".", 202), ("../private", 422), ("link", 422)])
def test_a_workspace_is_below_one_of_the_roots(limited: TestClient, roots: Path, place: str, status: int) -> None:
    answer = limited.post("/api/sessions", json=delivery(workspace=str(roots / place)))
    assert answer.status_code == status, answer.text
    if status == 422:
        [error] = answer.json()["errors"]
        assert error["pointer"] == "/workspace" and str(roots) in error["detail"]


def test_messages_and_trust_keep_to_the_roots_too(limited: TestClient, roots: Path) -> None:
    outside = str(roots.parent / "private")
    assert limited.post("/api/message", json=message("Build it", workspace=outside)).status_code == 422
    assert limited.post("/api/trust", json={"workspace": outside}).status_code == 422


def test_only_a_folder_that_exists_can_be_trusted(limited: TestClient, roots: Path) -> None:
    answer = limited.post("/api/trust", json={"workspace": str(roots / "nowhere")})
    assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (422, "/workspace")


@pytest.mark.parametrize(("named", "status"), [("", 403), ("projects", 202)])
def test_only_an_admin_names_any_folder_of_the_machine(tmp_path: Path, roots: Path, named: str, status: int) -> None:
    (tmp_path / "keys").write_text(line("operate", "operate") + "\n" + line("admin", "admin") + "\n")
    settings = {"api_keys_file": tmp_path / "keys"} | ({"roots": str(tmp_path / named)} if named else {})
    with inside(tmp_path, work=False, **settings) as client:
        body = delivery(workspace=str(roots / "app"))
        answer = client.post("/api/sessions", json=body, headers=of("operate"))
        assert answer.status_code == status, answer.text
        assert client.post("/api/sessions", json=body, headers=of("admin")).status_code == 202
        assert client.post("/api/sessions", json=delivery(), headers=of("operate")).status_code == 202
        if status == 403:
            assert "HANSARD_ROOTS" in answer.json()["detail"]
