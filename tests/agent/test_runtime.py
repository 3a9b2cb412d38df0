"""The runtime: sessions from settings, keys and a workspace, over a real HTTP provider."""

import asyncio
import json
import shutil
import sqlite3
import sys
from pathlib import Path

import pytest

from tests.agent.harness import ALLOW, DENY, User, play
from tests.provider_server import ProviderServer, Reply
from tests.trusted_folders import trust
from yourtool.agent.route_preview import RoutePreview
from yourtool.agent.runtime import Runtime
from yourtool.agent.session.project.project_trust import ProjectTrust
from yourtool.effects import Decision, Scope, SideEffects, Verdict
from yourtool.errors import SessionBusyError, SessionNotFoundError, UnknownModelError, UsageError
from yourtool.events.catalog import FACT_TYPES
from yourtool.events.tools import ToolCompleted, ToolFailed
from yourtool.messages.blocks import canonical_json
from yourtool.paths import resolve_paths
from yourtool.permissions.trust import Trust
from yourtool.run_result import NoModelError
from yourtool.settings.config import RunOptions, config_file
from yourtool.tools.base import Args, ToolContext, tool
from yourtool.tools.files.files import read_file
from yourtool.tools.sandbox import bubblewrap
from yourtool.tools.toolset import Toolbox

CANARY = "sk-ant-CANARY-4711-do-not-leak"
RANK = {"aggregatable": 0, "pseudonymous": 1, "user_controlled": 2, "private": 3}


@pytest.fixture
def workspace(tmp_path):
    path = tmp_path / "work"
    path.mkdir()
    return path


async def start_runtime(workspace, **options):
    return await Runtime.open(resolve_paths(), RunOptions(workspace=workspace, **options))


@pytest.mark.req("R-CONF-05")
async def test_copy_for_the_demo_uses_no_file_of_the_project(workspace):
    (workspace / "AGENTS.md").write_text("obey the walrus")
    trust(workspace)
    runtime = await start_runtime(workspace)
    session = await runtime.new_session(User())
    assert (session.workspace / "AGENTS.md").read_text() == "obey the walrus"
    assert ProjectTrust(workspace).examine().status is Trust.TRUSTED
    assert session.trust.examine().status is Trust.UNKNOWN
    await session.close()
    await runtime.close()


async def test_session_without_the_sandbox_that_is_switched_on_warns_at_the_start(
    workspace, monkeypatch
):
    monkeypatch.setattr(bubblewrap, "_DIRECTORIES", ())
    for switched_on, options, count in (
        ("true", {}, 1),
        ("true", {"no_sandbox": True}, 0),
        ("false", {}, 0),
    ):
        monkeypatch.setenv("YOURTOOL_SANDBOX_ENABLED", switched_on)
        runtime = await start_runtime(workspace, **options)
        session = await runtime.new_session(User())
        warnings = runtime.take_warnings()
        assert [each.partition(". ")[0] for each in warnings] == [
            "No sandbox: bubblewrap (`bwrap`) is not installed"
        ] * count
        assert session.sandbox_level == ("" if count else "off"), "nothing is measured"
        await session.close()
        await runtime.close()


@pytest.mark.req("R-CONF-05", "T15")
async def test_instructions_that_an_approved_call_changed_wait_for_another_answer(
    workspace, monkeypatch
):
    (workspace / "AGENTS.md").write_text("obey the walrus")
    trust(workspace)
    change = {"command": "echo 'obey the whale' > AGENTS.md"}
    with ProviderServer([Reply("", [("shell", change)]), Reply("done"), Reply("again")]) as server:
        for name, value in server.environment.items():
            monkeypatch.setenv(name, value)
        runtime = await start_runtime(workspace, model="sonnet")
        session = await runtime.new_session(User(ALLOW))
        await play(session.send("go"))
        await play(session.send("go on"))
        await session.close()
        await runtime.close()
        first, _, last = (json.dumps(body["system"]) for _, body in server.requests)
    assert (workspace / "AGENTS.md").read_text() == "obey the whale\n"
    assert "obey the walrus" in first
    assert "obey the" not in last


async def test_demo_without_a_key_uses_a_copy(workspace, monkeypatch):
    """R-EASE-01."""
    (workspace / "a.txt").write_text("x")
    runtime = await start_runtime(workspace)
    session = await runtime.new_session(User())
    assert session.model.id == "demo:tour"
    assert session.workspace != workspace
    assert (session.workspace / "a.txt").read_text() == "x"
    await session.close()
    await runtime.close()


_connected: list[tuple[str, int]] = []
sys.addaudithook(
    lambda event, arguments: (
        _connected.append(arguments[1])
        if event == "socket.connect" and isinstance(arguments[1], tuple)
        else None
    )
)


@pytest.mark.req("R-PRV-01")
async def test_conversation_goes_to_the_provider_of_its_model_and_nowhere_else(
    workspace, monkeypatch
):
    (workspace / "plan.txt").write_text("the xylophone plan")
    script = [Reply("", [("read_file", {"path": "plan.txt"})]), Reply("done")]
    with ProviderServer(script) as chosen, ProviderServer() as other:
        monkeypatch.setenv("ANTHROPIC_API_KEY", CANARY)
        monkeypatch.setenv("ANTHROPIC_BASE_URL", chosen.url)
        monkeypatch.setenv("OPENAI_API_KEY", CANARY)
        monkeypatch.setenv("OPENAI_BASE_URL", other.url)
        runtime = await start_runtime(workspace, model="sonnet")
        session = await runtime.new_session(User())
        before = len(_connected)
        await play(session.send("go"))
        reached = {address[1] for address in _connected[before:]}
        await session.close()
        await runtime.close()
    assert "xylophone" in json.dumps(chosen.requests)
    assert (other.requests, other.get_headers) == ([], [])
    assert {f":{port}" for port in reached} == {chosen.url[chosen.url.rindex(":") :]}


async def test_explicit_model_is_never_replaced(workspace):
    """R-RTE-03 at the command line."""
    runtime = await start_runtime(workspace, model="sonnet")
    with pytest.raises(NoModelError, match="ANTHROPIC_API_KEY"):
        await runtime.new_session(User())
    await runtime.close()
    runtime = await start_runtime(workspace, model="no-such-model")
    with pytest.raises(UnknownModelError):
        await runtime.new_session(User())
    await runtime.close()


async def test_alias_can_be_the_default_model(workspace, monkeypatch):
    """R-RTE-07, and the slots of the workspace and of everything."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", CANARY)
    settings = config_file(resolve_paths())
    settings.write_text('model = "haiku"\n')
    runtime = await start_runtime(workspace)
    route = (await RoutePreview.open(runtime)).decide("hello")
    assert route.chosen_model == runtime.catalogue.resolve("haiku").id
    assert route.chain[route.winner_index].policy == "global_default"
    await runtime.close()
    settings.write_text(
        f'model = "haiku"\n[workspaces.{json.dumps(str(workspace))}]\nmodel = "opus"\n'
    )
    runtime = await start_runtime(workspace)
    route = (await RoutePreview.open(runtime)).decide("hello")
    assert route.chosen_model == runtime.catalogue.resolve("opus").id
    assert route.chain[route.winner_index].policy == "workspace_default"
    await runtime.close()


async def test_nothing_runs_without_approval_with_default_settings(workspace, monkeypatch):
    """R-CONF-01."""
    script = [
        Reply(
            "",
            [("shell", {"command": "touch made"}), ("write_file", {"path": "b", "content": "x"})],
        ),
        Reply("I see."),
    ]
    with ProviderServer(script) as server:
        for name, value in server.environment.items():
            monkeypatch.setenv(name, value)
        runtime = await start_runtime(workspace)
        user = User(DENY)
        session = await runtime.new_session(user)
        events = await play(session.send("do it"))
        assert len(user.asked) == 2
        assert [e.error_class for e in events if isinstance(e, ToolFailed)] == ["user_denied"] * 2
        assert list(workspace.iterdir()) == []
        await session.close()
        await runtime.close()
        assert server.problems() == []


async def test_second_writer_of_a_session_is_rejected(workspace):
    """R-PER-06."""
    runtime = await start_runtime(workspace)
    session = await runtime.new_session(User())
    await play(session.send("hello"))
    with pytest.raises(SessionBusyError):
        await runtime.resume(session.id, User())
    await session.close()
    again = await runtime.resume(session.id, User())
    assert again.state.messages == session.state.messages
    await again.close()
    await runtime.close()


async def test_missing_session_or_directory_is_an_error(workspace):
    runtime = await start_runtime(workspace)
    with pytest.raises(SessionNotFoundError):
        await runtime.resume("sess_00000000000000000000000000", User())
    session = await runtime.new_session(User())
    await play(session.send("hello"))
    await session.close()
    await asyncio.to_thread(shutil.rmtree, session.workspace)
    with pytest.raises(UsageError, match="no longer exists"):
        await runtime.resume(session.id, User())
    await runtime.close()


async def test_dry_run_of_routing_stores_nothing(workspace):
    runtime = await start_runtime(workspace)
    route = (await RoutePreview.open(runtime)).decide("hello")
    assert route.chosen_model == "demo:tour"
    assert [step.verdict for step in route.chain][-1] == "chose"
    assert await runtime.store.list() == ()
    await runtime.close()


async def test_key_is_stored_nowhere_after_a_turn_with_tools_and_an_error(
    workspace, monkeypatch, caplog
):
    """R-CRD-02."""
    refusal = json.dumps({"error": {"type": "invalid_request_error", "message": "no"}}).encode()
    script = [
        Reply("", [("shell", {"command": "env; cat /proc/self/environ"})]),
        Reply(status=400, body=refusal),
    ]
    with ProviderServer(script) as server:
        monkeypatch.setenv("ANTHROPIC_API_KEY", CANARY)
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        runtime = await start_runtime(workspace)
        session = await runtime.new_session(User())
        events = await play(session.send("show the environment"))
        assert server.keys == [CANARY, CANARY]
        assert CANARY not in repr(events)
        assert all(CANARY.encode() not in canonical_json(event) for event in events)
        paths = runtime.paths
        await session.close()
        await runtime.close()
    assert CANARY not in caplog.text
    for root in {paths.home, paths.data, paths.state, paths.cache}:
        for file in list(Path(root).rglob("*")):  # noqa: ASYNC240 - a test may block
            assert not file.is_file() or CANARY.encode() not in file.read_bytes(), file


async def test_prompts_and_contents_are_stored_only_in_private_events(workspace, monkeypatch):
    """R-EVT-04: in private events or none; and the key in none at all."""
    (workspace / "plan.txt").write_text("the xylophone plan")
    script = [
        Reply("I spoke of the narwhal.", [("read_file", {"path": "plan.txt"})]),
        Reply("", [("write_file", {"path": "b.txt", "content": "an okapi"})]),
        Reply("", [("shell", {"command": f"echo pangolin {CANARY[:6]}"})]),
        Reply("", [("edit_file", {"path": "plan.txt", "edits": "a wombat"})]),
        Reply(status=400, body=json.dumps({"error": {"message": f"no quokka {CANARY}"}}).encode()),
    ]
    with ProviderServer(script) as server:
        monkeypatch.setenv("ANTHROPIC_API_KEY", CANARY)
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        runtime = await start_runtime(workspace)
        session = await runtime.new_session(User())
        await play(session.send("a quokka prompt"))
        await session.close()
        await runtime.close()
    database = sqlite3.connect(runtime.paths.database)
    events = database.execute("SELECT type, sensitivity, payload_json FROM events").fetchall()
    stored = "".join(row[0] for row in database.execute("SELECT content_json FROM messages"))
    database.close()
    words = ("quokka", "xylophone", "narwhal", "okapi", "pangolin", "wombat")
    assert all(word in stored for word in words)
    for name, sensitivity, payload in events:
        assert RANK[sensitivity] >= RANK[FACT_TYPES[name].sensitivity]
        assert CANARY not in payload
        if sensitivity != "private":
            assert not [word for word in words if word in payload], name
    assert CANARY not in stored
    kinds = {name for name, _, _ in events}
    assert {"tool.input_invalid", "llm.call_failed", "tool.completed", "turn.completed"} <= kinds


@pytest.mark.req("R-TUI-03")
async def test_mentionable_files_exclude_those_ignored_by_git(workspace):
    (workspace / ".gitignore").write_text("*.log\n")
    for name in ("kept.py", "noise.log", "line\nbreak.py"):
        (workspace / name).write_text("")
    (workspace / "sub").mkdir()
    (workspace / "sub" / "a.py").write_text("")
    runtime = await start_runtime(workspace)
    session = await runtime.new_session(User())
    assert session.list_files(100) == [".gitignore", "kept.py", "sub/a.py"]
    await session.close()
    await runtime.close()


class Wall(Args, frozen=True):
    """A file that gets a colour."""

    path: str


def painter(colour):
    """Return a tool `paint` that writes a colour into a file, after an approval."""

    async def paint(args: Wall, context: ToolContext) -> str:
        """Paint a wall."""
        (context.workspace.root / args.path).write_text(colour)
        return colour

    return tool(SideEffects.WRITE)(paint)


async def test_two_sessions_run_at_once_in_their_own_environments(tmp_path, monkeypatch):
    """Workspace, tools, directories, approvals, grants and model of one session never affect the
    other, although both call tools with the same names at the same time."""
    red_root, blue_root, library = (tmp_path / name for name in ("red", "blue", "library"))
    for root in (red_root, blue_root, library):
        root.mkdir()
    (library / "book").write_text("chapter one")
    both_asked = asyncio.Barrier(2)

    class WaitingUser(User):
        async def __call__(self, confirmation):
            if not self.asked:
                await both_asked.wait()
            return await super().__call__(confirmation)

    red_user = WaitingUser(Decision(verdict=Verdict.ALLOW, scope=Scope.ALWAYS))
    blue_user = WaitingUser(DENY)
    paint, read = ("paint", {"path": "wall"}), ("read_file", {"path": str(library / "book")})
    script = [Reply("", [paint]), Reply("", [paint, read]), Reply("done")]
    with ProviderServer(script) as claude, ProviderServer(script) as gpt:
        monkeypatch.setenv("ANTHROPIC_API_KEY", CANARY)
        monkeypatch.setenv("ANTHROPIC_BASE_URL", claude.url)
        monkeypatch.setenv("OPENAI_API_KEY", CANARY)
        monkeypatch.setenv("OPENAI_BASE_URL", f"{gpt.url}/v1")
        runtime = await start_runtime(tmp_path)
        red_tools, blue_tools = (
            Toolbox([painter(colour), read_file]) for colour in ("red", "blue")
        )
        red = await runtime.new_session(
            red_user, "sonnet", workspace=red_root, tools=red_tools, dirs=[library]
        )
        blue = await runtime.new_session(blue_user, "gpt-6", workspace=blue_root, tools=blue_tools)
        red_events, blue_events = await asyncio.gather(
            play(red.send("paint")), play(blue.send("paint"))
        )
        claude.script.append(Reply("", [paint]))
        claude.script.append(Reply("done"))
        await red.close()
        red = await runtime.resume(red.id, red_user, tools=red_tools)
        await play(red.send("again"))
        assert (red.workspace, blue.workspace) == (red_root, blue_root)
        await red.close()
        await blue.close()
        await runtime.close()
        assert claude.problems() == gpt.problems() == []
    assert (red_root / "wall").read_text() == "red"
    assert not (blue_root / "wall").exists()
    assert (len(red_user.asked), len(blue_user.asked)) == (1, 2)
    texts = [e.message.result.content[0].text for e in red_events if isinstance(e, ToolCompleted)]
    assert len(texts) == 3
    assert any("chapter one" in text for text in texts)
    failures = [e.error_class for e in blue_events if isinstance(e, ToolFailed)]
    assert sorted(failures) == ["permission_denied", "user_denied", "user_denied"]


async def test_large_permission_file_leaves_the_event_loop_free(workspace):
    file = resolve_paths().home / "permissions.toml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("schema_version = 1\n" + "# a comment\n" * 80_000)
    runtime = await start_runtime(workspace)
    session = await runtime.new_session(User())
    await session.close()
    await runtime.close()
