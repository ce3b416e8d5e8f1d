"""Notifications: what starts to wait for a person is reported to a command or a webhook, each item once."""

import asyncio
import base64
import binascii
import hmac
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Final, NamedTuple, Self

from pydantic import AfterValidator, Field, model_validator

from adapters.processes import clean_environment, run
from adapters.references import SecretReference, resolve_secrets, web_address
from adapters.store import Store
from adapters.store.port import Access, SqlConnection
from domain.values.base import HansardError, Value
from domain.values.sentences import Sentence, at_place, sentence_of

# -- who is notified: `[notify]` of the team file --------------------------------------------------------------------


_LOOPBACK: Final = ("localhost", "127.0.0.1", "::1")


def _address(url: str) -> str:
    parts = web_address(url)
    if parts.scheme == "http" and parts.hostname not in _LOOPBACK:
        raise ValueError(Sentence("address_not_encrypted"))
    return url


def _program(command: tuple[str, ...]) -> tuple[str, ...]:
    if not command or not command[0] or any("\0" in word for word in command):
        raise ValueError(Sentence("must_name_a_program"))
    if "/" in command[0] and not command[0].startswith("/"):
        raise ValueError(Sentence("not_a_program_name"))
    return command


class NotifySettings(Value):
    """`command` gets each notification on standard input; `webhook` gets it as Standard Webhooks describe, signed with
    `secret` (`env:NAME` or `file:/path`; `whsec_` and base64, or any text)."""

    command: Annotated[tuple[str, ...], Field(max_length=100), AfterValidator(_program)] | None = None
    webhook: Annotated[str, Field(min_length=1, max_length=2_000), AfterValidator(_address)] | None = None
    secret: SecretReference | None = None

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.command is None and self.webhook is None:
            raise ValueError(Sentence("needs_command_or_webhook"))
        if (self.webhook is None) != (self.secret is None):
            raise ValueError(Sentence("webhook_without_secret"))
        return self


# -- unsent notifications, which survive restarts and unreachable receivers ------------------------------------------


_TABLES: Final = """
CREATE TABLE IF NOT EXISTS bookmark (one INTEGER PRIMARY KEY CHECK (one = 1), position INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS notifications (
    id TEXT NOT NULL, position INTEGER NOT NULL, receiver TEXT NOT NULL, body BLOB NOT NULL,
    since INTEGER NOT NULL, tries INTEGER NOT NULL DEFAULT 0, due INTEGER NOT NULL, PRIMARY KEY (id, receiver)
);
CREATE INDEX IF NOT EXISTS notifications_due ON notifications (due);
"""
_BUSY_SECONDS: Final = 30.0


class Notification(NamedTuple):
    """One item for one receiver. `position` is where the log says that it waits; `since` is in milliseconds."""

    id: str
    position: int
    receiver: str
    body: bytes
    since: int
    tries: int
    due: int = 0
    """When it is first sent; immediately if that time has passed."""


class Outbox:
    """The tables `bookmark` and `notifications`. `alone` provides a connection in a transaction that excludes any other
    process changes them. Raises what it raises."""

    def __init__(self, alone: Access) -> None:
        self._alone = alone

    def begin(self, head: int) -> int:
        """Up to which position of the log this is complete; on first use, everything so far counts as done."""
        with self._alone() as db:
            db.execute("INSERT INTO bookmark VALUES (1, ?) ON CONFLICT DO NOTHING", [head])
            return _bookmark(db)

    def add(self, notifications: Iterable[Notification], *, upto: int, now: int) -> None:
        """Add new items, only once even with several processes, and remember how far the log was read."""
        with self._alone() as db:
            bookmark = _bookmark(db)
            for one in notifications:
                if one.position > bookmark:
                    row = (*one[:-1], max(one.due, now))
                    db.execute("INSERT INTO notifications VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING", row)
            db.execute("UPDATE bookmark SET position = ? WHERE position < ?", [upto, upto])

    def take(self, receiver: str, now: int, *, lease: int) -> Notification | None:
        """The receiver's next due item; no other process gets it for `lease` milliseconds."""
        with self._alone() as db:
            row = db.execute(
                f"SELECT {', '.join(Notification._fields)} FROM notifications"
                " WHERE receiver = ? AND due <= ? ORDER BY due, position LIMIT 1",
                [receiver, now],
            ).fetchone()
            if row is None:
                return None
            one = Notification(*row)
            db.execute(
                "UPDATE notifications SET tries = tries + 1, due = ? WHERE id = ? AND receiver = ?",
                [now + lease, one.id, one.receiver],
            )
        return one

    def done(self, one: Notification) -> None:
        """It was delivered, or given up."""
        with self._alone() as db:
            db.execute("DELETE FROM notifications WHERE id = ? AND receiver = ?", [one.id, one.receiver])

    def later(self, one: Notification, due: int) -> None:
        with self._alone() as db:
            db.execute("UPDATE notifications SET due = ? WHERE id = ? AND receiver = ?", [due, one.id, one.receiver])

    def hurry(self, receiver: str, now: int, *, lease: int) -> None:
        """The receiver is back: items that failed before are due now, except those being sent."""
        with self._alone() as db:
            db.execute(
                "UPDATE notifications SET due = ? WHERE receiver = ? AND tries > 0 AND due > ?",
                [now, receiver, now + lease],
            )

    def next_due(self, receiver: str) -> int | None:
        """When the receiver's next item is due; None if everything has been sent."""
        with self._alone() as db:
            [due] = db.execute("SELECT min(due) FROM notifications WHERE receiver = ?", [receiver]).fetchone()
        return None if due is None else int(due)


def _bookmark(db: SqlConnection) -> int:
    [position] = db.execute("SELECT position FROM bookmark").fetchone()
    return int(position)


def open_outbox(store: Store, path: Path) -> Outbox:
    """The outbox in the database that machines share; without one in this file, which processes of the machine may
    share. Raises sqlite3.Error or StoreError."""
    return Outbox(store.outbox or _in_file(path))


def _in_file(path: Path) -> Access:
    @contextmanager
    def alone() -> Iterator[sqlite3.Connection]:
        connection = sqlite3.connect(path, timeout=_BUSY_SECONDS, isolation_level=None)
        try:
            connection.execute("BEGIN IMMEDIATE")
            yield connection
            if connection.in_transaction:
                connection.execute("COMMIT")
        finally:
            connection.close()

    with alone() as connection:
        connection.executescript(_TABLES)
    return alone


# -- delivery: to a command, or to a webhook according to Standard Webhooks ------------------------------------------


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
        from httpx2 import AsyncClient, HTTPError

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
