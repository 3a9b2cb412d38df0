import math

from yourtool.tui.transcript.items import NoticeItem
from yourtool.tui.transcript.layout import ItemLayout
from yourtool.tui.transcript.text_items import ReplyItem


def test_changed_rows_are_those_since_the_last_call():
    notice, reply = NoticeItem("info", "careful"), ReplyItem()
    reply.append("one")
    layout = ItemLayout([notice, reply], 40)
    layout.add_new_items()
    layout.lay_out_end(10)
    changed = {notice, reply}
    layout.measure_changes(changed, math.inf)
    layout.take_changed_rows()
    assert not changed
    reply.append("\n\ntwo")
    layout.measure_changes({reply}, math.inf)
    assert layout.take_changed_rows() == (3, layout.total) == (3, 5)
    first, end = layout.take_changed_rows()
    assert first > end


def test_changes_after_the_deadline_stay_in_the_set():
    notices = [NoticeItem("info", "careful") for _ in range(3)]
    layout = ItemLayout(notices, 40)
    layout.add_new_items()
    changed = {*notices}
    layout.measure_changes(changed, -math.inf)
    assert changed == {*notices[1:]}
    assert layout.take_changed_rows() == (0, 1)
