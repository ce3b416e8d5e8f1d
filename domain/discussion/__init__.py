"""Reviews and debates: rounds of contributions until they converge, stall or run out, a synthesis, a decision (S2)."""
