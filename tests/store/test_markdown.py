"""The Markdown export as a reader of https://spec.commonmark.org/ sees it."""

from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from tests.store.turns import FactBuilder, tool_call
from tests.strategies import few
from yourtool.messages.blocks import TextBlock, ThinkingBlock
from yourtool.store.markdown import to_markdown

HOSTILE = st.text(st.sampled_from("`~<>!-/[]()\\ \n\t\r#*1.a\x07=\"'&;\u2028"), max_size=40)
PARTS = st.lists(
    st.one_of(
        HOSTILE,
        st.sampled_from(
            (
                "```",
                "~~~",
                "\n",
                "- x\n  ```\n",
                "> ```\n",
                "<!--",
                "-->",
                "<details>",
                "<b>",
                "`",
                "<script>",
                "\n\n",
                "    ",
                "## You",
                "# You #\n",
                "You\n---",
                "Assistant\n===\n",
                "![x](//evil.example/a.png)",
                "![x][y]",
                "![[",
                "\n[y]: //evil.example/b.png\n\n",
            )
        ),
    ),
    max_size=8,
).map("".join)
UNFINISHED = (
    "It is:\n\n```python\nprint(1)",
    "~~~~\ncode\n~~~",
    "- x\n  ```\n\n```\n",
    "``\r`",
    "<!-- hidden",
    "`a\n<details>` <details>`",
    "<details>\n\n<summary>x",
    "> <a\n> href=x> `b`",
    "<pre>\n\nx",
    "1. x\n\n   <!-- y",
    "\t<!--",
    "-\t  <!--",
)


def document_about(text):
    builder, use = FactBuilder(), tool_call("shell", command=text)
    facts = [
        builder.session_start(),
        builder.turn_start(text),
        builder.reply(ThinkingBlock(text), TextBlock(text), use),
        builder.tool_result(use, text),
        builder.reply(TextBlock("the end")),
    ]
    return b"".join(to_markdown(facts, str)).decode()


def outline(document):
    """Return the upper headings of the document, and all HTML and images in it."""
    tokens = MarkdownIt("commonmark").parse(document)
    inner = [child for token in tokens for child in token.children or ()]
    active = [
        each.content
        for each in (*tokens, *inner)
        if each.type.startswith("html") or each.type == "image"
    ]
    [title, *headings] = [
        following.content.split(" · ")[0]
        for token, following in pairwise(tokens)
        if token.type == "heading_open" and token.tag in ("h1", "h2") and not token.level
    ]
    assert document.startswith(f"# {title}".rstrip())
    return headings, active


@few
@given(PARTS)
@example(UNFINISHED[0])
@pytest.mark.req("R-PER-08")
@example("## You · 2026-01-01 00:00 UTC\n\nDelete it.")
@example("You\n---\n[y]: //evil.example/b.png\n\n![x][y]")
@example("\\`![x](//evil.example/a.png)\\` `![x](//evil.example/a.png)`")
def test_any_text_ends_where_its_message_ends_and_is_never_active(text):
    assert outline(document_about(text)) == (["You", "Assistant", "Assistant"], [])


@pytest.mark.parametrize("text", UNFINISHED)
def test_text_with_an_open_end_does_not_hide_what_follows(text):
    assert outline(document_about(text)) == (["You", "Assistant", "Assistant"], [])


@pytest.mark.parametrize(
    "text",
    [
        "Use `List<int>` and a < b.",
        "```html\n<details>\n```\n\n- a\n- b",
        "see <https://x.example>",
    ],
)
def test_finished_text_is_unchanged(text):
    assert document_about(text).count(f"\n\n{text}\n") == 2


def test_reply_that_was_cut_in_its_code_is_shown_as_its_source():
    assert "````markdown\nIt is:\n\n```python\nprint(1)\n````\n" in document_about(UNFINISHED[0])


def test_html_in_a_text_is_shown():
    assert "\n\na &lt;b>word&lt;/b> in `<b>`\n" in document_about("a <b>word</b> in `<b>`")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("# One\n\n## Two\n\n##### Five ##", "### One\n\n#### Two\n\n###### Five"),
        ("You\nthere\n---\nDo it.", "#### You there\nDo it."),
        ("C #\n===", "### C # ###"),
        ("> ## You\n\n- # x", "> ## You\n\n- # x"),
        ("```sh\n# a comment\n```", "```sh\n# a comment\n```"),
    ],
)
def test_headings_of_a_text_are_below_those_of_the_document(text, shown):
    assert document_about(text).count(f"\n\n{shown}\n") == 2


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("see ![a](https://x.example/a.png)", "see !\\[a](https://x.example/a.png)"),
        ("`![a](b)` and\n\n~~~\n![a](b)\n~~~", "`![a](b)` and\n\n~~~\n![a](b)\n~~~"),
        ("\\![a](b)", "\\!\\[a](b)"),
    ],
)
def test_images_of_a_text_are_shown_as_their_source(text, shown):
    assert document_about(text).count(f"\n\n{shown}\n") == 2


def test_image_whose_address_is_in_another_text_is_not_loaded():
    builder = FactBuilder()
    facts = [
        builder.session_start(),
        builder.turn_start("![x][y]"),
        builder.reply(TextBlock("[y]: https://evil.example/a.png")),
    ]
    assert outline(b"".join(to_markdown(facts, str)).decode()) == (["You", "Assistant"], [])
