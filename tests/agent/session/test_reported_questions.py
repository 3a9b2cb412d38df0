"""Open questions as other processes see them."""

import asyncio

from yourtool.agent.session_environment import SessionUser


async def test_session_waits_until_its_last_question_is_answered():
    answers, reported = {}, []

    async def ask(question):
        answers[question] = asyncio.get_running_loop().create_future()
        return await answers[question]

    user = SessionUser(ask)
    user.report_waiting(reported.append)
    asked = [asyncio.ensure_future(user.confirm(name)) for name in ("a", "b")]
    await asyncio.sleep(0)
    assert reported == [True, True]
    answers["a"].set_result("yes")
    assert await asked[0] == "yes" and reported[-1] is True
    asked[1].cancel()
    await asyncio.wait(asked)
    assert reported[-1] is False
