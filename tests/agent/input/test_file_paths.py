"""Paths of images are found in every form in which people and terminals write them."""

import base64
import os
from urllib.parse import quote

import pytest

from tests.doubling import LINEAR, growth
from yourtool.agent.input.file_paths import FoundPath, find_media_paths, unquote_path

PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


@pytest.fixture
def picture(tmp_path):
    path = tmp_path / "a cat's (1)\u202fPM.png"
    path.write_bytes(PIXEL)
    return path


def quoted_forms(path):
    escaped = str(path).replace(" ", "\\ ").replace("'", "\\'").replace("(", "\\(")
    single = str(path).replace("'", "'\\''")
    return (f'"{path}"', f"'{single}'", escaped, f"file://{quote(str(path))}")


def test_path_is_found_alone_in_every_quoting_style(picture):
    for form in (*quoted_forms(picture), str(picture)):
        assert find_media_paths(f" {form}\n") == (FoundPath(form, picture),)


def test_path_is_found_in_a_sentence(picture, tmp_path, monkeypatch):
    for form in quoted_forms(picture):
        assert find_media_paths(f"compare {form}, please") == (FoundPath(form, picture),)
    (tmp_path / "b.gif").write_bytes(b"GIF89a" + b"\0" * 30)
    monkeypatch.setenv("HOME", str(tmp_path))
    for text in ("see ~/b.gif.", "(~/b.gif)", "one\n~/b.gif\ntwo", "is it ~/b.gif?"):
        assert find_media_paths(text) == (FoundPath("~/b.gif", tmp_path / "b.gif"),)


def test_several_paths_are_found_once_each(tmp_path):
    for name in "ab":
        (tmp_path / f"{name}.png").write_bytes(PIXEL)
    first, second = (FoundPath(f"{tmp_path}/{name}.png", tmp_path / f"{name}.png") for name in "ab")
    text = f"{first.source}\n{second.source} {first.source}"
    assert find_media_paths(text) == (first, second)


def test_other_media_are_found_only_alone(tmp_path):
    paper = tmp_path / "paper.pdf"
    paper.write_bytes(b"%PDF-1.7 words")
    assert find_media_paths(str(paper)) == (FoundPath(str(paper), paper),)
    assert find_media_paths(f"move {paper} to /tmp") == ()


def test_ordinary_text_has_no_paths(tmp_path, picture):
    (tmp_path / "notes.png").write_text("words")
    os.mkfifo(tmp_path / "pipe.png")
    for text in (
        "",
        "words",
        "/",
        f"look at {picture}",  # its spaces are not quoted
        str(tmp_path / "notes.png"),
        str(tmp_path / "pipe.png"),
        str(tmp_path),
        str(tmp_path / "missing.png"),
        "/a\0b",
        "~nobody-here/cat.png",
        "/" + "x" * 5_000,
        "'",
        "it's /tmp/'x",
    ):
        assert find_media_paths(text) == ()


def test_unmatched_quotes_are_unchanged():
    assert unquote_path("it's") == "it's"
    assert unquote_path("two words") == "two words"


@pytest.mark.parametrize("piece", ["/", "'", '"', "\\", "'/x ", "~/"])
def test_search_for_paths_is_linear(piece):
    assert growth(find_media_paths, lambda size: piece * size) < LINEAR
