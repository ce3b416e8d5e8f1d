"""The preface of a prompt that is repeated because the last answer could not be read."""

_WORDS = {
    "en": "Your last answer could not be used: {problem}\nNothing of it counts. Answer the whole request below again, "
    "in the form that it asks for.",
    "ko": "지난 답변은 사용할 수 없었습니다: {problem}\n그 답변은 반영되지 않았습니다. "
    "아래 요청 전체에 대해 요청된 형식으로 다시 답해 주세요.",
}


def again(problem: str, language: str) -> str:
    """The problem named, in the language of the prompt."""
    return _WORDS["ko" if language == "ko" else "en"].format(problem=problem)
