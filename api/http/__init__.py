"""HTTP: guards, requests, problems, idempotency, streams."""
