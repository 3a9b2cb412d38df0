"""Keys are masked in every encoding and however the text is split."""

import asyncio
import base64
import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.doubling import ratio
from yourtool.foundation.masking import MASK, PIECE, Mask

KEY = "sk-ant-api03-" + "aB3_xY9-" * 10


@pytest.mark.parametrize("before", range(4))
def test_a_key_is_found_in_base64_at_every_alignment_and_over_wrapped_lines(before):
    data = b"x" * (50 + before) + KEY.encode() + b" and more" * 9
    for encoded in (
        base64.b64encode(data),
        base64.encodebytes(data),
        base64.urlsafe_b64encode(data),
    ):
        text = Mask([KEY]).text(encoded.decode())
        assert MASK in text
        assert len(text) < len(encoded) - len(KEY)


def test_a_key_is_found_verbatim_in_json_and_in_a_url():
    key = 'p@ss "word"/42+x'
    mask = Mask([key])
    for written in (key, json.dumps(key)[1:-1], quote(key), quote(key, safe="")):
        assert mask.text(f"<{written}>") == f"<{MASK}>"


@pytest.mark.parametrize(
    "written",
    [
        "p%40ss%20word%2f42%2bx%3d",
        "p%40ss%20word/42%2bx%3d",
        "p@ss word\\/42+x=",
        "p@ss word/42\\u002bx=",
        "p@ss word/42\\u002Bx=",
        "p@ss word\\u002f42+x=",
        "p@ss word\\/42+x\\u003d",
        "p\\u0040ss word\\u002F42\\u002Bx\\u003D",
    ],
)
def test_a_key_is_found_as_other_encoders_write_it(written):
    mask = Mask(["p@ss word/42+x="])
    assert mask.text(f"<{written}>") == f"<{MASK}>"
    stream = mask.stream()
    passed = b"".join(stream.feed(bytes([each])) for each in f"<{written}>".encode())
    assert passed + stream.close() == f"<{MASK}>".encode()


def test_the_longer_of_two_keys_wins():
    assert Mask(["abcdefgh", "abcdefghij"]).text("abcdefghij abcdefgh") == f"{MASK} {MASK}"


def test_values_inside_details_are_masked_and_other_text_is_untouched():
    mask = Mask([KEY])
    assert mask.value({"a": [KEY, 1, None], KEY: "é"}) == {"a": [MASK, 1, None], MASK: "é"}
    text = "nothing to hide here"
    assert mask.text(text) is text
    assert Mask().text(KEY) == KEY


@given(
    st.lists(st.sampled_from([KEY, KEY[:30], KEY[:5], "s", "sk-", "text ", "\n"]), max_size=12),
    st.lists(st.integers(1, 400), max_size=12),
)
def test_splitting_the_text_anywhere_gives_the_same_and_never_a_key(parts, cuts):
    data = "".join(parts).encode()
    stream = Mask([KEY]).stream()
    passed, at = b"", 0
    for size in cuts:
        passed += stream.feed(data[at : at + size])
        at += size
    passed += stream.feed(data[at:]) + stream.close()
    assert passed.decode() == Mask([KEY]).text(data.decode())
    assert KEY.encode() not in passed


def test_a_piece_without_a_partial_key_is_returned_at_once():
    stream = Mask([KEY]).stream()
    assert stream.feed(b"building the tests\n") == b"building the tests\n"
    assert stream.feed(b"token: sk-ant-") == b"token: "
    assert stream.feed(b"is not one\n") == b"sk-ant-is not one\n"


@pytest.mark.parametrize("before", range(50, 62))
@pytest.mark.parametrize("line_end", [b"\n", b"\r\n"])
def test_a_key_in_wrapped_base64_is_masked_when_lines_come_one_by_one(before, line_end):
    key = "sk-Qd681vMxWKam3bmIZDRN4OyiSg"
    encoded = base64.encodebytes(b"x" * before + key.encode()).replace(b"\n", line_end)
    stream = Mask([key]).stream()
    passed = b"".join(map(stream.feed, encoded.splitlines(keepends=True))) + stream.close()
    assert passed.decode() == Mask([key]).text(encoded.decode())
    assert MASK.encode() in passed


@pytest.mark.parametrize("key", ["first line\nsecond line", "clé à tenir secrète"])
def test_a_key_with_a_line_break_or_non_ascii_letters_is_masked_wherever_it_is_split(key):
    data = key.encode()
    for at in range(len(data)):
        stream = Mask([key]).stream()
        assert stream.feed(data[:at]) + stream.feed(data[at:]) + stream.close() == MASK.encode()


def test_a_key_inside_an_incomplete_key_is_masked_at_the_end():
    stream = Mask(["clé à tenir", "clé à tenir secrète"]).stream()
    assert stream.feed("clé à tenir".encode()) + stream.close() == MASK.encode()


async def test_other_threads_run_while_a_large_text_is_searched():
    mask = Mask(f"sk-{number:02}-0123456789abcdef" for number in range(20))
    shares = list[float]()
    while len(shares) < 3 and (not shares or min(shares) > 0.5):
        shares.append(await longest_turn(lambda: mask.text("s" * 500_000)))
    assert min(shares) <= 0.5


async def longest_turn(work):
    """Return the largest share of a thread's CPU time between two rounds of the loop."""
    begun, looks = threading.Event(), [0.0]

    def run():
        begun.set()
        work()
        return time.thread_time()

    thread = ThreadPoolExecutor(1)
    done = asyncio.wrap_future(thread.submit(run))
    begun.wait()
    [worker] = thread._threads
    clock = time.pthread_getcpuclockid(worker.ident)
    while not done.done():
        looks.append(time.clock_gettime(clock))
        await asyncio.sleep(0)
    looks.append(await done)
    thread.shutdown()
    return max(after - before for before, after in pairwise(looks)) / looks[-1]


@pytest.mark.parametrize("end", [PIECE, 3 * PIECE])
@pytest.mark.sample(2)
def test_a_key_is_found_anywhere_in_a_large_text(end):
    mask = Mask([KEY, "s" * 9 + "t"])
    encoded = base64.encodebytes(b"x" * 50 + KEY.encode())
    for written, hidden in ((KEY.encode(), MASK.encode()), (encoded, mask.data(encoded))):
        for before in range(end - len(written) - 3, end + 3, 5):
            text = b"s" * before
            assert mask.data(text + written + text) == text + hidden + text
            passed, held = mask.split(text + written + b" ")
            assert passed + held == text + hidden + b" "


def test_output_without_known_keys_is_not_searched():
    data = b"a line of the output of a command\n" * 250_000
    assert ratio(lambda: data.count(b"#"), lambda: Mask().stream().feed(data), limit=3) <= 3
