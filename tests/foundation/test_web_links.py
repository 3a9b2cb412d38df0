import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yourtool.foundation.web_links import parse_link


@pytest.mark.parametrize(
    ("address", "link"),
    [
        ("https://example.org", "https://example.org"),
        ("HTTP://Example.org:8080/a?b=c#d", "HTTP://Example.org:8080/a?b=c#d"),
        ("http://localhost:3000/", "http://localhost:3000/"),
        ("http://[::1]:80/x", "http://[::1]:80/x"),
        ("https://de.wikipedia.org/wiki/Straße", "https://de.wikipedia.org/wiki/Stra%C3%9Fe"),
        ("https://a.org/x%20y;z", "https://a.org/x%20y;z"),
        ("https://a.org/me@b.org", "https://a.org/me@b.org"),
        ("https://a.org/\\b", "https://a.org/%5Cb"),
    ],
)
def test_address_of_the_web_is_a_link_in_printable_ascii(address, link):
    assert parse_link(address) == link


@pytest.mark.parametrize(
    "address",
    [
        "ftp://a.org",
        "file:///a",
        "javascript:alert(1)",
        "//a.org",
        "https://",
        "https:///a",
        "https://me@a.org",
        "https://me:word@a.org/",
        "https://a.org\\@b.org",
        "https://аpple.org",
        "https://a.org/\x1b]8;;",
        "https://a.org/\x07",
        "https://a.org/\u202ecod.exe",
        "https://a.org:port/",
        "https://a.org/" + "x" * 2_000,
        "https://a.org/" + "é" * 1_000,
    ],
)
def test_other_address_is_no_link(address):
    assert parse_link(address) is None


@given(st.text(st.characters(exclude_categories=())))
def test_link_never_has_a_character_that_a_terminal_obeys(text):
    for address in (text, f"https://a.org/{text}", f"https://{text}"):
        if (link := parse_link(address)) is not None:
            assert re.fullmatch(r"https?://[!-~]+", link, re.IGNORECASE)
            assert "@" not in link.split("/")[2]
            assert parse_link(link) == link
