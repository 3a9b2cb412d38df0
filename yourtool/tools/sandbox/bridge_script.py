"""A script, `bridge_script.py SOCKET PORT COMMAND…`: a network bridge in a sandbox.

It listens on PORT of the sandbox's own loopback address, connects each client to SOCKET, where the
proxy of `yourtool` answers, and runs the command. It imports no `yourtool`, so that it starts fast.
"""

import os
import signal
import socket
import sys
import threading

_CHUNK = 65_536
_MAX_CONNECTIONS = 256


def main() -> None:
    """Start the bridge, run the command, and end as it ends."""
    path, port = sys.argv[1], int(sys.argv[2])
    listener = socket.create_server(("127.0.0.1", port), backlog=_MAX_CONNECTIONS)
    child = os.fork()
    if child == 0:
        listener.close()
        os.execvp(sys.argv[3], sys.argv[3:])
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # the command has them too, and decides
    threading.Thread(target=_accept, args=(listener, path), daemon=True).start()
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    os._exit(code if code >= 0 else 128 - code)


def _accept(listener: socket.socket, path: str) -> None:
    slots = threading.BoundedSemaphore(_MAX_CONNECTIONS)
    while True:
        client, _ = listener.accept()
        slots.acquire()
        threading.Thread(target=_join, args=(client, path, slots), daemon=True).start()


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
