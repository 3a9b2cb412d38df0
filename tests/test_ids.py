import itertools
import threading

import pytest

from yourtool.ids import IdFactory, is_ulid, new_id, new_session_id, new_tool_use_id


@pytest.mark.req("R-CAN-06")
def test_ids_of_four_threads_are_unique_and_grow_in_each():
    factory, minted = IdFactory(), [list[str]() for _ in range(4)]
    together = threading.Barrier(4)

    def mint(mine: list[str]) -> None:
        together.wait()
        mine.extend(factory() for _ in range(2500))

    threads = [threading.Thread(target=mint, args=(mine,)) for mine in minted]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({each for mine in minted for each in mine}) == 10_000
    assert all(one < two for mine in minted for one, two in itertools.pairwise(mine))
    assert all(is_ulid(each) for mine in minted for each in mine)


@pytest.mark.req("R-CAN-06")
def test_ids_grow_while_the_clock_stops_or_steps_back():
    second = 1_000_000_000
    clock = iter([50 * second, 50 * second, 20 * second, 0, 51 * second])
    factory = IdFactory(lambda: next(clock))
    minted = [factory() for _ in range(5)]
    assert minted == sorted(set(minted))
    assert minted[4][:10] > minted[3][:10], "the clock counts again once it has caught up"


def test_ids_follow_the_clock():
    factory = IdFactory(lambda: 1_469_918_176_385 * 1_000_000)
    assert factory().startswith("01ARYZ6S41"), "the example of the ULID specification"


def test_ids_continue_after_those_of_another_process():
    factory, past = IdFactory(lambda: 0), "7" + "Y" * 25
    factory.advance(past)
    factory.advance("0" * 26)
    assert factory() > past


def test_ids_have_a_prefix_for_their_kind():
    assert is_ulid(new_session_id().removeprefix("sess_"))
    assert is_ulid(new_tool_use_id().removeprefix("tu_"))


@pytest.mark.parametrize(
    "text", ["", "tu_01", "8" + "0" * 25, "0" * 25, "0" * 27, "0" * 25 + "U", "0" * 25 + "a"]
)
def test_invalid_ulids_are_rejected(text):
    assert not is_ulid(text)
    assert is_ulid(new_id())
