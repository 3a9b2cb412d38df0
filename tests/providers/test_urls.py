import pytest

from yourtool.providers.urls import host_of, is_loopback, origin_of


@pytest.mark.parametrize(
    ("url", "host", "origin", "local"),
    [
        ("https://api.anthropic.com", "api.anthropic.com", "https://api.anthropic.com", False),
        ("https://a.example:443/v1?x=y", "a.example", "https://a.example", False),
        ("http://u:p@127.0.0.1:8080/v1", "127.0.0.1:8080", "http://127.0.0.1:8080", True),
        ("http://[::1]:9/v1", "[::1]:9", "http://[::1]:9", True),
        ("http://localhost/v1", "localhost", "http://localhost", True),
        ("http://127.0.0.1.evil.example", "127.0.0.1.evil.example", None, False),
        ("http://localhost.evil.example", "localhost.evil.example", None, False),
        ("http://10.0.0.1", "10.0.0.1", "http://10.0.0.1", False),
        ("nonsense", "the provider", None, False),
        ("http://[", "the provider", "http://[", False),
        ("http://h:x", "the provider", None, False),
    ],
)
def test_host_origin_and_loopback_are_parsed_from_a_base_url(url, host, origin, local):
    assert host_of(url) == host
    assert origin is None or origin_of(url) == origin
    assert is_loopback(url) is local
