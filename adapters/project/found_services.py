"""Finds the databases that a repository's compose file names, and says how `hansard.toml` would start them."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from adapters.files import beginning

_FILES: Final = ("compose.yaml", "compose.yml", "docker-compose.yml", "docker-compose.yaml")
_IMAGE: Final = re.compile(r"^\s*image:\s*[\"']?(?:[\w.-]+/)*(?P<name>[\w-]+)", re.MULTILINE)
_POSTGRES: Final = """\
name = "postgres"
command = '''sh -c 'PATH=$(echo /usr/lib/postgresql/*/bin | tr " " :):$PATH; cd "$TMPDIR" \
&& { test -d db || initdb -D db -U postgres -A trust >/dev/null; } && exec postgres -D db -k "$TMPDIR" -p 5432' '''
ready = "pg_isready -h 127.0.0.1 -p 5432"
"""
_REDIS: Final = """\
name = "redis"
command = "redis-server --port 6379 --save '' --appendonly no"
ready = "redis-cli -p 6379 ping"
"""
_KNOWN: Final = {"postgres": _POSTGRES, "postgis": _POSTGRES, "redis": _REDIS, "valkey": _REDIS}


def proposed_services(checkout: Path) -> Iterator[str]:
    """Lines for `hansard.toml`, as comments: whether their programs are installed here, a person knows."""
    file = next((checkout / name for name in _FILES if (checkout / name).is_file()), None)
    if file is None:
        return
    tables = dict.fromkeys(_KNOWN[name] for name in _IMAGE.findall(beginning(file)) if name in _KNOWN)
    if not tables:
        return
    yield f"# {file.name} names databases. Without the #, they run beside set-up and commands, if installed here:"
    for table in tables:
        yield "#"
        yield from (f"# {line}" for line in ("[[service]]", *table.splitlines()))
