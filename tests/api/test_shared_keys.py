"""The keys of a log, and the file that they may come from."""

from contextlib import closing
from pathlib import Path

from adapters.store import open_store
from adapters.store.vault import StoredKey
from api.node.shared_keys import SharedKeys


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

        def known() -> list[str]:
            keys.look()
            return [name for name in ("ada", "bob", "eve") if keys.named(name)]

        assert known() == ["ada", "bob", "eve"]
        file.write_text("")  # an editor writes in two steps
        assert known() == ["eve"]
        file.write_text(f"ada:{digests['ada']}\n")
        assert known() == ["ada", "eve"]
        now += 4
        assert known() == ["ada", "eve"] and not vault.was_revoked(digests["bob"])
        now += 2
        assert known() == ["ada", "eve"] and vault.was_revoked(digests["bob"])
        file.write_text("".join(f"{name}:{digest}\n" for name, digest in digests.items()))
        assert known() == ["ada", "eve"]
        file.unlink()
        assert known() == ["ada", "eve"] and [key.name for key in vault.all_keys()] == ["ada", "eve"]
