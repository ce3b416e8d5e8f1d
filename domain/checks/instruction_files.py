"""Tells which files agent programs obey: instructions, hooks, permissions and servers that a repository brings along.

Who judges work reads them as they were before that work (contract-3 §25).
"""

from collections.abc import Iterable
from typing import Final

COMMON: Final[tuple[str, ...]] = (
    *("CLAUDE.md", "GEMINI.md", ".claude/", ".codex/", ".gemini/", ".opencode/", ".qwen/"),
    ".github/copilot-instructions.md",
    *("AGENTS.md", "AGENT.md", ".mcp.json", ".agents/", ".cursor/", ".cursorrules", ".windsurf/", ".windsurfrules"),
    *(".clinerules", ".clinerules/", ".roo/", ".roorules", ".continue/", ".junie/", ".kiro/", ".augment/", ".amp/"),
    *(".vscode/mcp.json", ".github/instructions/", ".github/prompts/", ".github/agents/", ".rules"),
)
"""Those that a person is shown, too; presets name more. Names of files, and of folders with a slash at the end."""


def is_instruction(path: str, names: Iterable[str]) -> bool:
    """True if the path is one of these names, at the top or in any folder, or below one of these folders."""
    place = f"/{path.casefold()}"
    return any(_is(place, name.casefold()) for name in names)


def _is(place: str, name: str) -> bool:
    return f"/{name}" in place if name.endswith("/") else place.endswith(f"/{name}")
