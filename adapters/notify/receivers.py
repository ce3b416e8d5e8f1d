"""Delivery of notifications: to a command, or to a webhook according to Standard Webhooks."""

import asyncio
import base64
import binascii
import hmac
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Final

from httpx2 import AsyncClient, HTTPError

from adapters.notify.outbox import Notification
from adapters.notify.settings import NotifySettings
from adapters.processes.environment import clean_environment
from adapters.processes.program import run
from adapters.references import resolve_secrets
from domain.values.base import HansardError
from domain.values.sentences import Sentence, at_place, sentence_of

SECONDS: Final = 30.0
"""How long a receiver may take."""
_PREFIX: Final = "whsec_"


class BadSecret(HansardError):
    """The webhook's secret is missing, or not valid."""


class Receivers:
    """Command and webhook of the team. Raises BadSecret: the secret cannot be read."""

    def __init__(self, settings: NotifySettings) -> None:
        self._settings = settings
        self._key = b"" if settings.secret is None else _key_of(settings.secret)

    @property
    def names(self) -> tuple[str, ...]:
        settings = {"command": self._settings.command, "webhook": self._settings.webhook}
        return tuple(name for name, setting in settings.items() if setting)

    async def send(self, one: Notification, now: int) -> str | None:
        """Deliver it. Returns why it failed, or None. `now` in milliseconds."""
        if one.receiver == "command" and self._settings.command:
            return await self._run(self._settings.command, one)
        if one.receiver == "webhook" and self._settings.webhook:
            return await self._post(self._settings.webhook, one, now)
        return None  # the team no longer has this receiver

    async def _run(self, command: tuple[str, ...], one: Notification) -> str | None:
        home = Path.home()
        environment = clean_environment(home=home)
        result = await run(
            command, cwd=home, env=environment, stdin=one.body, wall_seconds=SECONDS, output_bytes=65_536
        )
        if result.exit_code == 0:
            return None
        return result.detail or f"it ended with exit code {result.exit_code}: {result.stderr.strip()[-500:]}"

    async def _post(self, url: str, one: Notification, now: int) -> str | None:
        try:
            async with asyncio.timeout(SECONDS), AsyncClient(timeout=SECONDS) as client:
                headers = signed(self._key, one.id, now // 1_000, one.body)
                async with client.stream("POST", url, content=one.body, headers=headers) as response:
                    return None if response.is_success else f"it answered {response.status_code}"
        except TimeoutError:
            return f"no answer within {SECONDS:g} s"
        except HTTPError as error:
            return str(error) or type(error).__name__


def signed(key: bytes, name: str, timestamp: int, body: bytes) -> Mapping[str, str]:
    """The headers of Standard Webhooks; `timestamp` in seconds."""
    message = f"{name}.{timestamp}.".encode() + body
    signature = base64.b64encode(hmac.digest(key, message, sha256)).decode()
    return {
        "content-type": "application/json",
        "webhook-id": name,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": f"v1,{signature}",
    }


def _key_of(reference: str) -> bytes:
    try:
        [secret] = resolve_secrets({"[notify] secret": reference}).values()
    except ValueError as error:
        raise BadSecret(sentence_of(error)) from None
    if not secret.startswith(_PREFIX):
        return secret.encode()
    try:
        return base64.b64decode(secret.removeprefix(_PREFIX), validate=True)
    except binascii.Error:
        sentence = Sentence("secret_not_base64", prefix=_PREFIX, given=reference)
        raise BadSecret(at_place("[notify] secret", sentence)) from None
