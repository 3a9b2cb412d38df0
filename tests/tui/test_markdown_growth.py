"""Markdown repeated thousands of times is rendered in linear time."""

import itertools
from functools import partial

import pytest

from tests.doubling import LINEAR, cpu_seconds, growth
from yourtool.tui.lines.highlight import get_highlighter
from yourtool.tui.markdown.blocks import MAX_LINE_LENGTH
from yourtool.tui.markdown.containers import MAX_NESTING
from yourtool.tui.markdown.stream import MarkdownStream, render_markdown

MARKERS = [
    *(">", "> ", "+ ", "1. ", "1) ", "> - ", "- > ", "- a\n", "> a\n", "a\n1. b\n"),
    *("[", "![", "](", "[a](", "[](", "[a](b(", '[a](b "', "[[a]", "[\\", "[a]", "(", ")"),
    *("*", "a*", "*a ", "*a_", "**a*", "*a **b ", "_", "__a", "a_ ", "~", "~~a", "*_", "[*"),
    *("`", "`a", "``a`", "` ", "~~~", "~~~\n", "```\n", "```a ", "|", "|a", "| a |\n", "|-", "-|"),
    *("<", "<http://a", "http://", "http://a. ", "<br ", "\\", "\\*", "&", "&#", "&amp;"),
    *("a", "a ", "a\n", "\n", " ", "\t", "  \n", "# ", "# a #", "=", "-", "a\n=\n"),
    *("日本", "日 *", "e\u0301", "👩\u200d", "\x1b", "\r", "0"),
]
SHAPES = {
    "list in list": lambda n: "".join(" " * (2 * at) + "- a\n" for at in range(int(n**0.5))),
    "quote in quote": lambda n: "".join(">" * at + " a\n" for at in range(int((2 * n) ** 0.5))),
    "deep, then lines": lambda n: "> " * (n // 4) + "\n" + "a\n" * (n // 4),
    "deep items, then lines": lambda n: "+ " * (n // 4) + "a\n" + "a\n" * (n // 4),
    "wide table": lambda n: "|" + "a|" * (n // 8) + "\n|" + "-|" * (n // 8) + "\n|" * (n // 4),
    "columns": lambda n: "|" + "a|" * 99 + "\n|" + "-|" * 99 + "\n" + "|b|\n" * (n // 64),
    "rows": lambda n: "|a|b|\n|-|-|\n" + "|c|d|\n" * (n // 6),
    "growing rows": lambda n: "a|b\n-|-" + "".join("\n|" + "c" * (k % 70) for k in range(n // 40)),
    "long cells": lambda n: "|a|b|\n|-|-|\n" + f"|{'c ' * 400}|\n" * (n // 800),
    "runs of ticks": lambda n: "a".join("`" * at for at in range(1, int((2 * n) ** 0.5))),
    "open emphasis": lambda n: "*a **b " * (n // 14) + "c_ " * (n // 6),
    "stars around": lambda n: "*" * (n // 2) + "a" + "*" * (n // 2),
    "stars at the end": lambda n: "a" + "*" * n + "a",
    "link target of spaces": lambda n: "[a](" + " " * n,
    "link without end": lambda n: "[a](" + "b" * n,
    "link of links": lambda n: "[" + "[a]" * (n // 3),
    "heading of spaces": lambda n: "# a" + " " * n + "b",
    "heading of hashes": lambda n: "#" + " #" * (n // 2) + "a",
    "rule of spaces": lambda n: "-" + " " * n + "a",
    "fence with a tick": lambda n: "```" + "a" * n + "`",
    "fence of spaces": lambda n: "```" + " " * n + "a b `",
    "delimiter of tabs": lambda n: "a|b\n-" + "\t" * n + "x",
    "line of code": lambda n: "```python\n" + "a" * n,
    "words of code": lambda n: "```python\n" + "a b(" * (n // 4),
    "lines of code": lambda n: "```python\n" + "x = (1, 'a')\n" * (n // 13),
}  # fmt: skip
SUPERLINEAR_ONCE = [
    *(">", "> ", "+ ", "1. ", "- > ", "*a_", "[", "`a", "a", "\\", "| a |\n", "日本"),
    *("wide table", "rows", "runs of ticks", "open emphasis", "line of code", "heading of spaces"),
]


def text_of(kind: str, length: int) -> str:
    if kind in SHAPES:
        return SHAPES[kind](length)
    return "".join(itertools.islice(itertools.cycle(kind), length))


def whole(text: str) -> object:
    return render_markdown(text, 80, get_highlighter)


def in_pieces(text: str, size: int) -> MarkdownStream:
    stream = MarkdownStream(80, get_highlighter)
    for at in range(0, len(text), size):
        stream.feed(text[at : at + size])
    stream.finish()
    return stream


@pytest.mark.parametrize("kind", [*MARKERS, *SHAPES])
@pytest.mark.sample(3)
def test_text_is_rendered_in_linear_time(kind):
    assert growth(whole, partial(text_of, kind), 1_000) < LINEAR


@pytest.mark.parametrize("kind", SUPERLINEAR_ONCE)
def test_streamed_text_is_rendered_in_linear_time(kind):
    sized = partial(text_of, kind)
    assert growth(lambda text: in_pieces(text, 500), sized, 2_000) < LINEAR


@pytest.mark.parametrize("kind", SUPERLINEAR_ONCE)
def test_truncated_line_is_the_same_for_any_chunking(kind):
    text = text_of(kind, 2 * MAX_LINE_LENGTH)
    rows = [line.text for line in render_markdown(text, 80)]
    assert [line.text for line in in_pieces(text, 1_111).settled] == rows


@pytest.mark.soak
@pytest.mark.parametrize("kind", [*MARKERS, *SHAPES])
def test_long_texts_take_linear_time_complete_and_streamed(kind):
    sized = partial(text_of, kind)
    assert growth(whole, sized, 10_000) < LINEAR
    assert growth(lambda text: in_pieces(text, 100), sized, 10_000) < LINEAR


@pytest.mark.soak
@pytest.mark.parametrize("kind", [*MARKERS, *SHAPES])
def test_each_chunk_of_a_long_text_takes_less_than_a_quarter_second(kind):
    stream, text = MarkdownStream(80, get_highlighter), text_of(kind, 40_000)
    for at in range(0, len(text), 4_000):
        piece = text[at : at + 4_000]
        assert cpu_seconds(lambda piece=piece: stream.feed(piece)) < 0.25


@pytest.mark.parametrize("mark", ["> ", "+ ", "> - "])
def test_too_deeply_nested_markup_is_shown_as_text(mark):
    opened = MAX_NESTING // len(mark.split())
    assert render_markdown(mark * (opened + 3) + "end", 80)[0].text.endswith(f" {mark * 3}end")


def test_line_without_spaces_is_shown_completely():
    text = "".join(f"word{number};" for number in range(3_000))
    assert "".join(line.text for line in render_markdown(text, 77)) == text
    code = "".join(
        line.text.removeprefix("▏ ") for line in render_markdown(f"```\n{text}\n```", 77)
    )
    assert code == text


def test_long_table_preserves_its_columns_and_rows():
    rows = "".join(f"| {number} | {'x' * (number % 30)} |\n" for number in range(1_000))
    shown = [line.text for line in render_markdown(f"| number | crosses |\n|---|---|\n{rows}", 80)]
    assert [line.split("│")[0].strip() for line in shown] == [
        "number",
        shown[1],
        *map(str, range(1_000)),
    ]
    assert {line.index("│") for line in shown if "│" in line} == {shown[0].index("│")}
