"""Custom commands of the user and of a project."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.agent.harness import User
from tests.trusted_folders import trust
from yourtool.agent.commands import table
from yourtool.agent.commands.base import Invocation, SendPrompt
from yourtool.agent.commands.command_table import CommandTable, describe_commands, read_commands
from yourtool.agent.commands.custom import fill_in, read_custom_commands
from yourtool.agent.commands.parser import InvalidCommand, parse_input
from yourtool.agent.runtime import Runtime
from yourtool.agent.session.project.project_trust import ProjectTrust
from yourtool.paths import resolve_paths
from yourtool.settings.config import RunOptions


@pytest.fixture
def load(tmp_path, home):
    """Return the commands of the workspace, and which ones are not valid."""

    def load_all():
        found, problems = read_custom_commands(ProjectTrust(tmp_path).examine().used_files)
        return CommandTable(found), problems

    return load_all


def write(folder, name, text):
    path = folder / f"{name}.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


async def run(text, commands):
    parsed = parse_input(text, commands)
    assert isinstance(parsed, Invocation), parsed
    (result,) = [each async for each in parsed.command.run(None, None, parsed.argument)]
    assert isinstance(result, SendPrompt)
    return result.text


async def test_file_is_a_command_with_arguments_completion_and_help(home, load):
    front = "---\ndescription: Review a change\nargument-hint: FILE [FOCUS]\n---\n"
    write(home / "commands", "review", f"{front}Review $1 for $2. All: $ARGUMENTS")
    write(home / "commands", "git/pr", "Open a pull request.\nBe brief.")
    commands, problems = load()
    assert not problems
    sent = await run('/review "a b.py" speed', commands)
    assert sent == 'Review a b.py for speed. All: "a b.py" speed'
    assert await run("/git:pr now", commands) == "Open a pull request.\nBe brief.\n\nnow"
    assert [each.usage for each in commands.complete("revi")] == ["/review FILE [FOCUS]"]
    sections = describe_commands(commands)
    section = next(each for each in sections if each.title == "Custom commands")
    assert ("/git:pr [TEXT]", "Open a pull request. (yours)") in section.rows
    mistake = parse_input("/reviw", commands)
    assert isinstance(mistake, InvalidCommand)
    assert "did you mean `/review`" in mistake.message


@pytest.mark.req("T14", "R-CONF-05")
async def test_commands_of_a_project_need_trust_in_their_present_content(tmp_path, home, load):
    write(tmp_path / ".claude/commands", "both", "theirs")
    write(tmp_path / ".yourtool/commands", "ops/go", "going")
    write(home / "commands", "both", "mine")
    commands, _ = load()
    assert await run("/both", commands) == "mine"
    assert isinstance(parse_input("/ops:go", commands), InvalidCommand)
    trust(tmp_path)
    commands, _ = load()
    assert (await run("/both", commands), await run("/ops:go", commands)) == ("theirs", "going")
    write(tmp_path / ".claude/commands", "both", "changed")
    commands, _ = load()
    assert await run("/both", commands) == "mine"


async def test_each_session_has_the_commands_of_its_folder(tmp_path, home, monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-test-00000000")
    folders = tmp_path / "a", tmp_path / "b"
    for each in folders:
        write(each / ".yourtool/commands", "where", each.name)
        trust(each)
    options = RunOptions(workspace=tmp_path, model="sonnet", interactive=False)
    runtime = await Runtime.open(resolve_paths(), options)
    sessions = [await runtime.new_session(User(), workspace=each) for each in folders]
    tables = [(await read_commands(each, runtime))[0] for each in sessions]
    assert [await run("/where", each) for each in tables] == ["a", "b"]
    for each in sessions:
        await each.close()
    await runtime.close()


@pytest.mark.req("T14")
def test_project_replaces_no_command_of_the_program(tmp_path, load):
    for name in ("trust", "exit", "mode"):
        write(tmp_path / ".claude/commands", name, "theirs")
    trust(tmp_path)
    commands, _ = load()
    assert all(commands.find(name) in table.COMMANDS for name in ("trust", "exit", "mode"))


def test_invalid_commands_are_named_and_stop_no_other(home, load):
    folder = home / "commands"
    write(folder, "good", "Good.")
    write(folder, "bad name", "x")
    write(folder, "empty", "---\ndescription: x\n---\n \n")
    write(folder, "alias", "---\na: &a x\ndescription: *a\n---\nx")
    write(folder, "huge", "x" * 10_000_000)
    (folder / "gone.md").symlink_to("nowhere.md")
    (folder / "directory.md").mkdir()
    commands, problems = load()
    assert [each.split("`")[1] for each in problems] == ["alias", "bad name", "empty"]
    assert [commands.find(name) is not None for name in ("good", "huge")] == [True, True]


def test_descriptions_control_no_terminal(home, load):
    write(home / "commands", "evil", '---\ndescription: "a\\e[2J\\nb\\u202e"\n---\nx')
    commands, _ = load()
    (found,) = commands.complete("evil")
    assert found.summary == "a␛[2J b\\u{202e} (yours)"


@given(st.text(max_size=40))
@pytest.mark.remaining
def test_arguments_are_not_searched_for_placeholders(argument):
    text = fill_in("<$ARGUMENTS>", argument)
    assert text == f"<{argument}>"
