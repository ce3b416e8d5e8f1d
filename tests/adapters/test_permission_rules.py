"""The team file's `[permissions]`: shell globs on `tool:title`; deny beats ask, ask beats allow."""

from pathlib import Path

import pytest

from adapters.agents.permissions import PermissionRules
from adapters.agents.team import BadTeam, load

AGENT = '[[agents]]\nname = "Ada"\nroles = ["planner"]\nadapter = "scripted"\n'
RULES = PermissionRules(
    allow=("execute:git *", "edit:src/*", "read:*"),
    deny=("execute:*rm -rf*", "edit:*/.env"),
    ask=("execute:git push*",),
)


@pytest.mark.parametrize(
    ("tool", "title", "verdict"),
    [
        ("execute", "git status", "allow"),
        ("execute", "git push origin main", "ask"),
        ("execute", "git push && rm -rf /", "deny"),
        ("execute", "git commit -m 'x\ny'", "allow"),
        ("edit", "src/deep/down/a.py", "allow"),
        ("edit", "src/deep/.env", "deny"),
        ("Execute", "git status", "ask"),
        ("fetch", "https://example.org", "ask"),
    ],
)
def test_the_strictest_rule_that_matches_decides(tool: str, title: str, verdict: str) -> None:
    assert RULES.verdict(tool, title, fenced=False) == verdict


def test_tools_without_a_rule_are_allowed_only_inside_a_fence() -> None:
    nothing = PermissionRules()
    assert nothing.verdict("execute", "make", fenced=True) == "allow"
    assert nothing.verdict("execute", "make", fenced=False) == "ask"


def test_the_team_file_says_them(tmp_path: Path) -> None:
    path = tmp_path / "team.toml"
    path.write_text(f'{AGENT}\n[permissions]\nallow = ["read:*"]\ndeny = ["execute:curl *"]\n')
    assert load(path).permissions == PermissionRules(allow=("read:*",), deny=("execute:curl *",))
    path.write_text(f'{AGENT}\n[permissions]\nallowed = ["read:*"]\n')
    with pytest.raises(BadTeam, match="allowed"):
        load(path)
