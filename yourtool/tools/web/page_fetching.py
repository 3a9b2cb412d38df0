"""HTTP requests for `fetch_url`.

On every hop the host name is resolved once, and the connection uses the address that was checked.
"""

import asyncio
import ipaddress
import os
import secrets
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing, asynccontextmanager

import httpx2
from msgspec import Struct

from yourtool.errors import ToolError, ToolFailure
from yourtool.foundation.amounts import format_size
from yourtool.foundation.decompression import ACCEPTED, CompressionError, decompress
from yourtool.foundation.public_addresses import Address, find_addresses
from yourtool.permissions.hosts import host_subject
from yourtool.providers.transports import certificates
from yourtool.tools.base import ToolContext, ToolOutput, build_reading
from yourtool.tools.web.charsets import decode_text
from yourtool.tools.web.html import html_to_markdown

MAX_PAGE_BYTES = 5 * 2**20
"""Maximum page size that is read, after decompression."""
MAX_TEXT_LENGTH = 5 * 2**20
"""Maximum characters of a page's text, which can be far longer than its HTML."""
MAX_RESULT_LENGTH = 50_000
"""Maximum characters of a page in one tool result."""

_THIS_MACHINE = ("localhost", "localhost.localdomain")
FETCH_ERRORS = (httpx2.HTTPError, CompressionError)
_MAX_REDIRECTS = 5
_HEADERS = {
    **ACCEPTED,
    "User-Agent": "yourtool/0.1",
    "Accept": "text/html, text/*;q=0.9, application/json;q=0.9, */*;q=0.1",
}
_TEXTUAL = ("json", "xml", "yaml", "javascript", "toml", "x-sh")


class Page(Struct, frozen=True):
    """A page that was read."""

    url: str
    media_type: str
    charset: str | None
    data: bytes
    is_truncated: bool


def parse_url(text: str) -> httpx2.URL:
    """Parse the URL of a call.

    Raises:
        ToolError: it is not the URL of a page, or parsers disagree about it.
    """
    if any(char <= " " or char == "\\" for char in text):
        # URL parsers disagree about these, so a rule might match another host than the request.
        raise ToolError(
            f"`{text}` contains a space, a control character or a backslash; percent-encode it"
        )
    try:
        url = httpx2.URL(text).copy_with(fragment=None)
        problem = None
    except (httpx2.InvalidURL, ValueError) as error:
        raise ToolError(
            f"`{text}` is not a valid URL: {error}; use a full `https://…` URL"
        ) from error
    if url.scheme not in ("http", "https") or not url.host:
        problem = "is not an http or https URL; use a full `https://…` URL"
    elif "%" in url.host or (url.port or 0) > 65_535:
        problem = "has an invalid host or port; correct it"
    elif url.userinfo:
        problem = "contains a user name or password; remove them"
    if problem:
        raise ToolError(f"`{text}` {problem}")
    return url


async def fetch(url: httpx2.URL, is_allowed: Callable[[Address], bool]) -> Page:
    """Fetch a page; `is_allowed` checks every address before connecting.

    Raises:
        ToolError: the page cannot be fetched.
    """
    try:
        context = await asyncio.to_thread(certificates.ssl_context, str(url))
    except OSError as error:
        raise ToolError(f"{certificates.UNREADABLE}: {error}; correct the variable") from error
    async with httpx2.AsyncClient(  # the caller sets a total timeout
        trust_env=False, headers=_HEADERS, timeout=None, verify=context
    ) as client:
        for _ in range(_MAX_REDIRECTS + 1):
            address = await _resolve(url, is_allowed)
            async with _get(client, url, address) as response:
                if not response.has_redirect_location:
                    return await _read_page(url, response)
                target = url.join(response.headers["location"])
            if not has_same_approval(url, target):
                raise ToolError(
                    f"`{url}` redirects to `{target}` on another host; to follow it, call"
                    " `fetch_url` with that URL"
                )
            url = parse_url(str(target))
    raise ToolError(f"`{url}` redirects more than {_MAX_REDIRECTS} times; use another URL")


def url_subject(url: httpx2.URL) -> str:
    """Return the host, and the port, as rules name them."""
    return host_subject(url.raw_host.decode("ascii"), url.port)


def has_same_approval(url: httpx2.URL, target: httpx2.URL) -> bool:
    """Whether an approval of `url` also covers its redirect to `target`."""
    upgraded = (url.scheme, target.scheme) == ("http", "https")
    return url.host == target.host and (
        url_subject(url) == url_subject(target)
        if upgraded
        else (url.scheme, url.port) == (target.scheme, target.port)
    )


async def _resolve(url: httpx2.URL, is_allowed: Callable[[Address], bool]) -> str:
    port = url.port or (443 if url.scheme == "https" else 80)
    try:
        addresses = await find_addresses(url.host, port)
    except (OSError, UnicodeError) as error:
        raise ToolError(
            f"the host `{url.host}` was not found ({error}); check its spelling"
        ) from error
    for address in addresses:
        if not is_allowed(address):
            raise _refuse(url, address)
    return str(addresses[0])


def check_literal(url: httpx2.URL, is_allowed: Callable[[Address], bool]) -> None:
    """Check a host that is an address or this machine, before the question.

    Raises:
        ToolError: it is private.
    """
    host = "127.0.0.1" if url.host in _THIS_MACHINE else url.host
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return  # a name, which is resolved after the approval
    if not is_allowed(address):
        raise _refuse(url, address)


def _refuse(url: httpx2.URL, address: Address) -> ToolError:
    return ToolError(
        f"`{url.host}` resolves to the private address `{address}`, which cannot be"
        " fetched; use a `shell` command such as `curl` instead, which the user can allow",
        ToolFailure.PERMISSION_DENIED,
    )


@asynccontextmanager
async def _get(
    client: httpx2.AsyncClient, url: httpx2.URL, address: str
) -> AsyncGenerator[httpx2.Response, None]:
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


async def _read_page(url: httpx2.URL, response: httpx2.Response) -> Page:
    if response.is_error:
        raise ToolError(
            f"`{url}` returned {response.status_code} {response.reason_phrase};"
            " check the URL, or continue without it"
        )
    media_type = response.headers.get("content-type", "text/plain").partition(";")[0].strip()
    if not (media_type.startswith("text/") or any(kind in media_type for kind in _TEXTUAL)):
        raise ToolError(
            f"`{url}` is `{media_type}`, not text; if you need it, download it with `shell`"
        )
    data = bytearray()
    encoding = response.headers.get("content-encoding", "")
    async with aclosing(decompress(response.aiter_raw(), encoding)) as pieces:
        async for piece in pieces:
            data += piece
            if len(data) > MAX_PAGE_BYTES:
                break
    charset = response.charset_encoding
    return Page(
        str(url), media_type, charset, bytes(data[:MAX_PAGE_BYTES]), len(data) > MAX_PAGE_BYTES
    )


def format_page(page: Page, context: ToolContext) -> ToolOutput:
    """Return the result of the tool; a long text is written to a file."""
    text, is_converted = decode_text(page.data, page.charset), True
    if page.is_truncated:
        text = context.mask.without_partial_key(text)
    if page.media_type in ("text/html", "application/xhtml+xml"):
        text, is_converted = html_to_markdown(text, MAX_TEXT_LENGTH + 1, context.cancelled)
    is_cut = len(text) > MAX_TEXT_LENGTH
    text = context.mask.slice(text, 0, MAX_TEXT_LENGTH)
    header = f"`{page.url}` ({page.media_type}, {len(page.data):,} bytes)"
    if page.is_truncated:
        header += f"; only the first {MAX_PAGE_BYTES:,} bytes were read"
    if not is_converted:
        header += "; plain text, because the HTML could not be converted to Markdown"
    if is_cut:
        header += f"; truncated to the first {MAX_TEXT_LENGTH:,} characters of text"
    amount = format_size(len(page.data))
    if len(text) <= MAX_RESULT_LENGTH:
        return build_reading(f"{header}\n\n{text}", amount)
    path = context.spill / f"page-{secrets.token_hex(8)}.txt"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with os.fdopen(os.open(path, flags, 0o600), "w", encoding="utf-8", errors="replace") as file:
        file.write(text)
    return build_reading(
        f"{header}\n\n{text[:MAX_RESULT_LENGTH]}\n"
        f"[{len(text) - MAX_RESULT_LENGTH:,} more characters; read the full text in ranges with"
        f" `read_file` from `{path}`]",
        amount,
        note_lines=1,
    )
