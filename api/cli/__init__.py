"""The command line: one client of the HTTP API among others, over the network or inside this process (contract §6)."""
