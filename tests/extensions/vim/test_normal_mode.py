"""Keys of Vim's normal mode on a text; `|` marks the caret."""

import hypothesis.strategies as st
import pytest
from hypothesis import given

from yourtool.extensions.vim.normal_mode import leave_insert, press
from yourtool.extensions.vim.state import VimState


def start(marked):
    at = marked.index("|")
    return VimState(text=marked.replace("|", "", 1), caret=at, is_insert=False)


def play(state, keys):
    """Press keys; `<text>` types a text in the insert mode and leaves it."""
    while keys:
        if state.is_insert:
            typed, _, keys = keys[1:].partition(">")
            text = state.text[: state.caret] + typed + state.text[state.caret :]
            state = leave_insert(state, text, state.caret + len(typed))
        else:
            state, keys = press(state, keys[0]), keys[1:]
    return state


def shown(state):
    return f"{state.text[: state.caret]}|{state.text[state.caret :]}"


@pytest.mark.parametrize(
    ("before", "keys", "after"),
    [
        ("ab|c", "h", "a|bc"),
        ("|abc", "2l", "ab|c"),
        ("|abc", "9l", "ab|c"),
        ("|ab\ncd", "j", "ab\n|cd"),
        ("ab\nc|d", "k", "a|b\ncd"),
        ("abc|d\ne", "j", "abcd\n|e"),
        ("|one two.x", "w", "one |two.x"),
        ("|one two.x", "2w", "one two|.x"),
        ("one two|.x", "b", "one |two.x"),
        ("|one two", "e", "on|e two"),
        ("on|e two", "e", "one tw|o"),
        ("  a|b", "0", "|  ab"),
        ("  a|b", "^", "  |ab"),
        ("|abc\nd", "$", "ab|c\nd"),
        ("a\nb\n|c", "gg", "|a\nb\nc"),
        ("|a\nb\n  c", "G", "a\nb\n  |c"),
        ("|a\nb\nc", "2G", "a\n|b\nc"),
        ("|a,b,c", "f,", "a|,b,c"),
        ("|a,b,c", "2f,", "a,b|,c"),
        ("|a,b,c", "f,;", "a,b|,c"),
        ("|a,b,c", "f,;,", "a|,b,c"),
        ("|a,b,c", "t,", "|a,b,c"),
        ("|ab,c", "t,", "a|b,c"),
        ("|ab,cd,e", "t,;", "ab,c|d,e"),
        ("ab,c|d", "F,", "ab|,cd"),
        ("ab,c|d", "T,", "ab,|cd"),
        ("|abc", "fz", "|abc"),
    ],
)
def test_motions(before, keys, after):
    assert shown(play(start(before), keys)) == after


@pytest.mark.parametrize(
    ("before", "keys", "after"),
    [
        ("|one two three", "dw", "|two three"),
        ("|one two three", "d2w", "|three"),
        ("|one two three", "2dw", "|three"),
        ("one |two\nthree", "dw", "one| \nthree"),
        ("|one two", "de", "| two"),
        ("one |two", "db", "|two"),
        ("o|ne two", "d$", "|o"),
        ("on|e two", "d0", "|e two"),
        ("|a,b,c", "df,", "|b,c"),
        ("|ab,c", "dt,", "|,c"),
        ("a,b|c", "dF,", "a|c"),
        ("one\nt|wo\nthree", "dd", "one\n|three"),
        ("one\n|two", "dd", "|one"),
        ("|one", "dd", "|"),
        ("|a\nb\nc", "2dd", "|c"),
        ("|a\nb\nc", "dj", "|c"),
        ("a\nb\n|c", "dk", "|a"),
        ("a\n|b\nc", "dG", "|a"),
        ("a\n|b\nc", "dgg", "|c"),
        ("|a", "dj", "|a"),
        ("on|e two", "D", "o|n"),
        ("|one two", "cw<1>", "|1 two"),
        ("|a two", "cw<1>", "|1 two"),
        ("one |two", "cw<2>", "one |2"),
        ("one\n  |two", "cc<2>", "one\n|2"),
        ("o|ne", "C<k>", "o|k"),
        ("o|ne two", "ciw<1>", "|1 two"),
        ("o|ne two", "daw", "|two"),
        ("one t|wo", "daw", "on|e"),
        ('say "h|i" now', 'ci"<yo>', 'say "y|o" now'),
        ('s|ay "hi" now', 'di"', 'say "|" now'),
        ('say "h|i" now', 'da"', "say | now"),
        ("f(a, (b)|, c)", "di(", "f(|)"),
        ("f(a, (b|), c)", "da(", "f(a, |, c)"),
        ("f(|a)", "dib", "f(|)"),
        ("{\n|a\n}", "di{", "{|}"),
        ("x[|1]", "ci[<2>", "x[|2]"),
        ("|abc", "x", "|bc"),
        ("|abc", "2x", "|c"),
        ("ab|c", "x", "a|b"),
        ("|one two", "ywP", "one| one two"),
        ("|one two", "yiwp", "oon|ene two"),
        ("|a\nb", "yyp", "a\n|a\nb"),
        ("a\n|b", "yyP", "a\n|b\nb"),
        ("a\n|b", "Yp", "a\nb\n|b"),
        ("|a\nb", "ddp", "b\n|a"),
        ("|a\nb\nc", "yy2p", "a\n|a\na\nb\nc"),
        ("|ab", "xp", "b|a"),
        ("|a\n  b", "J", "a| b"),
        ("|a\nb\nc", "3J", "a b| c"),
        ("|abc", "rx", "|xbc"),
        ("|abc", "2rx", "x|xc"),
        ("|abc", "9rx", "|abc"),
        ("|abC", "~", "A|bC"),
        ("|abC", "3~", "AB|c"),
        ("a|b", "i<x>", "a|xb"),
        ("a|b", "a<x>", "ab|x"),
        ("  a|b", "I<x>", "  |xab"),
        ("|ab", "A<x>", "ab|x"),
        ("|a\nb", "o<x>", "a\n|x\nb"),
        ("a\n|b", "O<x>", "a\n|x\nb"),
    ],
)
def test_changes(before, keys, after):
    assert shown(play(start(before), keys)) == after


@pytest.mark.parametrize(
    ("before", "keys", "after"),
    [
        ("|abc", "x.", "|c"),
        ("|a b c d", "dw2.", "|d"),
        ("|one two", "cw<1>w.", "1 |1"),
        ("|a\nb", "A<;>j.", "a;\nb|;"),
        ("|abc", "xu", "|abc"),
        ("|abc", "xxuu", "|abc"),
        ("|abc", "xxuu\x12", "|bc"),
        ("|abc", "xx2u2\x12", "|c"),
        ("|ab", "A<cd>u", "|ab"),
        ("|ab", "cw<cd>u\x12", "c|d"),
        ("|ab", "u", "|ab"),
        ("|ab", ".", "|ab"),
        ("|ab", "d\x1bx", "|b"),
        ("|ab", "dzx", "|b"),
    ],
)
def test_repeat_undo_and_abandoned_commands(before, keys, after):
    assert shown(play(start(before), keys)) == after


KEYS = st.lists(
    st.sampled_from([*'hjklwbe0^$GfFtT;,dcyxpPuJDCYr~iaIAoO.123("[<>a gg\x12\x1b', "\n", "é"]),
    max_size=30,
)


@given(st.text(st.sampled_from('ab ,.(")\n\té日'), max_size=40), st.integers(0, 40), KEYS)
def test_caret_is_always_on_a_character_and_undo_restores_the_text(text, at, keys):
    state = leave_insert(VimState(text=text), text, min(at, len(text)))
    for key in keys:
        if state.is_insert:
            state = leave_insert(
                state,
                state.text[: state.caret] + key + state.text[state.caret :],
                state.caret + 1,
            )
        else:
            state = press(state, key)
        assert 0 <= state.caret <= len(state.text)
        if not state.is_insert and state.caret < len(state.text) and state.caret:
            is_break = state.text[state.caret] == "\n"
            assert not is_break or state.text[state.caret - 1] == "\n"
    if state.is_insert:
        state = leave_insert(state, state.text, state.caret)
    changed = replace_all(state)
    assert changed.text == text


def replace_all(state):
    """Undo everything."""
    for _ in range(200):
        state = press(state, "u")
    return state
