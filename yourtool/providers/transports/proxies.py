"""Proxies of the environment, in messages."""

import os
from urllib.parse import urlsplit
from urllib.request import proxy_bypass

from yourtool.providers.urls import is_loopback

VARIABLES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")
"""The variables, also in upper case, that the HTTP client reads."""


def describe_route(base_url: str) -> str:
    """Return through which proxy a URL is reached, a clause with the variable; empty: none.

    A login in the variable is not in it.
    """
    target = urlsplit(base_url)
    if is_loopback(base_url) or proxy_bypass(target.netloc):
        return ""
    for name in (f"{target.scheme}_proxy", "all_proxy"):
        for variable in (name, name.upper()):
            if written := os.environ.get(variable):
                address = written.rpartition("@")[2].rpartition("//")[2].rstrip("/")
                return f" through the proxy `{address}` of `{variable}`"
    return ""
