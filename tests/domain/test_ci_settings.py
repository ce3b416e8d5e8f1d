"""Which files the CI of a forge obeys, by what its settings include."""

import pytest

from domain.checks.ci_settings import ci_files, is_ci

GITLAB = ".gitlab-ci.yml"
WORKFLOW = ".github/workflows/test.yml"


def files(changed: str, texts: dict[str, str]) -> list[str]:
    """Those of the changed files that count, in a repository with these texts."""
    names = {*changed.split(), *texts}
    return sorted(ci_files(changed.split(), names, texts.get))


@pytest.mark.parametrize(
    "path", [GITLAB, ".GitLab-CI.yml", WORKFLOW, ".github", "tools/x.gitlab-ci.yml", ".gitlab/agents/a.yml"]
)
def test_settings_are_known_by_their_names(path: str) -> None:
    assert is_ci(path)


@pytest.mark.parametrize("path", ["src/ci.py", "docs/github/x.yml", "gitlab-ci.yml.md", "githubx/workflows/test.yml"])
def test_other_files_are_not(path: str) -> None:
    assert not is_ci(path)


@pytest.mark.parametrize(
    "include",
    [
        "include: ci/build.yml",
        "include: '/ci/build.yml'",
        'include: ["/ci/build.yml", other.yml]',
        "include:\n  - local: ci/build.yml\n",
        "include:\n- local: 'ci/build.yml'\nbuild:\n  script: x",
        "include:\n  # a remark\n\n  - { local: ci/build.yml, rules: [] }",
        "include:\n  - local: ci/*.yml",
        "include:\n  - local: ci/**.yml",
        "include:\n  - local: $FOLDER/build.yml",
        "include:\n  - local: ${FOLDER}/build.yml",
        "child:\n  trigger:\n    include:\n      - local: ci/build.yml",
        "child:\n  trigger:\n    include: ci/build.yml",
        ".them: &them\n  - local: ci/build.yml\ninclude: *them",
    ],
)
def test_what_gitlab_includes_counts(include: str) -> None:
    assert files("ci/build.yml src/a.py compose.yml", {GITLAB: include}) == ["ci/build.yml"]


def test_an_included_file_may_include_others() -> None:
    texts = {GITLAB: "include: a.yml", "a.yml": "include:\n  - b.yml", "b.yml": "include: a.yml"}
    assert files("b.yml c.yml", texts) == ["b.yml"]


@pytest.mark.parametrize(
    ("uses", "changed"),
    [
        ("steps:\n  - uses: ./actions/setup", "actions/setup/action.yml actions/setup/run.sh"),
        ("    - uses: './actions/setup/'", "actions/setup/run.sh"),
        ("steps: [{uses: ./actions/setup}]", "actions/setup/run.sh"),
        ("jobs:\n  x:\n    uses: ./ci/shared.yml", "ci/shared.yml"),
        ("    - uses: ./", "action.yml"),
    ],
)
def test_what_a_workflow_uses_counts(uses: str, changed: str) -> None:
    assert files(f"{changed} src/a.py actions/other/action.yml", {WORKFLOW: uses}) == changed.split()


def test_a_local_action_may_use_another() -> None:
    texts = {WORKFLOW: "- uses: ./one", "one/action.yml": "runs:\n  steps:\n    - uses: ./two"}
    assert files("two/index.js three/index.js", texts) == ["two/index.js"]


@pytest.mark.parametrize(
    "text",
    [
        "build:\n  script: docker compose -f compose.yml up",
        "include:\n  - remote: https://example.com/compose.yml\nbuild:\n  script: cat compose.yml",
        "  - uses: actions/checkout@v4\n  - run: cat compose.yml",
    ],
)
def test_what_is_only_mentioned_does_not_count(text: str) -> None:
    assert files("compose.yml", {GITLAB: text, WORKFLOW: text}) == []


def test_settings_that_include_each_other_for_ever_come_to_an_end() -> None:
    texts = {f"ci/{number}.yml": f"include: ci/{number + 1}.yml" for number in range(2_000)}
    assert files("x.py", {GITLAB: "include: ci/0.yml", **texts}) == []
