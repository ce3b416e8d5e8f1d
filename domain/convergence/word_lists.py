"""The words that count for and against agreement, by version (K-26, K-30)."""

from domain.values.base import Value


class ConvergenceWords(Value):
    """Words that count for and against. `contrast` counts against and is never negated; `exceptions` do not count."""

    agreement: tuple[str, ...]
    disagreement: tuple[str, ...]
    contrast: tuple[str, ...]
    exceptions: tuple[str, ...] = ()


# Words that start like a listed one but mean something else, such as D26's "validation" (K-30).
_LOOKALIKES_1 = (
    *("acceptance test*", "acceptance criteri*", "correction*", "corrective*", "fairly", "flawless*", "opposite*"),
    *("validat*", "동의어*", "수용량*", "반대로", "반대편*", "반대쪽*"),
)


_KOREAN_AGREEMENT_1 = (
    *("동의*", "찬성*", "공감*", "합의*", "인정*", "수긍*", "납득*", "수용*", "받아들*"),
    *("타당*", "공정*", "옳*", "올바*"),
    *("맞습*", "맞다*", "맞아*", "맞는*", "맞음", "맞고", "맞네*", "맞죠", "맞지*"),
    *("정확하*", "정확한*", "정확합*", "정확했*", "문제없*", "문제 없*", "문제가 없*", "문제는 없*", "문제도 없*"),
    *("이상없*", "이상 없*", "이상이 없*"),
)


_KOREAN_DISAGREEMENT_1 = (
    *("반대*", "부동의*", "비동의*", "반박*", "반론*", "이의*", "이견*", "틀렸*", "틀린*", "틀리*", "틀립*", "잘못*"),
    *("부정확*", "부당*", "결함*", "결점*", "문제점*", "문제입*", "문제 있*", "문제가 있*", "문제는 있*", "문제도 있*"),
    *("문제가 많*", "문제가 되*", "문제가 됩*"),
)


_KOREAN_CONTRAST_1 = ("그러나", "다만", "*지만", "*니다만")


SEED_1 = ConvergenceWords(
    agreement=(
        *("agree*", "conced*", "concession*", "valid point*", "correct*", "accept*", "fair*", "acknowledg*"),
        *_KOREAN_AGREEMENT_1,
    ),
    disagreement=("disagree*", "incorrect*", "challeng*", "oppos*", "flaw*", *_KOREAN_DISAGREEMENT_1),
    contrast=("however", "but", *_KOREAN_CONTRAST_1),
    exceptions=_LOOKALIKES_1,
)
"""S2's words as stems, and the same in Korean."""


SHIPPED_V3_1 = ConvergenceWords(
    agreement=(
        *("agree*", "conced*", "valid*", "correct*", "accept*", "fair*", "acknowledg*", "good point*", "well taken*"),
        *("right*", "sound*", "solid*", "reasonable*"),
    ),
    disagreement=(
        *("disagree*", "incorrect*", "challeng*", "oppos*", "flaw*", "problematic*", "issue*", "concern*", "wrong*"),
        *("risk*", "vulnerab*", "missing*", "oversight*", "gap*"),
    ),
    contrast=("however",),
    exceptions=_LOOKALIKES_1,
)
"""The words that tokamak-ai-agent shipped with; English only, without "but"."""


MYSTI_1 = ConvergenceWords(
    agreement=("agree", "concede", "valid point", "correct", "accept", "well taken"),
    disagreement=("disagree", "incorrect", "wrong", "reject", "maintain", "defend"),
    contrast=("however",),
)
"""Mysti's words, as whole words; English only."""


WORD_LISTS = {"seed@1": SEED_1, "shipped-v3@1": SHIPPED_V3_1, "mysti@1": MYSTI_1}
