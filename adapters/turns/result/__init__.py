"""The results of a turn: its changes, their commit, and where they are stored."""
