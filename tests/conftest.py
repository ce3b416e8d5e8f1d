"""What holds for every test."""

import signal

from hypothesis import settings

# How long an example takes depends on what else the machine does; speed is for the benchmarks.
settings.register_profile("hansard", deadline=None)
settings.load_profile("hansard")

# Whatever started the tests: in the background of a script Ctrl-C is ignored, and so it would be by what they start.
signal.signal(signal.SIGINT, signal.default_int_handler)
