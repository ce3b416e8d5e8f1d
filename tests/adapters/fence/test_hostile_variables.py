"""Whatever variables a repository, a team file or an agent sets: the programs that run outside a fence see none."""

import asyncio
import subprocess
from pathlib import Path
from typing import Any

import pytest

from adapters.fence.bubblewrap import Bubblewrap, bubblewrap_works
from adapters.fence.network.allow_list import Allowed
from adapters.fence.port import Grant
from adapters.processes.limits import SystemLimits
from adapters.processes.program import run

VARIABLES = (
    "LD_PRELOAD", "LD_LIBRARY_PATH", "LD_AUDIT", "LD_DEBUG_OUTPUT", "LD_ORIGIN_PATH", "LD_PROFILE", "LD_SHOW_AUXV",
    "LD_BIND_NOW", "GLIBC_TUNABLES", "GCONV_PATH", "LOCPATH", "NLSPATH", "MALLOC_TRACE", "RES_OPTIONS", "HOSTALIASES",
    "RESOLV_HOST_CONF", "TMPDIR", "GETCONF_DIR", "PYTHONPATH", "PYTHONHOME", "PYTHONSTARTUP", "PYTHONINSPECT",
    "PYTHONWARNINGS", "PYTHONBREAKPOINT", "PYTHONUSERBASE", "PYTHONEXECUTABLE", "PYTHONPLATLIBDIR", "PYTHONCASEOK",
    "PYTHONPYCACHEPREFIX", "GIT_DIR", "GIT_EXEC_PATH", "GIT_SSH", "GIT_SSH_COMMAND", "GIT_ASKPASS", "GIT_EXTERNAL_DIFF",
    "GIT_CONFIG_GLOBAL", "GIT_CONFIG_COUNT", "GIT_CONFIG_KEY_0", "GIT_CONFIG_VALUE_0", "GIT_TEMPLATE_DIR", "GIT_PAGER",
    "GIT_EDITOR", "GIT_PROXY_COMMAND", "GIT_ALTERNATE_OBJECT_DIRECTORIES", "BASH_ENV", "ENV", "PROMPT_COMMAND", "PS4",
    "SHELLOPTS", "BASHOPTS", "IFS", "CDPATH", "PERL5OPT", "PERL5LIB", "RUBYOPT", "RUBYLIB", "NODE_OPTIONS", "NODE_PATH",
    "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "CLASSPATH", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "SSL_CERT_FILE",
    "OPENSSL_CONF", "OPENSSL_ENGINES", "EDITOR", "PAGER", "LESSOPEN", "BROWSER", "HANSARD_PROCESS_OTHER",
)  # fmt: skip


@pytest.mark.skipif(not bubblewrap_works(), reason="bubblewrap does not work here")
@pytest.mark.parametrize("network", ["none", "all", "list"])
@pytest.mark.parametrize("limits", [SystemLimits(), SystemLimits(file_bytes=1 << 34)], ids=["plain", "limited"])
def test_no_variable_of_the_inside_is_seen_outside(
    network: str, limits: SystemLimits, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = list[tuple[list[str], dict[str, str]]]()

    class Noted(subprocess.Popen[bytes]):
        def __init__(self, command: list[str], **more: Any) -> None:
            calls.append((command, dict(more["env"])))
            super().__init__(command, **more)

    monkeypatch.setattr("adapters.processes.start.subprocess.Popen", Noted)
    env = {"PATH": "/usr/bin:/bin", **dict.fromkeys(VARIABLES, "./evil")}
    granted: Any = {"list": Allowed(())}.get(network, network)
    fence = Bubblewrap(Grant(writable=(tmp_path,), network=granted))
    done = asyncio.run(run(["env"], cwd=tmp_path, env=env, wall_seconds=60, fence=fence, limits=limits))
    assert "LD_PRELOAD=./evil" in done.stdout, "inside it exists"
    started = [env for _, env in calls if env]  # nothing else, such as what makes networks, gets any
    assert [set(outside) for outside in started] == [{"HANSARD_PROCESS"}]
    assert not any("evil" in word for command, _ in calls for word in command)
