"""The services of a workspace: where they run, their ports, and their life from start to end (contract-3 §21)."""
