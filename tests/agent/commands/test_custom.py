"""Custom commands of the user and of a project."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.trusted_folders import trust
from yourtool.agent.commands import custom, table
from yourtool.agent.commands.base import Invocation, SendPrompt
from yourtool.agent.commands.custom import fill_in, read_custom_commands
from yourtool.agent.commands.parser import InvalidCommand, parse_input
from yourtool.agent.session.project.project_trust import ProjectTrust


@pytest.fixture
def load(tmp_path, home):
    """Load the commands of a workspace as a front end does; return the problems."""

    def load_all():
        commands, problems = read_custom_commands(ProjectTrust(tmp_path).examine().used_files)
        custom.use_commands(commands)
        return problems

    yield load_all
    custom.use_commands(())


def write(folder, name, text):
    path = folder / f"{name}.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


async def run(text):
    parsed = parse_input(text)
    assert isinstance(parsed, Invocation), parsed
    (result,) = [each async for each in parsed.command.run(None, None, parsed.argument)]
    assert isinstance(result, SendPrompt)
    return result.text


async def test_file_is_a_command_with_arguments_completion_and_help(home, load):
    front = "---\ndescription: Review a change\nargument-hint: FILE [FOCUS]\n---\n"
    write(home / "commands", "review", f"{front}Review $1 for $2. All: $ARGUMENTS")
    write(home / "commands", "git/pr", "Open a pull request.\nBe brief.")
    assert load() == []
    assert await run('/review "a b.py" speed') == 'Review a b.py for speed. All: "a b.py" speed'
    assert await run("/git:pr now") == "Open a pull request.\nBe brief.\n\nnow"
    assert [each.usage for each in table.find_commands("revi")] == ["/review FILE [FOCUS]"]
    section = next(each for each in table.describe_commands() if each.title == "Custom commands")
    assert ("/git:pr [TEXT]", "Open a pull request. (yours)") in section.rows
    assert isinstance(parse_input("/reviw"), InvalidCommand)
    assert "did you mean `/review`" in parse_input("/reviw").message


@pytest.mark.req("T14", "R-CONF-05")
async def test_commands_of_a_project_need_trust_in_their_present_content(tmp_path, home, load):
    write(tmp_path / ".claude/commands", "both", "theirs")
    write(tmp_path / ".yourtool/commands", "ops/go", "going")
    write(home / "commands", "both", "mine")
    load()
    assert await run("/both") == "mine"
    assert isinstance(parse_input("/ops:go"), InvalidCommand)
    trust(tmp_path)
    load()
    assert (await run("/both"), await run("/ops:go")) == ("theirs", "going")
    write(tmp_path / ".claude/commands", "both", "changed")
    load()
    assert await run("/both") == "mine"


@pytest.mark.req("T14")
def test_project_replaces_no_command_of_the_program(tmp_path, load):
    for name in ("trust", "exit", "mode"):
        write(tmp_path / ".claude/commands", name, "theirs")
    trust(tmp_path)
    load()
    assert all(table.find_command(name) in table.COMMANDS for name in ("trust", "exit", "mode"))


def test_invalid_commands_are_named_and_stop_no_other(home, load):
    folder = home / "commands"
    write(folder, "good", "Good.")
    write(folder, "bad name", "x")
    write(folder, "empty", "---\ndescription: x\n---\n \n")
    write(folder, "alias", "---\na: &a x\ndescription: *a\n---\nx")
    write(folder, "huge", "x" * 10_000_000)
    (folder / "gone.md").symlink_to("nowhere.md")
    (folder / "directory.md").mkdir()
    problems = load()
    assert [each.split("`")[1] for each in problems] == ["alias", "bad name", "empty"]
    assert [table.find_command(name) is not None for name in ("good", "huge")] == [True, True]


def test_descriptions_control_no_terminal(home, load):
    write(home / "commands", "evil", '---\ndescription: "a\\e[2J\\nb\\u202e"\n---\nx')
    load()
    (found,) = table.find_commands("evil")
    assert found.summary == "a␛[2J b\\u{202e} (yours)"


@given(st.text(max_size=40))
@pytest.mark.remaining
def test_arguments_are_not_searched_for_placeholders(argument):
    text = fill_in("<$ARGUMENTS>", argument)
    assert text == f"<{argument}>"
