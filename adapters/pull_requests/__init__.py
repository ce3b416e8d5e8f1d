"""Work on the pull request of a session at its forge."""
