"""Which turn a line comes from: what turns added, and where it moved since."""
