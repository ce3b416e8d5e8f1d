"""Answers as models: what a view returns is what the API sends, what OpenAPI describes and what clients read."""
