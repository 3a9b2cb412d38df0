import random
import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from yourtool.tui.lines.highlight import get_highlighter
from yourtool.tui.lines.styled_lines import StyledLine, cell_width, wrap
from yourtool.tui.markdown.blocks import SETTLE_LENGTH
from yourtool.tui.markdown.inline import parse_inline
from yourtool.tui.markdown.stream import MarkdownStream, render_markdown

SAMPLE = """# Title with `code`

Hello **world**, this is *a* line and
a second one.

- one
- two
  - nested
    continued
  1. first
  1. second

- [x] done
- [ ] to do

> quoted **text**
> - an item
lazy

```python
def f(x):
\treturn "a"   # c

    '''long
    string'''
```

| a | b | c |
|---|:-:|--:|
| 1 | two | 3.5 |
| a long cell | x \\| y | 10 |

Setext
======
***
    indented
1. one

2. two
   ```sh
   ls
   ```
   after [a link](https://example.org/x) and [a file](src/a.py)

日本語のテキスト and עברית and 👩‍💻
"""


@pytest.mark.parametrize("width", range(1, 6))
@pytest.mark.parametrize("text", [SAMPLE, "```\n\n", "```\na b"])
def test_markdown_is_rendered_at_the_smallest_widths(text, width):
    assert render_markdown(text, width)


@pytest.mark.parametrize("width", [-1, 0])
@pytest.mark.parametrize("words", [True, False])
@pytest.mark.parametrize("text", ["", "a b", "字 字"])
def test_width_below_one_is_treated_as_one(text, width, words):
    assert wrap([(text, "")], width, words=words) == wrap([(text, "")], 1, words=words)


PIECES = st.sampled_from(
    [
        "**",
        "*",
        "_",
        "`",
        "```",
        "```py\n",
        "\n",
        "\n\n",
        "- ",
        "1. ",
        "> ",
        "# ",
        "|",
        "|-|",
        "a b",
        "word ",
        "  ",
        "\t",
        "    ",
        "[x](http://e.org)",
        "~~",
        "---",
        "===",
        "日本",
        "&amp;",
        "<br>",
        "\\",
        "\r\n",
    ]
)
DOCUMENTS = st.lists(PIECES, max_size=40).map("".join)


def looks(lines: list[StyledLine]):
    return [
        (line.spans, line.fill, line.separator, line.source and line.source.text) for line in lines
    ]


def texts(source: str, width: int = 60) -> list[str]:
    return [line.text.rstrip() for line in render_markdown(source, width)]


def streamed(pieces, width, highlight=None) -> MarkdownStream:
    stream = MarkdownStream(width, highlight)
    for piece in pieces:
        stream.feed(piece)
    stream.finish()
    return stream


@settings(max_examples=300, deadline=None)
@given(DOCUMENTS, st.randoms(use_true_random=False), st.integers(12, 90))
@pytest.mark.req("R-TUI-05")
@pytest.mark.remaining
def test_streamed_text_equals_the_complete_text_for_any_chunking(text, chance, width):
    cuts = sorted(chance.randrange(len(text) + 1) for _ in range(chance.randrange(12)))
    pieces = [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    assert looks(streamed(pieces, width).settled) == looks(render_markdown(text, width))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.req("R-TUI-05")
def test_real_reply_is_the_same_for_any_chunking(seed):
    chance = random.Random(seed)
    text = SAMPLE + "word **bold** " * 300 + "\nnext\n\n> - " + "foo " * 600 + "\n" + SAMPLE
    pieces, at = [], 0
    while at < len(text):
        size = chance.randint(1, 40)
        pieces.append(text[at : at + size])
        at += size
    whole = render_markdown(text, 40, get_highlighter)
    assert looks(streamed(pieces, 40, get_highlighter).settled) == looks(whole)


@settings(max_examples=200, deadline=None)
@given(DOCUMENTS, st.integers(12, 90))
def test_no_row_is_wider_than_the_screen(text, width):
    assert all(cell_width(line.spans) <= width for line in render_markdown(text, width))


@settings(max_examples=200, deadline=None)
@given(st.text("ab *日本", max_size=60), st.integers(4, 20))
@example("********word 日本", 12)
@example("日本日本日本     x", 12)
@example("日本日本日本 ", 12)
def test_spaces_next_to_wide_characters_do_not_exceed_the_width(text, width):
    rows = wrap([(text, "")], width)
    assert all(cell_width(row) <= width for row in rows)
    shown = "".join(part for row in rows for part, _ in row)
    assert shown.replace(" ", "") == text.replace(" ", "")


@pytest.mark.req("R-TUI-07")
def test_tab_in_a_paragraph_becomes_a_space():
    rows = render_markdown("[x](http://e.org)\t**and\tmore**", 14)
    assert all("\t" not in line.text for line in rows)
    assert all(cell_width(line.spans) <= 14 for line in rows)


@pytest.mark.req("R-TUI-05")
def test_no_word_is_split_lost_or_added():
    words = [f"word{number}" for number in range(500)]
    stream = MarkdownStream(33)
    for word in words:
        stream.feed(word[:3])
        assert all(
            re.fullmatch(r"(wor|word\d+)", w) for line in stream.rows for w in line.text.split()
        )
        stream.feed(word[3:] + " ")
    stream.finish()
    assert " ".join(line.text for line in stream.settled).split() == words


@pytest.mark.req("R-TUI-05")
def test_blank_lines_and_code_indentation_are_preserved():
    assert texts("a\n\nb\n```\nif x:\n    y\n\n\tz\n```\n") == [
        "a",
        "",
        "b",
        "▏ if x:",
        "▏     y",
        "▏",
        "▏     z",
    ]


def test_every_kind_of_block_is_rendered():
    assert texts(SAMPLE, 50)[:12] == [
        "Title with code",
        "",
        "Hello world, this is a line and",
        "a second one.",
        "",
        "• one",
        "• two",
        "  ◦ nested",
        "    continued",
        "  1. first",
        "  2. second",
        "",
    ]
    shown = "\n".join(texts(SAMPLE, 50))
    assert "☑ done\n☐ to do\n\n▎ quoted text\n▎ • an item\n▎   lazy" in shown
    assert (
        "a           │   b   │   c\n────────────┼───────┼────\n1           │  two  │ 3.5" in shown
    )
    assert "after a link (https://example.org/x) and a file" in shown


def test_table_is_wrapped_to_the_width_or_stacked_if_too_narrow():
    table = "| name | description |\n|---|---|\n| a | some words that need more room |\n"
    assert texts(table, 24) == [
        "name │ description",
        "─────┼──────────────────",
        "a    │ some words that",
        "     │ need more room",
    ]
    narrow = "|one|two|three|four|\n|-|-|-|-|\n|alpha|beta|gamma|delta|\n"
    rows = ["one: alpha", "two: beta", "three: gamma", "four: delta"]
    assert texts(narrow, 20) == rows
    assert texts(f"{narrow}|a|||d|\n", 20) == [*rows, "────────────", "one: a", "four: d"]


def states(text: str, width: int = 40):
    stream = MarkdownStream(width)
    for char in text:
        stream.feed(char)
        yield [line.text.rstrip() for line in stream.rows]


@pytest.mark.req("R-TUI-06")
def test_settled_rows_never_change():
    stream = MarkdownStream(40)
    before: list[StyledLine] = []
    for char in SAMPLE:
        stream.feed(char)
        assert all(a is b for a, b in zip(before, stream.settled, strict=False))
        before = list(stream.settled)


@pytest.mark.req("R-TUI-06")
def test_partial_fence_does_not_flicker():
    assert not any(
        "`" in row for rows in states("text\n```python\nx = 1\n```\nmore") for row in rows
    )


@pytest.mark.req("R-TUI-06")
def test_partial_table_does_not_flicker():
    rows = {row for state in states("| a | b |\n|---|---|\n| 1 | 2 |\n") for row in state}
    assert rows <= {"a │ b", "──┼──", "1 │ 2"}


@pytest.mark.req("R-TUI-06")
def test_partial_emphasis_does_not_flicker():
    for state in states("so **very bold** and *slanted* and `code` and ~~gone~~ end"):
        assert not set("".join(state)) & set("*`~")
    stream = MarkdownStream(40)
    stream.feed("so **very bo")
    assert stream.rows[0].spans == (("so ", ""), ("very bo", "strong"))


@pytest.mark.req("R-TUI-06")
def test_possible_list_or_heading_is_not_rendered_early():
    assert (
        ["#"] not in states("# Title")
        and ["-"] not in states("- item")
        and ["1."] not in states("1. x")
    )


@pytest.mark.parametrize(
    "text",
    [
        "- item `x` and words\n" * 400,
        "```\n" + "code\n" * 400,
        "word " * 3 * SETTLE_LENGTH,
        "> a\n" * 400,
    ],
    ids=["list", "fence", "paragraph", "quote"],
)
def test_open_part_of_a_long_block_stays_small(text):
    stream = MarkdownStream(80)
    for at in range(0, len(text), 500):
        stream.feed(text[at : at + 500])
        assert len(stream.tail) <= 130


@pytest.mark.parametrize(
    ("text", "spans"),
    [
        ("a **b** c", [("a ", ""), ("b", "strong"), (" c", "")]),
        ("***both***", [("both", "em strong")]),
        ("**bold *it* x**", [("bold ", "strong"), ("it", "em strong"), (" x", "strong")]),
        ("snake_case_name 2 * 3 * 4", [("snake_case_name 2 * 3 * 4", "")]),
        ("``x`y`` \\*z\\*", [("x`y", "code"), (" *z*", "")]),
        ("~~gone~~ **open", [("gone", "strike"), (" **open", "")]),
        (
            "see https://a.b/c_d_e.",
            [("see ", ""), ("https://a.b/c_d_e", "link target:https://a.b/c_d_e"), (".", "")],
        ),
        ("https://me:word@a.b/c", [("https://me:word@a.b/c", "link")]),
        (
            "[https://good.org](https://evil.org/x)",
            [
                ("https://good.org", "link target:https://evil.org/x"),
                (" (https://evil.org/x)", "url target:https://evil.org/x"),
            ],
        ),
        ("[https://good.org](a.py)", [("https://good.org", "link"), (" (a.py)", "muted")]),
        ("[w](javascript:x)", [("w", "link"), (" (javascript:x)", "muted")]),
        ("[list[int]] &lt;b&gt;", [("[list[int]] <b>", "")]),
        ("a<br>b", [("a\nb", "")]),
    ],
)
def test_inline_markup_becomes_styles(text, spans):
    assert parse_inline(text) == spans


@pytest.mark.parametrize(
    "text", ["[" * 3000, "**" * 3000, "`" * 3001, "> " * 2000, "- " * 1500, "|" * 3000, "&#" * 2000]
)
def test_unusual_markup_is_rendered_in_reasonable_time(text):
    assert render_markdown(text, 80) is not None


def test_character_references_cannot_insert_control_characters():
    assert not re.search(
        "[\x00-\x1f\x7f-\x9f\u202e]", "".join(texts("&#27;[2J &#x9b; &#x202e; &#7;"))
    )


def test_highlighting_spans_lines_and_loses_no_character():
    code = 'int x; /* a\n b int\n c */ int y; "/* no"\n// z'
    highlighter = get_highlighter("c")
    assert highlighter is not None
    lines = [highlighter.highlight(line) for line in code.split("\n")]
    assert "\n".join("".join(part for part, _ in line) for line in lines) == code
    assert [line[0][1].split(".")[-1] for line in lines] == [
        "type",
        "comment",
        "comment",
        "comment",
    ]
    assert lines[2][-1] == ('"/* no"', "code.block syntax.string")


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(["python", "js", "c", "yaml", "json", "html", "bash", "diff", "rust"]),
    st.text(),
)
def test_highlighted_code_has_the_text_of_the_code(language, text):
    highlighter = get_highlighter(language)
    assert highlighter is not None
    for line in text.replace("\r", "").split("\n"):
        assert "".join(part for part, _ in highlighter.highlight(line)) == line


def test_unknown_language_is_not_highlighted():
    assert get_highlighter("no-such-language") is None


@pytest.mark.parametrize(
    "text",
    [
        "The file __init__.py calls f(*args, **kwargs); 2*3*4 is 24.",
        r"\(a_b\), \[ \sum_{i=0}^n i_*a*_b \] and $$\int_0^1 x^2\,dx$$ are formulas.",
        "use src/**/*.py and tests/**/*.py",
        "2**3 and 4**5, a*b*c",
        "cron: */5 * * * * and 0 */2 * * *",
        "__all__, __main__ and __name_of_it__",
    ],
)
def test_characters_of_code_and_formulas_in_prose_are_shown_as_written(text):
    assert parse_inline(text) == [(text, "")]


@pytest.mark.parametrize(
    ("text", "spans"),
    [
        ("**重点。**然后", [("重点。", "strong"), ("然后", "")]),
        ("见**“引用”**内容", [("见", ""), ("“引用”", "strong"), ("内容", "")]),
        ("*foo**bar*", [("foo**bar", "em")]),
        ("**foo*bar*baz**", [("foo*bar*baz", "strong")]),
        ("__Important__", [("Important", "strong")]),
        ("**Note**s", [("Note", "strong"), ("s", "")]),
        ("*em **strong** em*", [("em ", "em"), ("strong", "em strong"), (" em", "em")]),
    ],
)
def test_emphasis_follows_commonmark_and_works_beside_cjk_punctuation(text, spans):
    assert parse_inline(text) == spans
