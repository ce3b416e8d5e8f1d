"""What every kind of session shares."""
