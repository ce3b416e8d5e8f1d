"""The rules: what a session is and may do. No I/O, no clock, no randomness: times, ids and texts are passed in."""
