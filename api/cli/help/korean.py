"""The help of a single command in Korean.

English has it in the docstrings, and a test compares them with the catalogue.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from cyclopts.help import DefaultFormatter, HelpEntry, HelpPanel, InlineText
from rich.text import Text

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions


_FORMAT: Final = "markdown"


class KoreanHelp(DefaultFormatter):
    """The page as in English, with every text of ours in Korean. Names of options and choices stay."""

    def __init__(self, wording: Mapping[str, str]) -> None:
        super().__init__()
        self._wording = wording

    def __call__(self, console: "Console", options: "ConsoleOptions", panel: HelpPanel) -> None:
        entries = [self._entry(each) for each in panel.entries]
        super().__call__(console, options, panel.copy(title=self._text(str(panel.title)), entries=entries))

    def render_usage(self, console: "Console", options: "ConsoleOptions", usage: Any) -> None:
        console.print(Text(f"{self._text('Usage:')} {usage}", style="bold"))

    def _text(self, english: str) -> str:
        """The text of an option, or the title of a group."""
        return self._wording.get(key_of(english), english)

    def _entry(self, entry: HelpEntry) -> HelpEntry:
        """Choices and `required` are worded here, because the library words them in English."""
        english = getattr(getattr(entry.description, "primary_renderable", None), "markup", "")
        description = InlineText.from_format(self._text(english), format=_FORMAT)
        if entry.choices:
            choices = f"[{self._text('choices')}: {', '.join(entry.choices)}]"
            description.append(Text(choices, "cyclopts.choices"))
        if entry.required:
            description.append(Text(f"[{self._text('required')}]", "cyclopts.required"))
        return entry.copy(description=description, choices=None, required=False)


def key_of(english: str) -> str:
    """The place of a text in the catalogue."""
    return f"text.{' '.join(english.split())}"
