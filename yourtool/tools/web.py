"""The `fetch_url` tool: reads pages of the public web.

Only GET over http and https, without proxies and cookies. On every hop the host name is resolved
once, and the connection uses the address that was checked. Private addresses are refused, and
redirects to another host are returned to the model. Approvals are per host. URLs that are long or
contain an API key could exfiltrate data, so they need an approval every time.
"""

import asyncio
import os
import secrets
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing, asynccontextmanager
from typing import Annotated
from urllib.parse import unquote

import httpx
from msgspec import Meta, Struct

from yourtool.decompression import ACCEPTED, CompressionError, decompress
from yourtool.effects import Preview, SideEffects
from yourtool.errors import ToolError, ToolFailure
from yourtool.masking import Mask
from yourtool.permissions.hosts import host_subject
from yourtool.tools.base import Args, StructTool, ToolContext, tool
from yourtool.tools.charsets import decode_text
from yourtool.tools.html import html_to_markdown
from yourtool.tools.public_addresses import Address, find_addresses, is_public

MAX_PAGE_BYTES = 5 * 2**20
"""Maximum page size that is read, after decompression."""
MAX_TEXT_LENGTH = 5 * 2**20
"""Maximum characters of a page's text, which can be far longer than its HTML."""
MAX_RESULT_LENGTH = 50_000
"""Maximum characters of a page in one tool result."""
TIMEOUT_SECONDS = 30.0
MAX_TARGET_BYTES = 512
"""Maximum bytes of path and query without an approval for each request."""

_MAX_REDIRECTS = 5
_HEADERS = {
    **ACCEPTED,
    "User-Agent": "yourtool/0.1",
    "Accept": "text/html, text/*;q=0.9, application/json;q=0.9, */*;q=0.1",
}
_TEXTUAL = ("json", "xml", "yaml", "javascript", "toml", "x-sh")


class FetchUrl(Args, frozen=True):
    """Arguments of `fetch_url`."""

    url: Annotated[str, Meta(min_length=1, description="An http or https URL.")]


class _Page(Struct, frozen=True):
    url: str
    media_type: str
    charset: str | None
    data: bytes
    is_truncated: bool


def build_fetch_url(
    is_allowed: Callable[[Address], bool] = is_public,
    *,
    seconds: float = TIMEOUT_SECONDS,
) -> StructTool:
    """Build `fetch_url`; `is_allowed` checks every address before connecting."""

    async def preview(args: FetchUrl, context: ToolContext) -> Preview:
        url = _parse_url(args.url)
        risk = _exfiltration_risk(args.url, url, context.mask)
        body = f"GET {url}" + (f"\n\nNeeds an approval because {risk}." if risk else "")
        return Preview(kind="text", body=body, protected=risk is not None)

    @tool(
        SideEffects.NETWORK,
        preview=preview,
        host=lambda args: _url_subject(_parse_url(args.url)),
    )
    async def fetch_url(args: FetchUrl, context: ToolContext) -> str:
        """Fetch a page from the public web; HTML is converted to Markdown.

        The limits are 5 MiB and 30 seconds. Redirects to another host are reported, not followed.
        """
        url = _parse_url(args.url)
        if context.approved is not None and context.approved != await preview(args, context):
            raise ToolError("this is not the URL that the user approved, so it was not fetched")
        if (
            context.approved is None
            and (risk := _exfiltration_risk(args.url, url, context.mask)) is not None
        ):
            raise ToolError(
                f"this URL needs the user's approval because {risk}; use a shorter URL without"
                " data in it, or ask the user to open it",
                ToolFailure.PERMISSION_DENIED,
            )
        try:
            async with asyncio.timeout(seconds):
                page = await _fetch(url, is_allowed)
        except TimeoutError:
            raise ToolError(
                f"`{args.url}` timed out after {seconds:g} s; try a smaller page",
                ToolFailure.TIMEOUT,
            ) from None
        except (httpx.HTTPError, CompressionError) as error:
            raise ToolError(
                f"`{args.url}` could not be fetched: {str(error) or type(error).__name__};"
                " check the URL, or continue without it"
            ) from error
        return await context.run_in_thread(_format_page, page, context)

    return fetch_url


def _parse_url(text: str) -> httpx.URL:
    if any(char <= " " or char == "\\" for char in text):
        # URL parsers disagree about these, so a rule might match another host than the request.
        raise ToolError(
            f"`{text}` contains a space, a control character or a backslash; percent-encode it"
        )
    try:
        url = httpx.URL(text).copy_with(fragment=None)
        problem = None
    except (httpx.InvalidURL, ValueError) as error:
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


def _exfiltration_risk(written: str, url: httpx.URL, mask: Mask) -> str | None:
    """Return why a URL might exfiltrate data, or None; `written` is the model's spelling."""
    if len(url.raw_path) > MAX_TARGET_BYTES:
        return f"its path and query are longer than {MAX_TARGET_BYTES} bytes"
    # `url` has a lower-case host, and any character can be percent-encoded.
    if any(mask.text(spelling) != spelling for spelling in (written, unquote(written))):
        return "it contains one of your API keys"
    return None


async def _fetch(url: httpx.URL, is_allowed: Callable[[Address], bool]) -> _Page:
    async with httpx.AsyncClient(trust_env=False, headers=_HEADERS, timeout=None) as client:  # noqa: S113 - the caller sets a total timeout
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
            url = _parse_url(str(target))
    raise ToolError(f"`{url}` redirects more than {_MAX_REDIRECTS} times; use another URL")


def _url_subject(url: httpx.URL) -> str:
    return host_subject(url.raw_host.decode("ascii"), url.port)


def has_same_approval(url: httpx.URL, target: httpx.URL) -> bool:
    """Whether an approval of `url` also covers its redirect to `target`."""
    upgraded = (url.scheme, target.scheme) == ("http", "https")
    return url.host == target.host and (
        _url_subject(url) == _url_subject(target)
        if upgraded
        else (url.scheme, url.port) == (target.scheme, target.port)
    )


async def _resolve(url: httpx.URL, is_allowed: Callable[[Address], bool]) -> str:
    port = url.port or (443 if url.scheme == "https" else 80)
    try:
        addresses = await find_addresses(url.host, port)
    except (OSError, UnicodeError) as error:
        raise ToolError(
            f"the host `{url.host}` was not found ({error}); check its spelling"
        ) from error
    for address in addresses:
        if not is_allowed(address):
            raise ToolError(
                f"`{url.host}` resolves to the private address `{address}`, which cannot be"
                " fetched; use a `shell` command such as `curl` instead, which the user can allow",
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


async def _read_page(url: httpx.URL, response: httpx.Response) -> _Page:
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
    return _Page(
        str(url), media_type, charset, bytes(data[:MAX_PAGE_BYTES]), len(data) > MAX_PAGE_BYTES
    )


def _format_page(page: _Page, context: ToolContext) -> str:
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
    if len(text) <= MAX_RESULT_LENGTH:
        return f"{header}\n\n{text}"
    path = context.spill / f"page-{secrets.token_hex(8)}.txt"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with os.fdopen(os.open(path, flags, 0o600), "w", encoding="utf-8", errors="replace") as file:
        file.write(text)
    return (
        f"{header}\n\n{text[:MAX_RESULT_LENGTH]}\n"
        f"[{len(text) - MAX_RESULT_LENGTH:,} more characters; read the full text in ranges with"
        f" `read_file` from `{path}`]"
    )
