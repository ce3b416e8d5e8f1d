"""Open a program's way out, then become the program: `inside.py DOOR VARIABLES PORTS PROGRAM [ARGUMENT …]`.

Runs inside the fence (`python -I -S`), in a network of its own in which only the loopback exists. It listens there,
gives the listening sockets to the proxy outside through `DOOR`, a socket, and names the proxy in the program's
environment, which it reads from the open file `VARIABLES`. `PORTS` are ports of the machine that the program may reach:
here the same ports lead there. Every command waits for it, so it loads nothing but modules of the interpreter itself:
`os` would cost more than all of this.
"""

import _signal  # type: ignore[import-not-found]
import _socket
import posix
import sys

_LOOPBACK = "127.0.0.1"
_LOCAL = "localhost,127.0.0.1,::1"
_USUAL = b"/bin:/usr/bin"
_PIECE = 1 << 20


def become(door: int, ports: list[int], argv: list[str], env: dict[bytes, bytes]) -> None:
    """Never returns: the program starts, or a line says like bubblewrap's why it did not."""
    for number in (_signal.SIGPIPE, _signal.SIGXFSZ):  # Python ignores these signals, and ignored signals stay ignored
        _signal.signal(number, _signal.SIG_DFL)
    try:
        env.update(proxy_variables(_hand_out(door, ports)))
        _execute(argv, env)
    except OSError as error:
        posix.write(2, f"bwrap: execvp {argv[0]}: {error.strerror}\n".encode(errors="replace"))
    posix._exit(1)


def _execute(argv: list[str], env: dict[bytes, bytes]) -> None:
    """Raises the last OSError that says more than that there is no such file."""
    name = argv[0].encode(errors="surrogateescape")
    if b"/" in name:
        posix.execve(name, argv, env)
    why: OSError = FileNotFoundError(2, "No such file or directory")
    for folder in env.get(b"PATH", _USUAL).split(b":"):
        try:
            posix.execve(folder + b"/" + name, argv, env)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            why = error
    raise why


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


def proxy_variables(port: int) -> dict[bytes, bytes]:
    """The variables by which programs find the proxy."""
    proxy = f"http://{_LOOPBACK}:{port}"
    named = {"HTTP_PROXY": proxy, "HTTPS_PROXY": proxy, "NO_PROXY": _LOCAL}
    both = {**named, **{name.lower(): value for name, value in named.items()}, "NODE_USE_ENV_PROXY": "1"}
    return {name.encode(): value.encode() for name, value in both.items()}


def variables(number: int) -> dict[bytes, bytes]:
    """The environment in an open file: `NAME=value`, separated by NUL. Closes the file."""
    content = b""
    while piece := posix.read(number, _PIECE):
        content += piece
    posix.close(number)
    return dict(entry.split(b"=", 1) for entry in content.split(b"\0") if entry)


if __name__ == "__main__":
    words = sys.argv
    become(int(words[1]), [int(port) for port in words[3].split(",") if port], words[4:], variables(int(words[2])))
