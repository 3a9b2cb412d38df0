import asyncio
import codecs
import gzip
import threading
from base64 import b64encode, urlsafe_b64encode
from ipaddress import ip_address
from urllib.parse import quote

import httpx2
import pytest

from tests.tools.contexts import answer, get_refusal
from yourtool.errors import ToolError, ToolFailure
from yourtool.foundation.masking import Mask
from yourtool.foundation.public_addresses import is_public
from yourtool.tools.files.files import read_file
from yourtool.tools.web import page_fetching
from yourtool.tools.web.charsets import codec_for_label, decode_text
from yourtool.tools.web.html import html_to_markdown
from yourtool.tools.web.web import build_fetch_url

DENIED = ToolFailure.PERMISSION_DENIED
PAGE = b"""<html><head><title>T</title><script>evil()</script></head><body>
<h1>Hello</h1><p>A <a href="/x">link</a> <img src="http://evil.example/?data" alt="pic"></p>"""


class Site:
    """A server with one prepared response for each path."""

    def __init__(self):
        self.pages = {}
        self.requests = []

    def page(self, path, body=b"", *, kind="text/plain", status="200 OK", **headers):
        lines = [f"HTTP/1.1 {status}", f"Content-Type: {kind}", f"Content-Length: {len(body)}"]
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        self.pages[path] = "\r\n".join([*lines, "Connection: close", "", ""]).encode() + body

    async def serve(self, reader, writer):
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        self.requests.append(head)
        if (page := self.pages.get(head.split()[1].partition("?")[0])) is not None:
            writer.write(page)
        else:
            await reader.read()
        writer.close()


@pytest.fixture
async def site():
    site = Site()
    server = await asyncio.start_server(site.serve, "127.0.0.1", 0)
    site.port = server.sockets[0].getsockname()[1]
    site.url = f"http://127.0.0.1:{site.port}"
    yield site
    server.close()
    await server.wait_closed()


@pytest.fixture
def fetch():
    return build_fetch_url(lambda address: True)


async def test_page_is_returned_as_markdown_without_images(site, fetch, context):
    site.page("/a", PAGE, kind="text/html; charset=utf-8")
    said = await answer(fetch, context, url=f"{site.url}/a#part")
    assert said.startswith(
        f"`{site.url}/a` (text/html, {len(PAGE)} bytes)\n\n# Hello\n\nA [link](/x)"
    )
    assert "evil" not in said
    [request] = site.requests
    assert request.startswith("GET /a HTTP/1.1\r\nHost: 127.0.0.1:")
    assert "cookie" not in request.lower()


@pytest.mark.remaining
async def test_page_that_exhausts_the_converter_is_returned_as_plain_text(site, fetch, context):
    cells = b"<table><tr>" + b"<td colspan=1000>x" * 270_000
    page = b"<style>p {}</style><p>Fish &amp; chips</p>" + cells
    site.page("/cells", page, kind="text/html")
    said = await answer(fetch, context, url=f"{site.url}/cells")
    header, _, text = said.partition("\n\n")
    assert "plain text, because" in header
    assert text.startswith("Fish & chips\nx\nx\n")


async def test_text_of_a_page_is_limited(site, fetch, context, monkeypatch):
    monkeypatch.setattr(page_fetching, "MAX_TEXT_LENGTH", 1000)
    site.page("/wide", b"<table><tr>" + b"<td colspan=1000>x" * 100, kind="text/html")
    said = await answer(fetch, context, url=f"{site.url}/wide")
    assert "truncated to the first 1,000 characters of text" in said
    assert len(said) < 1300


def test_slow_conversion_is_killed_and_falls_back_to_plain_text():
    page = "<p>one</p>" + "<blockquote>" * 100_000
    assert html_to_markdown(page, 100, threading.Event(), seconds=0) == ("one", False)


def test_cancelled_conversion_is_an_error():
    cancelled = threading.Event()
    cancelled.set()
    with pytest.raises(ToolError, match="could not be converted"):
        html_to_markdown("<p>one</p>", 100, cancelled)


async def test_plain_text_is_returned_unchanged(site, fetch, context):
    site.page("/j", "é <b>".encode("latin-1"), kind="text/plain; charset=latin-1")
    assert (await answer(fetch, context, url=f"{site.url}/j")).endswith("\n\né <b>")
    site.page("/k", b'{"a":1}', kind="application/json; charset=nonsense")
    assert (await answer(fetch, context, url=f"{site.url}/k")).endswith('\n\n{"a":1}')


@pytest.mark.parametrize(
    ("label", "codec"),
    [
        ("Shift_JIS", "cp932"),
        ("x-sjis", "cp932"),
        ("GB2312", "gb18030"),
        ("euc-kr", "cp949"),
        ("windows-1251", "cp1251"),
        ("iso-8859-2", "iso8859_2"),
        ("KOI8-R", "koi8_r"),
        ("utf-16le", "utf_16_le"),
        ("Big5", "big5hkscs"),
        ("us-ascii", "cp1252"),
        ("windows-874", "cp874"),
        ("punycode", "utf_8"),
        ("idna", "utf_8"),
        ("utf-7", "utf_8"),
        ("unicode_escape", "utf_8"),
        ("rot13", "utf_8"),
        ("base64", "utf_8"),
        ("..\x00", "utf_8"),
        (None, "utf_8"),
    ],
)
def test_only_web_text_encodings_are_decoded(label, codec):
    assert codec_for_label(label) == codec
    assert codecs.lookup(codec)


def test_incremental_decoding_equals_complete_decoding():
    data = ("é漢字 <b>" * 60_000).encode() + b"\xff\xe6"
    assert decode_text(data, "utf-8") == data.decode("utf-8", "replace")
    data = ("漢字かな" * 50_000).encode("cp932") + b"\x81"
    assert decode_text(data, "shift_jis") == data.decode("cp932", "replace")


SLOW_PAGES = {
    "punycode": b"b" * 2**17 + b"-" + b"a" * 2**17,
    "windows-1253": b"\xaa\xd2" * 2**21,
    "utf-16be": b"\xdc\xdc" * 2**21,
}


@pytest.mark.parametrize("charset", SLOW_PAGES)
@pytest.mark.sample(3)
async def test_decoding_a_page_does_not_block_the_loop(charset, site, fetch, context):
    site.page("/slow", SLOW_PAGES[charset], kind=f"text/plain; charset={charset}")
    assert await answer(fetch, context, url=f"{site.url}/slow")  # the watchdog looks


async def test_long_page_is_stored_completely_in_a_file(site, fetch, context):
    site.page("/long", b"word\n" * 20_000)
    said = await answer(fetch, context, url=f"{site.url}/long")
    assert len(said) < page_fetching.MAX_RESULT_LENGTH + 500
    [path] = context.spill.iterdir()
    assert str(path) in said
    assert "20000\tword" in await answer(read_file, context, path=str(path), offset=20_000)


async def test_page_is_limited_after_decompression(site, fetch, context, monkeypatch):
    monkeypatch.setattr(page_fetching, "MAX_PAGE_BYTES", 1000)
    site.page("/bomb", gzip.compress(b"x" * 1_000_000), Content_Encoding="gzip")
    said = await answer(fetch, context, url=f"{site.url}/bomb")
    assert "only the first 1,000 bytes were read" in said
    assert len(said) < 1200


async def test_doubly_compressed_page_is_rejected(site, fetch, context):
    packed = gzip.compress(gzip.compress(bytes(5_000_000)))
    site.page("/bomb", packed, Content_Encoding="gzip, gzip")
    await get_refusal(fetch, context, "compressed more than once", url=f"{site.url}/bomb")
    [request] = site.requests
    assert "accept-encoding: gzip\r\n" in request.lower()


async def test_redirect_on_the_same_host_is_followed(site, fetch, context):
    site.page("/from", status="302 Found", Location="/to")
    site.page("/to", b"there")
    assert "there" in await answer(fetch, context, url=f"{site.url}/from")


async def test_redirect_to_another_host_is_returned_to_the_model(site, fetch, context):
    site.page("/from", status="302 Found", Location="http://169.254.169.254/latest")
    await get_refusal(fetch, context, "`http://169.254.169.254/latest` on another host",
                  url=f"{site.url}/from")  # fmt: skip
    assert len(site.requests) == 1


@pytest.mark.parametrize(
    ("url", "location", "followed"),
    [
        ("http://a.org/", "https://a.org/", True),
        ("http://a.org/", "http://A.org./x", False),
        ("http://a.org:8080/", "https://a.org:8080/", True),
        ("http://a.org:8080/", "https://a.org:8443/", False),
        ("http://a.org/", "http://a.org:8080/", False),
        ("https://a.org/", "http://a.org/", False),
        ("https://a.org/", "https://www.a.org/", False),
    ],
)
def test_only_a_redirect_to_the_same_host_and_port_is_followed(url, location, followed):
    assert page_fetching.has_same_approval(httpx2.URL(url), httpx2.URL(location)) is followed


async def test_number_of_redirects_is_limited(site, fetch, context):
    site.page("/loop", status="302 Found", Location="/loop")
    await get_refusal(fetch, context, "redirects more than 5 times", url=f"{site.url}/loop")


async def test_every_redirect_is_checked(site, context):
    judged = []
    site.page("/from", status="302 Found", Location="/to")
    fetch = build_fetch_url(lambda address: not judged.append(address) and len(judged) == 1)
    await get_refusal(fetch, context, "private", url=f"{site.url}/from", failure=DENIED)
    assert len(judged) == 2


@pytest.mark.parametrize("url", ["http://127.0.0.1:1/", "http://localhost/", "http://[::1]/"])
async def test_private_addresses_are_rejected(context, url):
    await get_refusal(build_fetch_url(), context, "private address", url=url, failure=DENIED)


@pytest.mark.parametrize("url", ["http://127.0.0.1:1/", "http://localhost/", "http://10.0.0.1/"])
async def test_private_address_is_refused_before_the_user_is_asked(context, url):
    fetch = build_fetch_url()
    with pytest.raises(ToolError, match="private address"):
        await fetch.preview(fetch.parse({"url": url}), context)


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "0.0.0.0",
        "100.64.0.1", "224.0.0.1", "255.255.255.255", "::1", "::", "fe80::1", "fc00::1", "ff02::1",
        "::ffff:10.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::", "2001:db8::1",
        "fec0::1", "feff::1", "64:ff9b:1::1", "64:ff9b:1::808:808", "::2", "::8.8.8.8",
        "::ffff:0:8.8.8.8", "3fff::1", "3fff:fff::1", "5f00::1", "168.63.129.16",
        "::ffff:168.63.129.16", "64:ff9b::a83f:8110", "2002:a83f:8110::1", "192.0.0.1",
        "192.0.0.9", "192.0.0.170", "198.18.0.1", "198.19.255.255", "240.0.0.1", "100.127.255.255",
        "192.88.99.1", "192.0.2.1", "239.1.1.1", "100::1", "2001:0:4136:e378::1", "2001:2::1",
        "4000::1", "64:ff9b::6440:1", "2002:c0a8:101::1", "::ffff:224.0.0.1", "fd00::1",
    ],
)  # fmt: skip
def test_address_that_is_not_public_is_recognized(address):
    assert not is_public(ip_address(address))


@pytest.mark.parametrize(
    "address",
    [
        "1.1.1.1", "168.63.129.17", "100.63.255.255", "100.128.0.1", "192.0.1.1", "198.20.0.1",
        "223.255.255.255", "2606:4700::1111", "2a00:1450::1", "64:ff9b::101:101", "2002:101:101::1",
        "::ffff:1.1.1.1", "3ffe::1",
    ],
)  # fmt: skip
def test_public_address_is_recognized(address):
    assert is_public(ip_address(address))


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("file:///etc/passwd", "http or https"),
        ("ftp://example.org", "http or https"),
        ("example.org", "http or https"),
        ("https://", "http or https"),
        ("http://user:password@example.org/", "user name or password"),
        ("http://[::1/", "is not a valid URL"),
        ("http://exa%20mple.org/", "invalid host or port"),
        ("http://a.org\\@b.org/", "backslash"),
        ("http://a.org/ b", "a space"),
        ("http://example.org:99999/", "invalid host or port"),
    ],
)
@pytest.mark.req("R-TOOL-02")
async def test_failed_fetch_reports_the_reason(fetch, context, url, said):
    await get_refusal(fetch, context, said, url=url)


@pytest.mark.req("R-TOOL-02")
async def test_server_failure_is_reported(site, fetch, context):
    site.page("/gone", status="404 Not Found")
    await get_refusal(fetch, context, "returned 404 Not Found", url=f"{site.url}/gone")
    site.page("/zip", b"PK", kind="application/zip")
    await get_refusal(
        fetch, context, "`application/zip`, not text", "`shell`", url=f"{site.url}/zip"
    )
    site.pages["/broken"] = b"nonsense\r\n\r\n"
    await get_refusal(fetch, context, "could not be fetched", url=f"{site.url}/broken")
    slow = build_fetch_url(lambda address: True, seconds=0.05)
    await get_refusal(slow, context, "timed out after 0.05 s", url=f"{site.url}/slow",
                  failure=ToolFailure.TIMEOUT)  # fmt: skip


KEY = "sk-proj-s3cret-value/0123456789"
LONG = "http://example.org/?" + "x" * 600
SECRETIVE = [
    f"http://example.org/?k={KEY}",
    f"http://example.org/{KEY[:9]}%{ord(KEY[9]):x}{KEY[10:]}",
    f"http://example.org/{quote(b64encode(f'key={KEY}'.encode()), safe='')}",
    f"http://example.org/?k={urlsafe_b64encode(KEY.encode()).decode()}",
]


@pytest.mark.parametrize(
    ("url", "said"),
    [(LONG, "longer than 512"), *((url, "one of your API keys") for url in SECRETIVE)],
)
@pytest.mark.req("R-TOOL-07")
async def test_url_that_could_leak_data_always_needs_approval(fetch, contexts, url, said):
    context = contexts(mask=Mask([KEY]))
    preview = await fetch.preview(fetch.parse({"url": url}), context)
    assert preview.protected
    assert preview.body.startswith(f"GET {url}\n")
    assert said in preview.body
    await get_refusal(fetch, context, "the user's approval", said, url=url, failure=DENIED)


async def test_only_the_approved_url_is_fetched(site, fetch, contexts):
    site.page("/a", b"fine")
    url = f"{site.url}/a?{'x' * 600}"
    preview = await fetch.preview(fetch.parse({"url": url}), contexts())
    assert "fine" in await answer(fetch, contexts(approved=preview), url=url)
    await get_refusal(
        fetch, contexts(approved=preview), "that the user approved", url=f"{site.url}/a"
    )


async def test_ordinary_url_needs_no_approval(fetch, contexts, context):
    args = fetch.parse({"url": "https://Docs.example.org/page"})
    preview = await fetch.preview(args, context)
    assert (preview.kind, preview.protected) == ("text", False)


@pytest.mark.req("R-TOOL-14")
async def test_cancelled_fetch_ends_immediately(site, fetch, context):
    task = asyncio.ensure_future(answer(fetch, context, url=f"{site.url}/slow"))
    for _ in range(200):
        if site.requests:
            break
        await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
