"""What a turn leaves: its changes, their commit, and where they are stored."""
