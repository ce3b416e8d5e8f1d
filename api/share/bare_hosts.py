"""Finds hosts that stand alone in a text, without `https://` or `@`, such as `db01.corp.local` and `build-1:8443`.

`main.py`, `self.name` and `line:80` look like hosts. So what counts are names below what only networks end with, names
below the usual public domains, and names with a port, unless they end as files do.
"""

import re
from collections.abc import Iterator
from typing import Final

_A: Final = r"A-Za-z0-9_"
"""Letters of names of machines. A Korean particle may follow one directly."""
_DOTTED: Final = re.compile(
    rf"(?<![{_A}@./\\-])((?:[{_A}][{_A}-]*\.)+([A-Za-z]{{2,}}))(?::(\d{{2,5}})(?![{_A}]))?(?![{_A}(-]|\.[{_A}])"
)
_SINGLE: Final = re.compile(rf"(?<![{_A}@./\\:-])([A-Za-z][A-Za-z0-9]*(?:-[A-Za-z0-9]+)*):(\d{{2,5}})(?![{_A}:]|\.\d)")
_OF_NETWORKS: Final = ("local", "internal", "corp", "lan", "intranet", "localdomain", "arpa", "svc", "consul")
"""What names end with that are only known inside a network."""
_PUBLIC: Final = ("com", "org", "net", "edu", "gov")
_SECOND: Final = ("ac", "co", "com", "go", "gov", "ne", "net", "or", "org")
"""What stands before a country: `example.co.kr`."""
_OF_FILES: Final = frozenset(
    (
        *("adoc", "bat", "bash", "cc", "cfg", "cjs", "clj", "conf", "cpp", "cs", "css", "cts", "cxx", "dart", "diff"),
        *("ex", "exs", "fs", "go", "gradle", "hh", "hpp", "hrl", "hs", "htm", "html", "ini", "ipynb", "java", "jl"),
        *("js", "json", "jsonl", "jsx", "kt", "kts", "less", "lisp", "lock", "log", "lua", "md", "mdx", "mjs", "ml"),
        *("mm", "mts", "nix", "patch", "php", "pl", "proto", "py", "pyi", "pyx", "rb", "rs", "rst", "sass", "scala"),
        *("scss", "sh", "snap", "sql", "svelte", "swift", "tex", "tf", "toml", "ts", "tsx", "txt", "vb", "vue", "xml"),
        *("yaml", "yml", "zig", "zsh"),
    )
)
"""With a number behind the colon it is a line: `main.py:12`."""
_OF_CODE: Final = ("threading.local", "self.net", "self.org", "this.net", "this.org")
_PORTS: Final = frozenset(
    (
        *(443, 1433, 1521, 2375, 2379, 3000, 3128, 3306, 5000, 5432, 5672, 6379, 6443, 8000, 8080, 8081, 8443, 8888),
        *(9000, 9090, 9092, 9200, 11211, 27017),
    )
)
"""Ports of well-known services: `db-1:5432` is a host, `step-1:12` is none."""


def bare_hosts(text: str) -> Iterator[str]:
    """The hosts that stand alone, without their ports."""
    for name, last, port in _DOTTED.findall(text) if "." in text else ():
        if (port and last.lower() not in _OF_FILES) or (_is_of_a_network(name, last) and name not in _OF_CODE):
            yield name
    for name, port in _SINGLE.findall(text) if ":" in text else ():
        if int(port) in _PORTS and not name.isalpha():
            yield name


def _is_of_a_network(name: str, last: str) -> bool:
    before = name.split(".")[-2]
    return last in (*_OF_NETWORKS, *_PUBLIC) or (len(last) == 2 and before in _SECOND and name.count(".") > 1)
