"""`@alias` in front of a message (R-RTE-10)."""

import pytest

from tests.agent.harness import MODEL, OTHER
from yourtool.agent.input.mentions import parse_address
from yourtool.errors import UsageError
from yourtool.messages.blocks import ImageBlock, ImageSource, TextBlock
from yourtool.providers.catalogue.models import Catalogue

CATALOGUE = Catalogue([MODEL, OTHER], "2026-01-01")


def parse(text, workspace):
    addressed = parse_address(text, CATALOGUE, workspace)
    return addressed.override.id if addressed.override else None, addressed.content[0].text


def test_leading_alias_selects_the_model_and_is_removed(tmp_path):
    assert parse("@other what is this?", tmp_path) == ("openai:other", "what is this?")
    assert parse("@openai:other\nlines", tmp_path) == ("openai:other", "lines")


def test_existing_path_is_a_mention_and_stays_in_the_text(tmp_path):
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "app.py").touch()
    text = "@src/app.py what is this?"
    assert parse(text, tmp_path) == (None, text)


def test_backslash_escapes_the_at_sign(tmp_path):
    assert parse("\\@other hello", tmp_path) == (None, "@other hello")


@pytest.mark.parametrize("text", ["mail me@other now", " @other leading space", "a @other"])
def test_at_sign_elsewhere_is_plain_text(tmp_path, text):
    assert parse(text, tmp_path) == (None, text)


def test_unknown_word_is_rejected_with_a_solution(tmp_path):
    with pytest.raises(UsageError, match=r"`@ohter` is neither a model nor a file.*\\@ohter"):
        parse("@ohter hello", tmp_path)


@pytest.mark.parametrize(
    "text",
    ["@types/node is missing", "@dataclass fields", "@pytest.fixture fails", "@todo: mend it"]
    + [f"@{word} hello" for word in ("x" * 300, "a/" * 3_000, "a\0b", "scope/name@1.2")],
)
def test_word_that_resembles_no_model_is_text(tmp_path, text):
    assert parse(text, tmp_path) == (None, text)


@pytest.mark.parametrize("text", ["@other", "@other   "])
def test_alias_without_text_is_rejected(tmp_path, text):
    with pytest.raises(UsageError, match="needs a message after it"):
        parse(text, tmp_path)


@pytest.mark.parametrize("text", ["", "  \n "])
def test_empty_message_is_rejected(tmp_path, text):
    with pytest.raises(UsageError, match="nothing to send"):
        parse(text, tmp_path)


def test_message_can_be_an_image_only(tmp_path):
    image = ImageBlock(ImageSource("base64", "AA=="), "image/png")
    assert parse_address((image,), CATALOGUE, tmp_path).content == (image,)
    addressed = parse_address((TextBlock("@other "), image), CATALOGUE, tmp_path)
    assert addressed.override == OTHER


def test_resource_of_a_server_at_the_start_is_a_mention(tmp_path):
    text = "@notes:day://today summarise"
    found = parse_address(text, CATALOGUE, tmp_path, "notes:day://today".__eq__)
    assert found.content == (TextBlock(text),) and found.override is None
