"""The prompts: one Markdown file per prompt, strategy and language."""
