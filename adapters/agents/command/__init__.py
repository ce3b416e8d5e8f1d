"""The command agent: any program that takes a prompt and prints an answer."""
