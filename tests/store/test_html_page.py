"""The HTML export is one file that shows a session and runs and loads nothing (R-PER-08)."""

import base64
import re
from html.parser import HTMLParser

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.store.test_forks import store_conversation
from tests.store.turns import FactBuilder, changed, tool_call
from tests.strategies import few, histories
from yourtool.foundation.text import printable
from yourtool.messages.blobs import store_blob
from yourtool.messages.blocks import DocumentBlock, ImageBlock, ImageSource, TextBlock
from yourtool.store.html_page import to_html

ALLOWED = {
    *("html", "head", "meta", "title", "style", "body", "h1", "h2", "small", "dl", "dt", "dd"),
    *("article", "p", "pre", "code", "details", "summary", "img"),
}
ATTRIBUTES = {
    *(("html", "lang"), ("meta", "charset"), ("meta", "http-equiv"), ("meta", "content")),
    *(("meta", "name"), ("article", "id"), ("article", "class"), ("details", "open")),
    *(("summary", "class"), ("img", "alt"), ("img", "src")),
}
VOID = {"meta", "img"}
PNG = b"\x89PNG\r\n\x1a\nand more"


class Page(HTMLParser):
    """The elements and texts of a page, all of which are closed in order."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements, self.open, self.texts = [], [], []
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        assert tag in ALLOWED
        assert {(tag, name) for name, _ in attrs} <= ATTRIBUTES
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)


def page_of(facts, blobs=None, mask=str):
    return b"".join(to_html(facts, mask, blobs)).decode()


def session_with(*blocks):
    builder = FactBuilder()
    asked = builder.turn_start("look")
    return [builder.session_start(), changed(asked, message=changed(asked.message, content=blocks))]


async def test_page_labels_the_author_and_the_model_of_each_message(store):
    _, facts = await store_conversation(store, "what is <x>?")
    page = Page(page_of(facts))
    text = "".join(page.texts)
    assert "what is <x>?" in text and "You" in text
    assert "Assistant · anthropic:claude-sonnet-4-6 · " in re.sub(r"\s+", " ", text)
    assert "Call of read_file" in text and "Reasoning" in text


@few
@given(histories())
@pytest.mark.remaining
def test_any_conversation_is_one_page_of_known_elements(messages):
    builder = FactBuilder()
    facts = [builder.session_start()]
    facts += [builder.fact_with(message) for message in messages]
    Page(page_of(facts))


@given(st.text())
@example("</pre></article><script>alert(1)</script><img src=//evil onerror=x>")
@example('"><svg/onload=x> &lt;script&gt; \x1b[2J \u202e')
def test_any_text_is_shown_as_it_is_and_is_never_markup(text):
    builder, use = FactBuilder(workspace=f"/{text}"), tool_call(text or "x", argument=text)
    facts = [
        builder.session_start(),
        builder.turn_start(text),
        builder.reply(TextBlock(f"<{text}"), use),
        builder.tool_result(use, text),
    ]
    page = Page(page_of(facts))
    assert printable(f"<{text}") in page.texts or not text.isprintable()
    assert not {"script", "svg", "iframe", "link"} & {tag for tag, _ in page.elements}


def test_images_are_inside_and_nothing_is_loaded(tmp_path):
    reference = store_blob(tmp_path, PNG)
    data = base64.b64encode(PNG).decode()
    facts = session_with(
        ImageBlock(ImageSource("file_ref", reference), "image/png"),
        ImageBlock(ImageSource("base64", data), "image/svg+xml"),
        ImageBlock(ImageSource("url", "https://evil.example/a.png"), "image/png"),
        DocumentBlock(ImageSource("file_ref", reference), "application/pdf"),
    )
    page = page_of(facts, tmp_path)
    images = [attributes for tag, attributes in Page(page).elements if tag == "img"]
    assert [each["src"] for each in images] == [f"data:image/png;base64,{data}"]
    assert "(attachment, application/pdf)" in page
    assert not re.search(r"""(?:src|href|url)\s*[=(]\s*["']?(?!data:)\w""", page)
    assert (
        len([tag for tag, _ in Page(page_of(facts, tmp_path / "gone")).elements if tag == "img"])
        == 0
    )


def test_page_forbids_scripts_and_allows_its_own_style_only():
    page = page_of(session_with(TextBlock("x")))
    policy = next(a["content"] for tag, a in Page(page).elements if a.get("http-equiv"))
    assert policy.startswith("default-src 'none'; img-src data:; style-src 'sha256-")
    assert "prefers-color-scheme: dark" in page


@pytest.mark.req("R-CRD-02")
def test_page_contains_no_keys():
    page = page_of(
        session_with(TextBlock("it is canary-1")), mask=lambda s: s.replace("canary-1", "***")
    )
    assert "canary-1" not in page and "***" in page
