import re
import stat
import tomllib
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yourtool.errors import ConfigError
from yourtool.paths import Paths, require_data_directory, resolve_paths, shipped_directory
from yourtool.settings.config import (
    Config,
    Mode,
    config_file,
    format_key,
    load_config,
    load_report,
    load_usable,
)
from yourtool.settings.first_files import install_defaults
from yourtool.settings.tables import Fault, build_tables, flatten, iter_leaves
from yourtool.settings.toml_places import line_of

TEMPLATE = shipped_directory("config") / "config.toml"


@pytest.fixture
def paths() -> Paths:
    return resolve_paths()


def write(paths: Paths, text: str) -> None:
    config_file(paths).write_text(text)


def test_without_a_file_all_settings_have_their_defaults(paths):
    assert load_config(paths, {}) == Config()


@pytest.mark.req("R-CFG-01")
def test_an_option_overrides_the_environment_which_overrides_the_file(paths):
    write(paths, 'model = "file:m"\ntheme = "file"\nmode = "plan"\n')
    environ = {"YOURTOOL_MODEL": "env:m", "YOURTOOL_THEME": "env"}
    examined = load_report(paths, environ, {"model": "option:m"})
    found = {format_key(each.key): (each.value, each.source) for each in examined.settings}
    assert found["model"] == ("option:m", "option --model")
    assert found["theme"] == ("env", "environment YOURTOOL_THEME")
    assert found["mode"] == (Mode.PLAN, str(config_file(paths)))
    assert found["effort"] == (None, "default")
    assert examined.config.model == "option:m"


def test_an_empty_variable_sets_nothing(paths):
    assert load_config(paths, {"YOURTOOL_MODE": ""}).mode is Mode.ASK


@pytest.mark.req("R-CFG-01")
def test_an_unknown_key_names_file_line_key_and_the_nearest_key(paths):
    write(paths, '\ntheme = "dark"\n\n[limits]\n# a comment\nmax_retrys = 1\n')
    [problem] = load_usable(paths, {}).problems
    assert str(problem) == (
        f"{config_file(paths)}:6: `limits.max_retrys`: there is no such key;"
        " did you mean `max_retries`? `limits.max_retries` is `2`."
    )


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ('mode = "asks"', 1, "did you mean `ask`?"),
        ("[limits]\nmax_retries = -1", 2, "expected `int` >= 0"),
        ("[limits]\nmax_retries = 1.5", 2, "expected `int`"),
        ('\n[providers.box]\napi = "mesages"', 3, "did you mean `messages`?"),
        ('providers = { box = { apy = "chat" } }', 1, "did you mean `api`?"),
        ("limits = 3", 1, "must be a table"),
        ("[providers]\nbox = 3", 2, "must be a table"),
        ('theme = """\nmode = 3\n"""\nmode = 3', 4, "`mode`"),
        ("theme = ", 1, "not TOML"),
        ('a = "\\q"', 1, "not TOML"),
        ('model = "a"\nmodel = "b"', 2, "not TOML"),
    ],
)
def test_an_invalid_value_is_reported_with_its_line(paths, text, line, words):
    write(paths, text)
    [problem] = load_usable(paths, {}).problems
    assert f"config.toml:{line}:" in str(problem)
    assert words in str(problem)


@pytest.mark.parametrize("value", ["[" * 5_000, "9" * 5_000])
def test_an_unparsable_value_is_reported_with_its_file(paths, value):
    write(paths, f"a = {value}")
    [problem] = load_usable(paths, {}).problems
    assert "config.toml: not TOML: it " in str(problem)


def test_an_invalid_variable_is_reported_by_name(paths):
    with pytest.raises(ConfigError, match="environment YOURTOOL_MODE: `mode`: must be one of"):
        load_config(paths, {"YOURTOOL_MODE": "yolo"})


@pytest.mark.req("R-CONF-09")
def test_mode_auto_is_for_one_run_and_neither_the_file_nor_a_variable_sets_it(paths):
    with pytest.raises(ConfigError, match=r"environment YOURTOOL_MODE: `mode`: .*`--mode auto`"):
        load_config(paths, {"YOURTOOL_MODE": "auto"})
    assert load_config(paths, {}, {"mode": "auto"}).mode is Mode.AUTO
    config_file(paths).write_text('theme = "light"\nmode = "auto"\n')
    [problem] = load_usable(paths, {}).problems
    assert "config.toml:2: `mode`: `auto` is not a default" in str(problem)
    assert load_config(paths, {}).mode is Mode.ASK


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ("mode = 3", '`mode` is `"ask"`.'),
        ("[budget]\nday = 0", '`budget.day` is `"0.01"`.'),
        ("[budget]\ndya = 5", '`budget.day` is `"0.01"`.'),
        ("[budget]\nsession = 2\nsesion = 5", '`budget.session` is `"2"`.'),
        ("effort = 3", "`effort` is not set."),
        ("colours = 3", "It has no effect."),
        (
            "[providers.a]\nheders = 1\nheaders = {k = 'v'}",
            '`providers.a.headers` is `{"k":"***"}`.',
        ),
        ("theme = ", "The defaults apply."),
    ],
)
def test_mistake_is_reported_with_the_value_that_applies(paths, text, outcome):
    write(paths, text)
    [problem] = load_usable(paths, {}).problems
    assert str(problem).endswith(f" {outcome}") and not problem.hides_restriction


@pytest.mark.parametrize(
    "text",
    [
        "[sandbox]\nhots = 1",
        "[sandbx]\nhosts = []",
        "sandbox = 1",
        "[shell.environment]\nhide = 1",
        '[[hooks]]\nevent = "PreToolUze"\ncommand = "x"',
        'permissions = {deny = ["Bash"]}',
        'approval_policy = "never"',
        "theme = \n[sandbox]\n",
    ],
)
def test_mistake_that_may_hide_a_restriction_asks_about_every_call(paths, text):
    write(paths, text)
    report = load_usable(paths, {})
    assert report.hides_restriction
    assert str(report.problems[0]).endswith("every call needs an approval.")


def test_comment_about_the_sandbox_restricts_nothing(paths):
    write(paths, "theme =   # [sandbox]\n# [sandbox]\n")
    assert load_usable(paths, {}).hides_restriction is False


def test_all_problems_are_reported_and_valid_values_still_apply(paths):
    write(paths, 'modle = "x"\ntheme = "light"\nmode = "no"\n')
    examined = load_report(paths, {})
    assert [problem.line for problem in examined.problems] == [1, 3]
    assert examined.config.theme == "light"
    with pytest.raises(ConfigError, match="1 more: `yourtool config check`"):
        load_config(paths, {"YOURTOOL_MODE": "no", "YOURTOOL_EFFORT": "much"})


def test_a_binary_file_is_refused_with_the_reason(paths):
    config_file(paths).write_bytes(b'model = "\xff"')
    [problem] = load_usable(paths, {}).problems
    assert "not UTF-8" in problem.message and problem.hides_restriction


def test_a_directory_instead_of_the_file_is_refused_with_the_reason(paths):
    config_file(paths).mkdir()
    [problem] = load_usable(paths, {}).problems
    assert "directory" in problem.message and problem.hides_restriction


def test_the_first_run_copies_the_template_privately_and_changes_nothing_later(paths):
    install_defaults(paths)
    assert config_file(paths).read_text() == TEMPLATE.read_text()
    files = [path for path in paths.home.iterdir() if path.is_file()]
    assert {each.name for each in files} == {
        each.name for each in shipped_directory("config").glob("*.toml")
    }
    require_data_directory(paths)
    assert list(paths.data.iterdir()) == []
    for directory in (paths.data, paths.state, paths.cache):
        assert stat.S_IMODE(directory.stat().st_mode) == 0o700
    for path in files:
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert tomllib.loads(path.read_text()) == {}, "a copied value would hide a newer one"
    write(paths, 'theme = "light"\n')
    install_defaults(paths)
    assert load_config(paths, {}).theme == "light"


@pytest.mark.req("R-CFG-02")
def test_the_first_run_creates_nothing_in_the_workspace(paths, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    install_defaults(paths)
    assert list(tmp_path.iterdir()) == []


def test_a_home_that_cannot_be_created_is_reported_with_the_remedy(tmp_path):
    (tmp_path / "file").write_text("")
    home = tmp_path / "file" / "home"
    with pytest.raises(ConfigError, match="YOURTOOL_HOME"):
        install_defaults(Paths(home, home, home, home))


def uncommented() -> str:
    return re.sub(r"^#(?! |$)", "", TEMPLATE.read_text(), flags=re.MULTILINE)


def test_the_template_has_every_key_at_its_default():
    values = dict(iter_leaves(tomllib.loads(uncommented()), Config))
    assert not [value for value in values.values() if isinstance(value, Fault)]
    for key, default in flatten(Config()):
        if default is not None and default != {} and key != ("hooks",):  # it has an example
            assert values[key] == default
    written = {part for key in values for part in key}
    sections = [type(value) for value in map(partial(getattr, Config()), TABLES - EXAMPLES)]
    for each in (Config, *sections):
        assert {name for name in each.__struct_fields__ if name not in TABLES} <= written


EXAMPLES = {"workspaces", "providers", "agents", "checks", "hooks"}
"""Tables of which the template has an example, or that have names of the user's choice."""
TABLES = {
    "undo",
    "workspaces",
    "providers",
    "agents",
    "limits",
    "budget",
    "context",
    "delegation",
    "sessions",
    "routing",
    "sandbox",
    "shell",
    "checks",
    "hooks",
    "ui",
}


@pytest.mark.req("R-CFG-02")
def test_the_home_directory_moves_with_one_variable(home):
    paths = resolve_paths()
    assert all(
        Path(place).is_relative_to(home)
        for place in (paths.home, paths.data, paths.state, paths.cache, paths.log_file)
    )


@given(st.text(alphabet="ab.\"'[]=#\n {}", max_size=60))
def test_finding_a_line_never_fails(text):
    line = line_of(text, ("a", "b"))
    assert line is None or 1 <= line <= len(text.splitlines())


def test_keys_inside_of_values_are_not_lines_of_keys():
    inside = 'x = """\na = 1\n"""""\ny = [\n  [1],\n  "b]", # ]\n]\n\'z\' = {b = "}"}\n'
    assert line_of(f"{inside}a = 2\n", ("a",)) == 9
    assert line_of(f"{inside}a = 2\n", ("z", "b")) == 8


def test_many_mistakes_are_located_quickly(home):
    (home / "config.toml").write_text("".join(f"k{number} = 1\n" for number in range(2_000)))
    problems = load_report(resolve_paths()).problems
    assert [problem.line for problem in problems] == list(range(1, 2_001))


def test_huge_file_is_rejected_without_parsing_it(home):
    (home / "config.toml").write_text("# x\n" * 2_500_000)
    [problem] = load_usable(resolve_paths()).problems
    assert "it is larger than 256 KiB" in problem.message


@given(
    st.dictionaries(
        st.tuples(st.text("abc", min_size=1), st.text("abc", min_size=1)), st.integers()
    )
)
def test_building_tables_preserves_every_value(values):
    tables = build_tables(values)
    assert {(outer, key): v for outer, t in tables.items() for key, v in t.items()} == values


def test_status_line_takes_known_parts_only(paths):
    write(paths, '[ui]\nstatus = ["cost", "model"]\n')
    assert load_config(paths, {}).ui.status == ("cost", "model")
    write(paths, '[ui]\nstatus = ["cots"]\n')
    [problem] = load_report(paths, {}).problems
    assert (problem.key, problem.line) == ("ui.status", 2)
