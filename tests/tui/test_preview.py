"""Different approval requests never look the same."""

from unicodedata import category, east_asian_width

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from msgspec.structs import replace

from yourtool.effects import (
    Confirmation,
    Consequences,
    Preview,
    SandboxOffer,
    SideEffects,
    Subject,
    TrustOffer,
)
from yourtool.tui.diff.rows import Diff
from yourtool.tui.lines.styled_lines import find_breaks, wrap_pieces
from yourtool.tui.questions.approval_lines import approval_line, approval_pieces
from yourtool.tui.questions.approval_text import (
    approval_details,
    approval_options,
    approval_title,
    is_sentence,
)
from yourtool.tui.widgets.preview import preview_rows, quote_lines

SIGNS = st.sampled_from(
    " \n\taab字|│␠⇥\\u{20}:,\u200b\u0430\u00a0\u3000👍\U0001f3fd\U0001f1e6\u0915\u093e"
)
ODD = st.text(SIGNS, max_size=30)


def changed(text, at, sign, put):
    """Return the text with one character added or replaced."""
    at %= len(text) + 1
    return text[:at] + sign + text[at + put :]


def widest(row):
    """Return the cells of a row on a terminal that does not join characters."""
    cells = {"Mn": 0, "Me": 0}
    wide = {"W": 2, "F": 2}
    return sum(cells.get(category(char), wide.get(east_asian_width(char), 1)) for char in row)


def drawn(command, width):
    """Return the cells of the rows without trailing spaces."""
    return [row.rstrip(" ") for row in quote_lines(command.split("\n"), width)]


@given(ODD, st.integers(0, 30), SIGNS, st.integers(0, 2), st.integers(8, 12))
def test_different_commands_look_different(one, at, sign, put, width):
    other = changed(one, at, sign, put)
    assume(one != other)
    assert drawn(one, width) != drawn(other, width)
    assert all(widest(row) <= width + 2 for row in drawn(one, width))


@pytest.mark.parametrize(
    "joining", ["\U0001f3fd", "👍\U0001f3fd", "\U0001f1e6", "\u0915\u093e", "\ud7b0", "a\u0301"]
)
def test_end_of_a_command_is_never_drawn_beyond_the_edge(joining):
    rows = drawn(f"echo {joining * 40}; touch PWNED", 40)
    assert all(widest(row) <= 42 for row in rows)
    assert "".join(row[2:] for row in rows).endswith("touch PWNED")


def test_wrapped_command_does_not_look_like_two_lines():
    assert drawn("a" * 8 + "rm x", 8) == ["│ " + "a" * 8, "  rm x"]
    assert drawn("a" * 8 + "\nrm x", 8) == ["│ " + "a" * 8, "│ rm x"]
    assert drawn("a" * 7 + "字", 8) != drawn("a" * 7 + " 字", 8)


@given(ODD, st.integers(0, 30), SIGNS, st.integers(0, 2))
def test_different_lines_of_a_change_look_different(one, at, sign, put):
    one = one.replace("\n", "")
    other = changed(one, at, sign, put).replace("\n", "")
    assume(one != other)
    assert approval_line(one).rstrip(" ") != approval_line(other).rstrip(" ")


def test_change_is_escaped_and_its_tabs_are_visible():
    diff = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-\tif \u0430:  \n+\tif a:\n"
    removed, added = (line.text for line in Diff(diff, show=approval_pieces).rows(60))
    assert removed.endswith("⇥   if \\u{430}:\\u{20}\\u{20}")
    assert added.endswith("⇥   if a:")


def call(**arguments):
    return Confirmation(
        id="c", kind="tool", title="t\nx", side_effects=SideEffects.NETWORK, input=arguments
    )


def test_different_arguments_look_different():
    sets = [{"a": "1\nb: 2"}, {"a": "1", "b": "2"}, {"a": 1, "b": "2"}, {"a": "\u0430"}, {"a": "a"}]
    rows = [tuple(row.text for row in preview_rows(call(**each), 80)) for each in sets]
    assert len(set(rows)) == len(sets)
    assert rows[0] == ('│ a: "1\\nb: 2"',)
    assert "\n" not in approval_title(call()).plain


def change(old, path="tally.py"):
    return Preview(kind="diff", body=f"--- {old}\n+++ b/tally.py\n", paths=(path,))


@pytest.mark.req("R-TOOL-17")
def test_question_about_input_of_a_process_runs_no_command():
    typing = Preview(kind="command", body="y")
    asked = Confirmation(id="c", kind="tool", title="process_input", preview=typing)
    assert approval_title(asked).plain == "Type this text?"


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ({"preview": change("a/tally.py")}, "Edit `tally.py`?"),
        ({"preview": change("/dev/null")}, "Create `tally.py`?"),
        ({"preview": change("a/x", "a\n\u202e")}, "Edit `a\\u{a}\\u{202e}`?"),
        (
            {"preview": Preview(kind="diff", body="--- a/x\n+++ /dev/null\n", paths=("x",))},
            "Delete `x`?",
        ),
        ({"preview": Preview(kind="diff", body="", paths=("a", "b", "c"))}, "Edit 3 files?"),
        ({"preview": Preview(kind="command", body="ls")}, "Run this command?"),
        ({"subject": Subject("host", "example.com:8443")}, "Fetch from `example.com:8443`?"),
        ({"subject": Subject("opaque")}, "Allow t? (network)"),
        ({}, "Allow t? (network)"),
    ],
)
@pytest.mark.req("R-CONF-02")
def test_question_names_what_would_happen(parts, words):
    asked = Confirmation(id="c", kind="tool", title="t", side_effects=SideEffects.NETWORK, **parts)
    assert approval_title(asked).plain == words
    is_named = any("t (network)" in row.text for row in preview_rows(asked, 80))
    assert is_named or "Allow t? (network)" in words


def test_path_has_one_line_whatever_is_in_it():
    preview = Preview(kind="diff", body="", paths=("a, b", "c\nw: Allow x", "d "))
    question = Confirmation(id="c", kind="tool", title="t", preview=preview, rules=("shell(x)",))
    assert [row.text for row in preview_rows(question, 80)] == [
        "changes: a, b",
        "changes: c\\u{a}w: Allow x",
        "changes: d\\u{20}",
    ]


TEXT = st.text(st.sampled_from("ab 字я\u0301\u093f\u0915\U0001f469\u200d\t"), max_size=300)


@given(st.lists(TEXT, max_size=5), st.integers(8, 12))
def test_paragraph_in_chunks_is_truncated_like_the_complete_paragraph(pieces, width):
    text = "".join(pieces) * 20
    whole = [text[begin:end] for begin, end in find_breaks(text, width, words=False)]
    assert list(wrap_pieces(pieces * 20, width)) == whole


def test_question_about_a_command_has_the_same_lines_with_and_without_a_rule():
    preview = Preview(kind="command", body="make")
    asked = Confirmation(id="c", kind="tool", title="shell", preview=preview)
    assert approval_details(asked) == []
    assert approval_details(replace(asked, rules=("shell(make)",))) == []


def get_label(asked, letter, **options):
    """Return the label of an answer."""
    options = approval_options(asked, **options)
    return next((each.label for each in options if each.letter == letter), None)


def test_every_offered_rule_and_the_reason_for_none_are_written_out():
    asked = Confirmation(id="c", kind="tool", title="t", rules=("shell(a)", "shell(b)"))
    assert get_label(asked, "w") == "Allow `a`; `b` in this folder, from now on"
    none = replace(asked, rules=(), no_rule_reason="`git` runs other programs")
    assert get_label(none, "w") is None
    assert approval_details(none) == ["asked each time: `git` runs other programs"]


@pytest.mark.req("R-CONF-04")
def test_rules_for_more_than_one_command_are_in_words():
    rules = ("shell(git add *)", "shell(git commit *)", "shell(make)", "shell(FOO=1 make *)")
    exact = ("shell(git add -A)", "shell(git commit -m 'a *')")
    asked = Confirmation(id="c", kind="tool", title="t", rules=rules, exact_rules=exact)
    words = "every `git add`, `git commit`, `FOO=1 make`; `make`"
    assert get_label(asked, "w") == f"Allow {words} in this folder, from now on"
    assert get_label(asked, "l") == "only these 2 commands always"
    assert get_label(replace(asked, exact_rules=exact[1:]), "l") == "this line always"


@pytest.mark.req("R-CONF-04")
def test_answer_that_is_long_or_one_of_several_is_explained_above():
    long = tuple(f"shell({'x' * 40}{each} *)" for each in range(4))
    asked = Confirmation(id="c", kind="tool", title="shell", rules=long)
    [line] = approval_details(asked)
    assert line.startswith("w: Allow every `xxx") and line.endswith("in this folder, from now on")
    assert get_label(asked, "w") == "always"
    assert get_label(asked, "w", spells_all=True) == line.removeprefix("w: ")
    assert not is_sentence(line)
    offer = SandboxOffer(folder="/work", accept=lambda: None)
    both = replace(asked, rules=("shell(make *)",), sandbox=offer)
    assert approval_details(both) == ["w: Allow every `make` in this folder, from now on"]
    [contained, _] = approval_details(both, spells=False)
    assert contained.startswith("i: Allow every command that stays in the sandbox, in /work")


@pytest.mark.req("T29")
def test_consequences_of_a_command_stand_between_it_and_the_rules_and_are_escaped():
    asked = Confirmation(
        id="c",
        kind="tool",
        title="shell",
        preview=Preview(kind="command", body="rm -rf *"),
        consequences=Consequences(("`rm` deletes ./",), ("2 files: 'a\nb', \x1b[2J",)),
        no_rule_reason="it has a glob",
    )
    rows = ["".join(text for text, _ in line.spans) for line in preview_rows(asked, 60)]
    assert rows[:3] == [
        "│ rm -rf *", "warning: `rm` deletes ./", r"2 files: 'a\u{a}b', \u{1b}[2J",
    ]  # fmt: skip
    assert rows[-1] == "asked each time: it has a glob"


def test_reason_of_a_question_is_broken_between_words():
    reason = "The next request would exceed `budget.session`, which is $0.0010."
    asked = Confirmation(id="c", kind="limit", title="More?", reason=reason)
    rows = [row.text for row in preview_rows(asked, 44)]
    assert rows == ["The next request would exceed", "    `budget.session`, which is $0.0010."]
    spaces = replace(asked, reason=reason.replace("would", "would  "))
    assert "would   exceed" in preview_rows(spaces, 44).__next__().text


def test_offer_of_trust_names_the_folder_and_its_files():
    trust = TrustOffer(folder="/home/me/work", files=("AGENTS.md (2 KiB)",), accept=lambda: True)
    assert get_label(replace(call(), trust=trust), "f") == (
        "Trust /home/me/work: this needs no approval there, and use AGENTS.md (2 KiB)"
    )


def test_question_of_a_worker_starts_with_its_name():
    asked = replace(call(), asked_by="worker 2\n\x1b[2J")
    title = approval_title(asked).plain
    assert title.startswith("worker 2")
    assert title.isprintable()


@pytest.mark.parametrize(
    ("surroundings", "offered", "shown"),
    [
        ("full sandbox; no network", True, []),
        ("full sandbox; no network; the background", True, ["where: the background"]),
        ("full sandbox; no network", False, ["where: full sandbox; no network"]),
        ("full sandbox; network: a.org", True, ["where: full sandbox; network: a.org"]),
    ],
)
def test_place_of_a_command_is_named_once(surroundings, offered, shown):
    preview = Preview(kind="command", body="make", surroundings=surroundings)
    offer = SandboxOffer(folder="/a", accept=lambda: None) if offered else None
    asked = Confirmation(id="c", kind="tool", title="shell", preview=preview, sandbox=offer)
    details = approval_details(asked, by_key=False)
    assert [line for line in details if line.startswith("where:")] == shown
