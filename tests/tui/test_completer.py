import hypothesis.strategies as st
import pytest
from hypothesis import given

from tests.doubling import LINEAR, growth
from yourtool.agent.commands import COMMANDS
from yourtool.models import EFFORTS
from yourtool.tui.completer import Completer, best

FILES = ["README.md", "src/app.py", "src/apple/pie.py", "tests/test_app.py"]


def make(files=FILES):
    completer = Completer()
    completer.files = files
    completer.values = {"model": [("anthropic:sonnet", "sonnet"), ("openai:gpt", "gpt")]}
    return completer


def labels(offers):
    return [each.label for each in offers.candidates] if offers else []


@pytest.mark.req("R-TUI-03")
def test_a_slash_offers_every_command_with_its_description():
    offers = make().offers("/")
    assert labels(offers) == [command.usage for command in COMMANDS]
    assert all(each.description for each in offers.candidates)


@pytest.mark.req("R-TUI-21")
def test_completion_reads_the_table_of_the_parser():
    for command in COMMANDS:
        assert command.usage in labels(make().offers(f"/{command.name}"))


def test_arguments_are_offered_fuzzily():
    assert labels(make().offers("/model gp")) == ["openai:gpt"]
    assert make().offers("/clear x") is None


def test_an_argument_that_is_complete_is_not_offered_again():
    assert make().offers("/model openai:gpt") is None


def test_an_at_sign_offers_models_first_and_only_at_the_start():
    assert labels(make().offers("@a"))[0] == "anthropic:sonnet"
    assert labels(make().offers("see @app")) == [
        "src/app.py",
        "tests/test_app.py",
        "src/apple/pie.py",
    ]


def test_an_at_sign_inside_a_word_offers_nothing():
    assert make().offers("me@app") is None
    assert make().offers("@app and then") is None


def test_what_replaces_the_word_begins_where_the_word_begins():
    offers = make().offers("look at @pie")
    assert offers is not None
    assert (offers.start, offers.candidates[0].text) == (8, "@src/apple/pie.py ")


@given(st.lists(st.text(st.characters(blacklist_characters="\n"), min_size=1)), st.text(max_size=3))
def test_what_is_found_holds_the_letters_in_order(names, query):
    query = query.replace("\n", "")
    for name in best(query, names):
        rest = iter(name.lower())
        assert (
            query.lower() != query
            or all(letter in rest for letter in query)
            or (len(name) != len(name.lower()))
        )


def test_a_name_that_begins_with_the_query_comes_first():
    assert best("app", ["x/mapper.py", "a/p/p.py", "src/app.py"])[0] == "src/app.py"


@pytest.mark.req("R-RTE-07")
def test_an_alias_is_first_of_all_the_model_that_has_it():
    completer = Completer()
    completer.values = {"model": [("a:sonnet-5", ""), ("a:sonnet-4-6", "sonnet, s"), ("b:x", "")]}
    for typed in ("/model sonnet", "@sonnet"):
        offers = completer.offers(typed)
        assert offers is not None
        assert [each.label for each in offers.candidates] == ["a:sonnet-4-6", "a:sonnet-5"]


def test_the_shortest_id_of_a_model_by_that_name_is_the_closest():
    names = ["openrouter:openai/gpt-5", "openai:gpt-5-mini", "openai:gpt-5", "ollama:qwen3:8b"]
    assert best("gpt-5", names)[0] == "openai:gpt-5"
    assert best("qwen", names)[0] == "ollama:qwen3:8b"


def test_words_that_are_no_names_are_offered_first_and_never_completed_to_a_name():
    assert labels(make().offers("/model "))[:2] == ["show", "-"]
    assert [make().offers(text) for text in ("/model -", "/model show", "/effort -")] == [None] * 3


def test_levels_and_modes_keep_their_own_order():
    assert labels(Completer().offers("/effort ")) == ["-", *EFFORTS]


def test_a_query_of_repeated_letters_takes_time_in_proportion_to_the_names():
    assert best("a" * 30 + "b", ["a" * 60]) == []
    assert growth(lambda name: best("aaaaaaaaab", [name]), lambda size: "a" * size) < LINEAR
    assert best("a" * 1_000_000, ["a" * 60]) == []


def test_no_more_names_are_looked_at_than_take_little_time():
    names = [f"{'a' * 100}{number}" for number in range(100_000)]
    found = best("a", names, len(names))
    assert 40_000 < len(found) < 60_000 and set(found) <= set(names)
