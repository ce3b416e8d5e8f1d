"""The model agent: an endpoint that speaks OpenAI's chat completions."""
