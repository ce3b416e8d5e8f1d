"""The entry points: HTTP, the page, the command line. Composes the other three packages."""
