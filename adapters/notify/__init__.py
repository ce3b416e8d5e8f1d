"""Notifications: what starts to wait for a person is reported to a command or a webhook, each item once."""
