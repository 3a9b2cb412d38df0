"""Rules of the command line and of `permissions.toml` with unknown tools."""

import pytest

from yourtool.paths import resolve_paths

pytestmark = pytest.mark.usefixtures("own_logging")


@pytest.fixture
def permissions(line):
    line.script([{"say": "done"}])
    return resolve_paths().home / "permissions.toml"


@pytest.mark.parametrize("option", ["--allow", "--deny"])
def test_rule_option_with_an_unknown_tool_suggests_the_closest_name(line, option):
    line.script([{"say": "done"}])
    code, out, err = line("-p", "go", option, "shel(git push*)")
    assert (code, out) == (2, "")
    assert option in err and "no tool `shel`; did you mean `shell`?" in err


def test_unknown_tool_without_a_close_match_lists_all_tools(line):
    line.script([{"say": "done"}])
    code, _, err = line("-p", "go", "--deny", "zzzz")
    assert code == 2
    assert "the tools are" in err and "edit_file" in err


@pytest.mark.parametrize("text", ['deny = ["shel(git push*)"]', 'allow = ["shel"]'])
def test_stored_rule_with_an_unknown_tool_is_a_warning(line, permissions, text):
    permissions.write_text(text)
    code, out, err = line("-p", "go")
    assert (code, out) == (0, "done\n")
    assert str(permissions) in err and "no tool `shel`; did you mean `shell`?" in err
    assert err.count("shel`;") == 1


def test_invalid_permissions_file_is_a_warning(line, permissions):
    permissions.write_text("deny = [")
    code, _, err = line("-p", "go")
    assert code == 0
    assert "grants nothing" in err


def test_rules_for_known_tools_give_no_warning(line, permissions):
    permissions.write_text('deny = ["shell(git push*)", "fetch_url", "edit_file(x)"]')
    assert line("-p", "go")[2] == ""
