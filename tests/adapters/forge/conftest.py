"""Forges under test: both dialects on the same state."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import TypeVar

import pytest

from adapters.forge.connection import connect
from adapters.forge.port import Forge
from adapters.forge.remotes import remote_repository
from adapters.forge.settings import read_settings
from tests.kit.forge import FakeForge, Kind

T = TypeVar("T")
Use = Callable[[Callable[[Forge], Awaitable[T]]], T]


@pytest.fixture(params=["github", "gitlab"])
def kind(request: pytest.FixtureRequest) -> Kind:
    kind: Kind = request.param
    return kind


@pytest.fixture
def fake(kind: Kind, tmp_path: Path) -> Iterator[FakeForge]:
    with FakeForge(tmp_path, kind) as fake:
        fake.commit("topic", {"shop.py": "def total():\n    return 1\n"}, by="ann", message="Add a total")
        yield fake


async def connected(fake: FakeForge, folder: Path, **settings: object) -> Forge:
    file = folder / "forge.toml"
    file.write_text(fake.settings(**settings), encoding="utf-8")
    chosen = read_settings(file)
    repository = remote_repository(fake.remote, chosen.kind)
    assert repository is not None
    forge = await connect(repository, chosen, at_terminal=False, environment={"FORGE_TOKEN": fake.token})
    assert forge is not None
    return forge


@pytest.fixture
def use(fake: FakeForge, tmp_path: Path) -> Use[object]:
    """Runs what a test does with a connection to the forge."""

    def run(work: Callable[[Forge], Awaitable[T]]) -> T:
        async def whole() -> T:
            forge = await connected(fake, tmp_path)
            try:
                return await work(forge)
            finally:
                await forge.close()

        return asyncio.run(whole())

    return run  # type: ignore[return-value]
