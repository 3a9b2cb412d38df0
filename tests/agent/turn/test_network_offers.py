"""Commands that need a network: one question, whose answers are stored and taken back."""

import asyncio
import re
from ipaddress import ip_address

import pytest

from tests.agent.harness import ALLOW, DENY, Checked, User, play
from tests.tools.sandbox.levels import build_sandbox, find_reason
from yourtool.effects import Decision, NetworkAnswer, NetworkOffer, Scope, Verdict
from yourtool.events.tools import ToolCompleted, ToolFailed
from yourtool.permissions.rules import Rule, RuleSet, RuleSource
from yourtool.providers.scripted import Scripted, calls, says
from yourtool.settings.config import Mode
from yourtool.settings.sandbox_config import SandboxLevel
from yourtool.tools.sandbox.network import proxy
from yourtool.tui.questions.approval_text import approval_options

FULL = SandboxLevel.FULL
ALWAYS = {"verdict": Verdict.ALLOW, "scope": Scope.ALWAYS}
HOSTS = Decision(**ALWAYS, network=NetworkAnswer.HOSTS)
NETWORK = Decision(**ALWAYS, network=NetworkAnswer.NETWORK)
CONTAIN = Decision(verdict=Verdict.ALLOW, allows_contained=True)
PROGRAM = Decision(**ALWAYS, network=NetworkAnswer.PROGRAM)
REGISTRY = "packages.example"
SHOW = "echo level:$YOURTOOL_SANDBOX proxy:$https_proxy;"


@pytest.fixture(autouse=True)
def programs(bench):
    """Scripts in place of programs that download; they print where they run."""
    find_reason(FULL)  # before a test, whose event loop must not block
    (bench.workspace / ".npmrc").write_text(f"registry=https://{REGISTRY}/\n")
    (bench.workspace / "bin").mkdir()
    for name, last in (("npm", "true"), ("fetcher", "getent ahosts r.example.org >/dev/null")):
        program = bench.workspace / "bin" / name
        program.write_text(f"#!/bin/sh\n{SHOW}\n{last}\n")
        program.chmod(0o755)


async def run(bench, user, *lines, settings=None, **options):
    """Play calls one after the other; return their results and the session."""
    replies = [calls("shell", command=line) for line in lines]
    session = await bench.session(
        Checked(Scripted([*replies, says("done")])), confirm=user, **options
    )
    session._env.place.sandbox = build_sandbox(bench.workspace, FULL, **(settings or {}))
    events = await play(session.send("go"))
    await session.close()
    await session._env.place.sandbox.close()
    ended = [each for each in events if isinstance(each, ToolCompleted | ToolFailed)]
    texts = ["\n".join(b.text for b in each.message.content[0].content) for each in ended]
    return texts, session


@pytest.mark.parametrize("mode", [Mode.ASK, Mode.AUTO])
async def test_download_is_one_question_before_it_runs(bench, mode):
    user = User(ALLOW)
    [said], _ = await run(bench, user, "bin/npm view x | tail", mode=mode)
    [asked] = user.asked
    needed = "`bin/npm view` needs a network, which commands in the sandbox do not have"
    assert asked.preview.leaving == needed
    assert asked.network.hosts == (REGISTRY,)
    assert asked.network.outside == ("bin/npm view *",)
    assert re.match(r"level:full proxy:http://yourtool:\w{32}@127\.0\.0\.1:8118\n", said)


async def test_program_with_a_network_in_the_sandbox_asks_no_more(bench):
    user = User(CONTAIN, NETWORK)
    lines = ("touch made", "bin/npm view x", "bin/npm view y | tail", "sh -c 'echo $https_proxy'")
    said, session = await run(bench, user, *lines)
    assert len(user.asked) == 2
    assert [each[:23] for each in said[1:3]] == ["level:full proxy:http:/"] * 2
    assert "proxy" not in said[3]
    [rule] = session._env.gate.policy.rules.allow
    assert str(rule) == "sandbox_network(bin/npm view *)"


async def test_always_with_a_network_means_that_the_program_asks_no_more(bench):
    user = User(NETWORK)
    lines = ("bin/npm view x", "bin/npm view y", "bin/npm view y 2>&1 | tail -3")
    said, _ = await run(bench, user, *lines)
    assert len(user.asked) == 1
    assert [each[:23] for each in said] == ["level:full proxy:http:/"] * 3


async def test_program_with_a_network_asks_where_a_host_is_allowed_to_every_command(bench):
    allowed = (Rule("sandbox_network", "bin/npm view *"), Rule("sandbox_host", "a.example"))
    user = User(DENY)
    await run(bench, user, "bin/npm view y", rules=RuleSet(allow=allowed))
    assert len(user.asked) == 1


@pytest.mark.parametrize("line", ["sudo bin/npm view x", "bin/npm install -g x", "gem install x"])
async def test_download_that_writes_elsewhere_has_no_answer_for_the_sandbox(bench, line):
    user = User(DENY)
    await run(bench, user, line)
    [asked] = user.asked
    assert asked.preview.is_outside
    assert "t" not in [each.letter for each in approval_options(asked)]


async def test_answer_for_outside_leaves_the_sandbox_at_once(bench):
    [said], _ = await run(bench, User(PROGRAM), "bin/npm view x")
    assert said.startswith("level: proxy:\n")


async def test_declined_download_does_not_run(bench):
    user = User(DENY)
    [said], _ = await run(bench, user, "bin/npm view x")
    assert "level:" not in said


async def test_allowed_hosts_are_reached_from_then_on_and_ask_no_more(bench):
    user = User(HOSTS, ALLOW)
    lines = ("bin/npm view x", "bin/npm ci")
    first, session = await run(bench, user, *lines, mode=Mode.AUTO)
    assert len(user.asked) == 1
    for said in first:
        assert said.startswith("level:full proxy:http://127.0.0.1:8118\n")
    rules = session._env.gate.policy.rules.allow
    assert [str(each) for each in rules] == [f"sandbox_host({REGISTRY})"]


async def test_host_that_is_taken_back_is_refused_at_once(bench):
    user = User(HOSTS)
    request = "CONNECT packages.example:443 HTTP/1.1\\r\\n\\r\\n"
    text = f"exec 3<>/dev/tcp/127.0.0.1/8118; printf '{request}' >&3; head -1 <&3"
    asking = f"until [ -e go ]; do sleep .02; done; {text}; touch done; sleep 20"
    session = await bench.session(
        Checked(
            Scripted(
                [
                    calls("shell", command="bin/npm ci"),
                    calls("shell", command=asking, background=True),
                    says("done"),
                ]
            )
        ),
        confirm=user,
        mode=Mode.AUTO,
    )
    session._env.place.sandbox = build_sandbox(bench.workspace, FULL)
    await play(session.send("go"))
    [rule] = session._env.gate.policy.rules.allow
    session._env.gate.forget(rule)
    (bench.workspace / "go").touch()
    while not (bench.workspace / "done").exists():
        await asyncio.sleep(0.02)
    [process] = session._env.place.processes.background
    assert process.read().startswith("HTTP/1.1 403 ")
    await session.close()
    await session._env.place.sandbox.close()


async def test_program_that_always_runs_outside_asks_no_more(bench):
    user = User(PROGRAM)
    lines = ("bin/npm view x", "bin/npm view y", "bin/npm view y 2>&1 | tail -3")
    said, session = await run(bench, user, *lines, mode=Mode.AUTO)
    assert len(user.asked) == 1
    assert [each.partition("\n")[0] for each in said] == ["level: proxy:"] * 3
    [rule] = session._env.gate.policy.rules.allow
    assert str(rule) == "sandbox_outside(bin/npm view *)"
    session._env.gate.forget(rule)
    assert not session._env.place.sandbox.excepts("bin/npm view y")


async def test_line_with_a_part_that_does_more_than_read_asks_again(bench):
    rules = RuleSet(allow=(Rule("sandbox_outside", "bin/npm view *", RuleSource.SESSION),))
    user = User(*[DENY] * 4)
    lines = (
        "bin/npm view y && touch made", "bin/npm view y | sh", "bin/npm view y && make",
        "bin/npm view y && npm test",
    )  # fmt: skip
    await run(bench, user, *lines, mode=Mode.AUTO, rules=rules)
    assert [bool(each.preview.leaving) for each in user.asked] == [True] * 4
    assert not (bench.workspace / "made").exists()


async def test_rule_about_the_sandbox_allows_no_command(bench):
    rules = RuleSet(
        allow=(Rule("sandbox_outside", "bin/npm ci"), Rule("sandbox_host", "a.example"))
    )
    user = User(DENY)
    await run(bench, user, "bin/npm ci", rules=rules)
    assert len(user.asked) == 1
    assert user.asked[0].network is None


async def test_refused_host_is_offered_after_the_command_and_only_once(bench):
    user = User(ALLOW, DENY, ALLOW)
    said, _ = await run(bench, user, "bin/fetcher", "bin/fetcher 2")
    first, second, third = user.asked
    assert first.network is None
    assert second.network == NetworkOffer(hosts=("r.example.org",))
    assert second.reason.endswith("asked for `r.example.org`, and the sandbox has no network")
    assert third.network is None
    assert "The command asked for `r.example.org`" in said[1]


async def test_command_runs_again_in_the_sandbox_with_the_hosts_that_it_asked_for(bench):
    user = User(HOSTS)
    [said], _ = await run(bench, user, "bin/fetcher", mode=Mode.AUTO)
    assert len(user.asked) == 1
    assert said.startswith("level:full proxy:http://127.0.0.1:8118\n")
    assert "[The user allowed this second run with the hosts that it asked for.]" in said


async def test_guess_is_a_note_and_no_question(bench):
    (bench.workspace / "fail.sh").write_text("echo 'x: Read-only file system'; exit 1\n")
    user = User(ALLOW)
    [said], _ = await run(bench, user, "sh fail.sh", mode=Mode.AUTO)
    assert user.asked == []
    assert "[Perhaps the sandbox lets no command write files outside" in said
    assert "guessed from the line `x: Read-only file system`" in said


async def test_run_without_a_user_stays_in_the_sandbox_and_names_the_setting(bench):
    options = {"mode": Mode.AUTO, "interactive": False}
    (bench.workspace / "bin/npm").write_text(f"#!/bin/sh\ngetent ahosts {REGISTRY}\n")
    [said], _ = await run(bench, User(ALLOW), "bin/npm view x", **options)
    assert "No user is present to answer, so it stayed in the sandbox" in said
    assert f"`{REGISTRY}` in `[sandbox] hosts` of `config.toml`" in said


async def test_programs_do_not_retry_without_a_network(bench):
    line = "echo $npm_config_fetch_retries$PIP_RETRIES$CARGO_NET_RETRY$UV_HTTP_RETRIES"
    [said], _ = await run(bench, User(ALLOW), line, mode=Mode.AUTO)
    assert said.startswith("0000\n")
    settings = {"hosts": ("a.example",)}
    [said], _ = await run(bench, User(ALLOW), line, mode=Mode.AUTO, settings=settings)
    assert not said.startswith("0")


async def test_no_other_command_sees_the_network_of_a_program(bench):
    (bench.workspace / "bin/npm").write_text("#!/bin/sh\necho $https_proxy > address; sleep 8\n")
    look = "sleep 1; wc -c < address; cat /proc/[0-9]*/environ | tr '\\0' '\\n' | grep yourtool:"
    replies = [
        calls("shell", command="bin/npm view y", background=True),
        calls("shell", command=look),
    ]
    session = await bench.session(
        Checked(Scripted([*replies, says("done")])), confirm=User(ALLOW), mode=Mode.AUTO
    )
    session._env.place.sandbox = build_sandbox(bench.workspace, FULL)
    events = await play(session.send("go"))
    ended = [each for each in events if isinstance(each, ToolCompleted | ToolFailed)]
    said = ended[-1].message.content[0].content[0].text
    await session.close()
    await session._env.place.sandbox.close()
    assert said.split("\n")[0] == "64", "the program has it"
    assert "yourtool:" not in said.removeprefix("64")


async def test_private_host_of_a_program_with_a_network_is_named_and_not_offered(
    bench, monkeypatch
):
    async def find_private(host, port):
        return [ip_address("10.1.2.3")]

    monkeypatch.setattr(proxy, "find_addresses", find_private)
    (bench.workspace / "bin/npm").write_text(f"#!/bin/sh\ncurl -sf http://{REGISTRY}/\n")
    user = User(ALLOW, DENY)
    await run(bench, user, "bin/npm view y")
    _, second = user.asked
    assert second.network is None
    assert second.reason.endswith(
        f"asked for `{REGISTRY}`, with a private address, which the sandbox does not reach"
    )
    assert second.preview.is_outside


async def test_answer_for_the_sandbox_holds_if_the_model_gave_a_reason_to_leave_it(bench):
    reply = calls("shell", command="bin/npm view x", outside="I need it")
    session = await bench.session(Checked(Scripted([reply, says("done")])), confirm=User(NETWORK))
    session._env.place.sandbox = build_sandbox(bench.workspace, FULL)
    events = await play(session.send("go"))
    await session.close()
    await session._env.place.sandbox.close()
    [ended] = [each for each in events if isinstance(each, ToolCompleted | ToolFailed)]
    said = ended.message.content[0].content[0].text
    assert said.startswith("level:full proxy:http://yourtool:")
