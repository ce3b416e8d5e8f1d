"""Where settings of a forge come from, what they may say, and which host a token is for."""

import asyncio
import json
import os
from pathlib import Path

import pytest

from adapters.forge.connection import api_of
from adapters.forge.port import ForgeRepository
from adapters.forge.remotes import remote_repository
from adapters.forge.settings import BadForge, ForgeSettings, read_settings
from adapters.forge.token import ForgeToken, token_for
from adapters.processes.environment import clean_environment
from adapters.project import BadProject, parse
from domain.values.sentences import in_language, sentence_of

GITHUB = ForgeRepository("github", "github.com", "ann/shop")
GITLAB = ForgeRepository("gitlab", "gitlab.com", "ann/shop")
OWN = ForgeRepository("gitlab", "git.example.com", "ann/shop")
SECRET = "s3cr3t-t0k3n-value"


def read(tmp_path: Path, text: str) -> ForgeSettings:
    file = tmp_path / "forge.toml"
    file.write_text(text, encoding="utf-8")
    return read_settings(file)


def token(repository: ForgeRepository, settings: ForgeSettings, *, at_terminal: bool = False, **env: str) -> str | None:
    found_token = asyncio.run(token_for(repository, settings, at_terminal=at_terminal, environment=env))
    return found_token and found_token.headers()["Authorization"].removeprefix("Bearer ")


# -- the file ----------------------------------------------------------------------------------------------------------


def test_without_a_file_the_defaults_hold(tmp_path: Path) -> None:
    settings = read_settings(tmp_path / "forge.toml")
    assert (settings.follow, settings.checks_attempts, settings.quiet_seconds) == (False, 3, 60)
    assert (settings.poll_seconds, settings.max_revisions, settings.max_cost_micros) == (60, 10, None)
    assert (settings.token, settings.secret, settings.allow) == (None, None, ())


def test_every_setting_can_be_named(tmp_path: Path) -> None:
    settings = read(
        tmp_path,
        'kind = "gitlab"\napi = "https://git.example.com/api/v4/"\ntoken = "env:T"\nfollow = true\n'
        'allow = ["ann", "@testers", "renovate[bot]"]\nsecret = "env:HOOK"\nchecks_attempts = 1\nquiet_seconds = 5\n'
        "poll_seconds = 10.5\nmax_revisions = 2\nmax_cost_micros = 5000000\n",
    )
    assert settings.api == "https://git.example.com/api/v4"
    assert settings.allows("Ann") and settings.allows("renovate[bot]") and not settings.allows("testers")
    assert settings.teams == ("testers",)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('token = "ghp_abc"', "not the token itself"),
        ('token = "env:"', "not the token itself"),
        ('api = "http://git.example.com/api/v4"', "must begin with https://"),
        ('api = "https://ann:pw@git.example.com"', "must not contain a login"),
        ('api = "https://git.example.com/?a=1"', "without ? or #"),
        ('api = "ftp://git.example.com"', "http"),
        ('kind = "gitea"', "'github' or 'gitlab'"),
        ("follow = 1", "boolean"),
        ('quiet_seconds = "60"', "number"),
        ("poll_seconds = 0", "greater than 0"),
        ("max_revisions = -1", "greater than or equal to 0"),
        ('secret = "plain"', "env:NAME or file:/path"),
        ("pollSeconds = 5", "unknown key"),
        ('allow = ["-x"]', "allow.0"),
        ('allow = ["a b"]', "allow.0"),
        ('kind = "gitlab"\ntoken = "gh"', "no logins of gitlab"),
        ("kind = ", "not TOML"),
    ],
)
def test_what_does_not_fit_is_refused_with_file_key_and_reason(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(BadForge) as error:
        read(tmp_path, text)
    assert str(tmp_path / "forge.toml") in str(error.value) and words in str(error.value)
    assert "ghp_abc" not in str(error.value) and "pw" not in str(error.value).replace("https", "")


def test_http_is_for_this_machine_only(tmp_path: Path) -> None:
    for host in ("127.0.0.1:81", "localhost", "[::1]:81"):
        assert read(tmp_path, f'api = "http://{host}/api/v4"').api == f"http://{host}/api/v4"


def test_a_table_in_a_repository_is_refused_in_both_languages() -> None:
    for text in ('[forge]\ntoken = "env:GITHUB_TOKEN"\n', "[[forge]]\na = 1\n", "forge = 1\n", 'forge.api = "x"\n'):
        with pytest.raises(BadProject) as error:
            parse(text)
        [sentence] = error.value.places.values()
        assert "never come from a repository" in sentence and "HANSARD_FORGE" in sentence
        assert "저장소에서 읽지 않습니다" in in_language(sentence, "ko")


# -- which repository a remote means -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://github.com/ann/shop.git", "github github.com ann/shop"),
        ("https://github.com/ann/shop/", "github github.com ann/shop"),
        ("https://ann:ghp_x@github.com/ann/shop", "github github.com ann/shop"),
        ("https://github.com:443/ann/shop", "github github.com ann/shop"),
        ("git@github.com:ann/shop.git", "github github.com ann/shop"),
        ("github.com:ann/shop.git", "github github.com ann/shop"),
        ("ssh://git@github.com/ann/shop.git", "github github.com ann/shop"),
        ("ssh://git@ssh.github.com:443/ann/shop.git", "github github.com ann/shop"),
        ("git+ssh://git@GitHub.com/ann/shop", "github github.com ann/shop"),
        ("https://acme.ghe.com/ann/shop", "github acme.ghe.com ann/shop"),
        ("git@github.example.com:ann/shop", "github github.example.com ann/shop"),
        ("https://gitlab.com/ann/group/shop.git", "gitlab gitlab.com ann/group/shop"),
        ("ssh://git@gitlab.example.com:2222/ann/shop.git", "gitlab gitlab.example.com ann/shop"),
        ("https://gitlab.example.com:8443/ann/shop.git", "gitlab gitlab.example.com:8443 ann/shop"),
    ],
)
def test_a_remote_says_its_forge(url: str, expected: str) -> None:
    repository = remote_repository(url)
    assert repository is not None
    assert f"{repository.kind} {repository.host} {repository.path}" == expected
    assert "ghp_x" not in repr(repository)


@pytest.mark.parametrize(
    "url",
    [
        "",
        "/srv/git/shop.git",
        "../shop",
        "file:///srv/git/shop.git",
        "C:/work/shop",
        "https://github.com/ann",
        "https://github.com/ann/shop/tree/main",
        "https://github.com/ann/../shop",
        "https://github.com/ann/-shop",
        "https://github.com/ann/shop?x=1",
        "https://github.com.evil.com/ann/shop",
        "https://evil.com/github.com/ann/shop",
        "https://github.com@evil.com/ann/shop",
        "https://github.com\\@evil.com/ann/shop",
        "https://github.com:99999/ann/shop",
        "https://github.com/ann/shop\n",
        "ext::sh -c whoami",
        "https://git.example.com/ann/shop",
        "git@github.com:ann/shop name",
        "-oProxyCommand=x:ann/shop",
        "a" * 3_000,
    ],
)
def test_other_addresses_are_no_forge(url: str) -> None:
    assert remote_repository(url) is None


def test_kind_counts_for_hosts_that_do_not_say_it() -> None:
    assert remote_repository("https://git.example.com/ann/shop", "gitlab") == OWN
    github = remote_repository("https://github.com/ann/shop", "gitlab")
    assert github is not None and github.kind == "github"


def test_each_forge_has_its_api(tmp_path: Path) -> None:
    hosted = ForgeRepository("github", "acme.ghe.com", "ann/shop")
    server = ForgeRepository("github", "github.example.com", "ann/shop")
    settings = ForgeSettings()
    addresses = [api_of(each, settings) for each in (GITHUB, GITLAB, OWN, hosted, server)]
    assert addresses == [
        "https://api.github.com",
        "https://gitlab.com/api/v4",
        "https://git.example.com/api/v4",
        "https://api.acme.ghe.com",
        "https://github.example.com/api/v3",
    ]
    own = read(tmp_path, 'api = "https://git.example.com/gitlab/api/v4"')
    assert api_of(OWN, own) == "https://git.example.com/gitlab/api/v4"
    assert api_of(GITHUB, own) == "https://api.github.com"


# -- the token ---------------------------------------------------------------------------------------------------------


def test_a_token_of_a_variable_goes_to_one_host(tmp_path: Path) -> None:
    public = read(tmp_path, 'token = "env:T"')
    own = read(tmp_path, 'token = "env:T"\nkind = "gitlab"\napi = "https://git.example.com/api/v4"')
    other = ForgeRepository("gitlab", "gitlab.evil.com", "ann/shop")
    assert [token(each, public, T=SECRET) for each in (GITHUB, GITLAB, OWN, other)] == [SECRET, SECRET, None, None]
    assert [token(each, own, T=SECRET) for each in (GITHUB, GITLAB, OWN, other)] == [None, None, SECRET, None]
    of_kind = read(tmp_path, 'token = "env:T"\nkind = "gitlab"')
    assert [token(each, of_kind, T=SECRET) for each in (GITHUB, GITLAB)] == [None, SECRET]


def test_a_token_of_the_other_kind_is_not_sent(tmp_path: Path) -> None:
    settings = read(tmp_path, 'token = "env:T"')
    for repository, value in ((GITLAB, "ghp_0123456789"), (GITHUB, "glpat-0123456789"), (GITHUB, "two words")):
        with pytest.raises(BadForge) as error:
            token(repository, settings, T=value)
        assert value not in str(error.value)


def test_a_variable_without_a_value_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadForge, match="GITHUB_TOKEN"):
        token(GITHUB, read(tmp_path, 'token = "env:GITHUB_TOKEN"'))


def program(folder: Path, name: str, host: str) -> str:
    """A program that is logged in to one host. Returns the PATH with it."""
    folder.mkdir(exist_ok=True)
    file = folder / name
    file.write_text(f'#!/bin/sh\nfor last; do :; done\n[ "$last" = "{host}" ] && echo {SECRET} || exit 1\n')
    file.chmod(0o755)
    return f"{folder}{os.pathsep}{os.environ['PATH']}"


def test_the_login_of_a_program_is_used_at_a_persons_terminal_only(tmp_path: Path) -> None:
    path = program(tmp_path / "bin", "gh", "github.com")
    assert token(GITHUB, ForgeSettings(), at_terminal=True, PATH=path) == SECRET
    assert token(GITHUB, ForgeSettings(), PATH=path) is None
    assert token(GITLAB, ForgeSettings(), at_terminal=True, PATH=path) is None
    assert token(GITHUB, read(tmp_path, 'token = "gh"'), PATH=path) == SECRET


def test_a_program_that_is_named_but_not_logged_in_is_said(tmp_path: Path) -> None:
    path = program(tmp_path / "bin", "glab", "gitlab.com")
    assert token(GITLAB, read(tmp_path, 'token = "glab"'), PATH=path) == SECRET
    with pytest.raises(BadForge, match=r"glab auth login --hostname git\.example\.com"):
        token(OWN, read(tmp_path, 'token = "glab"'), PATH=path)


def test_a_token_shows_itself_to_nobody() -> None:
    one = ForgeToken("github.com", SECRET)
    assert SECRET not in f"{one} {one!r}" and one.masked(f"no {SECRET}!") == "no ***!"


def test_a_token_in_the_environment_reaches_no_child(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("GITHUB_TOKEN", SECRET)
    assert SECRET not in json.dumps(clean_environment(home=tmp_path))


def test_errors_of_settings_are_in_both_languages(tmp_path: Path) -> None:
    with pytest.raises(BadForge) as error:
        read(tmp_path, 'token = "ghp_abc"')
    assert "토큰을 직접 적지 말고" in in_language(sentence_of(error.value), "ko")


# -- what doctor says --------------------------------------------------------------------------------------------------


def test_doctor_says_what_keeps_the_token_from_being_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from api.cli.forge_health import check_forge
    from api.node.settings import Settings

    settings = Settings(database=str(tmp_path / "log.db"), forge=tmp_path / "forge.toml")
    file = tmp_path / "forge.toml"
    assert check_forge(settings).mark == "ok"
    file.write_text('token = "env:SHOP_TOKEN"', encoding="utf-8")
    file.chmod(0o600)
    assert (check_forge(settings).mark, "SHOP_TOKEN" in check_forge(settings).found) == ("warn", True)
    monkeypatch.setenv("SHOP_TOKEN", SECRET)
    assert check_forge(settings).mark == "ok" and SECRET not in str(check_forge(settings))
    file.chmod(0o666)
    assert check_forge(settings).mark == "warn"
    file.write_text("token = 1", encoding="utf-8")
    assert check_forge(settings).mark == "fail"


def test_the_file_is_named_by_an_absolute_path(tmp_path: Path) -> None:
    from api.node.owner import forge_file
    from api.node.settings import Settings

    assert forge_file(Settings(data_dir=tmp_path)) == tmp_path / "keys" / "forge.toml"
    with pytest.raises(ValueError, match="absolute path"):
        Settings(forge=Path("forge.toml"))
