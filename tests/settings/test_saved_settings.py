import tomllib
from decimal import Decimal

import pytest

from yourtool.errors import ConfigError
from yourtool.paths import Paths
from yourtool.settings.config import Config, config_file, load_config
from yourtool.settings.first_files import install_defaults
from yourtool.settings.saved_settings import save_setting, split_save_option
from yourtool.settings.tables import flatten


@pytest.fixture
def paths(tmp_path):
    return Paths(tmp_path, tmp_path / "data", tmp_path / "state", tmp_path / "cache")


def saved(paths, before, key="theme", value="light"):
    config_file(paths).write_text(before)
    save_setting(paths, (key,), value)
    return config_file(paths).read_text()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", 'theme = "light"\n'),
        ('theme = "dark"\n', 'theme = "light"\n'),
        ("theme='dark'  # mine\n", 'theme="light"  # mine\n'),
        ('# a\nmodel = "x"\n\n  theme="dark"', '# a\nmodel = "x"\n\n  theme="light"'),
        ('theme = """\ndark"""\n', 'theme = "light"\n'),
        ("[ui]\nascii = true\n", 'theme = "light"\n[ui]\nascii = true\n'),
        ("# The theme.\n#theme = 'dark'\n\n[ui]\n", None),
        ('[other]\ntheme = "dark"\n', 'theme = "light"\n[other]\ntheme = "dark"\n'),
    ],
)
def test_setting_is_changed_and_the_rest_stays(paths, before, after):
    text = saved(paths, before)
    if after is None:
        after = before.replace("#theme = 'dark'\n", "#theme = 'dark'\ntheme = \"light\"\n")
    assert text == after


def test_setting_is_saved_below_its_line_in_the_installed_file(paths):
    install_defaults(paths)
    before = config_file(paths).read_text().splitlines()
    save_setting(paths, ("model",), "openai:gpt-5")
    after = config_file(paths).read_text().splitlines()
    assert load_config(paths, {}).model == "openai:gpt-5"
    assert [line for line in after if line not in before] == ['model = "openai:gpt-5"']
    assert [line for line in after if line in before] == before


def test_value_is_quoted(paths):
    value = 'a"b\\c é\n'
    assert tomllib.loads(saved(paths, "", "model", value))["model"] == value


@pytest.mark.parametrize("before", ["theme = [", "\udcff"])
def test_file_that_cannot_be_edited_safely_is_not_changed(paths, before):
    content = before.encode("utf-8", "surrogateescape")
    config_file(paths).write_bytes(content)
    with pytest.raises(ConfigError):
        save_setting(paths, ("theme",), "light")
    assert config_file(paths).read_bytes() == content


def test_link_to_the_file_stays_a_link(paths, tmp_path):
    real = tmp_path / "dotfiles.toml"
    real.write_text("# mine\n")
    config_file(paths).symlink_to(real)
    save_setting(paths, ("theme",), "light")
    assert config_file(paths).is_symlink()
    assert real.read_text() == 'theme = "light"\n# mine\n'


def test_save_option_may_stand_anywhere():
    assert split_save_option("gpt --save") == ("gpt", True)
    assert split_save_option("--save") == ("", True)
    assert split_save_option("gpt") == ("gpt", False)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", '[workspaces."/a b"]\nmodel = "x"\n'),
        ('model = "y"', 'model = "y"\n\n[workspaces."/a b"]\nmodel = "x"\n'),
        ('[workspaces."/a b"]\nmodel = "y" # why\n', '[workspaces."/a b"]\nmodel = "x" # why\n'),
        (
            '[workspaces."/a b"]\n# Mine.\nmode = "ask"\n[workspaces."/c"]\nmodel = "z"\n',
            '[workspaces."/a b"]\nmodel = "x"\n# Mine.\nmode = "ask"\n[workspaces."/c"]\n'
            'model = "z"\n',
        ),
    ],
)
def test_setting_of_a_directory_is_saved_in_its_table(paths, before, after):
    config_file(paths).write_text(before)
    save_setting(paths, ("workspaces", "/a b", "model"), "x")
    assert config_file(paths).read_text() == after


def test_inline_table_of_directories_is_not_changed(paths):
    before = 'workspaces = {"/a b" = {model = "y"}}\n'
    config_file(paths).write_text(before)
    with pytest.raises(ConfigError):
        save_setting(paths, ("workspaces", "/a b", "model"), "x")
    assert config_file(paths).read_text() == before


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", "[limits]\nmax_retries = 3\n"),
        ("[limits]\nmax_retries = 1  # few\n", "[limits]\nmax_retries = 3  # few\n"),
        ("limits.max_retries = 1\n", "limits.max_retries = 3\n"),
        ("[ui]\nvim = true\n", "[ui]\nvim = true\n\n[limits]\nmax_retries = 3\n"),
        (
            "#[limits]\n# How often.\n#max_retries = 2\n#other = 1\n\n#[ui]\n",
            "#[limits]\n[limits]\n# How often.\n#max_retries = 2\nmax_retries = 3\n#other = 1\n\n"
            "#[ui]\n",
        ),
        ("#[limits]\nmodel = 'x'\n", "#[limits]\nmodel = 'x'\n\n[limits]\nmax_retries = 3\n"),
    ],
)
def test_setting_of_a_table_is_saved_where_it_belongs(paths, before, after):
    config_file(paths).write_text(before)
    save_setting(paths, ("limits", "max_retries"), 3)
    assert config_file(paths).read_text() == after


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (("sandbox", "hosts"), ("a.org", "b.org")),
        (("shell", "environment", "set"), {"A B": 'c"\\', "D": "e"}),
        (("budget", "day"), Decimal("0.50")),
        (("ui", "vim"), True),
        (("routing", "cost_weight"), 0.5),
    ],
)
def test_setting_of_any_type_is_saved_and_removed(paths, key, value):
    install_defaults(paths)
    before = config_file(paths).read_text()
    save_setting(paths, key, value)
    [(_, found)] = [each for each in flatten(load_config(paths, {})) if each[0] == key]
    assert found == value
    save_setting(paths, key, None)
    assert load_config(paths, {}) == Config()
    kept = config_file(paths).read_text().splitlines()
    assert [line for line in kept if line in before.splitlines()] == before.splitlines()


def test_list_over_several_lines_is_replaced(paths):
    config_file(paths).write_text(
        "[ui]\nstatus = [ # mine\n  'model',\n  'cost',\n] # end\nvim = true\n"
    )
    save_setting(paths, ("ui", "status"), ("mode",))
    assert config_file(paths).read_text() == '[ui]\nstatus = ["mode"] # end\nvim = true\n'
    save_setting(paths, ("ui", "status"), None)
    assert config_file(paths).read_text() == "[ui]\nvim = true\n"
