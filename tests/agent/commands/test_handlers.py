"""Every slash command of the core, with a real runtime and session and without a screen."""

import json
import re
from contextlib import asynccontextmanager

import pytest

from tests.agent.harness import User, play
from tests.provider_server import ProviderServer, Reply
from tests.trusted_folders import trust
from yourtool.agent.commands.base import (
    Choose,
    CopyText,
    EditPrompt,
    EnterText,
    Invocation,
    OpenSession,
    Report,
    SendPrompt,
    SettingChanged,
    ShowMessage,
    ShowTree,
    StartSession,
    StartTurn,
)
from yourtool.agent.commands.parser import parse_input
from yourtool.agent.commands.table import COMMANDS
from yourtool.agent.runtime import Runtime
from yourtool.errors import UsageError
from yourtool.events.branches import BranchSelected, EntryAdded
from yourtool.events.deltas import Notice
from yourtool.events.facts import Fact
from yourtool.events.sessions import SessionEffortSelected, SessionModelSelected, SessionRenamed
from yourtool.ids import new_id
from yourtool.messages.blocks import TextBlock
from yourtool.messages.message import ReplyMessage, now
from yourtool.paths import resolve_paths
from yourtool.permissions.trust import Trust
from yourtool.settings.config import Mode, RunOptions

SONNET, HAIKU = "anthropic:claude-sonnet-4-6", "anthropic:claude-haiku-4-5"


class Conversation:
    """A session with one turn, and a front end that only collects results."""

    def __init__(self, runtime, session, work):
        self.runtime, self.session, self.work = runtime, session, work

    async def run(self, text):
        """Return the results of a command as a user types it."""
        invocation = parse_input(text)
        assert isinstance(invocation, Invocation)
        results = invocation.command.run(self.session, self.runtime, invocation.argument)
        return [each async for each in results]


@asynccontextmanager
async def open_conversation(tmp_path, monkeypatch, *, model=SONNET, prompt="hello"):
    (tmp_path / "work").mkdir(exist_ok=True)
    with ProviderServer([Reply("Hello."), Reply("Hello again.")]) as server:
        for name, value in server.environment.items():
            monkeypatch.setenv(name, value)
        options = RunOptions(workspace=tmp_path / "work", model=model)
        runtime = await Runtime.open(resolve_paths(), options)
        session = await runtime.new_session(User())
        if prompt:
            await play(session.send(prompt))
        yield Conversation(runtime, session, tmp_path / "work")
        await session.close()
        await runtime.close()


@pytest.fixture
async def talk(tmp_path, monkeypatch):
    async with open_conversation(tmp_path, monkeypatch) as conversation:
        yield conversation


async def collect(results):
    return [each async for each in results]


def names(choose):
    return [each.value for each in choose.choices]


EXPECTED = {
    "model": Choose,
    "models": Choose,
    "effort": Notice,
    "rules": Report,
    "why": Notice,
    "route": Notice,
    "new": StartSession,
    "permissions": Notice,
    "resume": Choose,
    "fork": Choose,
    "rewind": Choose,
    "tree": ShowTree,
    "note": EntryAdded,
    "undo": Notice,
    "redo": Notice,
    "search": Choose,
    "rename": Notice,
    "export": Notice,
    "cost": Report,
    "context": Choose,
    "request": Report,
    "compact": StartTurn,
    "diff": Notice,
    "key": Choose,
    "retry": StartTurn,
    "continue": StartTurn,
    "mode": Choose,
    "plan": SettingChanged,
    "copy": CopyText,
    "processes": Notice,
    "background": Notice,
    "trust": Choose,
    "init": SendPrompt,
    "skill": Notice,
    "mcp": Notice,
    "memory": Report,
}
"""The first results of commands."""


@pytest.mark.parametrize("name", [each.name for each in COMMANDS if each.run is not None])
async def test_command_runs_without_a_screen(talk, name):
    first, *_ = await talk.run(f"/{name} hello" if name in ("search", "note") else f"/{name}")
    assert type(first) is EXPECTED.get(name, type(first))


async def test_invalid_argument_is_an_error(talk):
    for text in (
        "/effort so-so",
        "/mode wild",
        "/copy first",
        "/copy 9",
        "/search",
        "/note --next",
        "/key nobody",
    ):
        with pytest.raises(UsageError):
            await talk.run(text)


@pytest.mark.req("R-TUI-25")
async def test_copied_text_is_chosen_from_replies_and_their_code_blocks(talk):
    reply = "Run this:\n\n```sh\nls -l\n```\n\nand then:\n\n```\ncd ..\npwd\n```\n"
    for text in (reply, "Done."):
        fields = {"session_id": talk.session.id, "content": (TextBlock(text),), "created_at": now()}
        talk.session.state.add_message(ReplyMessage(id=new_id(), **fields))
    [choose] = await talk.run("/copy list")
    shown = [(each.title, each.detail) for each in choose.choices]
    assert shown[:4] == [
        ("Done.", "reply 1 · 1 line, 5 characters"),
        ("Run this:", f"reply 2 · 12 lines, {len(reply)} characters"),
        ("  ls -l", "  sh · 1 line, 6 characters"),
        ("  cd ..", "  code · 2 lines, 10 characters"),
    ]
    copied = [await collect(choose.then(each.value)) for each in choose.choices[:4]]
    texts = ("Done.", reply, "ls -l\n", "cd ..\npwd\n")
    assert copied == [[CopyText(text)] for text in texts]


async def test_copying_without_a_reply_is_an_error(tmp_path, monkeypatch):
    async with open_conversation(tmp_path, monkeypatch, prompt="") as talk:
        for text in ("/copy", "/copy list"):
            with pytest.raises(UsageError, match="no reply to copy"):
                await talk.run(text)


async def test_model_is_selected_reset_and_explained(talk):
    selected, changed = await talk.run(f"/model {HAIKU}")
    assert isinstance(selected, SessionModelSelected) and changed == SettingChanged("model")
    assert talk.session.model.id == HAIKU
    assert isinstance((await talk.run("/model -"))[0], SessionModelSelected)
    explained, figures = await talk.run("/model show")
    assert talk.session.model.id in explained.text
    assert re.search(r"^window: 1,000,000 tokens \(genai-prices .*, read \d{4}-", figures.text)


async def test_choice_from_the_list_of_models_selects_it(talk):
    [choose] = await talk.run("/models")
    assert choose.current == SONNET and HAIKU in names(choose)
    await collect(choose.then(HAIKU))
    assert talk.session.model.id == HAIKU


async def test_real_model_after_the_demo_starts_a_session(tmp_path, monkeypatch):
    async with open_conversation(tmp_path, monkeypatch, model="demo:tour", prompt="") as talk:
        start, notice, changed = await talk.run(f"/model {SONNET}")
        assert start == StartSession(SONNET)
        assert str(talk.work) in notice.text
        assert changed == SettingChanged("model")


async def test_effort_is_stored_and_described(talk):
    stored, notice = await talk.run("/effort high")
    assert isinstance(stored, SessionEffortSelected)
    assert talk.session.effort == "high"
    assert notice == Notice(level="info", text=talk.session.effort_summary())


async def test_recommendations_that_are_off_name_their_settings(talk):
    [notice] = await talk.run("/route")
    assert "surface_disagreement = true" in notice.text


async def test_list_of_sessions_opens_another_one_only(talk):
    other = await talk.runtime.new_session(User())
    await play(other.send("hi"))
    await other.close()
    [choose] = await talk.run("/resume")
    assert set(names(choose)) == {talk.session.id, other.id}
    assert await collect(choose.then(other.id)) == [OpenSession(other.id)]
    [notice] = await collect(choose.then(talk.session.id))
    assert "already open" in notice.text


async def test_fork_opens_a_copy_with_the_prompt_for_editing(talk):
    [choose] = await talk.run("/fork")
    opened, edit = await collect(choose.then(talk.session.state.prompts[0].id))
    assert opened.session_id != talk.session.id
    assert edit == EditPrompt("hello")
    assert len(await collect(choose.then(""))) == 1


async def test_rewind_goes_back_to_a_prompt_on_another_branch(talk):
    [choose] = await talk.run("/rewind")
    prompts = [prompt.id for prompt in talk.session.state.prompts]
    assert names(choose) == prompts[::-1]
    moved, edit = await collect(choose.then(prompts[0]))
    assert isinstance(moved, BranchSelected)
    assert edit == EditPrompt("hello")
    assert talk.session.state.conversation == []


async def test_search_shows_a_message_of_the_open_session_without_opening_it(talk):
    [choose] = await talk.run("/search hello")
    for index in names(choose):
        [shown] = await collect(choose.then(index))
        assert isinstance(shown, ShowMessage)
    [nothing] = await talk.run("/search nowhere")
    assert "No message" in nothing.text


async def test_export_replaces_a_file_only_after_confirmation(talk):
    await talk.run("/export a.md")
    written = (talk.work / "a.md").read_bytes()
    (talk.work / "a.md").write_text("mine")
    [choose] = await talk.run("/export a.md")
    assert await collect(choose.then(names(choose)[0])) == []
    assert (talk.work / "a.md").read_text() == "mine"
    await collect(choose.then(names(choose)[1]))
    assert (talk.work / "a.md").read_bytes() == written


async def test_format_of_an_export_can_be_named(talk):
    await talk.run("/export mine --format pi")
    first = json.loads((talk.work / "mine").read_text().splitlines()[0])
    assert (first["type"], first["version"]) == ("session", 3)
    await talk.run("/export --format=html")
    [page] = talk.work.glob("*.html")
    assert page.read_text().startswith("<!doctype html>")
    with pytest.raises(UsageError, match="`docx` is no format; there are markdown, html, jsonl"):
        await talk.run("/export b --format docx")
    assert not [*talk.work.glob("b*")]


async def test_commands_use_the_workspace_of_the_session(talk, tmp_path):
    (tmp_path / "other").mkdir()
    for model in (HAIKU, "demo:tour"):  # the demo works in a copy
        talk.session = await talk.runtime.new_session(
            User(), model, workspace=tmp_path / "other", dirs=()
        )
        await play(talk.session.send("hi there"))
        await talk.run(f"/export {model.partition(':')[0]}.md")
        [choose] = await talk.run("/search hello")
        assert {each.detail.split(" · ")[2] for each in choose.choices} == {str(talk.work), "here"}
        await talk.session.close()
    assert {each.name for each in (tmp_path / "other").iterdir()} == {"anthropic.md", "demo.md"}
    assert list(talk.work.iterdir()) == []
    _, notice, _ = await talk.run(f"/model {SONNET}")
    assert str(tmp_path / "other") in notice.text


async def test_key_is_saved_and_its_provider_used(talk):
    [choose] = await talk.run("/key")
    assert "openai" in names(choose) and "demo" not in names(choose)
    [entry] = await collect(choose.then("openai"))
    assert isinstance(entry, EnterText) and entry.hidden
    assert await collect(entry.then("")) == []
    *_, notice, changed = await collect(entry.then("sk-test-1234567890"))
    assert "openai" in notice.text and "sk-test" not in notice.text
    assert changed == SettingChanged("model")
    assert talk.session.model.provider == "openai"


async def test_trust_is_stored_for_the_files_that_were_shown(talk):
    (talk.work / "AGENTS.md").write_text("Be brief.")
    [choose] = await talk.run("/trust")
    trust, decline, _ = names(choose)
    assert choose.current == decline
    (talk.work / "AGENTS.md").write_text("Changed while the list was open.")
    notice, changed = await collect(choose.then(trust))
    assert "`AGENTS.md`: used from the next message on" in notice.text
    assert changed == SettingChanged("trust")
    assert talk.session.trust.examine().status is Trust.CHANGED


async def test_trust_lists_each_file_on_a_line_and_shows_its_text(talk):
    (talk.work / "AGENTS.md").write_text("Be\u200b brief.")
    commands = talk.work / ".claude" / "commands"
    commands.mkdir(parents=True)
    for number in range(8):
        (commands / f"c{number}.md").write_text("Go.")
    [choose] = await talk.run("/trust")
    listed = {each.title: each.cells for each in choose.choices[2:]}
    assert len(listed) == 9
    assert listed["AGENTS.md"] == ("12 bytes, 1 hidden character, instructions",)
    assert listed[".claude/commands/c7.md"] == ("3 bytes, a command",)
    [report] = await collect(choose.then("AGENTS.md"))
    assert report.sections[0].rows == (("", "Be\\u{200b} brief."),)
    assert talk.session.trust.examine().status is Trust.UNKNOWN


async def test_trust_applies_to_approvals_from_the_next_turn_on(talk):
    [choose] = await talk.run("/trust")
    await collect(choose.then(names(choose)[0]))
    assert not talk.session._env.gate.is_trusted
    await play(talk.session.send("go on"))
    assert talk.session._env.gate.is_trusted
    (talk.work / "AGENTS.md").write_text("A file that appeared.")
    await play(talk.session.send("go on"))
    assert not talk.session._env.gate.is_trusted


async def test_auto_mode_must_be_typed(talk):
    assert await talk.run("/mode plan") == [SettingChanged("mode")]
    assert talk.session.mode is Mode.PLAN
    [entry] = await talk.run("/mode auto")
    assert talk.session.mode is Mode.PLAN
    await collect(entry.then(""))
    assert talk.session.mode is Mode.ASK
    await collect(entry.then("auto"))
    assert talk.session.mode is Mode.AUTO
    [choose] = await talk.run("/mode")
    assert choose.current == "auto"


async def test_turn_of_a_command_is_run_by_the_front_end(talk):
    [start] = await talk.run("/continue")
    assert talk.session.state.turn_count == 1
    assert any(isinstance(each, Fact) for each in await play(start.events))
    assert talk.session.state.turn_count == 2


async def test_rename_gives_the_open_session_a_title_that_lists_show(talk):
    [before] = await talk.run("/rename")
    assert before.text == "Title of this session: hello. `/rename TITLE` changes it."
    [fact] = await talk.run("/rename  Fix   the parser ")
    assert isinstance(fact, SessionRenamed) and fact.title == "Fix the parser"
    [after] = await talk.run("/rename")
    assert after.text == "Title of this session: Fix the parser. `/rename TITLE` changes it."
    [listed] = await talk.run("/resume")
    assert [choice.title for choice in listed.choices] == ["Fix the parser"]


async def test_rename_says_how_to_title_a_session_without_messages(tmp_path, monkeypatch):
    async with open_conversation(tmp_path, monkeypatch, prompt="") as talk:
        [notice] = await talk.run("/rename")
        assert notice.text == "No title yet. `/rename TITLE` sets it."


@pytest.mark.req("R-CTX-06", "R-CTX-07")
async def test_context_lists_instructions_with_their_sizes(talk):
    (talk.work / "AGENTS.md").write_text("x" * 2_048)
    trust(talk.work)
    (report,) = await talk.run("/context list")
    assert report.sections[-1].rows == (("the project, from AGENTS.md", "2.0 KiB"),)


@pytest.mark.req("R-CTX-06", "T14")
async def test_context_lists_what_is_not_used_for_want_of_trust(talk):
    def unused(report):
        return next((each.rows for each in report.sections if each.title == "Not used"), ())

    (report,) = await talk.run("/context list")
    assert unused(report) == ()
    (talk.work / "AGENTS.md").write_text("Be brief.")
    (talk.work / ".claude" / "commands").mkdir(parents=True)
    (talk.work / ".claude" / "commands" / "go.md").write_text("Go.")
    (report,) = await talk.run("/context list")
    why = "the folder is not trusted; `/trust` trusts it"
    assert unused(report) == (("AGENTS.md", why), (".claude/commands/go.md", why))
    trust(talk.work)
    (report,) = await talk.run("/context list")
    assert unused(report) == ()
    (talk.work / "AGENTS.md").write_text("Be very brief.")
    (report,) = await talk.run("/context list")
    assert ("AGENTS.md", "it changed since you were asked; `/trust` trusts it") in unused(report)


async def test_init_sends_a_task_that_names_the_file(talk):
    (task,) = await talk.run("/init mention the fixtures")
    assert task.text.startswith("Write `AGENTS.md`")
    assert task.text.endswith("The user adds: mention the fixtures")
    (talk.work / "CLAUDE.md").write_text("x")
    (task,) = await talk.run("/init")
    assert task.text.startswith("Improve the existing `CLAUDE.md`")


@pytest.mark.req("R-SKL-03")
async def test_skill_is_listed_and_sent_with_a_task(talk, home):
    for name, more in (("mine", "disable-model-invocation: true\n"), ("bad name", "")):
        (home / "skills" / name).mkdir(parents=True)
        text = f"---\nname: {name}\ndescription: Test it.\n{more}---\nDo it."
        (home / "skills" / name / "SKILL.md").write_text(text)
    (report,) = await talk.run("/skill")
    assert report.sections[0].rows == (("mine", "Test it. (user, 11 tokens, only for /skill)"),)
    assert "single hyphens" in report.sections[1].rows[0][1]
    (sent,) = await talk.run("/skill mine now")
    assert sent.text.endswith("# Skill: mine (source: user)\n\nDo it.\n\n# Task\nnow")
    with pytest.raises(UsageError, match="There is no skill `other`"):
        await talk.run("/skill other")


@pytest.mark.req("R-MEM-01", "R-MEM-03")
async def test_memory_is_shown_added_to_and_edited(talk):
    (notice,) = await talk.run("/memory user likes é")
    assert notice.text == "`USER.md` has 9 of 3,072 bytes."
    (edit,) = await talk.run("/memory user")
    assert edit.text == "/memory user = likes é\n"
    await talk.run("/memory user = likes\ntabs")
    await talk.run("/memory workspace uses make")
    (report,) = await talk.run("/memory")
    assert report.sections[0].rows == (
        ("About the user (USER.md), 11 of 3,072 bytes", "likes\ntabs\n"),
        ("About this workspace (MEMORY.md), 10 of 4,096 bytes", "uses make\n"),
    )
    for argument, problem in (("user " + "x" * 4_000, "more than 3,072"), ("other", "unknown")):
        with pytest.raises(UsageError, match=problem):
            await talk.run(f"/memory {argument}")
