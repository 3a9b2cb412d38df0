import shlex

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from yourtool.permissions.shell.lines.joined_lines import join_lines
from yourtool.permissions.shell.lines.plain import parse_plain, quote_plain
from yourtool.permissions.shell.lines.syntax import MAX_LENGTH, parse
from yourtool.permissions.shell.specs import parse_spec


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("ls  -l", [["ls", "-l"]]),
        ("cd docs && ls;", [["cd", "docs"], ["ls"]]),
        ("a | b && c || d ; e", [["a"], ["b"], ["c"], ["d"], ["e"]]),
        ("echo 'x | y ; z'", [["echo", "x | y ; z"]]),
        ('echo "a\\"b" a\\ b', [["echo", 'a"b', "a b"]]),
        ("find . -name \\*.py", [["find", ".", "-name", "*.py"]]),
        ("git show HEAD~1:a.py HEAD^", [["git", "show", "HEAD~1:a.py", "HEAD^"]]),
        ("a 2>&1 | b >/dev/null", [["a"], ["b"]]),
        ("grep 'ä' x", [["grep", "ä", "x"]]),
        ("echo \"a{b\"c 'd{'e", [["echo", "a{bc", "d{e"]]),
    ],
)
def test_plain_line_has_the_words_of_its_commands(line, words):
    assert [list(command.texts) for command in parse_plain(line)] == words


@pytest.mark.parametrize(
    ("line", "files"),
    [
        ("a > b", ["> b"]),
        ("a >'b c'", ["> 'b c'"]),
        ("a >> b 2>&1", [">> b"]),
        ("a 2>b >/dev/null <c", ["2> b", "< c"]),
        ("a &> '~/b'", ["&> '~/b'"]),
        ("a > /dev/stderr", ["> /dev/stderr"]),
    ],
)
def test_plain_command_has_the_files_of_its_redirections(line, files):
    (command,) = parse_plain(line)
    assert command.texts == ("a",)
    assert [str(each) for each in command.files] == files
    assert [each.is_input for each in command.files] == ["<" in each for each in files]


@pytest.mark.parametrize(
    "line",
    [
        "a > b c", "> b", "> b a", "a > $b", "a > ~/b", "a > *", "a > {b,c}", "a > ''", "a >| b",
        "a 3> b", "a <> b", "a >& b", "a > $(b)", "a <<< b", "a > >(b)", "a {b}> c",
    ],
)  # fmt: skip
def test_redirection_to_what_the_line_does_not_name_is_not_plain(line):
    assert parse_plain(line) == ()


@settings(deadline=None, max_examples=300)
@given(st.text(st.sampled_from("ab=-./'\" $;|&<>(){}*?[]~#!\\`\n\t%^@:,é"), max_size=12))
@pytest.mark.req("R-CONF-04")
def test_words_of_a_simple_plain_command_equal_those_of_a_shell(line):
    commands = parse_plain(line)
    if join_lines(line) != line:
        return  # a shell removes more than quotes
    if len(commands) == 1 and not (commands[0].redirections or commands[0].variables):
        assert list(commands[0].texts) == shlex.split(without_end(line), comments=False)


def without_end(line):
    """Return a line without spaces and separators at its end, unless one is escaped."""
    bare = line.rstrip(" \n;")
    is_escaped = (len(bare) - len(bare.rstrip("\\"))) % 2
    return line[: len(bare) + is_escaped]


@given(
    st.lists(st.text(st.characters(categories=("L", "N", "P", "S", "Zs")), max_size=5), min_size=1)
)
@settings(deadline=None)
def test_quoted_words_are_read_as_the_same_words(words):
    line = shlex.join(["run", *words])
    if commands := parse_plain(line):
        assert commands[0].texts == ("run", *words)
        assert parse_plain(quote_plain(commands[0].words))[0].texts == commands[0].texts


@pytest.mark.parametrize("line", ["]\\:", "ls ]\\:", "cat a[0]b\\ c", "echo a#b{c"])
def test_word_that_the_grammar_may_split_is_one_word_or_not_understood(line):
    assert [list(each.texts) for each in parse_plain(line)] in ([], [shlex.split(line)])


@pytest.mark.parametrize("word", ["a!b", "!a", "a}b", "\\$a", "\\`a", "\\'a", "\\|a", "--x=!"])
def test_unquoted_word_with_a_rare_character_is_not_understood(word):
    assert parse_plain(f"echo {word}") == ()


def test_line_that_is_too_long_is_not_parsed():
    assert parse("a" * MAX_LENGTH) is not None
    assert parse("a" * (MAX_LENGTH + 1)) is None
    assert parse_plain("a" * (MAX_LENGTH + 1)) == ()


@pytest.mark.parametrize(
    "spec",
    [
        "",
        "*",
        "a; b",
        "a > b*",
        "a > *",
        "a > b 2>&1",
        "A=$x b",
        "A=1",
        "a $x",
        "A=*.c b",
        "ls *.py",
        "ls a[b]",
        "ls 2>&1",
        "a # b*",
        "a \\\nb",
        "# a\nb",
        "time a",
        "a*b*",
        "[a]",
    ],
)
def test_spec_that_is_not_one_plain_command_is_refused(spec):
    assert parse_spec(spec) is None


@pytest.mark.parametrize(
    ("line", "operators"),
    [
        ("ls;", [""]),
        ("ls; ls", [";", ""]),
        ("ls && ls;", ["&&", ""]),
        ("ls | ls || ls", ["|", "||", ""]),
    ],
)
def test_operator_of_a_command_joins_it_with_the_next_one(line, operators):
    assert [each.operator for each in parse_plain(line)] == operators


@pytest.mark.parametrize("line", ["ls a*/../x", "ls */a", "ls -* a", "ls /a*", "ls ?", "ls [ab]"])
@pytest.mark.req("R-CONF-04")
def test_glob_that_may_become_an_option_or_leave_the_directory_is_not_understood(line):
    assert parse_plain(line) == ()


def test_pattern_in_an_option_is_meant_for_the_program():
    (command,) = parse_plain("grep --include=*.py x a*.c")
    assert command.texts == ("grep", "--include=*.py", "x", "a*.c")
    assert [each.is_glob for each in command.words] == [False, False, False, True]
