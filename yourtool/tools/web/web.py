"""The `fetch_url` tool.

Only GET over http and https, without proxies and cookies. On every hop the host name is resolved
once, and the connection uses the address that was checked. Private addresses are refused, and
redirects to another host are returned to the model. Approvals are per host. URLs that are long or
contain an API key could exfiltrate data, so they need an approval every time.
"""

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated
from urllib.parse import unquote

from msgspec import Meta

from yourtool.effects import Preview, SideEffects
from yourtool.errors import ToolError, ToolFailure
from yourtool.foundation.masking import Mask
from yourtool.foundation.public_addresses import Address, is_public
from yourtool.tools.base import Args, StructTool, ToolContext, ToolOutput, tool
from yourtool.tools.web import page_fetching

if TYPE_CHECKING:
    import httpx2

TIMEOUT_SECONDS = 30.0
MAX_TARGET_BYTES = 512
"""Maximum bytes of path and query without an approval for each request."""


class FetchUrl(Args, frozen=True):
    """Arguments of `fetch_url`."""

    url: Annotated[str, Meta(min_length=1)]


def build_fetch_url(
    is_allowed: Callable[[Address], bool] = is_public,
    *,
    seconds: float = TIMEOUT_SECONDS,
) -> StructTool:
    """Build `fetch_url`; `is_allowed` checks every address before connecting."""

    async def preview(args: FetchUrl, context: ToolContext) -> Preview:
        url = page_fetching.parse_url(args.url)
        page_fetching.check_literal(url, is_allowed)
        risk = _exfiltration_risk(args.url, url, context.mask)
        body = f"GET {url}" + (f"\n\nNeeds an approval because {risk}." if risk else "")
        return Preview(kind="text", body=body, protected=risk is not None)

    @tool(
        SideEffects.NETWORK,
        preview=preview,
        host=lambda args: page_fetching.url_subject(page_fetching.parse_url(args.url)),
    )
    async def fetch_url(args: FetchUrl, context: ToolContext) -> ToolOutput:
        """Fetch a page from the public web; HTML is converted to Markdown."""
        url = page_fetching.parse_url(args.url)
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
                page = await page_fetching.fetch(url, is_allowed)
        except TimeoutError:
            raise ToolError(
                f"`{args.url}` timed out after {seconds:g} s; try a smaller page",
                ToolFailure.TIMEOUT,
            ) from None
        except page_fetching.FETCH_ERRORS as error:
            raise ToolError(
                f"`{args.url}` could not be fetched: {str(error) or type(error).__name__};"
                " check the URL, or continue without it"
            ) from error
        return await context.run_in_thread(page_fetching.format_page, page, context)

    return fetch_url


def _exfiltration_risk(written: str, url: "httpx2.URL", mask: Mask) -> str | None:
    """Return why a URL might exfiltrate data, or None; `written` is the model's spelling."""
    if len(url.raw_path) > MAX_TARGET_BYTES:
        return f"its path and query are longer than {MAX_TARGET_BYTES} bytes"
    # `url` has a lower-case host, and any character can be percent-encoded.
    if any(mask.text(spelling) != spelling for spelling in (written, unquote(written))):
        return "it contains one of your API keys"
    return None
