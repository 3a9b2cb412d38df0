from tests.strategies import Writer
from yourtool.messages import memo
from yourtool.messages.blocks import TextBlock
from yourtool.messages.memo import MessageMemo
from yourtool.messages.message import Role


def test_value_of_a_message_is_computed_once_and_dropped_with_the_message():
    asked = []
    lengths = MessageMemo(lambda message: asked.append(message.text) or len(message.text))
    texts = MessageMemo(lambda message: message.text)
    messages = [Writer().message(Role.USER, (TextBlock(text),)) for text in ("a", "bb", "a")]
    for _ in range(2):
        assert lengths.values(messages) == [1, 2, 1]
    assert asked == ["a", "bb", "a"], "equal messages are two messages"
    assert texts.values(messages[:2]) == ["a", "bb"]
    places = [id(message) for message in messages]
    assert all(place in memo._references for place in places)
    messages.clear()
    asked.clear()
    assert (len(lengths), len(texts)) == (0, 0)
    assert not any(place in memo._references for place in places)
