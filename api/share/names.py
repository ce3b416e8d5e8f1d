"""Finds the people, hosts and paths that a text names, for whoever is asked before it is shown.

It lists too much rather than too little: a version such as 1.2.3.4 is also an address.
"""

import re
from collections.abc import Iterable, Iterator
from ipaddress import AddressValueError, IPv4Address, IPv6Address
from typing import Final, NamedTuple

from api.share.bare_hosts import bare_hosts

_A: Final = r"A-Za-z0-9_"
"""Letters of names of machines. A Korean particle may follow one directly."""
_PERSON: Final = re.compile(r"\bperson:([\w.@+-]+)")
_MAIL: Final = re.compile(rf"(?<![{_A}.%+-])([{_A}.%+-]+)@((?:[{_A}-]+\.)+[{_A}-]+)")
_URL: Final = re.compile(
    rf"(?<![{_A}+.-])[A-Za-z][A-Za-z0-9+.-]*://(?:([^\s/@:\"'<>]+)(?::[^\s/@\"'<>]*)?@)?([\w.-]+)?"
)
_SCP: Final = re.compile(rf"(?<![{_A}.+/:-])([{_A}.+-]+)@([{_A}.-]+):(?=[\w~./])")
"""`git@host:path`: the account of a service, and a host."""
_FULL: Final = r"[^\W\d_a-z][\w.'’-]{0,30}(?: [^\W\d_a-z][\w.'’-]{0,30}){0,3}"
"""A name as it is written: one to four words, each with a capital or without such letters, as in Korean."""
_BEFORE_MAIL: Final = re.compile(rf"(?<![\w.'’-])({_FULL})\s<$")
_CREDIT: Final = re.compile(
    rf"\b(?:[A-Z][a-z]+(?:-[a-z]+)*-by|Author|Committer|Reviewer|Assignee): ({_FULL})"
    rf"|(?:\b[Cc]opyright|\([Cc]\)|©)(?: \([Cc]\)| ©)?(?: \d{{4}}(?:[-–]\d{{4}})?,?)? ({_FULL})"
    r"|\b(?:TODO|FIXME|HACK|XXX)\(@?([A-Za-z][\w.-]{1,38})\)"
)
"""Where a name stands that has no address: `Reviewed-by:`, a copyright, `TODO(ann)`."""
_WORKER: Final = re.compile(r"\bworker:([\w-]+(?:\.[\w-]+)*?)\.[0-9a-f]{12}\b")
"""A worker's name begins with the name of its machine."""
_LOCAL: Final = re.compile(rf"(?<![{_A}.-])localhost(?![{_A}-])")
_V4: Final = re.compile(rf"(?<![{_A}.])\d{{1,3}}(?:\.\d{{1,3}}){{3}}(?!\.?[{_A}])")
_V6: Final = re.compile(rf"(?<![{_A}:.])(?=[0-9A-Fa-f]{{0,4}}:)[0-9A-Fa-f:]{{3,39}}(?![{_A}:]|\.\d)")
_PART: Final = r"[^\s/\\:*?\"'`<>|(){}\[\],;$=&#]+"
_PATH: Final = re.compile(rf"(?:(?<![\w.:/\\~*)\]}}>-])|(?<=file://))(~[\w.-]*|(?=/))((?:/{_PART}){{1,3}})")
_DRIVE: Final = re.compile(rf"(?<![{_A}])([A-Za-z]:)[\\/]+((?:{_PART}(?: {_PART}){{0,4}}[\\/]+){{0,2}}{_PART})")
_UNC: Final = re.compile(rf"(?<![\\\w:])\\\\+([{_A}][{_A}.-]*)\\+({_PART})")
_OF_SYSTEMS: Final = frozenset(("bin", "boot", "dev", "etc", "lib", "lib32", "lib64", "proc", "sbin", "sys", "usr"))
"""Folders that are on every machine."""
_PERSONAL: Final = frozenset(
    (*("home", "Users", "root", "srv", "opt", "mnt", "tmp"), *("var", "data", "work", "Volumes", "private", "media"))
)
"""Folders whose paths say most of a person."""
_LONGEST: Final = 130
"""Letters in which the name before an address is looked for."""
_DEEP: Final = 3
"""Parts of a path that are listed."""


class NamesShown(NamedTuple):
    """Sorted; of the paths those first that say most."""

    people: tuple[str, ...]
    hosts: tuple[str, ...]
    paths: tuple[str, ...]


def names_in(texts: Iterable[str], names: Iterable[str] = ()) -> NamesShown:
    """The names in all of these texts; `names` are those of people, which are looked for as they are."""
    people, hosts, paths = set[str](), set[str](), set[str]()
    wanted = {name: re.compile(rf"(?<![{_A}]){re.escape(name)}(?![{_A}])") for name in names}
    for text in texts:
        people.update(_PERSON.findall(text))
        people.update(name.rstrip(".") for match in _CREDIT.findall(text) for name in match if name)
        people.update(name for name, pattern in wanted.items() if name in text and pattern.search(text))
        hosts.update(bare_hosts(text))
        hosts.update(_WORKER.findall(text))
        hosts.update(_LOCAL.findall(text))
        hosts.update(_addresses(text))
        if "@" in text or "://" in text:
            _with_hosts(text, people, hosts)
        if "/" in text or "\\" in text:
            hosts.update(host for host, _ in _UNC.findall(text))
            paths.update(_paths(text))
    return NamesShown(tuple(sorted(people)), tuple(sorted(hosts)), tuple(sorted(paths, key=_order)))


def _with_hosts(text: str, people: set[str], hosts: set[str]) -> None:
    """Add the accounts and hosts of addresses; `git` is nobody's name."""
    accounts = [(account, host, "") for account, host in _SCP.findall(text) + _URL.findall(text)]
    for match in _MAIL.finditer(text):
        account, host = match.groups()
        accounts.append(("", host, f"{account}@{host}"))
        named = _BEFORE_MAIL.search(text[max(0, match.start() - _LONGEST) : match.start()])
        people.update(named.groups() if named else ())
    for account, host, mail in accounts:
        people.update(name for name in (account, mail) if name and name.partition("@")[0] != "git")
        hosts.update(name for name in (host.rstrip("."),) if name and (account or not mail or mail.startswith("git@")))


def _addresses(text: str) -> Iterator[str]:
    for kind, pattern in ((IPv4Address, _V4), (IPv6Address, _V6)):
        for address in pattern.findall(text):
            try:
                yield str(kind(address.removesuffix(":") if address[-2:] != "::" else address))
            except AddressValueError:
                continue


def _paths(text: str) -> Iterator[str]:
    if text.startswith("/") and "\n" not in text and " /" not in text:  # a field that has a path, blanks and all
        yield from _shown(["", *text.split("/")[1:]])
    for home, path in _PATH.findall(text):
        yield from _shown([home, *path.rstrip(".").split("/")[1:]])
    for drive, path in _DRIVE.findall(text):
        yield "\\".join([drive, *re.split(r"[\\/]+", path)])
    for host, share in _UNC.findall(text):
        yield f"\\\\{host}\\{share}"


def _shown(parts: list[str]) -> Iterator[str]:
    """The beginning of a path, if it names more than a folder that is everywhere."""
    root, *below = parts
    if root or (len(below) > 1 and below[0] not in _OF_SYSTEMS):
        yield "/".join([root, *below[:_DEEP]])


def _order(path: str) -> tuple[bool, str]:
    first = path.split("/")[1:2]
    return path.startswith("/") and not _PERSONAL.issuperset(first), path
