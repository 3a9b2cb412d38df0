"""A workspace, and a model that follows a script."""

import pytest

from tests.provider_server import ProviderServer, Reply


@pytest.fixture
def work(tmp_path):
    path = tmp_path / "work"
    path.mkdir()
    (path / "a.txt").write_text("one\ntwo\nthree\n")
    return path


@pytest.fixture
def script(monkeypatch):
    """A function that gives the model of new sessions its replies."""
    servers = list[ProviderServer]()

    def use(*replies: Reply) -> ProviderServer:
        server = ProviderServer(replies)
        server.__enter__()
        servers.append(server)
        monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-test-00000000")
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        return server

    yield use
    for server in servers:
        server.__exit__(None, None, None)
