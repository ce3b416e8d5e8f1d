"""The fence around everything that runs: validation commands, set-up and agents."""
