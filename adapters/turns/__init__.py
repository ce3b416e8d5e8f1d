"""Turns: a worker leases one, asks its agent or runs its commands, and records the outcome."""
