"""The address at which `serve` listens."""

import errno
import socket
from typing import TYPE_CHECKING

from api.cli import exits
from api.cli.exits import Failed
from api.cli.labels import sentence

if TYPE_CHECKING:
    from api.node.settings import Settings

_BACKLOG = 2_048


def listener_of(settings: "Settings") -> socket.socket:
    """The listening socket. Raises Failed with a sentence: the port is taken, the address is not ours."""
    host, port = settings.host, settings.port
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listener = socket.socket(family, kind, protocol)
    except OSError as error:
        raise Failed(
            sentence("Cannot listen on {host}: {strerror}.", host=host, strerror=exits.reason_of(error))
        ) from None
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(_BACKLOG)
    except OSError as error:
        listener.close()
        if error.errno == errno.EADDRINUSE:
            taken = "Port {port} on {host} is in use; choose another with --port (0 picks a free one)."
            raise Failed(sentence(taken, port=port, host=host)) from None
        problem = "Cannot listen on {host} port {port}: {strerror}."
        raise Failed(sentence(problem, host=host, port=port, strerror=exits.reason_of(error))) from None
    return listener
