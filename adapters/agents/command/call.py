"""A prepared run of a program: argument list, folder, environment, input."""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from adapters.agents.command.settings import PLACE, CommandSettings, ProgramSettings, Template, fill, places
from adapters.agents.port import Turn
from adapters.fence.toolchains import link_into
from adapters.processes.environment import clean_environment
from adapters.references import REFERENCES, Secrets, resolve_secrets
from domain.values.base import HansardError
from domain.values.sentences import Sentence


class Misreadable(HansardError):
    """The program could mistake a value for an option."""


@dataclass(frozen=True, slots=True)
class Call:
    """The call of a program. `secrets` are the values that must be removed from the output."""

    argv: tuple[str, ...]
    cwd: Path
    environment: Mapping[str, str]
    stdin: bytes | None
    secrets: Secrets

    def scrub(self, text: str) -> str:
        """The text without secrets, and without NUL, which not every store can hold."""
        return self.secrets.scrub(text).replace("\0", "\ufffd")


def prepare(
    settings: CommandSettings, turn: Turn, *, resumed: bool, agent_session: str, home: Path, scratch: Path
) -> Call:
    """Prepare everything. Raises OSError, `Misreadable`, and ValueError for a missing secret."""
    template = settings.template(resumed=resumed, writes=turn.access == "write")
    env = own_variables(settings)
    resolved = resolve_secrets(env)
    _furnish(home, settings.home_files)
    cwd = turn.workspace or _folder(scratch / "workspace")
    prompt_file = scratch / "prompt.md"
    values = {
        "prompt": turn.prompt,
        "prompt_file": str(prompt_file),
        "workspace": str(cwd),
        "home": str(home),
        "session": turn.session_id,
        "agent": turn.agent,
        "role": turn.role,
        "turn": turn.turn_id,
        "agent_session": agent_session,
        "model": settings.model or "",
    }
    argv = _arguments(template, values)
    prompt = turn.prompt.encode(errors="replace")
    if "prompt_file" in places(template):
        prompt_file.touch(mode=0o600)
        prompt_file.write_bytes(prompt)
    secret = {name for name, value in env.items() if value.startswith(REFERENCES)}
    own = {name: value if name in secret else fill(value, values) for name, value in resolved.items()}
    return Call(
        argv=argv,
        cwd=cwd,
        environment=clean_environment({"TMPDIR": str(_folder(scratch / "tmp")), **turn.env, **own}, home=home),
        stdin=_stdin(settings, template, prompt),
        secrets=Secrets.of({name: resolved[name] for name in secret}),
    )


def _stdin(settings: CommandSettings, template: Template, prompt: bytes) -> bytes | None:
    if not settings.prompt_on_stdin(template):
        return None
    return prompt if settings.questions is None else first_message(prompt)


def first_message(prompt: bytes) -> bytes:
    """The prompt, for a program that reads messages."""
    text = prompt.decode(errors="replace")
    message = {"role": "user", "content": [{"type": "text", "text": text}]}
    return json.dumps({"type": "user", "message": message}).encode() + b"\n"


def own_variables(settings: ProgramSettings) -> dict[str, str]:
    """Returns what the settings put into the environment; secrets are still references. Raises ValueError if a private
    home gets no login, or if the provider's address cannot be used."""
    return {**settings.located(), **settings.env, **login(settings)}


def login(settings: ProgramSettings) -> dict[str, str]:
    """The login variables that are set here, by name. Raises ValueError if a private home gets none."""
    pairs = [(name, source or name) for name, _, source in (key.partition("=") for key in settings.keys)]
    is_configured = any(name in settings.env for name, _ in pairs)
    variables = {name: f"env:{source}" for name, source in reversed(pairs) if os.environ.get(source)}
    if is_configured or variables or not pairs or settings.home == "user":
        return {} if is_configured else variables
    sources = " or ".join(dict.fromkeys(source for _, source in pairs))
    raise ValueError(Sentence("no_login", names=sources))


def _arguments(template: Template, values: Mapping[str, str]) -> tuple[str, ...]:
    """The argument list. Refuses a separate value before any `--` that looks like an option."""
    for item in template[: template.index("--")] if "--" in template else template:
        place = PLACE.fullmatch(item)
        if place and values[place[1]].startswith("-"):
            raise Misreadable(Sentence("looks_like_option", name=place[1]))
    argv = tuple(fill(item, values) for item in template)
    if any("\0" in item for item in argv):
        raise Misreadable(Sentence("argument_with_nul"))
    return argv


def _furnish(home: Path, files: Mapping[str, str]) -> None:
    """The home, with its initial files; an existing one is left as the program left it."""
    if home.is_dir():
        return
    _folder(home)
    for name, content in files.items():
        path = home / name
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.touch(mode=0o600)
        path.write_text(content, encoding="utf-8", newline="")
    link_into(home)  # last: no content of ours may be written through a link


def _folder(path: Path) -> Path:
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    return path
