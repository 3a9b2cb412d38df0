"""A directory for the scripts of hooks."""

import select
import socket

import pytest

from tests.agent.hooks.scripts import Scripts


@pytest.fixture
def scripts(tmp_path):
    directory = tmp_path / "scripts"
    directory.mkdir()
    return Scripts(directory)


class Port:
    """A port of the loopback interface that counts its connections."""

    def __init__(self, server: socket.socket) -> None:
        self.number = server.getsockname()[1]
        self._server = server

    @property
    def count(self) -> int:
        found = 0
        while select.select([self._server], [], [], 0)[0]:
            self._server.accept()[0].close()
            found += 1
        return found


@pytest.fixture
def tcp_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield Port(server)
