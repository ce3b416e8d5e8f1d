"""What all kinds of sessions share."""
