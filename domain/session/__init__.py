"""Everything that all kinds of sessions share."""
