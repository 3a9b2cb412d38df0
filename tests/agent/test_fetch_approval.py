"""`fetch_url` needs an approval per host."""

import asyncio
from contextlib import asynccontextmanager

import pytest

from tests.agent.harness import ALLOW, DENY, Checked, User, play
from yourtool.effects import Decision, Scope, Subject, Verdict
from yourtool.events.tools import ToolCompleted, ToolFailed
from yourtool.foundation.masking import Mask
from yourtool.permissions.rules import Rule, RuleSet
from yourtool.providers.scripted import Scripted, calls, says
from yourtool.settings.config import Mode
from yourtool.tools.web.web import build_fetch_url

SESSION = Decision(verdict=Verdict.ALLOW, scope=Scope.SESSION)


@asynccontextmanager
async def site(head="HTTP/1.1 200 OK\r\nContent-Type: text/plain"):
    """A server on this machine; yields its port and the requests it got."""
    requests = []

    async def serve(reader, writer):
        requests.append((await reader.readuntil(b"\r\n\r\n")).decode())
        writer.write(f"{head}\r\nContent-Length: 4\r\nConnection: close\r\n\r\npage".encode())
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1], requests
    finally:
        server.close()
        await server.wait_closed()


async def fetched(bench, user, *urls, **options):
    """Let the model fetch one page after the other; return how the calls ended."""
    script = [*(calls("fetch_url", url=url) for url in urls), says("done")]
    tools = [build_fetch_url(lambda address: True)]
    session = await bench.session(Checked(Scripted(script)), tools=tools, confirm=user, **options)
    events = await play(session.send("go"))
    await session.close()
    return [event for event in events if isinstance(event, ToolCompleted | ToolFailed)]


@pytest.mark.parametrize("mode", [Mode.ASK, Mode.ACCEPT_EDITS])
async def test_fetching_a_page_needs_approval(bench, mode):
    async with site() as (port, requests):
        user = User(DENY, ALLOW)
        url = f"http://127.0.0.1:{port}/"
        denied, done = await fetched(bench, user, url, url, mode=mode)
    assert (denied.error_class, done.success) == ("user_denied", True)
    assert [question.rules for question in user.asked] == [(f"fetch_url(127.0.0.1:{port})",)] * 2
    assert user.asked[0].preview.body == f"GET {url}"
    assert user.asked[0].subject == Subject("host", f"127.0.0.1:{port}")
    assert len(requests) == 1


async def test_auto_mode_needs_approval_only_for_urls_that_might_leak_data(bench):
    async with site() as (port, requests):
        user, url = User(DENY), f"http://127.0.0.1:{port}/"
        done, denied = await fetched(bench, user, url, f"{url}?{'x' * 600}", mode=Mode.AUTO)
    assert (done.success, denied.error_class) == (True, "user_denied")
    assert (len(user.asked), len(requests)) == (1, 1)


async def test_auto_mode_needs_approval_for_a_url_with_a_key(bench):
    async with site() as (port, requests):
        user, url = User(DENY), f"http://127.0.0.1:{port}/?k=sk-0123456789abcdef"
        mask = Mask(["sk-0123456789abcdef"])
        [denied] = await fetched(bench, user, url, mode=Mode.AUTO, mask=mask)
    assert (denied.error_class, requests) == ("user_denied", [])
    assert "it contains one of your API keys" in user.asked[0].preview.body


@pytest.mark.req("R-LOOP-13")
async def test_plan_mode_refuses_pages_also_with_a_rule(bench):
    async with site() as (port, requests):
        rules = RuleSet(allow=(Rule.parse(f"fetch_url(127.0.0.1:{port})"),))
        user, url = User(ALLOW), f"http://127.0.0.1:{port}/"
        [refused] = await fetched(bench, user, url, mode=Mode.PLAN, rules=rules)
    assert (refused.error_class, user.asked, requests) == ("user_denied", [], [])


async def test_grant_covers_every_page_of_its_host_and_no_other_host(bench):
    async with site() as (port, _):
        user = User(SESSION, DENY)
        base = f"http://127.0.0.1:{port}"
        other = f"http://localhost:{port}/"
        *done, denied = await fetched(bench, user, f"{base}/a", f"{base}/b", other)
    assert [event.success for event in done] == [True, True]
    assert denied.error_class == "user_denied"
    assert [question.rules for question in user.asked] == [
        (f"fetch_url(127.0.0.1:{port})",), (f"fetch_url(localhost:{port})",)
    ]  # fmt: skip


async def test_rule_replaces_approval_except_for_data_in_the_url(bench):
    async with site() as (port, _):
        rules = RuleSet(allow=(Rule.parse(f"fetch_url(127.0.0.1:{port})"),))
        user, url = User(DENY), f"http://127.0.0.1:{port}/"
        done, denied = await fetched(bench, user, url, f"{url}{'x' * 600}", rules=rules)
    assert (done.success, denied.error_class) == (True, "user_denied")
    assert [question.rules for question in user.asked] == [()]


async def test_redirect_to_another_host_needs_another_approval(bench):
    async with (
        site() as (port, reached),
        site(f"HTTP/1.1 302 Found\r\nLocation: http://localhost:{port}/") as (first, _),
    ):
        user = User(ALLOW, DENY)
        urls = f"http://127.0.0.1:{first}/", f"http://localhost:{port}/"
        redirected, denied = await fetched(bench, user, *urls)
    assert "on another host" in redirected.error_message
    assert denied.error_class == "user_denied"
    assert reached == []


async def test_approval_shows_the_url_that_is_fetched(bench):
    user = User(DENY)
    await fetched(bench, user, "http://B\u00dcCHER.example./\u00e4#x")
    [question] = user.asked
    assert question.preview.body == "GET http://xn--bcher-kva.example./%C3%A4"
    assert question.rules == ("fetch_url(xn--bcher-kva.example)",)
