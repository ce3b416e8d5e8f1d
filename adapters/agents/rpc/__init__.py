"""What agents that speak JSON-RPC on their standard input and output have in common, whichever protocol they speak."""
