"""Commands that run without an agent: set-up, validation, landing."""
