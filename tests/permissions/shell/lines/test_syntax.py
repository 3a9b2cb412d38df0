"""The syntax of command lines."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from yourtool.permissions.shell.denials import Denial, find_denial
from yourtool.permissions.shell.lines.plain import parse_plain
from yourtool.permissions.shell.lines.syntax import (
    Word,
    is_gapless,
    iter_nodes,
    parse,
    text_of,
    word_of,
)
from yourtool.permissions.shell.specs import CommandSpec, parse_spec
from yourtool.permissions.shell.writes import find_protected_write

ENDS = ("{\U0010ffff", "{1\U0010ffff", "{1..\U0010ffff", "{-1..2\U0010ffff", "{\ud800", "{é,b}")


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.req("R-CONF-04", "T5")
def test_character_that_the_grammar_crashes_on_hides_no_command(end, tmp_path):
    line = f"rm a; echo > .envrc {end}"
    assert parse_plain(f"echo {end}") == ()
    assert find_denial([parse_spec("rm*")], line) is Denial.DENIED
    assert find_denial([parse_spec("rm*")], f"echo {end}; rm a") is Denial.DENIED
    assert find_protected_write(line, tmp_path) == ".envrc"


@settings(deadline=None, max_examples=200)
@given(st.text(st.one_of(st.sampled_from("{}.,1-$ x"), st.characters()), max_size=12))
def test_every_text_is_parsed_with_the_bytes_in_their_places(line):
    root = parse(line, may_be_misread=True)
    length = len(line.encode("utf-8", "surrogatepass"))
    assert all(0 <= node.start_byte <= node.end_byte <= length for node in iter_nodes(root))


class Piece:
    """A node of a grammar that divides words in another way."""

    def __init__(self, kind, text, *children):
        self.type, self.text, self.children = kind, text.encode(), children
        self.child_count = len(children)


@pytest.mark.parametrize("text", ["{a,b}", "x{1..3}", "a{b,c"])
def test_braces_are_never_literal_however_the_grammar_divides_the_word(text):
    assert word_of(Piece("word", text)) is None
    assert word_of(Piece("word", f"\\{text.partition('{')[2]}")) is not None


def words(line):
    kinds = ("word", "raw_string", "string", "ansi_c_string", "concatenation")
    nodes = [each for each in parse(f"x {line}").children[0].children if each.type in kinds]
    return [word_of(each) for each in nodes]


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("a\\ b", "a b"), ("'a b'", "a b"), ('"a \\"\\$\\\\b"', 'a "$\\b'), ("a'b'\"c\"", "abc"),
        ("$'a\\tb\\x41\\101\\u00e9\\U0001F600'", "a\tbAAé😀"), ("$'\\e\\q'", "\x1bq"),
        ("a#b", "a#b"), ("a~", "a~"), ("\\~", "~"), ("\\#", "#"), ("\\*a", "*a"),
        ("$'\\777'", "\xff"), ("$'\\UFFFFFFFF'", "\U0010ffff"),
    ],
)  # fmt: skip
def test_word_is_what_the_shell_passes_to_a_program(line, text):
    assert words(line) == [Word(text)]


@pytest.mark.parametrize(
    "line", ["~", "~/a", "$'\\0'", "$'\\x{41}'", '"$a"', "a$b", "a{b,c}", "$'\\cA'", "{}"]
)
def test_word_that_the_shell_expands_or_that_is_not_understood_is_none(line):
    assert all(each is None for each in words(line))


@pytest.mark.parametrize("line", ["*", "a?", "[ab]", "a'b'*"])
def test_word_with_a_wildcard_is_a_glob(line):
    assert [each.is_glob for each in words(line)] == [True]


def test_text_of_a_node_is_its_source():
    assert text_of(parse("é a")) == "é a"


@pytest.mark.parametrize("end", ENDS)
def test_replaced_characters_move_no_other(end):
    root = parse(f"echo {end}; rm a")
    (name,) = (each for each in iter_nodes(root) if text_of(each) == "rm" and each.type == "word")
    before = f"echo {end}; ".encode("utf-8", "surrogatepass")
    assert (name.start_byte, name.end_byte) == (len(before), len(before) + 2)


def test_letters_after_a_backslash_are_those_of_bash():
    assert words(r"$'\a\b\e\E\f\n\r\t\v\\\'\"'") == [Word("\a\b\x1b\x1b\f\n\r\t\v\\'\"")]


@pytest.mark.parametrize(
    "line", ["echo 'a  b'", 'echo "a  b"', "echo $((1 + 2))", "echo ${a:-b  c}"]
)
def test_blanks_in_quotes_are_text_and_leave_no_gap(line):
    assert is_gapless(parse(line), line)


def test_text_with_a_lone_surrogate_is_a_word():
    assert words("echo 'a\ud800'") == [Word("echo"), Word("a\ud800")]


MISREAD = (
    "A=1 >out\n! rm a",
    "A=1 <in # text\n{ rm a; }",
    "A=1 >out\nif rm a; then b; fi",
    "! ! rm a",
    "{rm,a} >out b \n }",
    "{rm,a}\n}",
)


@pytest.mark.parametrize("line", MISREAD)
@pytest.mark.req("R-CONF-04")
def test_line_that_bash_reads_in_another_way_has_no_tree(line):
    assert parse(line) is None
    assert find_denial([CommandSpec(("rm",), is_open=True)], line) is not Denial.NONE


@pytest.mark.parametrize(
    "line",
    [
        "! a", "A=1 >out \\\n a", "{ a; }", "{\na\n}", "f() { # text\na; }", "a <<E >out\nb\nE\nc",
        "time { a; }", "a=(1\n2)", 'a "\n" b', "a {1..9}", "! a &&\n! b", "a |\n b", r"\! a",
    ],
)  # fmt: skip
def test_line_that_bash_reads_like_the_grammar_has_a_tree(line):
    assert parse(line) is not None
