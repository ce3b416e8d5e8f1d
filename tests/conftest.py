"""What holds for every test."""

from hypothesis import settings

# How long an example takes depends on what else the machine does; speed is for the benchmarks.
settings.register_profile("hansard", deadline=None)
settings.load_profile("hansard")
