import tomllib
from pathlib import Path

import pytest

from yourtool.errors import ConfigError
from yourtool.paths import Paths
from yourtool.settings.config import config_file, load_config
from yourtool.settings.first_files import install_defaults
from yourtool.settings.saved_settings import save_setting, save_workspace_setting, split_save_option


@pytest.fixture
def paths(tmp_path):
    return Paths(tmp_path, tmp_path / "data", tmp_path / "state", tmp_path / "cache")


def saved(paths, before, key="theme", value="light"):
    config_file(paths).write_text(before)
    save_setting(paths, key, value)
    return config_file(paths).read_text()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", 'theme = "light"\n'),
        ('theme = "dark"\n', 'theme = "light"\n'),
        ("theme='dark'  # mine\n", 'theme = "light"  # mine\n'),
        ('# a\nmodel = "x"\n\n  theme="dark"', '# a\nmodel = "x"\n\ntheme = "light"'),
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
    save_setting(paths, "model", "openai:gpt-5")
    after = config_file(paths).read_text().splitlines()
    assert load_config(paths, {}).model == "openai:gpt-5"
    assert [line for line in after if line not in before] == ['model = "openai:gpt-5"']
    assert [line for line in after if line in before] == before


def test_value_is_quoted(paths):
    value = 'a"b\\c é\n'
    assert tomllib.loads(saved(paths, "", "model", value))["model"] == value


@pytest.mark.parametrize("before", ['theme = """\ndark"""\n', "theme = [", "\udcff"])
def test_file_that_cannot_be_edited_safely_is_not_changed(paths, before):
    content = before.encode("utf-8", "surrogateescape")
    config_file(paths).write_bytes(content)
    with pytest.raises(ConfigError):
        save_setting(paths, "theme", "light")
    assert config_file(paths).read_bytes() == content


def test_link_to_the_file_stays_a_link(paths, tmp_path):
    real = tmp_path / "dotfiles.toml"
    real.write_text("# mine\n")
    config_file(paths).symlink_to(real)
    save_setting(paths, "theme", "light")
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
    save_workspace_setting(paths, Path("/a b"), "model", "x")
    assert config_file(paths).read_text() == after


def test_inline_table_of_directories_is_not_changed(paths):
    before = 'workspaces = {"/a b" = {model = "y"}}\n'
    config_file(paths).write_text(before)
    with pytest.raises(ConfigError):
        save_workspace_setting(paths, Path("/a b"), "model", "x")
    assert config_file(paths).read_text() == before
