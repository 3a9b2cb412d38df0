"""The rows of a card about checks; those of a plan are in the tests of the transcript."""

from yourtool.tui.transcript.result_rows import check_rows


def test_each_check_has_a_row_that_shows_how_it_ended():
    rows = check_rows([["lint", "ok, 0.1 s"], ["types", "exit code 1, 2.0 s"]], 40)
    assert [row.text for row in rows] == [
        "check lint: ok, 0.1 s",
        "check types: exit code 1, 2.0 s",
    ]
    assert [row.spans[0][1] for row in rows] == ["success", "error"]


def test_rows_of_checks_are_printable_and_bounded():
    rows = check_rows([["a\x1b[31m\nb" * 50, "ok"]] * 99, 20)
    assert len(rows) == 8
    assert all(len(row.text) <= 20 and row.text.isprintable() for row in rows)
    assert check_rows("text", 20) == check_rows(None, 20) == []
