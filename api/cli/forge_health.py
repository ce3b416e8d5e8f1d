"""The settings of the forge, as `hansard doctor` reports them. Asks nobody: it reads the file and the environment."""

import os
from typing import Final

from adapters.forge.settings import BadForge, read_settings
from api.cli.error_words import words_of
from api.cli.health import Finding
from api.cli.labels import sentence
from api.node.owner import forge_file
from api.node.settings import Settings

_NAME: Final = "forge"
_WRITABLE: Final = 0o022


def check_forge(settings: Settings) -> Finding:
    """Tells where the settings of the forge are, and what keeps their token from being used."""
    file = forge_file(settings)
    if not file.exists():
        return Finding("ok", _NAME, sentence("no settings ({path})", path=file))
    try:
        chosen = read_settings(file)
    except BadForge as error:
        return Finding("fail", _NAME, words_of(error), sentence("Correct the file; docs/forge.md lists the settings."))
    if file.stat().st_mode & _WRITABLE:
        problem = sentence("{path} can be changed by other users of this machine", path=file)
        return Finding("warn", _NAME, problem, sentence("`chmod 600` it: it says where your token goes."))
    name = (chosen.token or "").removeprefix("env:")
    if name != (chosen.token or "") and not os.environ.get(name):
        problem = sentence("{path} names the variable {name}, which is not set here", path=file, name=name)
        return Finding("warn", _NAME, problem, sentence("Set it for the process that runs `hansard serve`."))
    return Finding("ok", _NAME, str(file))
