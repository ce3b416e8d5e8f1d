"""The way out of a fence for programs that may reach a list of hosts."""
