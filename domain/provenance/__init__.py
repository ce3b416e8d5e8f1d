"""Whose line it is: what turns added, and where it went since."""
