"""Model providers on loopback, for the real programs: they speak the real protocols and answer by rules."""
