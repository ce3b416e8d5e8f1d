"""Problems in the description: what each kind means and what to do about it. Tests check real answers against it
(contract §3)."""

from types import MappingProxyType

PROBLEMS = MappingProxyType(
    {
        400: "The request cannot be parsed: invalid JSON (UTF-8, no duplicate keys, NaN, NUL or lone surrogates, at "
        "most 64 levels) or a malformed header. Correct it; retrying will not help.",
        401: "This server requires an API key. Send `Authorization: Bearer …` with a key from its key file.",
        403: "The key does not have the scope that `scope` names (`hansard key new NAME --scope …`), or the request "
        "comes from a page of another origin.",
        404: "The session, version, artifact or address does not exist. Check the id.",
        405: "This address does not support the method. `Allow` lists the methods it supports.",
        406: "The server cannot answer in a format that the request accepts.",
        408: "The request did not arrive within `HANSARD_RECEIVE_SECONDS` (30). Nothing was done and the connection is "
        "closed. Send it again.",
        409: "The session does not allow this action in its current state. `detail` names the state, `allowed` lists "
        "the actions that are possible now.",
        412: "`If-Match` names an outdated version of the session; nothing was done. Read the session again and decide "
        "with what you see. `currentVersion` is its version now.",
        413: "The body is too large. Send less, or raise `HANSARD_MAX_BODY_BYTES`.",
        415: "Send the body with `Content-Type: application/json`.",
        421: "The `Host` header names another server. Use this server's own name, or add yours to "
        "`HANSARD_ALLOWED_HOSTS`.",
        422: "The request is well-formed but invalid. `errors` names each field by its JSON Pointer and says what is "
        "wrong with it. Also: an `Idempotency-Key` that was used with another body.",
        429: "Too many requests. Wait for `Retry-After` seconds.",
        431: "The request has more than 100 headers, or its head more than 65,536 bytes. Nothing was done and the "
        "connection is closed. Send less.",
        500: "An internal error, or the log is damaged or read-only; `detail` says which. A command with an "
        "`Idempotency-Key` is safe to send again.",
        503: "Temporarily unavailable: the store does not respond, too many commands are waiting, or the views have "
        "not reached the position in `Read-After`. Wait for `Retry-After` seconds and send the same request again.",
    }
)
