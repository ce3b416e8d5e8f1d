"""The turn that a line comes from: what turns added, and where it moved since."""
