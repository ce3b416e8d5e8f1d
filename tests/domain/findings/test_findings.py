"""Findings in the shade: what is one finding, where it comes from, how it stands, and when a loop could stop."""

import random

import pytest

from domain.findings.finding import LedgerFinding
from domain.findings.ledger import FindingLedger, ledger_of
from domain.findings.line_history import LineHistory
from domain.findings.moments import Dispute, FoundReport, LookTaken, WorkChange
from domain.findings.report_words import features_of
from tests.domain.findings.loops import patch_lines, run

LINES = [f"total_{number} = sum_{number}(prices)" for number in range(30)]
SHOP = "shop/cart.py"


def changed(version: int, before: dict[str, list[str]], after: dict[str, list[str]]) -> WorkChange:
    return WorkChange(version=version, turn=f"T{version}", by="dev", patch="\n".join(patch_lines(before, after)))


def report(version: int, title: str, line: int | None = None, **more: object) -> FoundReport:
    path = SHOP if line else ""
    return FoundReport.model_validate(
        {"version": version, "title": title, "blocking": True, "path": path, "line": line} | more
    )


def look(version: int, *reports: FoundReport, **more: object) -> LookTaken:
    return LookTaken.model_validate(
        {"version": version, "number": version, "by": "reviewer", "reports": reports} | more
    )


def with_line(number: int, text: str) -> list[str]:
    return [*LINES[: number - 1], text, *LINES[number:]]


START = changed(1, {}, {SHOP: LINES})


def state_of(ledger: FindingLedger, name: str = "F1") -> str:
    return next(finding.state for finding in ledger.findings if finding.name == name)


# -- identity ----------------------------------------------------------------------------------------------------------


def test_the_same_line_and_name_in_other_words_is_the_same_finding() -> None:
    ledger = ledger_of(
        [
            START,
            look(2, report(2, "`apply_rate` divides by zero", 7)),
            changed(3, {SHOP: LINES}, {SHOP: ["import math", *LINES]}),
            look(4, report(4, "Division by zero remains in `apply_rate`", 8)),
        ]
    )
    assert [finding.name for finding in ledger.findings] == ["F1"]
    assert [event.act for event in ledger.findings[0].life] == ["raised", "claimed", "repeated"]


def test_another_file_is_never_the_same() -> None:
    first, other = report(2, "`apply_rate` fails for zero", 7), report(4, "`apply_rate` fails for zero", 7)
    ledger = ledger_of([START, look(2, first), look(4, other.model_copy(update={"path": "shop/tax.py"}))])
    assert [finding.name for finding in ledger.findings] == ["F1", "F2"]


def test_what_may_be_the_same_counts_as_new_and_closes_nothing() -> None:
    ledger = ledger_of(
        [
            START,
            look(2, report(2, "Security: the header `X-Forwarded-For` is trusted", 7)),
            changed(3, {SHOP: LINES}, {SHOP: with_line(7, "trusted = header(request)")}),
            look(4, report(4, "Security: a header is trusted here", 9)),
        ]
    )
    assert [(each.name, each.perhaps, each.state) for each in ledger.findings] == [
        ("F1", "", "claimed"),
        ("F2", "F1", "open"),
    ]


def test_a_reviewer_may_name_the_finding() -> None:
    ledger = ledger_of([START, look(2, report(2, "Zero", 7)), look(3, report(3, "Still wrong", finding="F1"))])
    assert [finding.name for finding in ledger.findings] == ["F1"]


@pytest.mark.parametrize("path", ["sp ace/가 나.txt", "a b.py", "src/my file v2.min.js", "one two three/x.md"])
def test_a_file_with_blanks_in_its_name_is_named_whole(path: str) -> None:
    """It shows where the work has such a file."""
    for words in (f"`{path}:3` is wrong", f"{path}:3 divides by zero", f"See {path}:3, which is wrong", f'"{path}:3"'):
        ledger = ledger_of([changed(1, {}, {path: LINES}), look(2, report(2, words))])
        [finding] = ledger.findings
        assert (finding.spot.path, finding.spot.number) == (path, 3), words


def test_what_the_record_names_by_a_key_is_met_by_its_key_alone() -> None:
    """The same words with another key are another finding; a pass settles those of its key, and no look does twice."""
    words = "The search is not done"
    ledger = ledger_of([look(1, report(1, words, key="0:1"), report(1, words, key="1:1"), passed=())])
    assert [finding.name for finding in ledger.findings] == ["F1", "F2"]
    ledger.add(look(2, report(2, "Something else is missing", key="0:1"), report(2, words), passed={"1:1"}))
    assert [(each.name, each.state, each.state_why.fact) for each in ledger.findings] == [
        ("F1", "open", "still_reported"),
        ("F2", "fixed", "passed_by_judge"),
        ("F3", "open", "raised"),
    ]
    ledger.add(look(3, passed={"0:1", "1:1"}))
    assert [len(each.life) for each in ledger.findings[:2]] == [3, 2]
    assert state_of(ledger) == "fixed"


def test_words_before_a_place_are_no_part_of_it() -> None:
    for words in (f"See {SHOP}:3", f"`run {SHOP}:3` fails", f'"a b" in {SHOP}:3 is "c.d"'):
        ledger = ledger_of([changed(1, {}, {SHOP: LINES, "a b.py": ["x"]}), look(2, report(2, words))])
        assert ledger.findings[0].spot.path == SHOP, words


# -- origin ------------------------------------------------------------------------------------------------------------


def test_lines_that_a_fix_wrote_are_its_own_and_rewriting_hides_nothing() -> None:
    fixed = [*with_line(7, "total_7 = checked(prices)"), "audit_trail = record(prices)"]
    ledger = ledger_of(
        [
            START,
            look(2, report(2, "`sum_6` fails for an empty basket", 7)),
            changed(3, {SHOP: LINES}, {SHOP: fixed}),
            look(4, report(4, "`record` leaks names", 31), report(4, "`checked` rounds twice", 7, kind="data")),
        ]
    )
    origins = {finding.report.title: (finding.origin, finding.why.finding) for finding in ledger.findings[1:]}
    assert origins["`record` leaks names"] == ("self", "F1")
    assert ledger.lines.at(SHOP, 7) == (*ledger.lines.at(SHOP, 7)[:1], 1, 3), "a replaced line keeps its first author"


def test_origins_of_what_is_new_late() -> None:
    other = {"shop/tax.py": ["rate = load(country)"]}
    ledger = ledger_of(
        [
            START,
            look(2, report(2, "`sum_6` fails", 7)),
            changed(3, {SHOP: LINES}, {SHOP: with_line(7, "total_7 = checked(prices)")}),
            look(4, report(4, "`sum_20` overflows", 21)),
            changed(5, {}, other),
            look(6, report(6, "`load` trusts its input", 1).model_copy(update={"path": "shop/tax.py"})),
        ]
    )
    assert [finding.origin for finding in ledger.findings][:2] == ["first", "missed"]
    assert ledger.findings[2].origin in ("surface", "self")


def test_lines_that_were_there_are_new_in_scope_where_their_file_is() -> None:
    """The base has lines without an author: the session touched their file after the last look at all of it."""
    patch = f"diff --git a/{SHOP} b/{SHOP}\n--- a/{SHOP}\n+++ b/{SHOP}\n@@ -9 +9 @@\n-old\n+new\n"
    touched = WorkChange(version=3, turn="T3", by="dev", patch=patch)
    ledger = ledger_of([changed(1, {}, {"docs.md": ["words"]}), look(2), touched, look(4, report(4, "Zero", 20))])
    assert (ledger.findings[0].origin, ledger.findings[0].why) == ("surface", ("file_new_in_scope", 3, ""))


# -- state -------------------------------------------------------------------------------------------------------------


def test_it_is_fixed_only_when_its_lines_changed_and_a_later_look_does_not_repeat_it() -> None:
    finding = look(2, report(2, "`sum_6` fails for an empty basket", 7))
    fix = changed(3, {SHOP: LINES}, {SHOP: with_line(7, "total_7 = checked(prices)")})
    assert state_of(ledger_of([START, finding, look(4)])) == "open", "silence closes nothing"
    assert state_of(ledger_of([START, finding, fix])) == "claimed"
    assert state_of(ledger_of([START, finding, fix, look(4)])) == "fixed"
    assert state_of(ledger_of([START, finding, fix, look(4, full=False)])) == "claimed", "not in its scope"
    elsewhere = changed(3, {SHOP: LINES}, {SHOP: with_line(25, "total_25 = 0")})
    assert state_of(ledger_of([START, finding, elsewhere, look(4)])) == "claimed"
    untouched = changed(3, {}, {"docs.md": ["words"]})
    assert state_of(ledger_of([START, finding, untouched, look(4)])) == "unchanged"
    again = look(5, report(5, "`sum_6` fails for an empty basket", 7))
    assert state_of(ledger_of([START, finding, fix, look(4), again])) == "reopened"


def test_without_a_place_it_stays_claimed() -> None:
    ledger = ledger_of([START, look(2, report(2, "It fails for zero")), changed(3, {}, {"a": ["b"]}), look(4)])
    assert state_of(ledger) == "claimed"


@pytest.mark.parametrize(
    ("after", "spot", "gone"),
    [
        ({SHOP: LINES[10:], "shop/rest.py": LINES[:10]}, ("shop/rest.py", 7), False),
        ({SHOP: LINES[10:]}, (SHOP, 7), True),
        ({}, (SHOP, 7), True),
    ],
    ids=["moved", "deleted", "file-deleted"],
)
def test_a_finding_goes_where_its_line_goes(after: dict[str, list[str]], spot: tuple[str, int], gone: bool) -> None:
    """The spot of a line that is gone stays the last one it had, and its absence counts as a change."""
    ledger = ledger_of([START, look(2, report(2, "`sum_6` fails for an empty basket", 7))])
    ledger.add(changed(3, {SHOP: LINES}, after))
    [finding] = ledger.findings
    assert ((finding.spot.path, finding.spot.number), finding.gone) == (spot, gone)
    ledger.add(changed(4, after, {**after, "docs.md": ["words"]}))
    assert (finding.changed, finding.state) == (3, "claimed")
    ledger.add(look(5))
    assert state_of(ledger) == "fixed"


def test_a_finding_of_a_whole_file_changes_with_it() -> None:
    ledger = ledger_of([START, look(2, report(2, "It has no license", path=SHOP))])
    ledger.add(changed(3, {SHOP: LINES}, {SHOP: with_line(29, "total_28 = 0")}))
    [finding] = ledger.findings
    assert (finding.spot, finding.changed, finding.state) == ((SHOP, None, None), 3, "claimed")


# -- weight and advice -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("title", "weight"),
    [
        ("`pay` raises KeyError: reproduced with an empty basket", "strong"),
        ("`pay` loses the last item", "plain"),
        ("Rename `pay` to something that says more", "soft"),
        ("Add tests for `pay`", "soft"),
        ("Rename `reproduced_traceback`", "soft"),
        ("`pay` 이름을 더 분명하게 바꾸세요", "soft"),
        ("`pay`가 빈 바구니에서 실패함을 재현했습니다", "strong"),
    ],
)
def test_weight(title: str, weight: str) -> None:
    assert features_of(report(1, title)).weight == weight


NITS = ("Rename `a`", "A docstring is missing in `b`", "Typo in a comment of `c`", "Formatting of `d`", "Refactor `e`")


def test_different_nits_one_a_round_stop_or_ask_by_round_three() -> None:
    ledger, lines = ledger_of([START]), LINES
    for number, nit in enumerate((*NITS, "The readme lacks `f`")[:3]):
        ledger.add(look(2 + 2 * number, report(2 + 2 * number, nit, 3 + 5 * number)))
        if ledger.advice.recommendation in ("stop", "ask"):
            return
        before = {SHOP: lines}
        lines = [*lines[: 2 + 5 * number], f"renamed_{number} = 1", *lines[3 + 5 * number :]]
        ledger.add(changed(3 + 2 * number, before, {SHOP: lines}))
    pytest.fail("no end of nits")


def test_nothing_stops_before_the_last_fix_has_been_looked_at() -> None:
    ledger = ledger_of([START, look(2), look(3)])
    assert ledger.advice.recommendation == "stop"
    ledger.add(changed(4, {}, {"a": ["b"]}))
    assert (ledger.advice.recommendation, ledger.advice.because[0].fact) == ("continue", "change_not_looked_at")


def test_three_attempts_are_a_persons() -> None:
    ledger, lines = ledger_of([START]), {SHOP: LINES}
    for version in range(2, 10, 2):
        ledger.add(look(version, report(version, "`sum_6` fails for an empty basket", 7, severity="critical")))
        after = {SHOP: with_line(7, f"total_7 = attempt_{version}(prices)")}
        if version < 8:
            ledger.add(changed(version + 1, lines, after))
            lines = after
    assert (ledger.advice.recommendation, ledger.advice.because[0].fact) == ("ask", "three_attempts")


@pytest.mark.parametrize("blocking", [True, False])
def test_what_is_disputed_twice_is_a_persons_if_it_blocks(blocking: bool) -> None:
    words = "`sum_6` fails for an empty basket"
    ledger = ledger_of([START, look(2, report(2, words, 7, blocking=blocking))])
    for version in (3, 4):
        ledger.add(Dispute(version=version, reports=(report(version, words, 7, by="dev"), report(version, "Tabs"))))
        asks = blocking and version == 4
        assert (ledger.advice.recommendation == "ask") is asks
    assert [event.act for event in ledger.findings[0].life] == ["raised", "disputed", "disputed"]
    if blocking:
        assert ledger.advice.because == (("disputed_twice", 4, "F1"),)
    ledger.add(look(5, passed=()))
    assert (ledger.steps[-1].advice.recommendation == "ask") is blocking, "the next look says so as well"


def test_a_dispute_of_what_is_fixed_says_nothing() -> None:
    words = "`sum_6` fails for an empty basket"
    ledger = ledger_of([START, look(2, report(2, words, 7)), changed(3, {SHOP: LINES}, {SHOP: with_line(7, "x = 1")})])
    ledger.add(look(4))
    ledger.add(Dispute(version=5, reports=(report(5, words, 7),)))
    assert (state_of(ledger), ledger.findings[0].disputes) == ("fixed", 0)


def test_before_the_first_look_the_advice_is_to_go_on() -> None:
    assert FindingLedger().advice == (0, "continue", (("no_look_yet", 0, ""),), 0, ())
    assert ledger_of([START]).advice.because == (("no_look_yet", 1, ""),)


def test_a_fix_that_brings_back_what_another_took_out_is_a_persons() -> None:
    first, second = {SHOP: LINES}, {SHOP: with_line(7, "total_7 = checked(prices)")}
    ledger = ledger_of(
        [
            START,
            look(2, report(2, "`sum_6` fails for an empty basket", 7)),
            changed(3, first, second),
            look(4, report(4, "`checked` is far too slow with the input of 10,000 lines", 20)),
            changed(5, second, first),
        ]
    )
    assert ledger.advice.recommendation == "ask"
    assert ledger.advice.because[0].fact == "brings_back_removed_lines"


@pytest.mark.parametrize("seed", range(0, 400, 40))
def test_no_reported_blocker_is_lost_in_generated_loops(seed: int) -> None:
    for each in range(seed, seed + 40):
        loop = run(each)
        assert loop.lost() == [], f"seed {each}"
        assert loop.ledger.advice.recommendation != "stop" or not loop.ledger.steps[-1].open_blocking
        for finding in loop.ledger.findings:
            spot = finding.spot
            if spot.name is not None and not finding.gone:
                assert loop.ledger.lines.number_of(spot.path, spot.name) == spot.number, f"seed {each}: {finding.name}"


@pytest.mark.parametrize("seed", range(40))
def test_findings_that_are_asked_for_late_stand_as_those_that_are_asked_for_at_each_moment(seed: int) -> None:
    loop, asked = run(seed), FindingLedger()
    for moment in loop.moments:
        asked.add(moment)
        assert len(asked.findings) == len(ledger_of(loop.moments[: loop.moments.index(moment) + 1]).findings)
    late = ledger_of(loop.moments)
    assert [_standing(each) for each in late.findings] == [_standing(each) for each in asked.findings]
    assert late.advice == asked.advice and late.fixes == asked.fixes


def _standing(finding: LedgerFinding) -> tuple[object, ...]:
    return finding.name, finding.state, finding.state_why, finding.attempts, finding.failed, finding.life


def test_what_many_findings_live_through_is_kept_once() -> None:
    """A look that says nothing, and a change of their file, are the same events for all of them."""
    many = [report(2, f"`sum_{number}` fails for an empty basket", number + 1) for number in range(20)]
    elsewhere = changed(3, {SHOP: LINES}, {SHOP: with_line(29, "total_28 = 0")})
    ledger = ledger_of([START, look(2, *many), elsewhere, look(4), changed(5, {}, {"docs.md": ["words"]}), look(6)])
    lives = [each.life for each in ledger.findings if len(each.life) == 3]
    assert len(lives) > 15
    assert [event.act for event in lives[0]] == ["raised", "claimed", "not_repeated"]
    assert all(life[1] is lives[0][1] and life[2] is lives[0][2] for life in lives)


# -- lines -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(60))
def test_lines_are_followed_through_random_edits(seed: int) -> None:
    """Lines that stay the same have one name from the first patch to the last, wherever they go."""
    chance, history = random.Random(seed), LineHistory()  # noqa: S311 - no secret
    files = {"a.py": [f"alpha_{number} = first_{number}(x)" for number in range(25)]}
    history.apply("\n".join(patch_lines({}, files)), 1)
    names = {line: history.at("a.py", number) for number, line in enumerate(files["a.py"], start=1)}
    for version in range(2, 12):
        before = {path: list(lines) for path, lines in files.items()}
        lines = files["a.py"]
        at = chance.randrange(len(lines))
        if chance.random() < 0.5:
            lines[at:at] = [f"added_{version}_{each} = new_{version}(x)" for each in range(chance.randint(1, 3))]
        elif len(lines) > 5:
            del lines[at : at + chance.randint(1, 2)]
        history.apply("\n".join(patch_lines(before, files)), version)
        for number, line in enumerate(lines, start=1):
            known = history.at("a.py", number)
            assert known is not None
            if line in names:
                was = names[line]
                assert was is not None and known.name == was.name, line
            elif line in before["a.py"]:
                assert known.author != version
    assert history.at("a.py", len(files["a.py"]) + 1) is None


def test_a_renamed_file_keeps_its_lines() -> None:
    history = LineHistory()
    known = history.at("old.py", 3)
    history.apply("diff --git a/old.py b/new.py\nsimilarity index 100%\nrename from old.py\nrename to new.py\n", 2)
    assert history.at("new.py", 3) == known
    assert history.at("old.py", 3) != known
