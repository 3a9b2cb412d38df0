"""Which programs and variables are harmless in rules."""

import pytest

from yourtool.permissions.shell.lines.plain import parse_plain
from yourtool.permissions.shell.specs import (
    build_spec,
    find_strong,
    loads_programs,
    parse_spec,
)

HARMLESS = """
CARGO_TERM_COLOR CI CLICOLOR CLICOLOR_FORCE CMAKE_BUILD_PARALLEL_LEVEL COLUMNS
CTEST_OUTPUT_ON_FAILURE CTEST_PARALLEL_LEVEL FORCE_COLOR GOMAXPROCS LANG LC_ALL LC_CTYPE LC_MESSAGES
NO_COLOR OMP_NUM_THREADS PYTHONDONTWRITEBYTECODE PYTHONUNBUFFERED PY_COLORS RUST_BACKTRACE
RUST_TEST_THREADS TERM
"""
LOADING = """
LD_PRELOAD LD_LIBRARY_PATH DYLD_INSERT_LIBRARIES GIT_DIR GCONV_PATH GLIBC_TUNABLES BASH_ENV
NPM_CONFIG_SCRIPT_SHELL npm_config_script_shell RUSTC_WRAPPER CARGO_HOME JDK_JAVA_OPTIONS PERL5OPT
RUBYOPT LUA_INIT LESSOPEN NODE_OPTIONS NODE_PATH JAVA_TOOL_OPTIONS _JAVA_OPTIONS PATH HOME
XDG_CONFIG_HOME TMPDIR SHELL SHELLOPTS ENV IFS PS4 PROMPT_COMMAND CDPATH PAGER EDITOR VISUAL BROWSER
MAKEFLAGS MAKEFILES PYTHONHOME PYTHONSTARTUP PYTHONINSPECT PYTHONBREAKPOINT PYTHONPLATLIBDIR
PYTHONUSERBASE
"""


@pytest.mark.parametrize("name", HARMLESS.split())
def test_variable_of_colours_languages_and_numbers_is_harmless_without_a_path(name):
    for value in ("", "1", "always", "C.UTF-8", "a@b+c-d"):
        assert find_strong([(name, value)]) == ()
    for value in ("/x", "a b", "../x", ":x", "a:b"):
        assert find_strong([(name, value)]) == ((name, value),)
    assert find_strong([(f"{name}X", "1")]) == ((f"{name}X", "1"),)


def test_time_zone_may_have_a_region_but_be_no_path():
    assert find_strong([("TZ", "America/Argentina/Buenos_Aires"), ("TZ", "Etc/GMT+1")]) == ()
    for value in ("/etc/passwd", "../x", "a//b", "a/", ":a/b"):
        assert find_strong([("TZ", value)]) == (("TZ", value),)
    assert find_strong([("LANG", "a/b")]) == (("LANG", "a/b"),)


@pytest.mark.parametrize("name", LOADING.split())
def test_variable_that_makes_programs_load_others_is_known(name):
    assert loads_programs(name)
    assert loads_programs(name.lower())


@pytest.mark.parametrize("name", ["FOO", "DEBUG", "PYTHONPATH", "MYPATH", "HOMEPAGE", "A"])
def test_other_variables_load_nothing(name):
    assert not loads_programs(name)


@pytest.mark.parametrize(
    ("spec", "line", "is_covered"),
    [
        ("make test", "make test", True), ("make test", "make", False),
        ("make test", "make test a", False), ("make test*", "make test a", True),
        ("make test*", "make test", True), ("make test*", "make tests", False),
        ("A=1 make", "A=1 make", True), ("A=1 make", "make", False), ("make", "A=1 make", False),
        ("A=1 make", "CI=1 A=1 make", True), ("CI=1 make", "make", False),
        ("CI=1 make", "CI=1 make", True), ("CI=1 make", "CI=2 make", False),
    ],
)  # fmt: skip
def test_spec_matches_first_words_and_strong_variables(spec, line, is_covered):
    parsed, (command,) = parse_spec(spec), parse_plain(line)
    matches = parsed.matches(command.texts) and parsed.permits(command.variables)
    assert matches is is_covered


def test_narrowest_spec_names_all_words_and_the_strong_variables():
    (command,) = parse_plain("CI=1 A=2 make 'a b'")
    spec = build_spec(command)
    assert (spec.words, spec.is_open, spec.variables) == (("make", "a b"), False, (("A", "2"),))
