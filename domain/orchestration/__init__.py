"""An orchestration: a request is triaged, planned, split among agents and worked in rounds (seeds S0, S1, S3)."""
