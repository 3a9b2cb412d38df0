"""Reading the web: `fetch_url`.

Only GET, only http and https. A name is resolved once, and the address that was judged is the one
that is dialled, on every hop. Private addresses are refused, a redirect to another host goes back
to the model, and proxies and cookies are not used. The user is asked per host. An address that is
long or has a key of the user in it might take data out: it is asked about every time.
"""

import asyncio
import os
import secrets
import socket
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing, asynccontextmanager
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import Annotated
from urllib.parse import unquote

import httpx
from msgspec import Meta, Struct

from yourtool.decompression import ACCEPTED, CompressionError, decompress
from yourtool.effects import Preview, SideEffects
from yourtool.errors import ToolError, ToolFailure
from yourtool.masking import Mask
from yourtool.permissions.hosts import host_subject
from yourtool.tools.base import Args, Tool, ToolContext, tool
from yourtool.tools.charsets import decoded
from yourtool.tools.html import html_to_markdown

MOST_BYTES = 5 * 2**20
"""Bytes of a page that are read, after decompression."""
MOST_TEXT = 5 * 2**20
"""Characters of a page's text, which can be far longer than its HTML."""
MOST_CHARACTERS = 50_000
"""Characters of a page that go to the model at once."""
SECONDS = 30.0
LONGEST_TARGET = 512
"""Bytes of path and query that need no agreement."""

_MOST_REDIRECTS = 5
_NOT_PUBLIC_V4 = tuple(
    map(
        IPv4Network,
        (
            "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16",
            "172.16.0.0/12", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16",
            "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4",
            "168.63.129.16/32",
        ),
    )
)  # fmt: skip
"""Private, shared, reserved and multicast networks
(https://www.iana.org/assignments/iana-ipv4-special-registry), and Azure's metadata service
(https://learn.microsoft.com/azure/virtual-network/what-is-ip-address-168-63-129-16). The table is
here because `ipaddress` judges some of them differently from one Python to the next."""
_UNICAST_V6 = IPv6Network("2000::/3")
"""The only part of IPv6 from which public addresses are assigned
(https://www.iana.org/assignments/ipv6-address-space)."""
_NOT_PUBLIC_V6 = tuple(map(IPv6Network, ("2001::/23", "2001:db8::/32", "3fff::/20")))
_MAPPED, _NAT64, _6TO4 = map(IPv6Network, ("::ffff:0:0/96", "64:ff9b::/96", "2002::/16"))
_HEADERS = {
    **ACCEPTED,
    "User-Agent": "yourtool/0.1",
    "Accept": "text/html, text/*;q=0.9, application/json;q=0.9, */*;q=0.1",
}
_TEXTUAL = ("json", "xml", "yaml", "javascript", "toml", "x-sh")


class FetchUrl(Args, frozen=True):
    """An address."""

    url: Annotated[str, Meta(min_length=1, description="An http or https address.")]


class _Page(Struct, frozen=True):
    url: str
    media_type: str
    charset: str | None
    data: bytes
    cut: bool


def is_public(address: IPv4Address | IPv6Address) -> bool:
    """Tell whether an address is on the open internet, also when wrapped into IPv6."""
    if isinstance(address, IPv4Address):
        return not any(address in network for network in _NOT_PUBLIC_V4)
    if address in _MAPPED or address in _NAT64:
        return is_public(IPv4Address(int(address) & 0xFFFFFFFF))
    if address in _6TO4:
        return is_public(IPv4Address(int(address) >> 80 & 0xFFFFFFFF))
    return address in _UNICAST_V6 and not any(address in network for network in _NOT_PUBLIC_V6)


def fetcher(
    reachable: Callable[[IPv4Address | IPv6Address], bool] = is_public,
    *,
    seconds: float = SECONDS,
) -> Tool:
    """Make `fetch_url`; `reachable` judges every address before it is dialled."""

    async def preview(args: FetchUrl, context: ToolContext) -> Preview:
        url = _address(args.url)
        risk = _risk(args.url, url, context.mask)
        body = f"GET {url}" + (f"\n\nAsked because {risk}." if risk else "")
        return Preview(kind="text", body=body, protected=risk is not None)

    @tool(SideEffects.NETWORK, preview=preview, subject=lambda args: _host(_address(args.url)))
    async def fetch_url(args: FetchUrl, context: ToolContext) -> str:
        """Read a page of the public web; HTML comes back as Markdown.

        At most 5 MiB and 30 seconds. A redirect to another host is reported and not followed.
        """
        url = _address(args.url)
        if context.approved is not None and context.approved != await preview(args, context):
            raise ToolError("this is not the address that the user agreed to; it was not fetched")
        if context.approved is None and (risk := _risk(args.url, url, context.mask)) is not None:
            raise ToolError(
                f"this address needs the user's agreement, because {risk}; use a shorter one"
                " without data in it, or let the user open it",
                ToolFailure.PERMISSION_DENIED,
            )
        try:
            async with asyncio.timeout(seconds):
                page = await _fetch(url, reachable)
        except TimeoutError:
            raise ToolError(
                f"`{args.url}` took longer than {seconds:g} s; try a smaller page",
                ToolFailure.TIMEOUT,
            ) from None
        except (httpx.HTTPError, CompressionError) as error:
            raise ToolError(
                f"`{args.url}` could not be fetched: {str(error) or type(error).__name__};"
                " check the address, or continue without it"
            ) from error
        return await context.blocking(_shown, page, context)

    return fetch_url


def _address(text: str) -> httpx.URL:
    if any(char <= " " or char == "\\" for char in text):
        # Programs do not agree on what these mean, so a rule might judge another host.
        raise ToolError(f"`{text}` holds a space, a control or a backslash; write it as `%…`")
    try:
        url = httpx.URL(text).copy_with(fragment=None)
        problem = None
    except (httpx.InvalidURL, ValueError) as error:
        raise ToolError(f"`{text}` is not an address: {error}; give a whole http(s) one") from error
    if url.scheme not in ("http", "https") or not url.host:
        problem = "is not an http or https address; give a whole one, such as `https://…`"
    elif "%" in url.host or (url.port or 0) > 65_535:
        problem = "names a host or a port that cannot exist; correct it"
    elif url.userinfo:
        problem = "holds a user name or password, which are not sent; leave them out"
    if problem:
        raise ToolError(f"`{text}` {problem}")
    return url


def _risk(given: str, url: httpx.URL, mask: Mask) -> str | None:
    """Return why an address might take data out; `given` is how the model wrote it."""
    if len(url.raw_path) > LONGEST_TARGET:
        return f"its path and query are longer than {LONGEST_TARGET} bytes"
    # A host loses its capital letters in `url`; any character may be percent-encoded.
    if any(mask.text(spelled) != spelled for spelled in (given, unquote(given))):
        return "one of your keys is in it"
    return None


async def _fetch(url: httpx.URL, reachable: Callable[[IPv4Address | IPv6Address], bool]) -> _Page:
    async with httpx.AsyncClient(trust_env=False, headers=_HEADERS, timeout=None) as client:  # noqa: S113 - the whole is timed
        for _ in range(_MOST_REDIRECTS + 1):
            address = await _resolve(url, reachable)
            async with _get(client, url, address) as response:
                if not response.has_redirect_location:
                    return await _page(url, response)
                target = url.join(response.headers["location"])
            if not stays(url, target):
                raise ToolError(
                    f"`{url}` redirects to `{target}`, on another host; if that is what you want,"
                    " call `fetch_url` with it"
                )
            url = _address(str(target))
    raise ToolError(f"`{url}` redirects more than {_MOST_REDIRECTS} times; use another address")


def _host(url: httpx.URL) -> str:
    return host_subject(url.raw_host.decode("ascii"), url.port)


def stays(url: httpx.URL, target: httpx.URL) -> bool:
    """Tell whether what was agreed to for `url` holds for `target`, where it redirects to."""
    upgraded = (url.scheme, target.scheme) == ("http", "https")
    return url.host == target.host and (
        _host(url) == _host(target)
        if upgraded
        else (url.scheme, url.port) == (target.scheme, target.port)
    )


async def _resolve(url: httpx.URL, reachable: Callable[[IPv4Address | IPv6Address], bool]) -> str:
    port = url.port or (443 if url.scheme == "https" else 80)
    try:
        found = await asyncio.get_running_loop().getaddrinfo(
            url.host, port, type=socket.SOCK_STREAM
        )
    except (OSError, UnicodeError) as error:
        raise ToolError(
            f"the host `{url.host}` was not found ({error}); check its spelling"
        ) from error
    addresses = [ip_address(str(entry[4][0]).partition("%")[0]) for entry in found]
    for address in addresses:
        if not reachable(address):
            raise ToolError(
                f"`{url.host}` is at `{address}`, a private address, which is not fetched;"
                " the user can allow a command such as `curl` instead",
                ToolFailure.PERMISSION_DENIED,
            )
    return str(addresses[0])


@asynccontextmanager
async def _get(
    client: httpx.AsyncClient, url: httpx.URL, address: str
) -> AsyncGenerator[httpx.Response, None]:
    request = client.build_request(
        "GET",
        url.copy_with(host=address),
        headers={"Host": url.netloc.decode("ascii")},
        extensions={"sni_hostname": url.raw_host.decode("ascii")},
    )
    response = await client.send(request, stream=True)
    try:
        yield response
    finally:
        await response.aclose()


async def _page(url: httpx.URL, response: httpx.Response) -> _Page:
    if response.is_error:
        raise ToolError(
            f"`{url}` answered {response.status_code} {response.reason_phrase};"
            " check the address, or continue without it"
        )
    media_type = response.headers.get("content-type", "text/plain").partition(";")[0].strip()
    if not (media_type.startswith("text/") or any(kind in media_type for kind in _TEXTUAL)):
        raise ToolError(
            f"`{url}` is `{media_type}`, not text; download it with `shell` if it is needed"
        )
    data = bytearray()
    encoding = response.headers.get("content-encoding", "")
    async with aclosing(decompress(response.aiter_raw(), encoding)) as pieces:
        async for piece in pieces:
            data += piece
            if len(data) > MOST_BYTES:
                break
    charset = response.charset_encoding
    return _Page(str(url), media_type, charset, bytes(data[:MOST_BYTES]), len(data) > MOST_BYTES)


def _shown(page: _Page, context: ToolContext) -> str:
    text, is_converted = decoded(page.data, page.charset), True
    if page.cut:
        text = context.mask.without_partial_key(text)
    if page.media_type in ("text/html", "application/xhtml+xml"):
        text, is_converted = html_to_markdown(text, MOST_TEXT + 1, context.cancelled)
    is_cut = len(text) > MOST_TEXT
    text = context.mask.slice(text, 0, MOST_TEXT)
    header = f"`{page.url}` ({page.media_type}, {len(page.data):,} bytes)"
    if page.cut:
        header += f"; only the first {MOST_BYTES:,} bytes were read"
    if not is_converted:
        header += "; its markup could not be converted, so this is its plain text"
    if is_cut:
        header += f"; only the first {MOST_TEXT:,} characters of its text are here"
    if len(text) <= MOST_CHARACTERS:
        return f"{header}\n\n{text}"
    path = context.spill / f"page-{secrets.token_hex(8)}.txt"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with os.fdopen(os.open(path, flags, 0o600), "w", encoding="utf-8", errors="replace") as file:
        file.write(text)
    return (
        f"{header}\n\n{text[:MOST_CHARACTERS]}\n"
        f"[{len(text) - MOST_CHARACTERS:,} more characters; the whole can be read by range with"
        f" `read_file` from `{path}`]"
    )
