"""The certificates that connections trust."""

import os
import ssl
from functools import cache

import certifi

from yourtool.providers.urls import is_loopback

UNREADABLE = "the certificates of `SSL_CERT_FILE` cannot be read"


def ssl_context(base_url: str) -> ssl.SSLContext:
    """Return the SSL context; reading the certificates is slow and cached.

    Plain HTTP to a loopback address needs none and gets an empty context.

    Raises:
        OSError: the file that `SSL_CERT_FILE` names cannot be read.
    """
    if base_url.startswith("http:") and is_loopback(base_url):
        return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    return _default_ssl_context()


@cache
def _default_ssl_context() -> ssl.SSLContext:
    """Return a context with the public authorities, or those of OpenSSL's two variables."""
    if file := os.environ.get("SSL_CERT_FILE"):
        return ssl.create_default_context(cafile=file)
    if directory := os.environ.get("SSL_CERT_DIR"):
        return ssl.create_default_context(capath=directory)
    return ssl.create_default_context(cafile=certifi.where())
