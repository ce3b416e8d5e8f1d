"""The help of the command line, and what it answers to a wrong one."""
