"""Who is meant (K-18) and who may work at the same time (K-19)."""

import time
import unicodedata

import pytest

from domain.orchestration.claims import FileClaim, hindrances, parallel, place_of
from domain.values.phases import match

TEAM = ["Frontend", "Backend", "Data", "Docs"]


@pytest.mark.parametrize(
    ("agent", "employees", "expected"),
    [
        ("Backend", TEAM, "Backend"),
        ("backend", TEAM, "Backend"),
        ("BACKEND", TEAM, "Backend"),
        ("o", TEAM, None),
        ("Back", TEAM, None),
        ("Backend team", TEAM, None),
        (" Backend", TEAM, None),
        ("", TEAM, None),
        ("QA", TEAM, None),
        ("Backend", [], None),
        ("dev", ["Dev", "DEV"], None),
        ("DEV", ["Dev", "DEV"], "DEV"),
        ("dev", ["Dev", "Dev"], "Dev"),
        ("개발자", ["기획자", "개발자"], "개발자"),
        (unicodedata.normalize("NFD", "개발자"), ["기획자", "개발자"], "개발자"),
        ("개발자", [unicodedata.normalize("NFD", "개발자")], unicodedata.normalize("NFD", "개발자")),
        ("ÉMILE", ["Émile"], "Émile"),
        ("Dev", ["dev", "D\u200bev"], "dev"),
    ],
)
def test_a_name_is_matched_exactly_or_in_another_case_and_never_guessed(
    agent: str, employees: list[str], expected: str | None
) -> None:
    assert match(agent, employees) == expected


def claim(agent: str, *files: str, side_by_side: bool = True) -> FileClaim:
    return FileClaim(agent=agent, parallel=side_by_side, affected_files=files)


@pytest.mark.parametrize(
    ("claims", "expected"),
    [
        pytest.param([], [], id="nobody"),
        pytest.param([claim("A", "a.js"), claim("B", "b.js")], [True, True], id="disjoint"),
        pytest.param([claim("A", "a.js"), claim("B", "a.js")], [True, False], id="same-file"),
        pytest.param([claim("A", "a.js"), claim("B")], [True, False], id="empty-list"),
        pytest.param([claim("A"), claim("B", "b.js")], [False, True], id="empty-list-first"),
        pytest.param([claim("A", "a.js", side_by_side=False), claim("B", "a.js")], [False, True], id="not-asked"),
        pytest.param([claim("A", "a.js"), claim("A", "a.js")], [True, False], id="same-agent-same-file"),
        pytest.param([claim("A", "a.js"), claim("a", "b.js")], [True, False], id="same-agent-other-file"),
        pytest.param([claim("A"), claim("A", "b.js")], [False, True], id="same-agent-first-one-waits"),
        pytest.param(
            [claim("A", "a.js"), claim("B", "b.js", "a.js"), claim("C", "b.js")],
            [True, False, True],
            id="who-waits-claims-nothing",
        ),
        pytest.param([claim("A", "a.js", "./a.js"), claim("B", "b.js")], [True, True], id="own-files-twice"),
        pytest.param([claim("A", "./src/a.js"), claim("B", "src//a.js")], [True, False], id="dot-and-slashes"),
        pytest.param([claim("A", "src/x/../a.js"), claim("B", "src/a.js")], [True, False], id="parent"),
        pytest.param([claim("A", "src\\a.js"), claim("B", "src/a.js")], [True, False], id="backslash"),
        pytest.param([claim("A", "src/A.js"), claim("B", "src/a.js")], [True, True], id="case-kept"),
        pytest.param([claim("A", "src/"), claim("B", "src/a.js")], [True, False], id="file-in-claimed-folder"),
        pytest.param([claim("A", "src/a.js"), claim("B", "src")], [True, False], id="folder-of-claimed-file"),
        pytest.param([claim("A", "src"), claim("B", "src2/a.js")], [True, True], id="folder-of-like-name"),
        pytest.param([claim("A", "."), claim("B", "b.js")], [True, False], id="whole-workspace"),
        pytest.param([claim("A", "a.js"), claim("B", "/etc/b.js")], [True, False], id="absolute"),
        pytest.param([claim("A", "a.js"), claim("B", "b.js", "../c.js")], [True, False], id="one-path-escapes"),
        pytest.param([claim("A", "a.js"), claim("B", "lib/*.js")], [True, False], id="wildcard"),
        pytest.param([claim("A", "a.js"), claim("B", "b.js", " ")], [True, False], id="blank-path"),
        pytest.param(
            [claim("A", "한글.md"), claim("B", unicodedata.normalize("NFD", "한글.md"))],
            [True, False],
            id="composed-and-not",
        ),
        pytest.param([claim("A", "pages/[id].tsx"), claim("B", "pages/b.tsx")], [True, True], id="brackets-are-names"),
    ],
)
def test_agents_work_in_parallel_only_on_separate_files(claims: list[FileClaim], expected: list[bool]) -> None:
    """K-19."""
    assert parallel(claims) == expected


@pytest.mark.parametrize("missing", [{}, {"affectedFiles": None}, {"affectedFiles": []}])
def test_a_missing_file_list_means_sequential(missing: dict[str, object]) -> None:
    assert parallel([FileClaim.model_validate({"agent": "A", "parallel": True, **missing})]) == [False]


@pytest.mark.parametrize("asked", ["true", 1, None])
def test_only_the_boolean_true_asks_for_parallel_work(asked: object) -> None:
    value = FileClaim.model_validate({"agent": "A", "parallel": asked, "affectedFiles": ["a.js"]})
    assert parallel([value]) == [False]


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("src/a.js", ("src", "a.js")),
        (" ./src//b/../a.js ", ("src", "a.js")),
        ("src/", ("src",)),
        ("a/..", ()),
        ("...", ("...",)),
        ("..", None),
        ("a/../../b", None),
        ("..\\b", None),
        ("/src/a.js", None),
        ("\\\\host\\share", None),
        ("C:\\src\\a.js", None),
        ("~/a.js", None),
        ("src/**", None),
        ("", None),
        ("a" * 4_096, ("a" * 4_096,)),
        ("a" * 4_097, None),
    ],
)
def test_a_path_is_read_as_a_place_below_the_workspace_or_not_at_all(
    path: str, expected: tuple[str, ...] | None
) -> None:
    assert place_of(path) == expected


def test_a_hostile_plan_is_read_in_linear_time() -> None:
    """A thousand of the deepest paths, and a name that is all accents: quadratic work takes minutes."""
    deep = [f"{'a/' * 2_000}{number}" for number in range(500)]
    began = time.process_time()
    assert parallel([claim("A", *deep), claim("B", *deep)]) == [True, False]
    assert match("a" + "\u0301\u0323" * 200_000, TEAM) is None
    assert time.process_time() - began < 5


def test_a_refused_parallel_request_gets_the_reason() -> None:
    """S1 §1.8."""
    claims = [
        FileClaim(agent="Backend", parallel=True, affected_files=("src/c.js",)),
        FileClaim(agent="Frontend", parallel=True, affected_files=("a.js", "./src/c.js")),
        FileClaim(agent="Data", parallel=True, affected_files=("src",)),
        FileClaim(agent="backend", parallel=True, affected_files=("b.py",)),
        FileClaim(agent="Docs", parallel=True),
        FileClaim(agent="Ops", parallel=True, affected_files=("/etc/passwd",)),
        FileClaim(agent="Nobody", affected_files=("src/c.js",)),
    ]
    assert hindrances(claims) == [
        "Frontend does not work in parallel: it shares ./src/c.js with Backend.",
        "Data does not work in parallel: it shares src with Backend.",
        "backend does not work in parallel: it has another subtask at the same time.",
        "Docs does not work in parallel: it names no files.",
        "Ops does not work in parallel: it names files that cannot be placed in the workspace.",
    ]
