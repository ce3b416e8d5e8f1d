"""How a list of hosts is written in a team file and in `hansard.toml`, and where it cannot be enforced."""

from pathlib import Path
from typing import Any

import pytest

from adapters.agents.command.settings import CommandSettings
from adapters.agents.presets.catalogue import preset
from adapters.agents.tables import BadTeam
from adapters.agents.team import load
from adapters.fence import choice
from adapters.fence.network.allow_list import Allowed
from adapters.fence.port import Grant
from adapters.project import BadProject, parse
from domain.values.network import entries

AGENT = '[[agents]]\nname = "A"\nroles = ["dev"]\nadapter = "command"\n{network}\n[agents.settings]\nargv = ["true"]\n'


def settings(**more: Any) -> CommandSettings:
    base = preset("claude")
    assert base is not None
    return CommandSettings.model_validate(base.extended(more))


def test_the_provider_is_the_hosts_of_the_preset_and_the_addresses_in_the_settings(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("GATEWAY", "https://gateway.example:8443/v1")
    env = {"ANTHROPIC_BASE_URL": "http://127.0.0.1:4321/v1", "OTHER_URL": "env:GATEWAY", "PLAIN": "no address"}
    hosts = settings(network=["provider", "pypi"], env=env).hosts()
    assert {"api.anthropic.com", "127.0.0.1:4321", "gateway.example:8443", "pypi.org"} <= set(hosts)
    reach = settings(network=["provider"], env=env).reach()
    assert isinstance(reach, Allowed)
    assert reach.doors == (4321,), "that port of this machine, no other"


def test_without_the_word_the_provider_is_not_reached() -> None:
    assert settings(network=["pypi"]).hosts() == ("pypi.org", "files.pythonhosted.org")
    assert settings(network=[]).hosts() == ()
    assert settings().reach() == "all"


@pytest.mark.parametrize("name", ["claude", "codex", "gemini", "opencode", "qwen", "copilot", "aider"])
def test_every_preset_names_its_provider(name: str) -> None:
    base = preset(name)
    assert base is not None
    assert entries(base.settings["provider"])


def test_the_network_of_an_agent_stands_beside_its_roles(tmp_path: Path) -> None:
    path = tmp_path / "team.toml"
    path.write_text(AGENT.format(network='network = ["npm"]'))
    [agent] = load(path).agents
    assert isinstance(agent.settings, CommandSettings)
    assert agent.settings.network == ("npm",)


@pytest.mark.parametrize(
    ("network", "words"),
    [
        ('network = ["http://x.org"]', "is not a host"),
        ('network = "some"', 'must be "none", "all", or a list of hosts'),
        ("network = [5]", 'must be "none", "all", or a list of hosts'),
        (f"network = {['a.org'] * 201}", "at most 200 hosts"),
    ],
)
def test_a_network_that_cannot_be_read_is_named(tmp_path: Path, network: str, words: str) -> None:
    path = tmp_path / "team.toml"
    path.write_text(AGENT.format(network=network))
    with pytest.raises(BadTeam, match=words):
        load(path)


def test_commands_of_a_repository_have_no_provider() -> None:
    assert parse('[validation]\nnetwork = ["pypi"]\n').validation.network == ("pypi",)
    with pytest.raises(BadProject, match="is for agents"):
        parse('[validation]\nnetwork = ["provider"]\n')


def test_where_a_list_cannot_be_enforced_it_is_a_gap_or_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(choice, "available", lambda: "landlock")
    grant = Grant(writable=(tmp_path,), network=Allowed(entries(["pypi"])))
    assert "network" in choice.choose("auto")(grant).gaps
    with pytest.raises(ValueError, match="can only be enforced with bubblewrap"):
        choice.choose("required")(grant).confine(["true"], cwd=tmp_path, env={})
    assert choice.choose("required")(Grant(writable=(tmp_path,))).level == "landlock"
    monkeypatch.setattr(choice, "available", lambda: "none")
    assert "network" in choice.choose("auto")(grant).gaps
