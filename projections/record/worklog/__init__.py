"""The worklog of a session in Markdown, as of any version (shape of cli-jaw's file, behaviour §1.12)."""

from projections.record.worklog.parts import Worklog
from projections.record.worklog.text import render, write

__all__ = ["Worklog", "render", "write"]
