"""Checks what is stored next to the record: receipts of commands, keys, and links that sign in once."""

import re
from typing import Final

from adapters.proof.verdict import Verification
from adapters.store.keys import CHECK, LINK, LOGIN, REVOKED, StoredKey, link_check, revocation_check
from adapters.store.port import StoredReceipt
from adapters.store.rows import Rows
from domain.values.sentences import Sentence

_DIGEST: Final = re.compile("[0-9a-f]{64}")


def check_receipts(rows: Rows, verdict: Verification) -> None:
    """Each receipt must match its digest, except those of versions that wrote none."""
    for *values, digest in rows.receipts():
        if digest is not None and StoredReceipt(*values).digest != digest:
            verdict.blame(None, Sentence("fault_receipt_changed", key=values[0]))


def check_keys(rows: Rows, verdict: Verification) -> None:
    """Checks what can be checked of a key: its owner cannot, but an invalid digest was not written by us, and each
    key must match its check, except those of versions that wrote none.
    """
    checks = _checks(rows, verdict)
    for name, digest, scope, expires in rows.api_keys():
        check = checks.pop(name, None)
        if not (isinstance(digest, str) and _DIGEST.fullmatch(digest)):
            verdict.blame(None, Sentence("fault_key_digest", name=name))
        elif not (isinstance(scope, str) and scope) or not isinstance(expires, int | None):
            verdict.blame(None, Sentence("fault_key_scope", name=name))
        elif check is not None and check != StoredKey(name, digest, scope, expires).check:
            verdict.blame(None, Sentence("fault_key_changed", name=name))
    for name in checks:
        verdict.blame(None, Sentence("fault_key_missing", name=name))


def check_links(rows: Rows, verdict: Verification) -> None:
    """Each link that signs in once must match its check, except those of versions that wrote none: a day later, there
    are none of them."""
    checks = {name.removeprefix(LINK): value for name, value in rows.secrets() if name.startswith(LINK)}
    for digest, name, made in rows.links():
        check = checks.pop(digest, None)
        if not _DIGEST.fullmatch(digest) or check not in (None, link_check(digest, name, made)):
            verdict.blame(None, Sentence("fault_link_changed", name=name))
    for digest in checks:
        verdict.blame(None, Sentence("fault_link_missing", digest=digest))


def _checks(rows: Rows, verdict: Verification) -> dict[str, bytes]:
    """The `check` of each key, by name. Keys that were revoked must be known as before."""
    checks: dict[str, bytes] = {}
    for name, value in rows.secrets():
        if name.startswith(CHECK):
            checks[name.removeprefix(CHECK)] = value
        elif name.startswith(REVOKED):
            if value not in (b"", revocation_check(name)):
                verdict.blame(None, Sentence("fault_revocation_changed", name=name.removeprefix(REVOKED)))
        elif name != LOGIN and not name.startswith(LINK):
            verdict.blame(None, Sentence("fault_secret", name=name))
    return checks
