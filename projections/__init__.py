"""Views: each is a fold over the log and can be deleted and rebuilt at any time."""
