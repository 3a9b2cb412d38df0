"""The matcher only needs `re`; the parser of `re` is an optimization."""

import io
import json
import os

import pytest

from yourtool.tools import matcher_script

PARSERS = {
    "none": None,
    "another result": lambda pattern, flags: [("literal", None), 7],
    "no list": lambda pattern, flags: 7,
    "other arguments": lambda pattern: [],
}


def answers(directory, pattern, names):
    frames = [b"[]", b"-" + pattern.encode(), b"\0".join([b"/", *map(os.fsencode, names)])]
    source = io.BytesIO(b"".join(b"%d\n%b" % (len(frame), frame) for frame in frames))
    sink = io.BytesIO()
    start = os.open(directory, os.O_RDONLY)
    try:
        matcher_script.serve(source, sink, start, 1_000, matcher_script.Quoting(10, 0, 0))
    finally:
        os.close(start)
    return [json.loads(line) for line in sink.getvalue().splitlines()]


@pytest.mark.parametrize("pattern", ["needle", "nee(dle|t)", "[n]e{2}", r"\bneedle$"])
@pytest.mark.parametrize("kind", PARSERS)
def test_matcher_tries_every_line_without_the_known_parser(tmp_path, monkeypatch, kind, pattern):
    (tmp_path / "a").write_text("hay\nneedle\n")
    (tmp_path / "b").write_text("hay\n")
    _, known = answers(tmp_path, pattern, ["a", "b"])
    monkeypatch.setattr(matcher_script, "parse", PARSERS[kind])
    opened, answer = answers(tmp_path, pattern, ["a", "b"])
    assert opened == {"has_literals": False, "wider": ""}
    assert answer["found"] == known["found"] == [[0, 1, [[2, "needle", 0, 6, False, False, True]]]]
    assert answer["read"] == 2
