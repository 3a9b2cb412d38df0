import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.security.corpora import payload_cases
from tests.security.payloads import PAIR, PAYLOADS
from yourtool.text import escaped, printable, storable

ANY_TEXT = st.text(st.characters(exclude_categories=()))


def decoded(text: str) -> str:
    return re.sub(r"\\u\{([0-9a-f]+)\}", lambda match: chr(int(match[1], 16)), text)


@given(ANY_TEXT)
def test_storable_text_is_utf8_without_nul(text):
    assert b"\0" not in storable(text).encode("utf-8")


@given(st.text())
def test_storable_leaves_other_text_alone(text):
    assert storable(text) == text.replace("\0", "")


@given(ANY_TEXT)
def test_printable_text_has_no_control_but_line_feed_and_tab(text):
    shown = printable(text)
    assert not re.search(
        "[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\u202a-\u202e\u2066-\u2069]", shown
    )
    assert shown.count("\n") == text.count("\n")
    assert shown.count("\t") == text.count("\t")


@given(ANY_TEXT)
def test_printable_text_stays_as_it_is(text):
    assert printable(printable(text)) == printable(text)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\x1b[2Jb", "a␛[2Jb"),
        ("a\x9b1Ab", "a\\x9b1Ab"),
        ("rm x\b\b", "rm x␈␈"),
        ("a\r\n", "a␍\n"),
        ("\x7f", "␡"),
        ("a\u2067b", "a\\u{2067}b"),
        ("a\U000e0041", "a\\u{e0041}"),
        ("git\u200b status", "git\\u{200b} status"),
        ("a\u200db", "a\\u{200d}b"),
    ],
)
def test_printable_shows_what_a_terminal_would_obey_or_hide(text, shown):
    assert printable(text) == shown


@pytest.mark.parametrize(
    "text", ["👩‍💻 👍🏽", "❤️ 1️⃣", "می‌خواهم", "日本語", "עברית", "naïve — “quoted”", "\tx\n"]
)
def test_printable_leaves_the_scripts_of_the_world_alone(text):
    assert printable(text) == text


@given(ANY_TEXT)
def test_escaped_text_can_be_told_back(text):
    assert decoded(escaped(text)) == text


@given(ANY_TEXT, ANY_TEXT)
def test_different_texts_are_escaped_differently(one, other):
    assert (escaped(one) == escaped(other)) == (one == other)


@given(st.text(st.characters(min_codepoint=0x20, max_codepoint=0x7E, exclude_characters="\\")))
def test_plain_ascii_is_escaped_to_itself(text):
    assert escaped(text) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (r"grep '\d\u' C:\new", r"grep '\d\u' C:\new"),
        (r"echo \u{202e}", r"echo \u{5c}u{202e}"),
        ("a\tb\rc\x1b", "a\\u{9}b\\u{d}c\\u{1b}"),
        ("git\u200b st\u00a0x", "git\\u{200b} st\\u{a0}x"),
        ("сd /", "\\u{441}d /"),
        ("сору x", "\\u{441}\\u{43e}\\u{440}\\u{443} x"),
        ("ｒm", "\\u{ff52}m"),
        ("rm –rf a∕b", "rm \\u{2013}rf a\\u{2215}b"),
        ("e\u0301", "e\\u{301}"),
    ],
)
def test_escaped_shows_what_passes_for_something_else(text, shown):
    assert escaped(text) == shown


@pytest.mark.parametrize(
    "text", ["git commit -m 'Привет, мир'", "修复bug 日本語", "café naïve Łódź", "a\nb"]
)
def test_escaped_leaves_plain_words_of_other_scripts_readable(text):
    assert escaped(text) == text


@pytest.mark.parametrize("payload", payload_cases())
def test_t17_t19_hostile_text_is_shown_and_not_obeyed(payload):
    shown = (escaped if payload["surface"] == "approval_command" else printable)(payload["text"])
    raw = shown.encode("utf-8")
    assert not any(bytes.fromhex(forbidden) in raw for forbidden in payload["forbidden_hex"])
    assert all(words in shown for words in payload["must_show"])
    assert all(code in shown for code in payload["must_show_codepoints"])


def test_t19_texts_that_look_the_same_are_approved_apart():
    pair = [escaped(payload["text"]) for payload in PAYLOADS if payload.get("pair") == PAIR]
    assert len(pair) == len(set(pair)) == 2
