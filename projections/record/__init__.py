"""One session's record: its state, worklog, timeline, budget and artifacts."""
