"""Rounds of reviews and debates: who speaks when, what each speaker gets, when it ends (S2; K-26…K-32, K-35)."""

import json

import pytest

from domain.convergence.profiles import MYSTI, SEED, SHIPPED_V3, Profile, named
from domain.discussion.commands import StartDiscussion
from domain.discussion.decide import allowed_actions
from domain.discussion.events import Assessed, Converged, DiscussionStarted, LimitReached, Stalled, Synthesized
from domain.discussion.strategies import STRATEGIES, strategy_of
from domain.session.attempts import RetryPolicy
from domain.session.turns import TurnAttemptFailed, TurnFailed
from tests.kit.discussing import DiscussionStory, topic
from tests.kit.replies import challenge, critique, disputed, issue
from tests.kit.stories import Story, topics

AGREES = "I agree: the parser is correct and the tests are fair."
ASIDE = "The tests look tidy in this module."

# ---------------------------------------------------------------------------------------------------- who speaks when

REVIEWER, CODER = ("critique", "reviewer", True), ("rebuttal", "coder", False)
CRITIC, PLANNER = ("challenge", "critic", True), ("defense", "planner", False)
RISKS, CHANCES = ("risk-analysis", "critic", False), ("innovation-analysis", "planner", False)
ACROSS = ("cross-review", "critic", True)

ROLES = {
    "review": [REVIEWER, CODER, REVIEWER, CODER, REVIEWER],
    "red-team": [REVIEWER, CODER, REVIEWER, CODER, REVIEWER],
    "debate": [CRITIC, PLANNER, CRITIC, PLANNER, CRITIC],
    "perspectives": [RISKS, CHANCES, ACROSS, ACROSS, ACROSS],
}
PROMPTS = {
    "review": ["critique.review@1", "rebuttal.review@1", "critique.review@1"],
    "red-team": ["critique.red-team@1", "rebuttal.red-team@1", "critique.red-team@1"],
    "debate": ["challenge.debate@1", "defense.debate@1", "challenge.debate@1"],
    "perspectives": ["challenge.perspectives@2", "challenge.perspectives@2", "defense.perspectives@1"],
}


@pytest.mark.parametrize("strategy", ROLES)
def test_every_round_has_its_role_its_agent_and_whether_it_judges(strategy: str) -> None:
    """S2 phases 2 and 3; K-35: the red team's roles are critique and rebuttal."""
    story = DiscussionStory(strategy)
    kind = STRATEGIES[strategy].kind
    for role, asked, judges in ROLES[strategy]:
        assert (story.request.phase, story.request.role, story.request.agent) == (role, asked, asked)
        assert story.request.reads == (kind if judges else "text")
        assert story.request.access == "read"
        story.says(f"{role} number {len(story.rounds())}, unlike any other: {'x' * len(story.rounds())}abc")
    assert [output.role for output in story.rounds()] == [role for role, _, _ in ROLES[strategy]]


@pytest.mark.parametrize("strategy", PROMPTS)
def test_every_round_has_its_prompt(strategy: str) -> None:
    story = DiscussionStory(strategy)
    prompts = []
    for _ in range(3):
        prompts.append(story.request.prompt)
        story.says("")
    assert prompts == PROMPTS[strategy]


def test_the_crew_says_who_reviews_and_who_answers() -> None:
    story = DiscussionStory(crew={"reviewer": "Ada", "coder": "Bob", "synthesizer": "Cyd"}, rounds=2)
    asked = []
    for words in ("one", "two", "three"):
        asked.append((story.request.role, story.request.agent))
        story.says(words)
    assert asked == [("reviewer", "Ada"), ("coder", "Bob"), ("synthesizer", "Cyd")]
    assert [output.agent for output in story.rounds()] == ["Ada", "Bob"]


def test_a_strategy_belongs_to_its_kind() -> None:
    assert strategy_of("review", "red-team").name == "red-team"
    for kind, name in (("review", "debate"), ("debate", "review"), ("review", "")):
        with pytest.raises(Exception, match=r"/strategy: should be one of"):
            strategy_of(kind, name)


# --------------------------------------------------------------------------------------------------------- the limits

MINIMUM = {"review": 1, "red-team": 1, "debate": 2, "perspectives": 3}


@pytest.mark.parametrize("strategy", MINIMUM)
def test_a_discussion_without_agreement_ends_at_its_limit_and_says_so(strategy: str) -> None:
    """K-28: "limit reached", not "continue"."""
    story = DiscussionStory(strategy, rounds=MINIMUM[strategy])
    for number in range(MINIMUM[strategy]):
        assert not story.talk.synthesis, number
        events = story.says("")
    assert topics(events)[-2:] == [f"{story.kind}.limit_reached", "turn.requested"]
    assert story.talk.status == "synthesizing"
    assert story.talk.stop_reason == "limit"
    assert story.request.role == "synthesizer"
    assert story.prompt_part("convergence").startswith("limit: agreement 0.50, stability 0.00, score 0.30")


@pytest.mark.parametrize(("strategy", "held"), [("review", 1), ("debate", 2), ("perspectives", 3)])
def test_the_minimum_rounds_of_a_strategy_always_take_place(strategy: str, held: int) -> None:
    """K-28. The profile calls every discussion stalled at once."""
    hasty = Profile(name="hasty", patience=1)
    story = DiscussionStory(strategy, profile=hasty)
    while story.talk.stop_reason is None:
        story.says("No word of this is ours to weigh.")
    assert len(story.rounds()) == held
    assert story.talk.stop_reason == "stalled"
    assert [metrics.recommendation for metrics in story.talk.metrics] == ["stalled"] * held


def test_a_review_converges_once_its_critiques_agree_and_repeat_themselves() -> None:
    """K-26: pairs of the same role, so that a critique is compared with a critique."""
    story = DiscussionStory()
    story.says(AGREES)
    assert story.talk.stop_reason is None, "one round never converges"
    story.says(AGREES)
    assert story.talk.stop_reason is None, "a critique and its rebuttal are no pair"
    events = story.says(AGREES)
    [converged] = [event for event in events if isinstance(event, Converged)]
    assert (converged.round, converged.state) == (3, "synthesizing")
    assert [(m.agreement_ratio, m.avg_stability, m.overall_score, m.recommendation) for m in story.talk.metrics] == [
        (1.0, 0.0, 0.6, "continue"),
        (1.0, 0.0, 0.6, "continue"),
        (1.0, 1.0, 1.0, "converged"),
    ]


def test_a_debate_that_gets_nowhere_stalls() -> None:
    """K-26: it does not improve, and stability is below 0.3."""
    story = DiscussionStory("debate")
    story.says("Alpha beta gamma delta.", "Epsilon zeta theta.")
    events = story.says("Kappa lambda omicron sigma.")
    [stalled] = [event for event in events if isinstance(event, Stalled)]
    assert (stalled.round, stalled.state) == (3, "synthesizing")
    assert story.talk.stop_reason == "stalled"


def test_a_discussion_that_still_moves_continues_until_its_limit() -> None:
    """A mean stability between the two thresholds neither converges nor stalls."""
    story = DiscussionStory(rounds=5)
    for number, words in enumerate(["one two three four", ASIDE, "one two three five", ASIDE, "one two six five"], 1):
        assert (len(story.rounds()), story.talk.stop_reason) == (number - 1, None)
        story.says(words)
    assert isinstance(next(event for event in story.events if isinstance(event, LimitReached)), LimitReached)
    assert story.talk.stop_reason == "limit"


def test_empty_and_wordless_rounds_never_converge() -> None:
    """K-30: silence is no consent, and a verdict without a word is none either."""
    for silence in ("", "…", critique("PASS"), "```\ncode\n```"):
        story = DiscussionStory(rounds=7)
        for _ in range(7):
            story.says(silence)
        assert story.talk.stop_reason == "limit", silence


@pytest.mark.parametrize("nod", ["ok", "동의"])
def test_a_short_agreement_does_not_prevent_convergence(nod: str) -> None:
    """K-30: it makes no pair, and is no silence either."""
    words = "I agree, a valid point, correct, accepted: database index migration"
    story = DiscussionStory(rounds=5)
    while story.talk.stop_reason is None:
        story.says(words if len(story.talk.rounds) % 2 == 0 else nod)
    assert (story.talk.stop_reason, len(story.talk.rounds)) == ("converged", 3)


def test_the_metrics_of_every_round_are_recorded() -> None:
    story = DiscussionStory("debate", rounds=4)
    against = " However, it is incorrect: nobody has looked at the loop of the lexer and the encoding."
    story.says(AGREES, ASIDE, AGREES + against, ASIDE)
    assessed = [event for event in story.events if isinstance(event, Assessed)]
    assert [event.round for event in assessed] == [1, 2, 3, 4]
    assert [event.metrics for event in assessed] == list(story.talk.metrics)
    ratios = [event.metrics.agreement_ratio for event in assessed]
    assert ratios == [1.0, 0.75, pytest.approx((1 + 0.5 + 0.6) / 3), pytest.approx((1 + 0.5 + 0.6 + 0.5) / 4)]


@pytest.mark.parametrize(
    ("profile", "name"),
    [(SEED, "seed@1"), (SHIPPED_V3, "shipped-v3@1"), (MYSTI, "mysti@1"), (named({"stall": 0.1}), "custom@1")],
)
def test_the_profile_in_force_is_recorded_whole_and_with_its_version(profile: Profile, name: str) -> None:
    story = DiscussionStory(profile=profile)
    started = next(event for event in story.begun if isinstance(event, DiscussionStarted))
    assert started.topic.profile == profile
    assert started.topic.profile.id == name
    assert started.policy == "discussion@1"


def test_the_profile_decides() -> None:
    """Behaviour 2.3: with shipped-v3 any third round ends the talk."""
    rounds = ["one two three four", ASIDE, "one two three five"]
    assert [_end(SEED, rounds), _end(SHIPPED_V3, rounds)] == [None, "stalled"]


def _end(profile: Profile, rounds: list[str]) -> str | None:
    story = DiscussionStory(profile=profile)
    story.says(*rounds)
    return story.talk.stop_reason


# -------------------------------------------------------------------------------------------- what each speaker gets


def test_every_speaker_sees_the_subject_and_all_earlier_rounds() -> None:
    """Behaviour §2.4."""
    story = DiscussionStory(rounds=3)
    assert (story.prompt_part("subject"), story.prompt_part("rounds"), story.prompt_part("round")) == (
        "The parser: it reads lines.",
        "",
        "1",
    )
    story.says("It loses the last line.")
    assert story.prompt_part("rounds") == "[Round 1 - critique]\nIt loses the last line."
    assert story.prompt_part("round") == "2"
    story.says("It does not.")
    assert (
        story.prompt_part("rounds")
        == "[Round 1 - critique]\nIt loses the last line.\n\n[Round 2 - rebuttal]\nIt does not."
    )
    story.says("It does, with CRLF.")
    assert story.prompt_part("rounds") == (
        "[Round 1 - critique]\nIt loses the last line."
        "\n\n---\n\n[Round 2 - rebuttal]\nIt does not."
        "\n\n---\n\n[Round 3 - critique]\nIt does, with CRLF."
    )
    assert story.prompt_part("subject") == "The parser: it reads lines."


def test_a_debate_is_about_a_plan() -> None:
    story = DiscussionStory("debate")
    assert story.prompt_part("plan") == "The parser: it reads lines."
    assert "subject" not in story.request.context


def test_agents_keep_their_conversations_through_all_rounds() -> None:
    story = DiscussionStory(rounds=4)
    kept = []
    for _ in range(4):
        kept.append((story.request.agent, story.request.ordinal, story.request.agent_session))
        story.answer("", agent_session=f"talk of {story.request.agent}")
    assert kept == [
        ("reviewer", 0, None),
        ("coder", 0, None),
        ("reviewer", 1, "talk of reviewer"),
        ("coder", 1, "talk of coder"),
    ]


def test_thinking_is_not_shown_and_not_counted() -> None:
    """Behaviour §2.2: thinking blocks are removed from replies first."""
    story = DiscussionStory(rounds=2)
    story.says(f"<think>I agree, I agree. {critique('PASS')}</think>This has a flaw.")
    [output] = story.rounds()
    assert output.content.head == "This has a flaw."
    assert output.feedback is None
    assert story.prompt_part("rounds") == "[Round 1 - critique]\nThis has a flaw."
    assert story.talk.metrics[0].agreement_ratio == 0.0


# ---------------------------------------------------------------------------------------------------- reading verdicts


def test_the_last_object_that_fits_is_the_verdict() -> None:
    """K-29: braces of code and an earlier draft do not win."""
    draft, final = critique(summary="A draft."), critique(summary="No test.")
    words = f'if (a) {{ return }}\n{draft}\n{{"note": 1}}\n{final}\nThat is all.'
    story = DiscussionStory()
    story.says(words)
    [output] = story.rounds()
    assert output.feedback == {"verdict": "NEEDS_FIX", "summary": "No test.", "issues": []}
    assert output.problem is None


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ("Fine by me.", "The reply holds no review verdict."),
        ('{"verdict": "LGTM"}', "The reply holds no review verdict."),
        ('{"verdict": "PASS", "issues": "none"}', "The review verdict does not fit at /issues: should be a list."),
        ('{"verdict": "PASS"', "The review verdict in the reply cannot be read"),
        (
            critique() + critique("PASS"),
            "The reply holds more than one review verdict, and",
        ),
        ("<think>" + critique("PASS"), "The reply holds no review verdict."),
    ],
)
def test_unreadable_feedback_is_recorded_and_never_a_pass(words: str, problem: str) -> None:
    story = DiscussionStory(rounds=1)
    story.says(words)
    [output] = story.rounds()
    assert output.feedback is None
    assert output.problem is not None and output.problem.startswith(problem)
    story.says("All in all.")
    feedback = story.asked_for().feedback
    assert (feedback["verdict"], feedback["issues"]) == ("NEEDS_FIX", [])
    assert feedback["problem"] == output.problem


def test_a_speaker_that_does_not_judge_may_still_give_a_verdict() -> None:
    story = DiscussionStory(rounds=4)
    story.says(critique("PASS"), "I do not see it.", critique("PASS"), critique(pointsOfAgreement=["No test."]))
    assert [output.problem for output in story.rounds()] == [None] * 4
    assert [output.feedback is not None for output in story.rounds()] == [True, False, True, True]


def test_the_feedback_is_that_of_the_last_critique() -> None:
    """Behaviour §2.4: the rebuttal's is not."""
    story = DiscussionStory(rounds=4)
    story.says(critique(summary="first"), critique("PASS"), critique(summary="second"), critique("PASS"), "All in all.")
    assert story.asked_for().feedback == {"verdict": "NEEDS_FIX", "summary": "second", "issues": []}


def test_an_unreadable_critique_is_not_replaced_by_an_earlier_pass() -> None:
    story = DiscussionStory(rounds=3)
    story.says(critique("PASS"), "I see.", "It is broken, I cannot say how.", "All in all.")
    assert story.asked_for().feedback == {
        "verdict": "NEEDS_FIX",
        "summary": "Review completed",
        "issues": [],
        "problem": "The reply holds no review verdict.",
    }


def test_only_the_cross_review_of_perspectives_counts() -> None:
    """Behaviour §2.5: the last challenge or cross-review, not a lens."""
    story = DiscussionStory("perspectives", rounds=3)
    story.says(challenge(concerns=["risk"]), challenge(concerns=["chance"]), challenge("APPROVE"), "All in all.")
    assert story.asked_for().feedback == {"verdict": "APPROVE", "concerns": [], "suggestions": []}


def test_the_extended_lists_are_kept() -> None:
    """S2 1A, K-31."""
    risks = {"securityRisks": [{"description": "XSS", "severity": "high"}], "edgeCases": ["empty"]}
    story = DiscussionStory("debate", rounds=3)
    result = challenge(concerns=["No rollback."], **risks, scalabilityConcerns=["1e6 rows"], maintenanceBurden=["two"])
    story.says("One.", "Two.", result, "All in all.")
    assert story.asked_for().feedback == {
        "verdict": "CHALLENGE",
        "concerns": ["No rollback."],
        "suggestions": [],
        **risks,
        "scalabilityConcerns": ["1e6 rows"],
        "maintenanceBurden": ["two"],
    }


# ------------------------------------------------------------------------------------------------------- long replies

LONG = "가나다라마바사아자차 " * 1_000
"""31,000 UTF-8 bytes."""


def test_the_verdict_at_the_end_of_a_long_reply_is_read() -> None:
    story = DiscussionStory()
    story.says(LONG + critique(issues=[issue("The cache is never emptied.")]))
    [output] = story.rounds()
    assert output.content.digest is not None and output.content.length > 31_000
    assert story.whole(output.content).startswith(LONG)
    assert output.feedback is not None
    assert output.feedback["issues"] == [issue("The cache is never emptied.")]


def test_other_agents_see_the_beginning_and_the_end_of_a_long_reply() -> None:
    story = DiscussionStory()
    verdict = critique(issues=[issue("The cache is never emptied.")])
    story.says(LONG + verdict)
    output = story.prompt_part("rounds")
    beginning, _, end = output.partition("\n[… cut here: ")
    assert beginning.startswith("[Round 1 - critique]\n가나다라마바사아자차 ")
    assert 16_350 < len(beginning.encode()) <= 16_384 + len("[Round 1 - critique]\n")
    size, _, feedback = end.partition("\n\n")
    whole = len((LONG + verdict).encode())
    assert size.endswith(f" of {whole} bytes]")
    assert json.loads(feedback)["issues"] == [issue("The cache is never emptied.")]


def test_the_prose_of_a_long_reply_is_counted_not_its_code() -> None:
    code = "```\n" + "x = wrong + incorrect\n" * 1_000 + "```\n"
    talked, coded = DiscussionStory(), DiscussionStory()
    talked.says(AGREES, ASIDE, AGREES)
    coded.says(code + AGREES, ASIDE, code + AGREES)
    assert coded.talk.metrics == talked.talk.metrics
    assert coded.talk.stop_reason == "converged"


def test_a_long_synthesis_is_kept_whole() -> None:
    story = DiscussionStory(rounds=1)
    story.says("It is broken.", LONG + critique(summary="Mend it.", resolvedCount=1, remainingCount=2))
    assert story.talk.synthesis is not None
    assert story.whole(story.talk.synthesis).startswith(LONG.strip())
    assert story.talk.counts == {"verdict": "NEEDS_FIX", "summary": "Mend it.", "resolvedCount": 1, "remainingCount": 2}


# ------------------------------------------------------------------------------------------------ synthesis and errors


def test_the_synthesis_is_what_the_decision_is_made_on() -> None:
    story = DiscussionStory(rounds=1)
    story.says("It is broken.")
    events = story.says("<think>hm</think>Mend the loop.")
    assert topics(events) == ["turn.answered", "review.synthesized", "review.decision_requested"]
    [synthesized] = [event for event in events if isinstance(event, Synthesized)]
    assert (synthesized.synthesis.head, synthesized.fallback, synthesized.counts) == ("Mend the loop.", False, None)
    assert story.talk.status == "waiting_for_decision"


@pytest.mark.parametrize("how", ["crashes", "says nothing", "only thinks"])
def test_a_synthesis_that_fails_is_replaced_by_the_rounds_and_says_so(how: str) -> None:
    """S2, phase 3: the contents of the rounds, joined; recorded as fallback."""
    story = DiscussionStory(rounds=2)
    story.says("It is broken.", "It is not.")
    if how == "crashes":
        story.breaks(detail="out of memory")
    else:
        story.says("" if how == "says nothing" else "<think>What shall I say?</think>")
    assert story.talk.status == "waiting_for_decision"
    assert story.talk.fallback is True
    assert story.talk.synthesis is not None
    assert story.talk.synthesis.head == "[critique]: It is broken.\n\n[rebuttal]: It is not."
    assert story.talk.stop_reason == "limit"
    assert story.talk.last_error == ("synthesizer: crash: out of memory" if how == "crashes" else None)


@pytest.mark.parametrize(
    ("strategy", "before", "who"),
    [
        ("review", [], "reviewer"),
        ("review", [critique("PASS")], "coder"),
        ("red-team", [critique("PASS"), "I see."], "reviewer"),
        ("debate", [], "critic"),
        ("debate", [challenge("APPROVE")], "planner"),
        ("perspectives", ["Risky."], "planner"),
        ("perspectives", ["Risky.", "New."], "critic"),
    ],
)
def test_an_agent_that_fails_leads_to_a_decision_that_shows_the_error(
    strategy: str, before: list[str], who: str
) -> None:
    """K-32: fail closed. Never acceptance, and no synthesis of an unfinished discussion."""
    story = DiscussionStory(strategy)
    story.says(*before)
    result = story.breaks("timeout", "no word for 60 s")
    assert topics(result) == ["turn.failed", f"{story.kind}.agent_failed", f"{story.kind}.decision_requested"]
    assert story.talk.status == "waiting_for_decision"
    assert story.talk.stop_reason == "error"
    assert story.talk.last_error == f"{who}: timeout: no word for 60 s"
    assert story.asked_for().feedback["error"] == f"{who}: timeout: no word for 60 s"
    assert story.talk.decision is None
    assert not story.talk.outstanding


@pytest.mark.parametrize(("strategy", "verdict"), [("review", "NEEDS_FIX"), ("debate", "CHALLENGE")])
def test_without_a_critique_nothing_is_waved_on(strategy: str, verdict: str) -> None:
    """Behaviour §2.4, §2.5."""
    story = DiscussionStory(strategy)
    story.breaks(detail="gone")
    feedback = story.asked_for().feedback
    assert feedback["verdict"] == verdict
    if strategy == "review":
        assert feedback["summary"].startswith("The review broke off: reviewer: crash: gone")


# ------------------------------------------------------------------------------------------------------------- dissent


def test_what_was_never_agreed_stays_visible() -> None:
    """The last critique's points, and what was still defended after it; not what the other side conceded."""
    story = DiscussionStory(rounds=4)
    story.says(
        critique(issues=[issue("Dropped later.")]),
        critique(pointsOfDisagreement=[disputed("Defended, and dropped by the reviewer.")]),
        critique(
            issues=[issue("No test."), issue("Slow.")],
            pointsOfDisagreement=[disputed("It is  THREAD safe."), disputed("It is fast.")],
        ),
        critique(
            issues=[issue("slow.")],
            pointsOfAgreement=["It is thread safe."],
            pointsOfDisagreement=[disputed("A test exists.")],
        ),
        "All in all.",
    )
    assert story.asked_for().dissent == ("It is fast.", "No test.", "A test exists.")


def test_dissent_is_visible_even_if_the_text_seems_to_agree() -> None:
    story = DiscussionStory()
    against = critique(words=AGREES, issues=[issue("No test.")])
    story.says(against, AGREES, against, "All in all.")
    assert story.talk.stop_reason == "converged"
    assert story.asked_for().dissent == ("No test.",)


def test_a_last_verdict_without_a_point_leaves_no_dissent() -> None:
    story = DiscussionStory(rounds=3)
    story.says(critique(issues=[issue("No test.")]), critique("PASS"), critique("PASS"), "All in all.")
    assert story.asked_for().dissent == ()


def test_an_unreadable_last_critique_settles_nothing() -> None:
    story = DiscussionStory("debate", rounds=3)
    story.says(challenge(concerns=["No rollback."]), challenge(concerns=["Takes long."]), "So be it.", "All in all.")
    assert story.asked_for().dissent == ("No rollback.", "Takes long.")


def test_only_points_that_the_cross_review_upholds_stay_open() -> None:
    story = DiscussionStory("perspectives", rounds=4)
    story.says(
        challenge(concerns=["Risk."]), challenge(concerns=["Chance."]), challenge(concerns=["Both."]), "Hm.", "All."
    )
    assert story.asked_for().dissent == ("Risk.", "Chance.", "Both.")
    again = DiscussionStory("perspectives", rounds=3)
    again.says(challenge(concerns=["Risk."]), challenge(concerns=["Chance."]), challenge(concerns=["Both."]), "All.")
    assert again.asked_for().dissent == ("Both.",)


def test_a_discussion_asks_by_the_newest_version_of_a_prompt() -> None:
    opened = Story("debate", "debate-1")
    opened.when(StartDiscussion(topic=topic("perspectives")))
    assert opened.request.prompt == "challenge.perspectives@2"
    old = DiscussionStarted.model_validate({"state": "debating", "topic": topic("perspectives")})
    assert old.policy == "discussion@1"


# ------------------------------------------------------------------------------------------- a voice against itself

BOTH = {
    "review": (
        '{"verdict":"NEEDS_FIX","summary":"bad","issues":[]}',
        '{"verdict":"PASS","summary":"fine","issues":[]}',
    ),
    "debate": ('{"verdict":"CHALLENGE","concerns":["slow"]}', '{"verdict":"APPROVE","concerns":[]}'),
}


@pytest.mark.parametrize("kind", BOTH)
def test_a_critic_who_decides_in_two_ways_is_asked_once_more(kind: str) -> None:
    story = DiscussionStory(kind, retry=RetryPolicy())
    words = "Alpha. {} The author would like: {}".format(*BOTH[kind])
    story.says(words)
    [failed] = [event for event in story.events if isinstance(event, TurnAttemptFailed)]
    assert (failed.failure.code, failed.next) == ("unreadable", "repair")
    assert story.rounds() == []
    story.says(BOTH[kind][0])
    [only] = story.rounds()
    assert only.feedback is not None and only.problem is None


@pytest.mark.parametrize("kind", BOTH)
def test_a_critic_who_goes_on_deciding_in_two_ways_has_failed_and_can_be_retried(kind: str) -> None:
    story = DiscussionStory(kind, retry=RetryPolicy())
    words = "Alpha. {} The author would like: {}".format(*BOTH[kind])
    story.says(words, words)
    [failed] = [event for event in story.events if isinstance(event, TurnFailed)]
    assert failed.failure.code == "unreadable"
    assert story.rounds() == []
    assert story.talk.stop_reason == "error"
    assert "retry" in allowed_actions(story.talk)


@pytest.mark.parametrize("kind", BOTH)
def test_a_critic_may_answer_in_prose(kind: str) -> None:
    story = DiscussionStory(kind, retry=RetryPolicy())
    story.says("I would rather not put it into an object.")
    assert len(story.rounds()) == 1
