"""What each kind of problem means and what to do about it: for the OpenAPI document and the reference page."""

from types import MappingProxyType

PROBLEMS = MappingProxyType(
    {
        400: "The request cannot be read: its body is no JSON as it is spoken here (UTF-8, no duplicate keys, no NaN, "
        "no NUL, no lone surrogates, at most 64 levels), or a header does not have its form. Send it in another form.",
        401: "This server keeps API keys, and the request bears none that it knows. "
        "Send `Authorization: Bearer …` with a key of its key file.",
        403: "The request may not be made from where it comes, such as a page of another origin.",
        404: "There is no such session, version, artifact or door. Check the id.",
        405: "The door exists and takes another method; `Allow` says which.",
        406: "The answer has no form that the request accepts.",
        408: "The request did not arrive whole within `HANSARD_RECEIVE_SECONDS` (30). Nothing was done and the "
        "connection is closed. Send it again.",
        409: "The request is fine and the session does not allow it in its state. `detail` says which state that is, "
        "`allowed` what may be done now.",
        412: "`If-Match` names a version at which the session no longer is; nothing was done. Read the session, look "
        "at what has happened, and decide anew. `currentVersion` says where it is.",
        413: "The body is longer than this server takes. Send less, or raise `HANSARD_MAX_BODY_BYTES`.",
        415: "A body has to say `Content-Type: application/json`.",
        421: "The `Host` of the request is none of this server's. Use its own name, or add yours to "
        "`HANSARD_ALLOWED_HOSTS`.",
        422: "The request can be read and does not hold. `errors` names each field by its JSON Pointer and says what "
        "is wrong with it. Also: an `Idempotency-Key` that came before with another body.",
        429: "Too many requests. Wait as long as `Retry-After` says.",
        500: "Something broke that should not have, or the log is damaged or may not be written: `detail` says which. "
        "A command with an `Idempotency-Key` can safely be sent again.",
        503: "Not now: the store does not answer, too many commands wait, or the views have not reached the position "
        "in `Read-After`. Wait as long as `Retry-After` says and send the same request again.",
    }
)
