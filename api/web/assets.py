"""One style sheet and one script for all pages, put together from their parts at the start; GET /assets/{name}.

Their names contain a digest of their content, so that browsers may cache them forever.
"""

import hashlib
import re
from pathlib import Path
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from api.http.requests import unless_known
from domain.values.base import Unknown
from domain.values.sentences import Sentence

WEB: Final = Path(__file__).parent
SHEETS: Final = (
    "app", "frame", "controls", "home", "matter", "session", "gauges", "panels", "tables", "prose", "worklog",
    "drawings", "events", "turns", "changes", "comments", "compare", "chat", "lab", "gantt", "palette", "sheet", "log",
    "reports", "replay", "print",
)  # fmt: skip
SCRIPTS: Final = (
    "keys",
    "sending",
    "start",
    "following",
    "clocks",
    "living",
    "taking",
    "going",
    "noticing",
    "remarks",
    "pacing",
    "palette",
    "sheet",
    "events",
    "replay",
    "session",
    "app",
)
"""Modules in the order of their dependencies."""
CSS, JS = "text/css; charset=utf-8", "text/javascript; charset=utf-8"
FOR_EVER: Final = "public, max-age=31536000, immutable"

_IMPORT: Final = re.compile(r"^import \{[^}]*\} from \"\./\w+\.js\";\n", re.MULTILINE)
_EXPORT: Final = re.compile(r"^export ((?:async )?function|const) (\w+)", re.MULTILINE)


def bundled(modules: dict[str, str]) -> str:
    """Modules as one script: each is a function whose exports are the names that later ones use."""
    return "\n".join(_closed(name, source) for name, source in modules.items())


def _closed(name: str, source: str) -> str:
    exports = [match[1] for match in _EXPORT.findall(source)]
    body = _EXPORT.sub(r"\1 \2", _IMPORT.sub("", source))
    names = ", ".join(exports)
    opening = f"const {{ {names} }} = " if exports else ""
    return f"// {name}\n{opening}(() => {{\n{body}return {{ {names} }};\n}})();\n"


def _read(name: str) -> str:
    return (WEB / name).read_text("utf-8")


def _named(kind: str, content: str) -> tuple[str, bytes]:
    raw = content.encode()
    return f"hansard.{hashlib.sha256(raw).hexdigest()[:12]}.{kind}", raw


_SHEET = _named("css", "\n".join(_read(f"{name}.css") for name in SHEETS))
_SCRIPT = _named("js", bundled({name: _read(f"{name}.js") for name in SCRIPTS}))
SHEET, SCRIPT = f"/assets/{_SHEET[0]}", f"/assets/{_SCRIPT[0]}"
_HASHED: Final = {_SHEET[0]: (_SHEET[1], CSS), _SCRIPT[0]: (_SCRIPT[1], JS)}
_ICONS: Final = {
    "idle": ("#677385", "M5 8h6"),
    "running": ("#0891b2", "M6.5 5v6l5-3z"),
    "waits": ("#2563eb", "M6 6.3a2 2 0 1 1 2.6 1.9q-.6.3-.6 1M8 11.3v.3"),
    "failed": ("#dc2626", "M5.5 5.5l5 5m0-5l-5 5"),
    "done": ("#16a34a", "M4.8 8.3l2.2 2.2 4.2-4.6"),
}
"""The small pictures in the browser's tab: a disc in the colour of the state with its sign."""
_ICON = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><circle cx="8" cy="8" r="8" fill="{}"/>'
    '<path d="{}" fill="none" stroke="#fff" stroke-width="1.8" stroke-linecap="round" stroke-linejoin="round"/></svg>'
)
_OTHERS: Final = {
    "reference.css": (_read("reference.css").encode(), CSS),
    **{f"icon-{name}.svg": (_ICON.format(*drawn).encode(), "image/svg+xml") for name, drawn in _ICONS.items()},
}
"""Files that only the reference page uses; content and type by name, so that no path ever leads elsewhere."""


async def show_asset(request: Request) -> Response:
    """GET /assets/{name}: style sheets and the like"""
    name = request.path_params["name"]
    if name in _HASHED:
        content, media_type = _HASHED[name]
        return Response(content, headers={"Cache-Control": FOR_EVER}, media_type=media_type)
    if name in _OTHERS:
        return unless_known(request, *_OTHERS[name])
    raise Unknown(Sentence("file_not_found"))
