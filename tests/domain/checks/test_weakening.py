"""What makes a validation prove less than it did (contract-3 §17)."""

import pytest

from domain.checks.test_counts import RunnerCount
from domain.checks.weakening import ChangedSource, Weakening, weakening_sentence, weakenings


def found(
    path: str, before: str | None, after: str | None, *, renamed_from: str | None = None
) -> list[tuple[str, int | None, int | None]]:
    source = ChangedSource(path, before, after, renamed_from)
    return [(each.what, each.before, each.after) for each in weakenings([source], commands=["make check"])]


TESTS: list[tuple[str, str, str]] = [
    ("tests/test_a.py", "def test():\n    assert a == 1\n", "def test():\n    pass\n"),
    ("tests/test_a.py", "def test():\n    assert a == 1\n", "def test():\n    assert True\n"),
    ("tests/test_a.py", "def test():\n    assert a == 1\n", "def test():\n    # assert a == 1\n    pass\n"),
    ("tests/test_a.py", "def test():\n    assert a == 1\n", 'def test():\n    "assert a == 1"\n'),
    ("tests/test_a.py", "    self.assertEqual(a, 1)\n    self.assertIn(b, c)\n", "    self.assertEqual(a, 1)\n"),
    ("test_a.py", "with pytest.raises(ValueError):\n    f()\n", "f()\n"),
    ("src/a.test.ts", "expect(a).toBe(1); expect(b).toBe(2)", "expect(a).toBe(1); // expect(b).toBe(2)"),
    ("test/a.js", "assert.equal(a, 1)\nassert(b)", "assert.equal(a, 1)"),
    ("test/a.js", "assert.equal(a, '//')\nassert(b)", "/* assert.equal(a, '//') */\nassert(b)"),
    ("a_test.go", 'if a { t.Errorf("x") }\nrequire.Equal(t, 1, a)', "require.Equal(t, 1, a)"),
    ("tests/a.rs", "assert_eq!(a, 1);\nassert!(b);", "assert!(b);\n// assert_eq!(a, 1);"),
]


@pytest.mark.parametrize(("path", "before", "after"), TESTS)
def test_a_file_that_asserts_less(path: str, before: str, after: str) -> None:
    ((what, was, now),) = found(path, before, after)
    assert what == "assertions"
    assert (was or 0) > (now or 0)
    assert found(path, after, before) == [], "to assert more weakens nothing"


SKIPS: list[tuple[str, str, str]] = [
    ("tests/test_a.py", "def test(): assert a", "@pytest.mark.skip\ndef test(): assert a"),
    ("tests/test_a.py", "def test(): assert a", "@pytest.mark.xfail(reason='later')\ndef test(): assert a"),
    ("tests/test_a.py", "def test(): assert a", "def test():\n    pytest.skip('no')\n    assert a"),
    ("tests/test_a.py", "class T: pass", "@unittest.expectedFailure\nclass T: pass"),
    ("a.spec.ts", "it('x', f)", "it.skip('x', f)"),
    ("a.spec.ts", "it('x', f)", "it.only('y', g); it('x', f)"),
    ("a.spec.ts", "describe('x', f)", "xdescribe('x', f)"),
    ("test/a.mjs", "test('x', f)", "test('x', { skip: true }, f)"),
    ("a_test.go", "func TestA(t *testing.T) {}", "func TestA(t *testing.T) { t.Skip() }"),
    ("tests/a.rs", "#[test]\nfn a() {}", "#[test]\n#[ignore]\nfn a() {}"),
]


@pytest.mark.parametrize(("path", "before", "after"), SKIPS)
def test_a_newly_skipped_test(path: str, before: str, after: str) -> None:
    assert found(path, before, after) == [("skipped", 0, 1)]
    assert found(path, after, before) == []


def test_a_deleted_test_file_asserts_nothing_any_more() -> None:
    assert found("tests/test_a.py", "assert a\nassert b\n", None) == [("assertions", 2, 0)]


def test_a_renamed_file_is_compared_with_its_old_name() -> None:
    assert found("attic/a.txt", "assert a\n", "", renamed_from="tests/test_a.py") == [("assertions", 1, 0)]
    assert found("tests/test_b.py", "assert a\n", "assert a\n", renamed_from="tests/test_a.py") == []


@pytest.mark.parametrize("path", ["src/a.py", "README.md", "lib/index.js"])
def test_code_may_assert_less(path: str) -> None:
    assert found(path, "assert a\nexpect(b)\n", "") == []


@pytest.mark.parametrize(
    "text", ["def (:\n  assert a\n", "((" * 5_000 + "assert a", "\0assert a", "assert a\n" * 200_000]
)
def test_a_text_that_is_no_python_is_no_error(text: str) -> None:
    found("tests/test_a.py", text, "")
    found("tests/test_a.py", "", text)


DECIDING = [
    *("Makefile", "GNUmakefile", "sub/Makefile", "pytest.ini", "pytest.toml", "tox.ini", "setup.cfg", "hansard.toml"),
    *("conftest.py", "tests/conftest.py", ".github/workflows/ci.yml", ".gitlab-ci.yml", "jest.config.js", ".npmrc"),
    *("signal.py", "unittest/__init__.py", "pytest/__main__.py", "src/pytest.py", "sitecustomize.py", "check"),
    *("build/tests.stamp", "vitest.config.ts", "noxfile.py", ".cargo/config.toml", "CMakeLists.txt"),
]


@pytest.mark.parametrize("path", DECIDING)
def test_a_file_that_decides_what_is_validated(path: str) -> None:
    assert ("settings", None, None) in found(path, "a", "b")
    assert ("settings", None, None) in found(path, None, "b")


@pytest.mark.parametrize(
    "path", ["src/app.py", "docs/make.md", "app/signal_handlers.py", "lib/json/parser.py", "README"]
)
def test_other_files_decide_nothing(path: str) -> None:
    assert found(path, "a", "b") == []


LOOKED_AT = [
    *("pytest -q {}", "python3 -m pytest -x {}::test_a", ".venv/bin/python -m unittest {}", "ruff check {}"),
    *(
        "mypy --strict {}",
        "npx eslint --fix {}",
        "node --test {}",
        "coverage run -m pytest {}",
        "python -m py_compile {}",
    ),
    "sh -c 'ruff check {} && pytest -q'",
]
RUN = [
    *("python3 {}", "sh {}", "./{}", "node {}", "pytest -p {}", "pytest -c {} -q", "pytest --config-file={}"),
    *("jest --setupFilesAfterEnv {}", "diff {} out.txt", "ruff check . && python3 {}", "node --test --require ./{}"),
    "mypy --config-file {} src",
]


@pytest.mark.parametrize(
    ("command", "kinds"), [*((each, []) for each in LOOKED_AT), *((each, ["settings"]) for each in RUN)]
)
def test_a_file_that_a_tool_only_looks_at_does_not_decide(command: str, kinds: list[str]) -> None:
    """Though the command names it; a program or a setting that it names does."""
    source = ChangedSource("src/part.py", "a", "b")
    assert [each.what for each in weakenings([source], commands=[command.format("src/part.py")])] == kinds


def test_a_package_file_decides_only_beyond_its_description() -> None:
    assert found("package.json", '{"version": "1"}', '{"version": "2", "dependencies": {"a": "1"}}') == []
    assert found("package.json", '{"scripts": {"test": "jest"}}', '{"scripts": {"test": "true"}}') == [
        ("settings", None, None)
    ]
    assert found("package.json", "{}", "{") == [("settings", None, None)]
    assert found("pyproject.toml", '[project]\nname = "a"', '[project]\nname = "b"') == []
    assert found("pyproject.toml", "[project]", '[project]\n[tool.pytest]\naddopts = "--co"') == [
        ("settings", None, None)
    ]


def test_fewer_tests_than_in_the_baseline() -> None:
    before = [RunnerCount(runner="pytest", ran=9, skipped=1), RunnerCount(runner="go", ran=None)]
    after = [RunnerCount(runner="pytest", ran=7, skipped=1, expected_failures=2), RunnerCount(runner="go", ran=None)]
    assert weakenings([], commands=[], before=before, after=after) == (
        Weakening(what="tests", before=9, after=7),
        Weakening(what="skipped", before=1, after=3),
    )


def test_a_runner_that_is_gone_ran_nothing() -> None:
    before = [RunnerCount(runner="pytest", ran=3)]
    assert weakenings([], commands=[], before=before) == (Weakening(what="tests", before=3, after=0),)
    assert weakenings([], commands=[], after=before) == ()


def test_each_weakening_has_a_sentence() -> None:
    assert weakening_sentence(Weakening(what="tests", before=3, after=1)) == "Fewer tests ran: 3 before, 1 now."
    file = Weakening(what="assertions", path="tests/test_a.py", before=2, after=0)
    assert weakening_sentence(file) == "tests/test_a.py asserts less: 2 before, 0 now."
    assert weakening_sentence(file.changed(what="skipped")).startswith("tests/test_a.py skips more tests")
    assert weakening_sentence(Weakening(what="skipped", before=0, after=1)).startswith("More tests are skipped")
    assert "decides what is validated" in weakening_sentence(Weakening(what="settings", path="Makefile"))


PLUGIN = '[project.entry-points.pytest11]\nshop = "shop.plugin"'


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("pyproject.toml", PLUGIN),
        ("pyproject.toml", '[project.scripts]\npytest = "shop:passed"'),
        ("pyproject.toml", '[project]\ndependencies = ["pytest @ file:pytest.whl"]'),
        ("pyproject.toml", '[project.optional-dependencies]\ntest = ["pytest@git+https://example.org/pytest"]'),
        ("pyproject.toml", '[dependency-groups]\ntest = ["pytest @ https://example.org/pytest.whl"]'),
        ("package.json", '{"devDependencies": {"tape": "file:tape.tgz"}}'),
        ("package.json", '{"devDependencies": {"tape": "someone/tape"}}'),
        ("package.json", '{"dependencies": {"tape": "npm:other@1"}}'),
    ],
)
def test_a_description_that_brings_another_runner_or_a_plugin_decides(path: str, text: str) -> None:
    assert found(path, "{}" if path == "package.json" else "", text) == [("settings", None, None)]
    assert found(path, text, text) == []


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("pyproject.toml", '[project.scripts]\nshop = "shop:main"'),
        ("pyproject.toml", '[project.entry-points.console_scripts]\nshop = "shop:main"'),
        ("pyproject.toml", '[project]\ndependencies = ["a[b]>=1; python_version < \'3.12\'", "c~=2.0"]'),
        ("pyproject.toml", '[project]\nurls = {a = "https://example.org"}\nauthors = [{email = "a@b.c"}]'),
        ("pyproject.toml", '[dependency-groups]\ntest = ["pytest>=8", {include-group = "a"}]'),
        ("package.json", '{"devDependencies": {"@types/node": "^1.2.x || >=3.0.0-rc.1", "own": "workspace:*"}}'),
    ],
)
def test_a_release_of_a_registry_and_a_program_of_its_own_decide_nothing(path: str, text: str) -> None:
    assert found(path, "{}" if path == "package.json" else "", text) == []


@pytest.mark.parametrize(
    "path", ["difflib.py", "src/pprint.py", "iniconfig/__init__.py", "src/shop/__pycache__/shop.cpython-311.pyc"]
)
def test_a_module_that_a_runner_would_load_decides(path: str) -> None:
    assert found(path, None, "a") == [("settings", None, None)]


@pytest.mark.parametrize("path", ["src/types.js", "queue.mjs", "lib/difflib.py", "html/index.html"])
def test_a_name_that_no_runner_loads_from_there_decides_nothing(path: str) -> None:
    assert found(path, None, "a") == []
