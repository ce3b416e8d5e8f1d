"""`hansard report` and `hansard lab`."""

import re
from collections.abc import Callable

import pytest

from tests.api.cli.conftest import Hansard, critique


def test_a_report_is_a_table_json_or_csv(hansard: Hansard) -> None:
    assert hansard("example").code == 0
    result = hansard("report")
    assert (result.code, result.out.split()[:5]) == (0, ["KIND", "STATUS", "SESSIONS", "FINISHED", "OR"])
    assert "\ndelivery  success  1 " in result.out
    assert result.err.startswith("As of position ")
    assert re.fullmatch(r"delivery +success +1 +1 +(\d:\d\d +){3}2\.00 +2\.00 +2", result.out.splitlines()[1])
    assert re.search(r" 1,500 +\$0\.0045 ", hansard("report", "costs").out)
    costs = hansard("report", "costs", "--kind", "delivery", "--json").json
    assert (costs["name"], costs["filters"]["kind"]) == ("costs", "delivery")
    table = hansard("report", "decisions", "--csv")
    assert table.out.splitlines()[0] == (
        "kind,reason,by,choice,decisions,waitedMsMean,waitedMsMedian,waitedMsMax,oldestAskedAt"
    )
    assert hansard("report", "--as-of", "1", "--json").json["totals"]["sessions"] == 1
    assert hansard("report", "--to", "2001-01-01").out == ""


def test_invalid_report_is_one_sentence(hansard: Hansard) -> None:
    assert hansard("report", "profits").code == 2
    result = hansard("report", "costs", "--from", "soon")
    assert (result.code, result.out) == (2, "")
    assert "--from: should be an instant in ISO 8601, or a date" in result.err
    assert hansard("report", "--csv", "--json").code == 2


def test_lab_shows_when_other_profiles_would_have_stopped(
    hansard: Hansard, scenario: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    replies = {"reviewer": [critique("NEEDS_FIX", ("major", "x"))], "coder": ["I agree."]}
    started = hansard("review", "a result", "--max-rounds", "3", "--scenario", scenario(replies), "--json")
    assert started.code == 6, started.err
    result = hansard("lab", "--profile", "seed", "--profile", "agreement=0.1,stability=0.1", "--kind", "review")
    assert result.code == 0, result.err
    lines = result.out.splitlines()
    assert lines[0].startswith("review-")
    assert lines[1].startswith("  seed@1 ")
    assert lines[2].startswith("  custom@1 ")
    assert lines[4].split()[:3] == ["PROFILE", "DISCUSSIONS", "EARLIER"]
    assert len(hansard("lab", "latest", "--json").json["totals"]) == 3
    monkeypatch.setenv("LC_ALL", "ko_KR.UTF-8")
    words = hansard("lab").out
    assert "DISCUSSIONS" not in words and "same:" not in words and "limit" not in words


def test_invalid_lab_request_is_one_sentence(hansard: Hansard) -> None:
    assert hansard("lab").err == "No matching review or debate.\n"
    assert hansard("lab", "--profile", "sead").code == 2
    assert hansard("lab", "--profile", "agreement=much").code == 2
    assert hansard("lab", "x", "--kind", "review").code == 2
