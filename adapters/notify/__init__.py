"""Notifications: what begins to wait for a person is sent to a command or a webhook, each thing once."""

from adapters.notify.outbox import Notification, Outbox
from adapters.notify.sending import BadSecret, Receivers
from adapters.notify.settings import NotifySettings

__all__ = ["BadSecret", "Notification", "NotifySettings", "Outbox", "Receivers"]
