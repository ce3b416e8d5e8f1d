"""Proof: whether the log is whole and unchanged, for us and for somebody who only has a public key."""
