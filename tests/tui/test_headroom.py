"""The status line shows what is left of a rate limit, as long as there is little (R-CST-04)."""

from datetime import timedelta

import pytest
from msgspec.structs import replace

from tests.tui.fakes import default_route, full_reply, turn_end, turn_start
from tests.tui.pilot_helpers import say, settle, until
from yourtool.messages.message import now
from yourtool.messages.usage import RateLimits, Receipt, UsageExtra
from yourtool.tui.widgets.status import StatusLine

pytestmark = pytest.mark.req("R-CST-04")


def reply(remaining, wait=None):
    limits = RateLimits(
        remaining_requests=remaining, limit_requests=100, reset_requests_seconds=wait
    )
    extra = UsageExtra(receipt=Receipt(rate_limits=limits))
    return replace(full_reply("a", extra=extra), timestamp=now())


def script(*events):
    return [turn_start("x"), default_route(), *events, turn_end()]


def shown(app):
    return app.chat.query_one(StatusLine).status.headroom


async def opened(app, pilot):
    await until(pilot, lambda: app.chat.session is not None)


async def test_rest_is_shown_until_a_reply_reports_more(app_of):
    app = app_of(script(reply(12, 7_200.0)), script(full_reply("b")), script(reply(20, 7_200.0)))
    async with app.run_test(size=(120, 30)) as pilot:
        await opened(app, pilot)
        assert shown(app) == ""
        await say(pilot, "one")
        local = (now() + timedelta(hours=2)).astimezone()
        await until(pilot, lambda: shown(app).startswith("requests 12% left, resets "))
        assert f"{local:%H}" in shown(app) or f"{local + timedelta(minutes=1):%H}" in shown(app)
        text = app.chat.query_one(StatusLine).render().plain
        assert shown(app) in text
        await say(pilot, "two")  # a reply without limits
        assert shown(app) != ""
        await say(pilot, "three")
        await until(pilot, lambda: shown(app) == "")


async def test_rest_is_removed_at_the_reset_by_one_timer(app_of):
    app = app_of(script())
    async with app.run_test(size=(120, 30)) as pilot:
        await opened(app, pilot)
        app.session_of_test.state.apply(reply(0, 1.5))
        await say(pilot, "one")
        assert shown(app).startswith("requests 0% left")
        await until(pilot, lambda: shown(app) == "")
        await settle(pilot)
        assert not app.chat.query_one(StatusLine)._timers
