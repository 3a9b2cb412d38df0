import pytest

from yourtool.agent.commands.base import Invocation
from yourtool.agent.commands.command_table import CORE
from yourtool.agent.commands.parser import InvalidCommand, parse_input
from yourtool.agent.commands.table import COMMANDS


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_every_name_and_alias_in_the_table_is_recognised(command):
    for name in (command.name, *command.aliases):
        assert parse_input(f"/{name}") == Invocation(command)


def test_names_and_aliases_are_unique():
    names = [name for each in COMMANDS for name in (each.name, *each.aliases)]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("text", ["hello", " /help", "/ or so", "what does /help do", "a\n/help"])
def test_only_a_slash_in_the_first_column_starts_a_command(text):
    assert parse_input(text) is None


def test_argument_is_stripped():
    parsed = parse_input("/model   sonnet  ")
    assert isinstance(parsed, Invocation)
    assert (parsed.command.name, parsed.argument) == ("model", "sonnet")


def test_unexpected_argument_is_rejected():
    parsed = parse_input("/clear the cache please")
    assert isinstance(parsed, InvalidCommand)
    assert "`/clear` takes no argument" in parsed.message


def test_argument_of_several_lines_is_rejected():
    assert isinstance(parse_input("/model sonnet\nand then some"), InvalidCommand)


@pytest.mark.parametrize(("typed", "nearest"), [("/resum", "/resume"), ("/hlep", "/help")])
def test_unknown_command_suggests_the_nearest(typed, nearest):
    parsed = parse_input(typed)
    assert isinstance(parsed, InvalidCommand)
    assert not parsed.path_like
    assert f"did you mean `{nearest}`" in parsed.message


@pytest.mark.parametrize("typed", ["/xyzzyxyzzy", "/zzz"])
def test_unknown_command_without_an_equivalent_suggests_the_help(typed):
    parsed = parse_input(typed)
    assert isinstance(parsed, InvalidCommand)
    assert "did you mean" not in parsed.message and "`/help`" in parsed.message


@pytest.mark.parametrize("text", ["/etc/hosts what is this", "/tmp/a.log", "/notes.md\nmore"])
@pytest.mark.req("R-RTE-10")
def test_text_that_looks_like_a_path_can_be_sent(text):
    parsed = parse_input(text)
    assert isinstance(parsed, InvalidCommand)
    assert parsed.path_like


def test_lone_slash_is_explained():
    assert isinstance(parse_input("/"), InvalidCommand)


def test_prefix_finds_commands_in_the_order_of_the_table():
    assert [command.name for command in CORE.complete("mo")] == ["model", "models", "mode"]
    assert [command.name for command in CORE.complete("ses")] == ["resume"]
