"""What a session is and may do. No I/O, no clock, no randomness: time, ids and words arrive as values."""
