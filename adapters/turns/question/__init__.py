"""The question to an agent, and what the agent may do."""
