"""External agents: they claim turns, renew their leases and submit results (contract §4)."""
