"""A script, `bridge_script.py SOCKET PORT COMMAND…`: a network bridge in a sandbox.

It listens on PORT of the sandbox's own loopback address and becomes the command. Its grandchild
connects each client to SOCKET, where the proxy of `yourtool` answers, until the sandbox ends with
the command. It is no child of the command, which may wait for all of its children.

It imports no `yourtool` and, before the command runs, only modules that load fast: `socket` takes
as long as the start of the interpreter.
"""

import _socket
import os
import sys

_CHUNK = 65_536
_MAX_CONNECTIONS = 256


def listen(port: int) -> int:
    """Return the descriptor of a socket that accepts connections."""
    listener = _socket.socket(_socket.AF_INET)
    listener.setsockopt(_socket.SOL_SOCKET, _socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", port))
    listener.listen(_MAX_CONNECTIONS)
    return listener.detach()


def become_command(arguments: list[str]) -> None:
    """Replace this process with the command; return only in its new grandchild."""
    if child := os.fork():
        os.waitpid(child, 0)
        os.execvp(arguments[0], arguments)
    if os.fork():
        os._exit(0)


LISTENER = listen(int(sys.argv[2]))
become_command(sys.argv[3:])

import socket  # noqa: E402 - the command runs meanwhile
import threading  # noqa: E402


def main() -> None:
    """Connect clients until the sandbox ends."""
    listener = socket.socket(fileno=LISTENER)
    slots = threading.BoundedSemaphore(_MAX_CONNECTIONS)
    while True:
        client, _ = listener.accept()
        slots.acquire()
        threading.Thread(target=_join, args=(client, sys.argv[1], slots), daemon=True).start()


def _join(client: socket.socket, path: str, slots: threading.BoundedSemaphore) -> None:
    try:
        with client, socket.socket(socket.AF_UNIX) as server:
            server.connect(path)
            back = threading.Thread(target=_copy, args=(server, client), daemon=True)
            back.start()
            _copy(client, server)
            back.join()
    except OSError:
        pass  # the client sees a closed connection
    finally:
        slots.release()


def _copy(source: socket.socket, target: socket.socket) -> None:
    try:
        while data := source.recv(_CHUNK):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)
    except OSError:
        source.close()
        target.close()


main()
