"""Hansard's own words in the summary of a run, as they are recorded; readers see them translated. Imports nothing."""

CHECKPOINT_DONE = "요청된 scope 완료"
ALL_DONE = "모든 작업 완료"
RESET = "유저 요청으로 페이즈 리셋됨."
RESET_DONE = "페이즈 리셋 완료. 새로 시작하려면 작업을 요청하세요."
