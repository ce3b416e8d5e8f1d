"""The agents: one port, one module per kind of agent, and their prompts."""
