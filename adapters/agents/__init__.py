"""Who does the work: one port, one file per kind of agent, and the prompts they are given."""
