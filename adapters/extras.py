"""The command that adds an extra to this installation: from a clone, an address or an index, by pip or as a tool of its
own."""

import json
import shlex
import sys
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote, urlsplit

_NAME: Final = "hansard"
_TOOLS: Final = {"uv-receipt.toml": "uv tool install --force", "pipx_metadata.json": "pipx install --force"}
"""Programs that install a tool into an environment of its own, by the file that they keep there."""


def install_extra(extra: str) -> str:
    """The command that installs the extra, for a shell."""
    try:
        package = distribution(_NAME)
    except PackageNotFoundError:  # run from its folder
        return f"pip install '.[{extra}]'"
    installer = (package.read_text("INSTALLER") or "").strip()
    origin: dict[str, Any] = json.loads(package.read_text("direct_url.json") or "{}")
    return install_command(extra, origin=origin, installer=installer, prefix=Path(sys.prefix), python=sys.executable)


def install_command(extra: str, *, origin: dict[str, Any], installer: str, prefix: Path, python: str) -> str:
    """`origin` and `installer` are what the package's metadata say about its installation (PEP 610, PEP 627)."""
    wanted = shlex.quote(_requirement(extra, origin))
    for file, command in _TOOLS.items():
        if (prefix / file).exists():
            return f"{command} {wanted}"
    editable = "-e " if origin.get("dir_info", {}).get("editable") else ""
    if installer == "uv":
        return f"uv pip install --python {shlex.quote(python)} {editable}{wanted}"
    return f"{shlex.quote(python)} -m pip install {editable}{wanted}"


def _requirement(extra: str, origin: dict[str, Any]) -> str:
    url = origin.get("url", "")
    if "dir_info" in origin:
        return f"{unquote(urlsplit(url).path)}[{extra}]"
    if "vcs_info" in origin:
        revision = origin["vcs_info"].get("requested_revision") or origin["vcs_info"]["commit_id"]
        url = f"{origin['vcs_info']['vcs']}+{url}@{revision}"
    return f"{_NAME}[{extra}]" + (f" @ {url}" if url else "")
