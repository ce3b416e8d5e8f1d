"""Proof that the log is complete and unchanged, for us and for people who only have a public key."""
