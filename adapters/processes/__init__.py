"""The only way to run a program: no shell, a clean environment, limits, and no survivors."""
