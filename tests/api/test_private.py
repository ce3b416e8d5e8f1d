"""The log is private: other users of the machine cannot read it (promise S24)."""

import stat
from pathlib import Path

from adapters.store.location import open_store
from api.cli import doctor
from tests.api.server import delivery, ended, serving, start


def rights(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_log_views_and_workspaces_are_private(tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        ended(server.client, start(server.client, delivery()))
        made = sorted((*tmp_path.glob("hansard.db*"), tmp_path / "node", *(tmp_path / "node" / "views").iterdir()))
        names = {path.name for path in made}
        assert {path.name: oct(rights(path) & 0o077) for path in made} == dict.fromkeys(names, "0o0")
    assert {"hansard.db", "hansard.db-wal", "node", "views.db", "views.db-wal"} <= names


def test_the_folder_that_is_made_for_a_log_and_a_backup_are_its_owners_alone(tmp_path: Path) -> None:
    path, copy = tmp_path / "data" / "hansard.db", tmp_path / "copy.db"
    store = open_store(f"sqlite:///{path}")
    store.rows.backup(copy)
    store.close()
    assert (rights(path.parent), rights(path), rights(copy)) == (0o700, 0o600, 0o600)


def test_a_log_that_was_opened_to_others_stays_so_and_is_named(tmp_path: Path) -> None:
    path = tmp_path / "hansard.db"
    path.touch()
    path.chmod(0o640)
    open_store(f"sqlite:///{path}").close()
    assert rights(path) == 0o640
    result = doctor.place(path)
    assert (result.mark, result.found) == ("warn", f"{path} is readable by other users of this machine")
    path.chmod(0o600)
    assert doctor.place(path) == doctor.Finding("ok", "log", str(path))
