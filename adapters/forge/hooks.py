"""Signatures of webhooks. A hook only wakes the poll: what counts is always asked of the forge."""

import hmac
from collections.abc import Mapping
from hashlib import sha256
from typing import Final

GITHUB_HEADER: Final = "x-hub-signature-256"
GITLAB_HEADER: Final = "x-gitlab-token"


def is_signed(headers: Mapping[str, str], body: bytes, secret: str) -> bool:
    """Returns whether a webhook comes from who knows the secret: GitHub's HMAC of the body, or GitLab's token.
    `headers` has names in lower case. Takes the same time for every wrong value."""
    if not secret:
        return False
    signature, token = headers.get(GITHUB_HEADER), headers.get(GITLAB_HEADER)
    if signature is not None:
        expected = f"sha256={hmac.digest(secret.encode(), body, sha256).hex()}"
        return hmac.compare_digest(signature.encode(), expected.encode())
    return token is not None and hmac.compare_digest(token.encode(), secret.encode())
