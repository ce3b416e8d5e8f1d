"""The keys of a log, and the file they may be imported from."""

from contextlib import closing
from pathlib import Path

import pytest

from adapters.store.keys import StoredKey
from adapters.store.location import open_store
from api.node.access import SharedKeys
from api.node.owner import take_over
from api.node.settings import Settings


def test_a_line_that_stays_away_revokes_its_key_for_good(tmp_path: Path) -> None:
    file, now = tmp_path / "keys", 1_000.0
    digests = {"ada": "a" * 64, "bob": "b" * 64}
    with closing(open_store(f"sqlite:///{tmp_path / 'log.db'}")) as store:
        vault = store.vault
        assert vault is not None
        for name, digest in {**digests, "eve": "e" * 64}.items():
            vault.add(StoredKey(name, digest, "decide", None))
        file.write_text("".join(f"{name}:{digest}\n" for name, digest in digests.items()))
        keys = SharedKeys(vault, file, lambda: now)

        def names() -> list[str]:
            keys.look()
            return [name for name in ("ada", "bob", "eve") if keys.named(name)]

        assert names() == ["ada", "bob", "eve"]
        file.write_text("")  # an editor writes in two steps
        assert names() == ["eve"]
        file.write_text(f"ada:{digests['ada']}\n")
        assert names() == ["ada", "eve"]
        now += 4
        assert names() == ["ada", "eve"] and not vault.was_revoked(digests["bob"])
        now += 2
        assert names() == ["ada", "eve"] and vault.was_revoked(digests["bob"])
        file.write_text("".join(f"{name}:{digest}\n" for name, digest in digests.items()))
        assert names() == ["ada", "eve"]
        file.unlink()
        assert names() == ["ada", "eve"] and [key.name for key in vault.all_keys()] == ["ada", "eve"]


def test_lines_that_are_no_keys_are_named_and_grant_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    file = tmp_path / "team.keys"
    settings = Settings(api_keys_file=file, data_dir=tmp_path)
    with closing(open_store(f"sqlite:///{tmp_path / 'log.db'}")) as store:
        assert store.vault is not None
        take_over(store.vault, settings)
        assert "cannot be read" in caplog.text
        caplog.clear()
        file.write_text(f"# the team\n\nada:{'a' * 64}\nbob:open-sesame\n")
        take_over(store.vault, settings)
        assert "line 4 of" in caplog.text and caplog.text.count("is not a key") == 1
        assert "ada" in [key.name for key in store.vault.all_keys()]
        assert "bob" not in [key.name for key in store.vault.all_keys()]
