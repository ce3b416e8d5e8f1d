"""The hint after a budget that is used up follows what was used up, and is accepted as it is printed."""

import shlex

import pytest

from api.cli.extension import extension, extension_of
from tests.api.cli.conftest import Hansard


@pytest.mark.parametrize(
    ("used_up", "option"),
    [
        *(("iterations", "--iterations"), ("no_progress", "--iterations"), (None, "--iterations")),
        *(("minutes", "--minutes"), ("tokens", "--tokens"), ("cost", "--cost"), ("rounds", "--rounds")),
    ],
)
def test_the_hint_follows_what_was_used_up(used_up: str | None, option: str) -> None:
    words = shlex.split(extension("delivery-1", used_up))
    assert words[:3] == ["hansard", "extend", "delivery-1"] and words[3] == option


def test_a_run_is_given_rounds() -> None:
    assert "--rounds" in extension_of({"id": "orchestration-1", "kind": "orchestration", "budget": None})
    assert "--minutes" in extension_of({"id": "delivery-1", "kind": "delivery", "budget": {"reason": "minutes"}})


def test_the_printed_hint_is_accepted(hansard: Hansard) -> None:
    ended = hansard("run", "-t", "Change it", "--test", "false", "--no-baseline", "--max-iterations", "1")
    assert ended.code != 0
    shown = hansard("inbox")
    [hint] = [line for line in (shown.out + shown.err).splitlines() if "hansard extend" in line]
    assert "--iterations 2" in hint and hint.strip() != "hansard extend SESSION"
    words = shlex.split(hint[hint.index("hansard extend") :])[1:]
    assert hansard(*words).code == 0
