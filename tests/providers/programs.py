"""The real programs from npm, installed on demand into a folder of their own, and how they reach the stub."""

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Final

PACKAGES: Final = {
    "claude": "@anthropic-ai/claude-code",
    "codex": "@openai/codex",
    "gemini": "@google/gemini-cli",
    "opencode": "opencode-ai",
    "qwen": "@qwen-code/qwen-code",
}
ACP: Final = {
    "gemini": ["gemini", "--acp", "--skip-trust"],
    "opencode": ["opencode", "acp"],
    "claude": ["claude-code-acp"],
}
"""What speaks the Agent Client Protocol, and how it is started."""
_ACP_PACKAGES: Final = {"claude-code-acp": "@zed-industries/claude-code-acp"}
MODEL: Final = "stub/stub-model"
"""The stub's model, by OpenCode's name for it."""
KEYS: Final = ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY")
_SCRIPTS: Final = {"claude": "install.cjs", "opencode": "postinstall.mjs"}


def installed(name: str) -> Path:
    """The folder with the program; `HANSARD_TEST_AGENTS` names the npm prefix (default: in the user's cache)."""
    prefix = Path(os.environ.get("HANSARD_TEST_AGENTS") or Path.home() / ".cache" / "hansard" / "agents")
    if name == "aider":
        return _aider(prefix / "aider")
    program = prefix / "node_modules" / ".bin" / name
    if not program.exists():
        prefix.mkdir(parents=True, exist_ok=True)
        package = (PACKAGES | _ACP_PACKAGES)[name]
        subprocess.run(["npm", "install", "--prefix", str(prefix), package], check=True, timeout=600)
        if name in _SCRIPTS:  # newer npm runs no scripts of packages
            folder = prefix / "node_modules" / package
            subprocess.run(["node", _SCRIPTS[name]], cwd=folder, check=True, timeout=600)
    return program.parent


def _aider(folder: Path) -> Path:
    """Aider comes from PyPI, into an environment of its own."""
    if not (folder / "bin" / "aider").exists():
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True, timeout=600)
        pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "-q", "aider-chat"]
        subprocess.run(pip, check=True, timeout=1_200)
    return folder / "bin"


def environment(name: str, url: str) -> dict[str, str]:
    """The variables by which the program asks the stub."""
    match name:
        case "claude":
            return {"ANTHROPIC_BASE_URL": url}
        case "gemini":
            return {"GOOGLE_GEMINI_BASE_URL": url}
        case "qwen":
            return {"OPENAI_BASE_URL": f"{url}/v1"}
        case "opencode":
            return _opencode(url)
        case "aider":
            return {"OPENAI_API_BASE": f"{url}/v1", "AIDER_MODEL": "openai/stub-model"}
        case _:
            return {}


def settings(name: str, url: str) -> str:
    """What a team file says so that the preset asks the stub."""
    if name == "codex":
        config = (
            'model = "gpt-5-codex"\nmodel_provider = "stub"\n[model_providers.stub]\nname = "stub"\n'
            f'base_url = "{url}/v1"\nenv_key = "CODEX_API_KEY"\nwire_api = "responses"\n'
            "request_max_retries = 1\nstream_max_retries = 1\n"
        )
        return f"home_files = {{ '.codex/config.toml' = {json.dumps(config)} }}"
    models = {"gemini": "gemini-2.5-pro", "qwen": "stub-model", "opencode": MODEL}
    model = f'model = "{models[name]}"\n' if name in models else ""
    variables = ", ".join(f"{key} = '{value}'" for key, value in environment(name, url).items())
    return f"{model}env = {{ {variables} }}"


def stand_in(folder: Path, name: str, url: str) -> None:
    """A program of that name in the folder that calls the real one as on a machine where the stub is its provider."""
    arguments, variables = "", environment(name.partition("-")[0], url)
    if name == "codex":
        provider = f'name="stub", base_url="{url}/v1", wire_api="responses", request_max_retries=1'
        table = shlex.quote(f"model_providers.stub={{{provider}}}")
        arguments = f"-c model_provider=stub -c {table}"
    exported = "".join(f"export {key}={shlex.quote(value)}\n" for key, value in variables.items())
    script = folder / name
    script.write_text(f'#!/bin/sh\n{exported}exec {installed(name) / name} {arguments} "$@"\n')
    script.chmod(0o755)


def acp_settings(name: str, url: str) -> str:
    """What a team file says so that the program asks the stub, and asks for permission."""
    own = settings(name, url).replace('"permission": "allow"', '"permission": "ask"')
    login = {
        "gemini": 'keys = ["GEMINI_API_KEY"]\nhome_files = { ".gemini/settings.json" = '
        """'{"security":{"auth":{"selectedType":"gemini-api-key"}},"privacy":{"usageStatisticsEnabled":false}}' }""",
        "claude": 'keys = ["ANTHROPIC_API_KEY"]',
    }
    return f"argv = {ACP[name]}\n{login.get(name, '')}\n{own}"


def _opencode(url: str) -> dict[str, str]:
    model = {"name": "stub-model", "limit": {"context": 128_000, "output": 8_192}}
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "name": "stub",
        "options": {"baseURL": f"{url}/v1", "apiKey": "sk-stub"},
        "models": {"stub-model": model},
    }
    config = {
        "model": MODEL,
        "small_model": MODEL,
        "autoupdate": False,
        "share": "disabled",
        "enabled_providers": ["stub"],
        "permission": "allow",
        "provider": {"stub": provider},
    }
    return {
        "OPENCODE_DISABLE_MODELS_FETCH": "1",
        "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
        "OPENCODE_CONFIG_CONTENT": json.dumps(config),
    }


if __name__ == "__main__":  # what CI installs before tests run at the same time
    for program in sys.argv[1:]:
        installed(program)
