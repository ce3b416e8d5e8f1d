"""Notifications: what starts to wait for a person is reported to a command or a webhook, each item once."""

from adapters.notify.outbox import Notification, Outbox, open_outbox
from adapters.notify.sending import BadSecret, Receivers
from adapters.notify.settings import NotifySettings

__all__ = ["BadSecret", "Notification", "NotifySettings", "Outbox", "Receivers", "open_outbox"]
