"""What the documents tell exists: commands, settings, links, and a team file that loads."""

import re
from pathlib import Path

import pytest

from adapters.agents.team import load
from adapters.forge.settings import ForgeSettings, read_settings
from adapters.project import load as load_project
from api.cli.main import COMMANDS, carry_out
from api.node.settings import Settings
from api.share.check import checked

ROOT = Path(__file__).parents[2]
DOCUMENTS = sorted(
    [ROOT / "README.md", ROOT / "CHANGELOG.md", *(ROOT / "docs").glob("*.md"), *(ROOT / "docs").glob("decisions/*.md")]
)


def words(path: Path) -> str:
    return path.read_text("utf-8")


def test_the_settings_page_lists_every_setting_with_its_default() -> None:
    output = re.findall(r"^\| `HANSARD_(\w+)` \| ([^|]+) \|", words(ROOT / "docs" / "settings.md"), re.MULTILINE)
    assert {name.lower() for name, _ in output} == set(Settings.model_fields)
    for name, default in output:
        result = Settings.model_fields[name.lower()].get_default()
        number = re.fullmatch(r"`(\d+(?:\.\d+)?)`", default.strip())
        assert number is None or float(number[1]) == float(result), name


def test_the_page_of_the_forge_lists_every_setting_with_its_default() -> None:
    listed = dict(re.findall(r"^\| `(\w+)` \| ([^|]+) \|", words(ROOT / "docs" / "forge.md"), re.MULTILINE))
    assert listed.keys() == ForgeSettings.model_fields.keys()
    for name, default in listed.items():
        result = ForgeSettings.model_fields[name].get_default()
        number = re.fullmatch(r"`(\d+)`", default.strip())
        assert number is None or float(number[1]) == float(result), name


def test_the_team_file_of_the_settings_page_loads(tmp_path: Path) -> None:
    [team_file] = re.findall(r"```toml\n(.*?)```", words(ROOT / "docs" / "settings.md"), re.DOTALL)
    (tmp_path / "team.toml").write_text(team_file, encoding="utf-8")
    team = load(tmp_path / "team.toml")
    assert [member.name for member in team.agents] == ["Ada", "Grace"]
    roles = ("planner", "architect", "designer", "dev", "reviewer")
    assert {role: member.name for role in roles if (member := team.agent_for(role))} == {
        "planner": "Ada",
        "architect": "Ada",
        "designer": "Ada",
        "dev": "Grace",
        "reviewer": "Ada",
    }


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_each_block_of_toml_loads_as_what_it_is(path: Path, tmp_path: Path) -> None:
    """A team file or the settings of a repository; tests/providers/test_real_docs.py asks the agents."""
    (tmp_path / "team.toml").write_text("")
    for block in re.findall(r"```toml\n(.*?)```", words(path), re.DOTALL):
        if "[[agents]]" in block:
            (tmp_path / "of-a-page.toml").write_text(block, encoding="utf-8")
            assert load(tmp_path / "of-a-page.toml").agents
        elif path.name == "forge.md":
            (tmp_path / "forge.toml").write_text(block, encoding="utf-8")
            assert read_settings(tmp_path / "forge.toml").follow
        else:
            (tmp_path / "hansard.toml").write_text(block, encoding="utf-8")
            project = load_project(tmp_path)
            rules = project.validation.commands and project.scope.deny
            assert project.workspace.setup and (project.services() if "[[service]]" in block else rules)


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_the_commands_that_a_document_shows_exist(path: Path) -> None:
    blocks = "\n".join(re.findall(r"```sh\n(.*?)```", words(path), re.DOTALL))
    shown = set(re.findall(r"(?:^|; |bin/)hansard (\w+)", blocks, re.MULTILINE))
    assert shown <= {listed.name for listed in COMMANDS}


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_the_links_of_a_document_lead_to_files(path: Path) -> None:
    addresses = re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", words(path))
    missing = [address for address in addresses if "://" not in address and not (path.parent / address).exists()]
    assert missing == []


@pytest.mark.parametrize("name", ["screenshot", "decision", "phone", "terminal"])
def test_a_picture_is_small_enough_to_load(name: str) -> None:
    picture = (ROOT / "docs" / f"{name}.png").read_bytes()
    assert picture.startswith(b"\x89PNG") and len(picture) <= 300_000


def test_the_tour_has_the_same_chapters_and_commands_in_both_languages() -> None:
    english, korean = words(ROOT / "docs" / "tour.md"), words(ROOT / "docs" / "tour.ko.md")
    assert len(re.findall(r"^## ", english, re.MULTILINE)) == len(re.findall(r"^## ", korean, re.MULTILINE))
    assert re.findall(r"hansard (\w+)", english) == re.findall(r"hansard (\w+)", korean)
    assert re.findall(r"`((?:api|domain|adapters|projections)/[^`]+)`", english) == re.findall(
        r"`((?:api|domain|adapters|projections)/[^`]+)`", korean
    )
    for place in re.findall(r"`((?:api|domain|adapters|projections)/[\w/.]+)`", english):
        assert (ROOT / place).exists(), place


def test_the_documentation_lists_the_commands_without_a_server(capsys: pytest.CaptureFixture[str]) -> None:
    page = words(ROOT / "docs" / "commands.md")
    [output] = re.findall(r"with `--server URL` they ask a server \(not (.*?)\)\.", page, re.DOTALL)
    without = []
    for listed in COMMANDS:
        assert carry_out([listed.name, "--help"]) == 0
        if "--server" not in capsys.readouterr().out:
            without.append(listed.name)
    assert re.findall(r"`(\w+)`", output) == without


def test_the_readme_is_short() -> None:
    """Four screens: what it is, two commands, a picture, what it costs, what others do better, then links."""
    assert len(words(ROOT / "README.md").split()) < 1_050


def test_the_glossary_is_short() -> None:
    assert len(re.findall(r"^\| ", words(ROOT / "docs" / "glossary.md"), re.MULTILINE)) <= 31


@pytest.mark.parametrize(
    "path", [path for path in DOCUMENTS if path.parent.name != "decisions"], ids=lambda path: path.name
)
def test_no_document_for_users_names_sections_of_the_specification(path: Path) -> None:
    assert re.findall(r"\bK-\d+|\bS[1-4] §|behaviour §", words(path)) == []


def test_the_shared_file_is_as_this_version_writes_it() -> None:
    """After a change of the page: `python -m tests.providers.shared_delivery docs/delivery.html`."""
    content = (ROOT / "docs" / "delivery.html").read_bytes()
    check = checked(content)
    assert [str(each) for each in check.problems] == [] and check.record is not None
    assert len(content) <= 400_000
    text = "\n".join((content.decode(), *check.record.strings()))
    assert set(re.findall(r"worker:([\w-]+)", text)) == {"demo"}
    assert set(re.findall(r"(?<![\w.:/])/(?:home|Users|root|tmp|work)/[\w.@+-]+", text)) == {"/tmp/hansard-demo"}
    assert "sk-" not in text
