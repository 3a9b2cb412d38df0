"""Words of other agents."""

import re

import pytest

from yourtool.agent.commands.base import Invocation
from yourtool.agent.commands.parser import InvalidCommand, parse_input
from yourtool.cli.parser import COMMANDS, build_parser, split_prompt
from yourtool.errors import UsageError
from yourtool.settings.config import Config
from yourtool.settings.peer_words import read_peer_words
from yourtool.settings.tables import Fault, iter_leaves
from yourtool.tui.keys.active_keys import get_labels
from yourtool.tui.keys.keymap import build_keymap
from yourtool.tui.keys.keys import KEYS

ROWS = read_peer_words()
KEYMAP = build_keymap()
LABELS = {label for key in KEYS for label in get_labels(key, KEYMAP).split(", ")}
FILES = {"permissions.toml", "AGENTS.md", "[[hooks]]"}


def words_of(kind):
    return [(word, row.ours) for row in ROWS[kind] for word in row.words]


def test_command_of_another_agent_is_never_a_prompt():
    for word, ours in words_of("command"):
        for rest in ([], ["fix it"]):
            with pytest.raises(UsageError) as error:
                split_prompt([word, *rest])
            assert ours in str(error.value)
            assert f"yourtool -- {word}" in str(error.value)
    assert split_prompt(["resume the work"]) == ([], "resume the work")
    assert split_prompt(["--", "resume"]) == ([], "resume")


def test_option_of_another_agent_names_ours():
    for word, ours in words_of("option"):
        for argv in ([word], [f"{word}=x"] if word.startswith("--") else [word]):
            with pytest.raises(UsageError) as error:
                build_parser(argv).parse_args(argv)
            assert ours in str(error.value), word


def test_slash_command_of_another_agent_names_ours():
    for word, ours in words_of("slash"):
        found = parse_input(f"/{word}")
        assert isinstance(found, InvalidCommand), word
        assert ours in found.message


def test_setting_of_another_agent_names_ours():
    for word, ours in words_of("setting"):
        [(_, fault)] = iter_leaves({word: "x"}, Config)
        assert isinstance(fault, Fault), word
        assert ours in fault.message


@pytest.mark.parametrize("word", ["clear", "new", "tasks", "usage", "skills", "approvals", "exit"])
def test_slash_commands_that_many_agents_have_work(word):
    assert isinstance(parse_input(f"/{word}"), Invocation)


def test_everything_that_is_named_instead_exists():
    options = build_parser([]).format_help()
    settings = Config.__struct_fields__
    for kind in ROWS:
        for word, ours in words_of(kind):
            for named in re.findall(r"`([^`]+)`", ours):
                assert _exists(named, options, settings), (word, named)


def _exists(named, options, settings):
    first, *rest = named.split()
    if first == "yourtool":
        return not rest or rest[0] in COMMANDS or rest[0].isupper() or rest[0] in options
    if first.startswith("/"):
        return isinstance(parse_input(first), Invocation)
    if first.startswith("-"):
        return re.search(rf"{first}\b", options) is not None
    if named in LABELS or first in FILES or first in ("uv", "git", "remove", "delete", "fetch_url"):
        return True
    return first.startswith("@") or first.split(".")[0] in settings
