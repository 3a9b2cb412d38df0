"""The system prompt."""

import asyncio
import json
import os
import re
import subprocess
from operator import attrgetter

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.agent.harness import MODEL, OTHER, Bench, Checked, play
from tests.trusted_folders import trust
from yourtool.agent.history.stored_prompt import StoredPrompt
from yourtool.agent.session.project.project_files import MAX_BYTES, read_project_files
from yourtool.agent.session.system_prompt import system_messages
from yourtool.events.deltas import Notice, ToolUseEnd
from yourtool.events.model_calls import LlmCallStarted
from yourtool.foundation.masking import Mask
from yourtool.messages.invariants import validate_message
from yourtool.messages.message import Role
from yourtool.providers.scripted import Scripted, calls, says
from yourtool.settings.config import Mode
from yourtool.store.forks import fork


def trusted_prompt(workspace):
    """Return the stable part of the prompt in a workspace that the user trusts."""
    trust(workspace)
    return system_messages(workspace, "s")[0].text


def test_stable_part_has_the_same_bytes_in_every_turn(tmp_path):
    first, second = system_messages(tmp_path, "s"), system_messages(tmp_path, "s")
    assert first[0].content == second[0].content
    assert not [problem for message in first for problem in validate_message(message)]


@pytest.mark.req("R-LOOP-13")
def test_model_is_told_the_approval_mode_outside_the_stable_part(tmp_path):
    prompts = [system_messages(tmp_path, "s", mode) for mode in Mode]
    assert len({stable.content for stable, _ in prompts}) == 1
    for mode, (_, situation) in zip(Mode, prompts, strict=True):
        assert f"Approval mode: {mode.value.replace('-', ' ')}." in situation.text


@pytest.mark.req("R-LOOP-13", "R-CONF-09")
async def test_later_request_of_a_running_turn_has_the_mode_that_the_user_chose(bench):
    adapter = Checked(Scripted([calls("list_dir"), calls("list_dir", path="."), says("done")]))
    session = await bench.session(adapter, mode=Mode.PLAN)
    async for event in session.send("go"):
        if isinstance(event, ToolUseEnd):  # of the reply whose call runs before the last request
            session.mode = Mode.ASK
    modes = [
        re.findall(r"Approval mode: (\w+)", "\n".join(each.text for each in request.messages))
        for request in adapter.requests
    ]
    assert (modes[0], modes[-1]) == (["plan"], ["ask"])
    await session.close()


def test_project_instructions_are_included_nearest_last(tmp_path):
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    inner = tmp_path / "inner"
    inner.mkdir()
    (tmp_path / "AGENTS.md").write_text("outer rules")
    (inner / "CLAUDE.md").write_text("inner rules")
    text = trusted_prompt(inner)
    assert text.index("outer rules") < text.index("inner rules")
    assert "../AGENTS.md" in text


def test_instruction_files_are_the_first_of_each_directory(tmp_path):
    (tmp_path / ".git").mkdir()
    inner = tmp_path / "pkg"
    inner.mkdir()
    (tmp_path / "AGENTS.md").write_text("outer")
    (inner / "CLAUDE.md").write_text("inner")

    def names():
        return [each.name for each in read_project_files(inner)]

    assert names() == ["../AGENTS.md", "CLAUDE.md"]
    (inner / "AGENTS.md").write_text("wins")
    assert names() == ["../AGENTS.md", "AGENTS.md"]
    (inner / "AGENTS.md").unlink()
    (inner / "CLAUDE.md").unlink()
    assert names() == ["../AGENTS.md"]


@pytest.mark.req("T14", "R-CONF-05")
def test_instructions_of_an_untrusted_folder_are_not_obeyed(tmp_path):
    (tmp_path / "AGENTS.md").write_text("obey me")
    assert "obey me" not in system_messages(tmp_path, "s")[0].text
    assert "obey me" in trusted_prompt(tmp_path)
    (tmp_path / "AGENTS.md").write_text("obey me and them")
    assert "obey me" not in system_messages(tmp_path, "s")[0].text


def test_instructions_of_the_user_need_no_trust_and_precede_the_project(home, tmp_path):
    (home / "AGENTS.md").write_text("be kind")
    (tmp_path / "AGENTS.md").write_text("obey me")
    assert "be kind" in system_messages(tmp_path, "s")[0].text
    text = trusted_prompt(tmp_path)
    assert text.index("be kind") < text.index("obey me")


def test_link_out_of_the_repository_is_not_followed(tmp_path):
    (tmp_path / "private").write_text("the key is 4711")
    inside = tmp_path / "repo" / "sub"
    inside.mkdir(parents=True)
    (tmp_path / "repo" / ".git").mkdir()
    (tmp_path / "repo" / "AGENTS.md").symlink_to(tmp_path / "private")
    (inside / "CLAUDE.md").symlink_to("../rules.md")
    (tmp_path / "repo" / "rules.md").write_text("use tabs")
    text = trusted_prompt(inside)
    assert "4711" not in text
    assert "use tabs" in text


def test_link_to_credentials_or_own_settings_is_not_followed(tmp_path, monkeypatch):
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    (tmp_path / ".env").write_text("TOKEN=4711")
    (tmp_path / "AGENTS.md").symlink_to(".env")
    monkeypatch.setenv("YOURTOOL_HOME", str(tmp_path / "own"))
    inner = tmp_path / "inner"
    inner.mkdir()
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "config.toml").write_text("# 4712")
    (inner / "AGENTS.md").symlink_to("../own/config.toml")
    assert "471" not in trusted_prompt(inner)
    work = tmp_path / "own" / "work"
    work.mkdir()
    (work / "AGENTS.md").write_text("use tabs")
    assert "use tabs" in trusted_prompt(work)


@pytest.mark.parametrize(
    "place", [".kube/config", ".ssh/id_rsa", ".aws/credentials", ".aws/config"]
)
@pytest.mark.parametrize("inside", [False, True])
def test_link_to_a_credential_file_is_not_read_in_any_repository(tmp_path, place, inside):
    secret = tmp_path / place
    secret.parent.mkdir()
    secret.write_text("token: 4711")
    workspace = secret.parent if inside else tmp_path
    (workspace / ".git").mkdir()
    (workspace / "AGENTS.md").symlink_to(secret.relative_to(workspace))
    assert "4711" not in trusted_prompt(workspace)


def test_credentials_are_not_read_in_a_workspace_opened_through_a_link(tmp_path):
    (tmp_path / ".kube").mkdir()
    (tmp_path / ".kube" / "config").write_text("token: 4711")
    (tmp_path / ".kube" / "AGENTS.md").symlink_to("config")
    (tmp_path / "work").symlink_to(".kube")
    assert "4711" not in trusted_prompt(tmp_path / "work")


def test_hard_link_to_a_credential_file_of_the_user_is_not_read(tmp_path, monkeypatch):
    home, work = tmp_path / "home", tmp_path / "work"
    monkeypatch.setenv("HOME", str(home))
    for each in (home / ".ssh", work):
        each.mkdir(parents=True)
    (home / ".ssh" / "id_rsa").write_text("4711")
    os.link(home / ".ssh" / "id_rsa", work / "AGENTS.md")
    assert "4711" not in trusted_prompt(work)


def test_own_settings_are_not_read_under_another_name(tmp_path, monkeypatch):
    own, work = tmp_path / "own", tmp_path / "work"
    monkeypatch.setenv("YOURTOOL_HOME", str(own))
    own.mkdir()
    work.mkdir()
    (own / "credentials.toml").write_text("key = 4711")
    os.link(own / "credentials.toml", work / "AGENTS.md")
    assert "4711" not in trusted_prompt(work)


def test_directories_above_the_repository_are_not_read(tmp_path):
    (tmp_path / "AGENTS.md").write_text("not mine")
    project = tmp_path / "project"
    subprocess.run(["git", "init", "-q", project], check=True)
    assert "not mine" not in trusted_prompt(project)
    plain = tmp_path / "plain"
    plain.mkdir()
    assert "not mine" not in trusted_prompt(plain)


def test_huge_or_undecodable_file_is_truncated_with_a_notice(tmp_path):
    (tmp_path / "AGENTS.md").write_bytes(b"\xff\0" + b"x" * MAX_BYTES)
    text = trusted_prompt(tmp_path)
    assert f"[cut after line 1, at {MAX_BYTES} bytes]" in text
    assert "\0" not in text


@pytest.fixture
def repository(bench):
    subprocess.run(["git", "init", "-q", bench.workspace], check=True)
    return bench.workspace


def stable_texts(adapter):
    return [request.messages[0].text for request in adapter.requests]


async def test_stable_part_stays_the_same_when_files_and_git_change(bench, repository):
    adapter = Checked(Scripted([calls("list_dir"), says("a"), says("b")]))
    session = await bench.session(adapter)
    await play(session.send("one"))
    (repository / "new.txt").write_text("new")
    (repository / ".git" / "HEAD").write_text("ref: refs/heads/other\n")
    session.mode = Mode.AUTO
    await play(session.send("two"))
    assert len(adapter.requests) == 3
    assert len(set(stable_texts(adapter))) == 1
    await session.close()


async def test_resumed_session_keeps_its_stable_part(bench, repository):
    first, second = Checked(Scripted([says("a")])), Checked(Scripted([says("b")]))
    session = await bench.session(first)
    await play(session.send("one"))
    await session.close()
    (repository / "new.txt").write_text("new")
    resumed = await bench.session(second, resume=session.id)
    await play(resumed.send("two"))
    assert stable_texts(first) == stable_texts(second)
    await resumed.close()


READ = attrgetter("name", "description", "input_schema")
STEPS = [*Mode, "turn", "file", "commit", "another model", "this model", "resume", "trust"]


@given(steps=st.lists(st.sampled_from(STEPS), max_size=8), trusted=st.booleans())
@settings(max_examples=12, deadline=None)
@example(steps=["turn", "file", "resume", "another model", "turn", "this model"], trusted=True)
@example(steps=["turn", "trust", "file", "resume", "turn"], trusted=False)
@pytest.mark.remaining
def test_no_sequence_of_turns_modes_and_changes_alters_the_stable_part(
    tmp_path_factory, steps, trusted
):
    bench = Bench(tmp_path_factory.mktemp("bench"))
    subprocess.run(["git", "init", "-q", bench.workspace], check=True)
    trust(bench.workspace, trusted=trusted)

    async def run():
        adapter = Checked(Scripted([says("ok")] * (len(steps) + 1)))
        session = await bench.session(adapter)
        for number, step in enumerate([*steps, "turn"]):
            match step:
                case Mode():
                    session.mode = step
                case "turn":
                    await play(session.send("go"))
                case "another model" | "this model":
                    chosen = OTHER if step == "another model" else MODEL
                    await play(session.select_model(chosen.id))
                case "resume":
                    await session.close()
                    session = await bench.session(adapter, resume=session.id)
                case "trust":
                    trust(bench.workspace, trusted=not trusted)
                case _:
                    (bench.workspace / f"{number}.txt").write_text("x")
        assert len(set(stable_texts(adapter))) == 1
        await session.close()
        await bench.close()

    asyncio.run(run())


async def test_prompt_and_tools_of_every_request_are_stored_once(bench):
    adapter = Checked(Scripted([calls("list_dir"), says("a"), says("b"), says("c")]))
    session = await bench.session(adapter)
    await play(session.send("one"))
    session.mode = Mode.PLAN
    await play(session.send("two"))
    await session.close()
    session = await bench.session(adapter, resume=session.id)
    await play(session.send("three"))
    facts = await bench.store.read(session.id)
    stored, texts, tools = StoredPrompt(), [], []
    for fact in facts:
        stored.apply(fact)
        if isinstance(fact, LlmCallStarted):
            texts.append(stored.get_texts(fact))
            tools.append(json.loads(stored.get_tools(fact)))
    assert texts == [
        tuple(each.text for each in request.messages if each.role is Role.SYSTEM)
        for request in adapter.requests
    ]
    assert tools == [
        [
            {"name": name, "description": description, "schema": json.loads(json.dumps(schema))}
            for name, description, schema in map(READ, request.tools)
        ]
        for request in adapter.requests
    ]
    requests = [fact for fact in facts if isinstance(fact, LlmCallStarted)]
    kept = [part.text for each in requests for part in (*each.system, each.tools) if part.text]
    assert len(kept) == len(set(kept)) == len({text for each in texts for text in each}) + 1
    await session.close()


async def test_prompt_states_whether_somebody_can_answer(bench):
    present, absent = Checked(Scripted([says("a")])), Checked(Scripted([says("a")]))
    for adapter, interactive in ((present, True), (absent, False)):
        session = await bench.session(adapter, interactive=interactive)
        await play(session.send("go"))
        await session.close()
    assert "Nobody can answer" not in present.requests[0].messages[1].text
    assert "Nobody can answer" in absent.requests[0].messages[1].text


async def test_keys_in_instructions_are_neither_sent_nor_stored(bench, home):
    key = "sk-ant-api03-" + "k" * 80
    (home / "AGENTS.md").write_text(f"Use {key}.")
    adapter = Checked(Scripted([says("a")]))
    session = await bench.session(adapter, mask=Mask([key]))
    await play(session.send("go"))
    assert key not in str(adapter.requests[0].messages)
    assert key not in str(await bench.store.read(session.id))
    await session.close()


async def test_copy_in_another_directory_reads_its_own_surroundings(bench):
    first, second = Checked(Scripted([says("a")])), Checked(Scripted([says("b")]))
    session = await bench.session(first)
    await play(session.send("one"))
    await session.close()
    copied = await fork(bench.store, session.id)
    (bench.workspace / ".git").mkdir()
    (bench.workspace / ".git" / "HEAD").write_text("ref: refs/heads/x\n")
    resumed = await bench.session(second, resume=copied)
    await play(resumed.send("two"))
    assert "Git repository: no" in stable_texts(first)[0]
    assert "Git repository: yes" in stable_texts(second)[0]
    await resumed.close()


@pytest.mark.req("R-CONF-05")
@pytest.mark.parametrize("trusted", [True, False], ids=["given", "withdrawn"])
async def test_git_is_asked_as_the_trust_at_the_first_message_allows(bench, repository, trusted):
    (repository / ".git" / "HEAD").write_text("ref: refs/heads/trunk\n")
    trust(bench.workspace, trusted=not trusted)
    adapter = Checked(Scripted([says("a")]))
    session = await bench.session(adapter)
    trust(bench.workspace, trusted=trusted)
    await play(session.send("go"))
    assert ("trunk" in stable_texts(adapter)[0]) == trusted
    await session.close()


@pytest.mark.parametrize("interactive", [True, False])
async def test_instructions_over_the_limit_are_named_once(bench, interactive):
    (bench.workspace / "AGENTS.md").write_text("rule\n" * 9_000)
    trust(bench.workspace)
    adapter = Checked(Scripted([says("fin"), says("fin")]))
    session = await bench.session(adapter, interactive=interactive)
    shown = [*await play(session.send("go")), *await play(session.send("on"))]
    await session.close()
    [text] = [each.text for each in shown if isinstance(each, Notice)]
    start = (
        "Only the first 6,553 lines are used of the instructions of the project, from AGENTS.md:"
    )
    assert text.startswith(start)
