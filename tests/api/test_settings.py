"""Settings from the environment: empty values, the log's location, and access (contract §1)."""

from pathlib import Path

import pytest
from pydantic import ValidationError

from api.node.settings import Settings
from tests.api.server import inside

SHOULD = "should be sqlite:///path or postgresql://user:password@host/database"


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A separate home and working directory, without settings."""
    for name in Settings.model_fields:
        monkeypatch.delenv(f"HANSARD_{name.upper()}", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("name", Settings.model_fields)
def test_an_empty_variable_is_one_that_is_not_set(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """As in compose files: `HANSARD_TEAM=`."""
    monkeypatch.setenv(f"HANSARD_{name.upper()}", "")
    assert Settings() == Settings.model_construct(database=Settings().database)
    assert Settings().model_fields_set == set()


@pytest.mark.parametrize(
    ("given", "path"),
    [
        ("sqlite:////srv/h.db", "/srv/h.db"),
        ("/srv/h.db", "/srv/h.db"),
        ("logs/h.db", "{here}/logs/h.db"),
        ("./a:b.db", "{here}/a:b.db"),
        ("~/h.db", "{here}/home/h.db"),
    ],
)
def test_a_log_is_a_url_or_a_plain_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, given: str, path: str) -> None:
    monkeypatch.setenv("HANSARD_DATABASE", given)
    settings = Settings()
    assert str(settings.log_file) == path.format(here=tmp_path)
    assert settings.database == f"sqlite:///{settings.log_file}"


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ("mysql://x", SHOULD),
        ("sqlite:h.db", SHOULD),
        ("sqlite:///", SHOULD),
        ("C:\\h.db", SHOULD),
        ("  ", SHOULD),
        ("postgresql://x:y/z", "the port should be a number"),
        ("~nobody-of-this-name/h.db", "Could not determine home directory."),
    ],
)
def test_another_scheme_is_refused(monkeypatch: pytest.MonkeyPatch, given: str, sentence: str) -> None:
    monkeypatch.setenv("HANSARD_DATABASE", given)
    with pytest.raises(ValidationError) as refused:
        Settings()
    assert [error["msg"] for error in refused.value.errors()] == [f"Value error, {sentence}"]


@pytest.mark.parametrize(
    ("host", "ours"),
    [
        *[("127.0.0.1", True), ("127.0.0.2", True), ("127.255.255.254", True), ("128.0.0.1", False)],
        *[("::1", True), ("0:0:0:0:0:0:0:1", True), ("::", False), ("::2", False), ("10.0.0.1", False)],
        *[("localhost", True), ("Localhost", True), ("localhost.evil.example", False), ("", False)],
    ],
)
def test_loopback_hosts_are_recognized(host: str, ours: bool) -> None:
    assert Settings(host=host).loopback is ours


def test_an_address_of_loopback_answers_to_its_own_name(tmp_path: Path) -> None:
    with inside(tmp_path, host="127.0.0.2", work=False) as client:
        assert client.get("/healthz", headers={"Host": "127.0.0.2:8000"}).status_code == 200
        assert client.get("/healthz", headers={"Host": "127.0.0.3:8000"}).status_code == 421
