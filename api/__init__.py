"""The ways in: HTTP, the page, the command line. Drives, and puts the other three together."""
