"""The proxy through which a provider is reached is named in errors."""

import pytest

from yourtool.providers.transports.proxies import describe_route

URL = "https://api.example.com/v1"


@pytest.fixture(autouse=True)
def no_proxies(monkeypatch):
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


@pytest.mark.parametrize(
    ("environment", "route"),
    [
        ({}, ""),
        ({"HTTPS_PROXY": "http://127.0.0.1:9"}, "`127.0.0.1:9` of `HTTPS_PROXY`"),
        ({"https_proxy": "proxy.lan:3128/"}, "`proxy.lan:3128` of `https_proxy`"),
        ({"ALL_PROXY": "socks5h://[::1]:1080"}, "`[::1]:1080` of `ALL_PROXY`"),
        ({"https_proxy": "http://ann:secret@proxy:8080"}, "`proxy:8080` of `https_proxy`"),
        ({"https_proxy": "http://a:1", "ALL_PROXY": "http://b:1"}, "`a:1` of `https_proxy`"),
        ({"http_proxy": "http://a:1"}, ""),
        ({"https_proxy": "http://a:1", "no_proxy": ".example.com"}, ""),
        ({"https_proxy": "http://a:1", "NO_PROXY": "*"}, ""),
    ],
)
def test_route_names_the_proxy_and_its_variable_without_a_login(monkeypatch, environment, route):
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert describe_route(URL) == (f" through the proxy {route}" if route else "")
    assert describe_route("http://127.0.0.1:11434") == ""
