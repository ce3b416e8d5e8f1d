"""Open a program's way out, then become the program: `inside.py DOOR VARIABLES PORTS PROGRAM [ARGUMENT …]`.

Runs inside the fence (`python -I -S`), in a network of its own in which only the loopback exists. It listens there,
gives the listening sockets to the proxy outside through `DOOR`, a socket, and names the proxy in the program's
environment, which it reads from the open file `VARIABLES`. `PORTS` are ports of the machine that the program may reach:
here the same ports lead there. It imports as little as possible, since every command waits for it.
"""

import _socket
import os
import sys

_LOOPBACK = "127.0.0.1"
_LOCAL = "localhost,127.0.0.1,::1"


def become(door: int, ports: list[int], argv: list[str], env: dict[bytes, bytes]) -> None:
    """Never returns: the program starts, or a line says like bubblewrap's why it did not."""
    import _signal  # type: ignore[import-not-found]

    for number in (_signal.SIGPIPE, _signal.SIGXFSZ):  # Python ignores these signals, and ignored signals stay ignored
        _signal.signal(number, _signal.SIG_DFL)
    try:
        env.update(_variables_of(_hand_out(door, ports)))
        os.execvpe(argv[0], argv, env)  # noqa: S606 - an argument list is what is wanted, not a shell
    except OSError as error:
        os.write(2, f"bwrap: execvp {argv[0]}: {error.strerror}\n".encode(errors="replace"))
    os._exit(1)


def _hand_out(door: int, ports: list[int]) -> int:
    """Give the listening sockets to the proxy. Returns the port on which it is reached here."""
    listening, meant = [_listen(0)], [0]
    for wanted in ports:
        try:
            listening.append(_listen(wanted))
        except OSError:  # something of the workspace, such as a service, has this port
            continue
        meant.append(wanted)
    numbers = b"".join(each.fileno().to_bytes(4, sys.byteorder) for each in listening)
    words = b"".join(port.to_bytes(4, sys.byteorder) for port in meant)
    out = _socket.socket(fileno=door)
    out.sendmsg([words], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, numbers)])
    out.close()
    port: int = listening[0].getsockname()[1]
    return port


def _listen(port: int) -> _socket.socket:
    listening = _socket.socket(_socket.AF_INET, _socket.SOCK_STREAM)
    listening.setsockopt(_socket.SOL_SOCKET, _socket.SO_REUSEADDR, 1)
    listening.bind((_LOOPBACK, port))
    listening.listen(128)
    return listening


def _variables_of(port: int) -> dict[bytes, bytes]:
    """The variables by which programs find the proxy."""
    proxy = f"http://{_LOOPBACK}:{port}"
    named = {"HTTP_PROXY": proxy, "HTTPS_PROXY": proxy, "NO_PROXY": _LOCAL}
    both = {**named, **{name.lower(): value for name, value in named.items()}, "NODE_USE_ENV_PROXY": "1"}
    return {name.encode(): value.encode() for name, value in both.items()}


def variables(number: int) -> dict[bytes, bytes]:
    """The environment in an open file: `NAME=value`, separated by NUL. Closes the file."""
    with open(number, "rb") as file:
        entries = file.read().split(b"\0")
    return dict(entry.split(b"=", 1) for entry in entries if entry)


if __name__ == "__main__":
    become(
        int(sys.argv[1]),
        [int(port) for port in sys.argv[3].split(",") if port],
        sys.argv[4:],
        variables(int(sys.argv[2])),
    )
