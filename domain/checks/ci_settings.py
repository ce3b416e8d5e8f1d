"""Tells which files the CI of a forge obeys: its settings, and the files of the same repository that they include.

Settings are read as text, not as YAML: what only might be included counts.
"""

import re
from collections.abc import Callable, Collection, Iterator
from fnmatch import fnmatchcase
from typing import Final

CI_SETTINGS: Final = (".github/", ".gitlab-ci.yml", ".gitlab-ci.yaml", ".gitlab/")
"""Paths of settings that a forge's CI obeys."""
_MOST: Final = 500
"""How many files are read."""
_ROOT: Final = ("action.yml", "action.yaml", "Dockerfile")
"""What an action at the top of a repository is made of."""
_USES: Final = re.compile(r"""\buses["']?\s*:\s*["']?\./([^\s"'#@,}]*)""")
_INCLUDE: Final = re.compile(r"""^(\s*)(?:-\s+)?["']?(?:include|\$include)["']?\s*:(.*)$""")
_QUOTED: Final = re.compile(r""""([^"\n]+)"|'([^'\n]+)'""")
_BARE: Final = re.compile(r"""[^\s,\[\]{}"']+\.ya?ml(?=$|[\s,\]}])""")
_ALIAS: Final = re.compile(r"(?:^|\s)\*\w+\s*(?:$|#|[,\]])", re.MULTILINE)
_VARIABLE: Final = re.compile(r"\$\{?\w+\}?")


def is_ci(path: str) -> bool:
    """True for a file that the CI of a forge obeys by its name."""
    name = path.casefold()
    return name.startswith(CI_SETTINGS) or name.endswith(".gitlab-ci.yml") or f"{name}/" in CI_SETTINGS


def ci_files(changed: Collection[str], names: Collection[str], text: Callable[[str], str | None]) -> frozenset[str]:
    """Those of the changed files that the CI obeys, in a state of the repository with these files and texts."""
    settings = {path for path in changed if is_ci(path)}
    todo = sorted(filter(is_ci, names))
    seen = set(todo)
    while todo and len(seen) <= _MOST:
        for pattern in _included(text(todo.pop()) or ""):
            settings |= {path for path in changed if _covers(pattern, path)}
            more = {name for name in names if name not in seen and _is_read(name) and _covers(pattern, name)}
            seen |= more
            todo += sorted(more)
    return frozenset(settings)


def _is_read(name: str) -> bool:
    return name.endswith((".yml", ".yaml"))


def _covers(pattern: str, path: str) -> bool:
    if pattern.endswith("/"):
        return path.startswith(pattern)
    return fnmatchcase(path, pattern)


def _included(text: str) -> Iterator[str]:
    """The files that settings include, as patterns; a folder ends with a slash."""
    for match in _USES.finditer(text):
        path = match[1].strip("/")
        yield from (path, f"{path}/") if path else _ROOT
    text = _VARIABLE.sub("*", text)
    for block in _blocks(text.splitlines()):
        names = [one or other for one, other in _QUOTED.findall(block)]
        names += _BARE.findall(text if _ALIAS.search(block) else _QUOTED.sub(" ", block))
        for name in names:
            if _is_read(name) and "://" not in name:
                yield name.replace("**", "*").removeprefix("./").lstrip("/")


def _blocks(lines: list[str]) -> Iterator[str]:
    """Yields the text that stands below each `include`."""
    for number, line in enumerate(lines):
        match = _INCLUDE.match(line)
        if match is None:
            continue
        block = [match[2]]
        for each in lines[number + 1 :]:
            words = each.lstrip()
            indent = len(each) - len(words)
            deeper = indent > len(match[1]) or (indent == len(match[1]) and words.startswith("-"))
            if words and not words.startswith("#") and not deeper:
                break
            block.append("" if words.startswith("#") else each)
        yield "\n".join(block)
