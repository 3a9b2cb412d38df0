"""The filter of a list."""

from tests.doubling import LINEAR, growth
from yourtool.agent.commands.base import Choice
from yourtool.tui.input.choice_filter import ChoiceFilter


def found(query, *choices):
    return [choice.value for choice in ChoiceFilter(choices).find(query)]


def titled(*titles):
    return [Choice(title, title) for title in titles]


def test_better_matches_of_the_title_come_first():
    rows = titled("g-p-t", "a gpt", "xgpt", "gpt", "openai:gpt", "none")
    assert found("gpt", *rows) == ["gpt", "openai:gpt", "a gpt", "xgpt", "g-p-t"]


def test_words_are_found_in_any_order_in_everything_that_describes_a_choice():
    row = Choice("a", "fix the parser", "2 h ago", ("3/15",), group="anthropic", keywords="sonnet")
    for query in ("parser fix", "2 h", "3/15", "anthropic parser", "sonnet"):
        assert found(query, row) == ["a"]
    assert found("sonet", row) == [], "only titles are matched by letters"


def test_equal_matches_keep_their_order():
    assert found("a", *titled("a3", "a1", "a2")) == ["a3", "a1", "a2"]


def test_title_of_several_lines_is_one_line_for_the_filter():
    assert found("one two", Choice("a", "one\n two"), Choice("b", "two")) == ["a"]


def test_query_of_any_length_and_kind_is_searched():
    rows = titled("a", "İ stanbul")
    assert found("  ", *rows) == ["a", "İ stanbul"]
    assert found("x" * 100_000, *rows) == []
    assert found("stan", *rows) == ["İ stanbul"]
    assert found("(", *rows) == []


def test_cost_of_a_filter_is_linear():
    def listed(count):
        return ChoiceFilter(titled(*(f"fix the parser {at} in the build" for at in range(count))))

    assert growth(lambda choices: choices.find("fxprsr"), listed) <= LINEAR
