import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.doubling import ratio
from tests.security.corpora import payload_cases
from tests.security.payloads import PAIR, PAYLOADS
from yourtool.foundation.text import (
    MAX_JSON_DEPTH,
    count_hidden_characters,
    escape,
    escape_line,
    printable,
    storable,
    storable_json,
)

HIDDEN = (
    *(range(0x180B, 0x1810), range(0x200B, 0x2010), range(0x2028, 0x202F), range(0x2060, 0x2070)),
    *(range(0x115F, 0x1161), range(0x17B4, 0x17B6), range(0xFE00, 0xFE10), range(0xE0000, 0xE1000)),
    *(range(0x1BCA0, 0x1BCA4), range(0x1D173, 0x1D17B), range(0xFFF0, 0xFFF9)),
    *(range(code, code + 1) for code in (0xAD, 0x34F, 0x61C, 0x3164, 0xFEFF, 0xFFA0, 0x2800)),
)
"""Default_Ignorable_Code_Point of Unicode 16.0, line separators and the blank of braille."""
ANY_TEXT = st.text(st.characters(exclude_categories=()))


def decoded(text: str) -> str:
    return re.sub(r"\\u\{([0-9a-f]+)\}", lambda match: chr(int(match[1], 16)), text)


@given(ANY_TEXT)
def test_storable_text_is_utf8_without_nul(text):
    assert b"\0" not in storable(text).encode("utf-8")


@given(st.text())
def test_storable_does_not_change_other_text(text):
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
def test_printable_text_is_unchanged(text):
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
def test_printable_shows_what_a_terminal_would_interpret_or_hide(text, shown):
    assert printable(text) == shown


@pytest.mark.parametrize(
    "text", ["👩‍💻 👍🏽", "❤️ 1️⃣", "می‌خواهم", "日本語", "עברית", "naïve — “quoted”", "\tx\n"]
)
def test_printable_does_not_change_the_scripts_of_the_world(text):
    assert printable(text) == text


@pytest.mark.parametrize("plane", range(17))
def test_no_character_is_invisible_or_mistaken_in_an_approval(plane):
    step = 1 if plane in (0, 1, 14) else 61  # the others are ideographs, private use, or unassigned
    for code in range(plane << 16, (plane + 1) << 16, step):
        char = chr(code)
        shown = escape(f"a {char} b")
        assert decoded(shown) == f"a {char} b"
        if shown[2:-2] != char:
            continue
        assert char.isprintable() or char == "\n"
        assert char == "\n" or unicodedata.category(char)[0] not in "MZC" or char == " "
        assert char in "\u0e33\u0eb3" or unicodedata.normalize("NFKC", char) == char
        assert not any(code in each for each in HIDDEN)


def test_every_variation_selector_and_ignorable_is_visible_next_to_any_letter():
    for code in (code for each in HIDDEN for code in each):
        for before in ("", "a", "é", "字", "क", "❤", "ا"):
            assert f"\\u{{{code:x}}}" in escape(f"{before}{chr(code)}b")


@pytest.mark.parametrize("mark", ["\u0301", "\u093f", "\u064b"])
def test_mark_without_a_letter_is_visible(mark):
    assert escape(f"{mark}b") == f"\\u{{{ord(mark):x}}}b"


LETTERS = """
    ب բ ক ㄅ 字 ж क መ ა λ ક ਕ 가 ב か ಕ サ サー ក ກ é ക က କ ක க క ހ ก ཀ
"""
"""One of each recommended script: https://www.unicode.org/reports/tr31/ table 5."""


def test_letters_of_the_recommended_scripts_are_shown_as_they_are():
    for letter in LETTERS.split():
        assert escape(letter) == letter


DOUBLE_VOWELS = """
    0905+093e 0905+0946 0905+0949 090f+0945 090f+0946 090f+0947 0985+09be 098b+09c3 0a05+0a3e
    0a05+0a48 0a05+0a4c 0a72+0a3f 0a72+0a40 0a72+0a47 0a73+0a41 0a73+0a42 0a85+0abe 0a85+0ac5
    0a85+0ac7 0a85+0ac8 0b05+0b3e 0b88+0bc1 0c0b+0c3e 0c0c+0c3e 0c12+0c4c 0c12+0c55 0c8c+0cbe
    0d07+0d57 0d0e+0d46 0d12+0d3e 0d12+0d57
"""
"""The pairs of the tables "Do Not Use" in chapter 12 of the Unicode Standard."""


def test_vowel_sign_that_makes_another_vowel_is_visible():
    for pair in DOUBLE_VOWELS.split():
        letter, sign = (chr(int(each, 16)) for each in pair.split("+"))
        assert escape(letter + sign).endswith(f"\\u{{{ord(sign):x}}}"), pair


@given(
    st.text(st.sampled_from("aзаa\u0306иéе́e\u0301क\u093f\u0941字ロ口ـ \u0327\u0304ا\u064b\u064e"))
)
def test_texts_that_look_alike_are_escaped_differently(text):
    for form in ("NFC", "NFD", "NFKC", "NFKD"):
        other = unicodedata.normalize(form, text)
        if other != text:
            plain = unicodedata.normalize("NFKC", escape(other))
            assert plain != unicodedata.normalize("NFKC", escape(text))


@given(ANY_TEXT)
def test_an_escaped_line_is_one_line_with_a_visible_end(text):
    line = escape_line(text)
    assert decoded(line) == text
    assert "\n" not in line
    assert not line.endswith(" ")


@given(ANY_TEXT)
def test_escaped_text_can_be_decoded(text):
    assert decoded(escape(text)) == text


@given(ANY_TEXT, ANY_TEXT)
def test_different_texts_are_escaped_differently(one, other):
    assert (escape(one) == escape(other)) == (one == other)


@given(st.text(st.characters(min_codepoint=0x20, max_codepoint=0x7E, exclude_characters="\\")))
def test_plain_ascii_is_escaped_to_itself(text):
    assert escape(text) == text


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
        ("\u0438\u0306", "\u0438\\u{306}"),
        ("rm a\U000e0101", "rm a\\u{e0101}"),
        ("\u0413\u041f \u0393\u03a0", r"\u{413}\u{41f} \u{393}\u{3a0}"),
        ("\u03a0\u0440\u0438\u0432", r"\u{3a0}\u{440}\u{438}\u{432}"),
        ("\u30ed \u53e3", "\\u{30ed} \u53e3"),
        ("\u13aa\u13e2", r"\u{13aa}\u{13e2}"),
    ],
)
def test_escape_shows_confusable_characters(text, shown):
    assert escape(text) == shown


@pytest.mark.parametrize(
    "text",
    [
        "git commit -m 'Привет, мир'",
        "修复bug 日本語 统一 ファイル エラー",
        "café naïve Łódź Straße Đà Nẵng",
        "отчёт2024.txt данные_new",
        "हिन्दी ไทย ทำ ไฟล์ שלום مرحبا فارسی 한국어 Հայերեն ქართული κόσμε",
        "😀 → ✓ €",
        "a\nb",
    ],
)
def test_escape_does_not_change_plain_words_of_other_scripts(text):
    assert escape(text) == text


@pytest.mark.parametrize("payload", payload_cases())
@pytest.mark.req("T17", "T19")
def test_hostile_text_is_shown_and_not_interpreted(payload):
    shown = (escape if payload["surface"] == "approval_command" else printable)(payload["text"])
    raw = shown.encode("utf-8")
    assert not any(bytes.fromhex(forbidden) in raw for forbidden in payload["forbidden_hex"])
    assert all(words in shown for words in payload["must_show"])
    assert all(code in shown for code in payload["must_show_codepoints"])


@pytest.mark.req("T19")
def test_texts_that_look_the_same_differ_in_an_approval():
    pair = [escape(payload["text"]) for payload in PAYLOADS if payload.get("pair") == PAIR]
    assert len(pair) == len(set(pair)) == 2


def test_ascii_text_is_not_searched_for_surrogates():
    text = "a line of the output of a command\n" * 250_000
    assert ratio(lambda: text.count("#"), lambda: storable(text), limit=3) <= 3


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        # katakana that look like Han characters, alone and next to others
        ("カメラ", "カメラ"), ("ハー", r"\u{30cf}\u{30fc}"), ("一カメラ", r"\u{4e00}カメラ"),
        ("カメラ一", r"カメラ\u{4e00}"),
        ("日カメラ力", r"日カメラ\u{529b}"), ("漢カ", r"漢\u{30ab}"),
        ("イカ二", r"\u{30a4}\u{30ab}二"), ("aニ", r"a\u{30cb}"), ("中一国", "中一国"),
        # scripts that are used together
        ("ㄅ中", "ㄅ中"), ("한글中", "한글中"), ("a한", "a한"),
        ("aひ中", "aひ中"),
        # alphabets that are not
        ("кoт", r"\u{43a}o\u{442}"),
        ("αж", r"\u{3b1}\u{436}"), ("ελ", "ελ"), ("αβ", r"\u{3b1}\u{3b2}"),
        ("Æther", "Æther"), ("Æ", r"\u{c6}"), ("кот1", "кот1"), ("1\u0660", r"1\u{660}"),
        # marks: those of a script's letters, at most two, and never one twice
        ("कि", "कि"), ("कि\u093f", r"कि\u{93f}"), ("कं\u0902", r"कं\u{902}"),
        ("ก\u0e34\u0e48\u0e4c\u0e47", "ก\u0e34\u0e48\u0e4c" + r"\u{e47}"),
        ("ก\u0e4d", r"ก\u{e4d}"),
        ("अ\u093e", r"अ\u{93e}"), ("か\u3099", r"か\u{3099}"), ("д\u0301", r"д\u{301}"),
        ("\u093f", r"\u{93f}"), ("a\u093f", r"a\u{93f}"), ("क\u0e34", r"क\u{e34}"),
        ("сор\u0301", r"\u{441}\u{43e}\u{440}\u{301}"), ("क\ufe0f", r"क\u{fe0f}"),
    ],
)  # fmt: skip
@pytest.mark.req("T21")
def test_letter_is_escaped_where_it_can_be_mistaken_for_another(text, shown):
    assert escape(text) == shown


@pytest.mark.parametrize(
    ("letter", "ascii_letter"),
    [
        ("\u0430", "a"), ("\u03f2", "c"), ("\u0501", "d"), ("\u0435", "e"), ("\u0261", "g"),
        ("\u04bb", "h"), ("\u0456", "i"), ("\u0458", "j"), ("\u04cf", "l"), ("\u0578", "n"),
        ("\u03bf", "o"), ("\u0585", "o"), ("\u10ff", "o"), ("\u0440", "p"), ("\u051b", "q"),
        ("\u0433", "r"), ("\u0455", "s"), ("\u057d", "u"), ("\u03bd", "v"), ("\u051d", "w"),
        ("\u0445", "x"), ("\u0443", "y"), ("\u0391", "A"), ("\u0412", "B"), ("\u13a2", "T"),
    ],
)  # fmt: skip
@pytest.mark.req("T21")
def test_letters_that_unicode_lists_as_confusable_with_ascii_are_escaped(letter, ascii_letter):
    """https://www.unicode.org/Public/security/15.1.0/confusables.txt"""
    shown = f"\\u{{{ord(letter):x}}}"
    assert escape(f"rm {letter}") == f"rm {shown}"
    assert escape(f"x{letter}x") == f"x{shown}x"
    assert escape(f"rm {ascii_letter}") == f"rm {ascii_letter}"


@pytest.mark.parametrize(
    ("first", "last"),
    [(0x2400, 0x2426), (0x2500, 0x259F), (0x1100, 0x11FF), (0xA960, 0xA97C), (0xD7B0, 0xD7FB),
     (0x1F1E6, 0x1F1FF), (0x1F3FB, 0x1F3FF), (0xFE00, 0xFE0F), (0xE0000, 0xE0FFF)],
)  # fmt: skip
def test_characters_that_are_drawn_like_others_or_change_them_are_escaped(first, last):
    for code in (first, last):
        assert escape(chr(code)) == f"\\u{{{code:x}}}"
    assert escape("─" + "═") == r"\u{2500}\u{2550}"


@pytest.mark.parametrize(
    ("text", "shown", "hidden"),
    [
        ("a\rb\r\n", "a␍b␍\n", 0), ("\x1b\x7f\x80\x9f", "␛␡\\x80\\x9f", 4),
        ("\ud800", "\ufffd", 1),
        ("👨\u200d👩", "👨\u200d👩", 0), ("क\u200dष", "क\u200dष", 0),
        ("a\u200db", "a\\u{200d}b", 1),
        ("\u200dक", "\\u{200d}क", 1), ("क\u200d", "क\\u{200d}", 1),
        ("1\ufe0f\u20e3", "1\ufe0f\u20e3", 0),
        ("❤\ufe0f", "❤\ufe0f", 0), ("a\ufe0f", "a\\u{fe0f}", 1), ("\ufe0f", "\\u{fe0f}", 1),
        ("❤\ufe0f\u200d🔥", "❤\ufe0f\u200d🔥", 0), ("\u202e\u2066", "\\u{202e}\\u{2066}", 2),
    ],
)  # fmt: skip
def test_joiners_stay_where_they_change_a_form_and_all_else_that_hides_is_counted(
    text, shown, hidden
):
    assert printable(text) == shown
    assert count_hidden_characters(text) == hidden


def test_json_is_storable_up_to_the_greatest_depth():
    value = "a\ud800\0"
    for _ in range(MAX_JSON_DEPTH):
        value = {"b\ud800": [value]} if isinstance(value, str) else [value]
    with pytest.raises(ValueError, match="nested too deeply"):
        storable_json(value)
    found = storable_json({"b\ud800": ("a\ud800\0", 1, None)})
    assert found == {"b\ufffd": ["a\ufffd\0", 1, None]}
    deepest = "x"
    for _ in range(MAX_JSON_DEPTH):
        deepest = [deepest]
    assert storable_json(deepest) == deepest
    with pytest.raises(ValueError, match="nested too deeply"):
        storable_json({"x": deepest})


@pytest.mark.parametrize(
    ("text", "shown"),
    [("a  ", r"a\u{20}\u{20}"), ("a\nb ", r"a\u{a}b\u{20}"), (" a", " a"), ("", "")],
)
def test_line_feeds_and_final_spaces_of_a_line_are_escaped(text, shown):
    assert escape_line(text) == shown
