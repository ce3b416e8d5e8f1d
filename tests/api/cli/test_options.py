"""Lists as people type them."""

import pytest

from api.cli.options import split


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        (["a,b"], ["a", "b"]),
        (["a", "b,c"], ["a", "b", "c"]),
        ([" a , b "], ["a", "b"]),
        (["a,,b,"], ["a", "b"]),
        ([""], []),
        ([], []),
        (['python -c "import a,b",ruff check'], ['python -c "import a,b"', "ruff check"]),
        (["grep 'x,y' z,true"], ["grep 'x,y' z", "true"]),
        ([r"one\,file.py,two.py"], ["one,file.py", "two.py"]),
        ([r"grep \d+,true"], [r"grep \d+", "true"]),
        ([r"a\\,b"], [r"a\\", "b"]),
        (["a\\"], ["a\\"]),
        (["it's one"], ["it's one"]),
        (["경로/하나.py,경로/둘.py"], ["경로/하나.py", "경로/둘.py"]),
    ],
)
def test_commas_and_repetition_both_make_a_list(typed: list[str], meant: list[str]) -> None:
    assert split(typed) == meant
