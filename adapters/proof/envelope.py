"""Signed statements in a DSSE envelope, as in-toto reads them."""

import base64
import hashlib
import json
from collections.abc import Mapping
from typing import Any, Final

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

PAYLOAD_TYPE: Final = "application/vnd.in-toto+json"


def signed(statement: Mapping[str, Any], key: Ed25519PrivateKey) -> dict[str, Any]:
    """The envelope around a statement."""
    payload = json.dumps(statement, ensure_ascii=False, separators=(",", ":")).encode()
    signature = key.sign(_encoded(payload))
    return {
        "payload": base64.b64encode(payload).decode(),
        "payloadType": PAYLOAD_TYPE,
        "signatures": [{"keyid": key_id(key), "sig": base64.b64encode(signature).decode()}],
    }


def _encoded(payload: bytes) -> bytes:
    """The signed bytes, which include the type."""
    kind = PAYLOAD_TYPE.encode()
    return b"DSSEv1 %d %b %d %b" % (len(kind), kind, len(payload), payload)


def key_id(key: Ed25519PrivateKey) -> str:
    """The id that securesystemslib and in-toto give the public key."""
    public = key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw).hex()
    described = {"keytype": "ed25519", "keyval": {"public": public}, "scheme": "ed25519"}
    return hashlib.sha256(json.dumps(described, separators=(",", ":"), sort_keys=True).encode()).hexdigest()


def public_pem(key: Ed25519PrivateKey) -> str:
    """The public key in the format that openssl reads."""
    return key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()
