import asyncio
from types import SimpleNamespace

import hypothesis.strategies as st
import pytest
from hypothesis import given

from tests.doubling import LINEAR, growth
from yourtool.agent.commands.table import COMMANDS
from yourtool.models import EFFORTS
from yourtool.tui.input.completer import Completer, fuzzy_matches

FILES = ["README.md", "src/app.py", "src/apple/pie.py", "tests/test_app.py"]


def make(files=FILES):
    completer = Completer()
    completer.files = files
    completer.values = {"model": [("anthropic:sonnet", "sonnet"), ("openai:gpt", "gpt")]}
    return completer


def labels(offers):
    return [each.label for each in offers.candidates] if offers else []


@pytest.mark.req("R-TUI-03")
def test_slash_suggests_every_command_with_its_summary():
    offers = make().suggest("/")
    assert labels(offers) == [command.usage for command in COMMANDS]
    assert all(each.description for each in offers.candidates)


@pytest.mark.req("R-TUI-21")
def test_completion_uses_the_command_table():
    for command in COMMANDS:
        assert command.usage in labels(make().suggest(f"/{command.name}"))


def test_arguments_are_matched_fuzzily():
    assert labels(make().suggest("/model gp")) == ["openai:gpt"]
    assert make().suggest("/clear x") is None


def test_complete_argument_is_not_suggested():
    assert make().suggest("/model openai:gpt") is None


def test_at_sign_suggests_files_before_models_and_models_only_at_the_start():
    assert labels(make().suggest("@"))[-2:] == ["anthropic:sonnet", "openai:gpt"]
    assert labels(make().suggest("@a"))[0] == "src/app.py"
    assert labels(make().suggest("@son"))[0] == "anthropic:sonnet"
    assert labels(make().suggest("see @app")) == [
        "src/app.py",
        "tests/test_app.py",
        "src/apple/pie.py",
    ]


def test_at_sign_inside_a_word_suggests_nothing():
    assert make().suggest("me@app") is None
    assert make().suggest("@app and then") is None


def test_replacement_starts_where_the_word_starts():
    offers = make().suggest("look at @pie")
    assert offers is not None
    assert (offers.start, offers.candidates[0].text) == (8, "@src/apple/pie.py ")


@given(st.lists(st.text(st.characters(blacklist_characters="\n"), min_size=1)), st.text(max_size=3))
def test_matches_contain_the_letters_in_order(names, query):
    query = query.replace("\n", "")
    for name in fuzzy_matches(query, names):
        rest = iter(name.lower())
        assert (
            query.lower() != query
            or all(letter in rest for letter in query)
            or (len(name) != len(name.lower()))
        )


def test_name_that_starts_with_the_query_comes_first():
    assert fuzzy_matches("app", ["x/mapper.py", "a/p/p.py", "src/app.py"])[0] == "src/app.py"


@pytest.mark.req("R-RTE-07")
def test_model_with_the_exact_alias_comes_first():
    completer = Completer()
    completer.values = {"model": [("a:sonnet-5", ""), ("a:sonnet-4-6", "sonnet, s"), ("b:x", "")]}
    for typed in ("/model sonnet", "@sonnet"):
        offers = completer.suggest(typed)
        assert offers is not None
        assert [each.label for each in offers.candidates] == ["a:sonnet-4-6", "a:sonnet-5"]


def test_shortest_matching_model_id_comes_first():
    names = ["openrouter:openai/gpt-5", "openai:gpt-5-mini", "openai:gpt-5", "ollama:qwen3:8b"]
    assert fuzzy_matches("gpt-5", names)[0] == "openai:gpt-5"
    assert fuzzy_matches("qwen", names)[0] == "ollama:qwen3:8b"


def test_keywords_come_first_and_are_not_completed_to_a_name():
    assert labels(make().suggest("/model "))[:2] == ["show", "-"]
    assert [make().suggest(text) for text in ("/model -", "/model show", "/effort -")] == [None] * 3


def test_levels_and_modes_are_not_sorted():
    assert labels(Completer().suggest("/effort ")) == ["-", *EFFORTS]


def test_query_of_repeated_letters_takes_linear_time():
    assert fuzzy_matches("a" * 30 + "b", ["a" * 60]) == []
    assert (
        growth(lambda name: fuzzy_matches("aaaaaaaaab", [name]), lambda size: "a" * size) < LINEAR
    )
    assert fuzzy_matches("a" * 1_000_000, ["a" * 60]) == []


def test_number_of_searched_names_is_limited():
    names = [f"{'a' * 100}{number}" for number in range(100_000)]
    found = fuzzy_matches("a", names, len(names))
    assert 40_000 < len(found) < 60_000 and set(found) <= set(names)


MANY = [f"src/part{number // 100}/module_{number}.py" for number in range(100_000)]


async def test_many_files_are_searched_in_slices_with_the_same_result(monkeypatch):
    monkeypatch.setattr("yourtool.tui.input.completer.MAX_SEARCHED_CHARACTERS", 10**9)
    completer = make(MANY)
    assert completer.needs_search("look at @mod99") and not make().needs_search("@a")
    searching, pauses = asyncio.ensure_future(completer.search_files("look at @mod99")), 0
    while not searching.done():
        pauses += 1
        await asyncio.sleep(0)
    assert pauses > 3
    assert not completer.needs_search("look at @mod99")
    found = labels(completer.suggest("look at @mod99"))
    assert found == fuzzy_matches("mod99", MANY)
    assert completer.needs_search("look at @mod998") and completer.needs_search("/attach mod9")


async def test_replaced_files_are_searched_again():
    completer = make(MANY)
    searching = asyncio.ensure_future(completer.search_files("@mod99"))
    await asyncio.sleep(0)
    completer.files = MANY[:50_000]
    await searching
    assert completer.needs_search("@mod99")


@pytest.mark.parametrize("before", ["!ls @mod", "no mention", "me@mod", "/model mod"])
def test_other_text_needs_no_search_of_files(before):
    assert not make(MANY).needs_search(before)


def test_limit_of_the_files_is_shown_beside_them(monkeypatch):
    assert make().suggest("@app").candidates[0].description == "file"
    monkeypatch.setattr("yourtool.tui.input.completer.MAX_FILES", len(FILES))
    assert make().suggest("@app").candidates[0].description == "one of the first 4 files"


def test_each_provider_is_examined_once_for_all_its_models():
    asked = list[str]()
    models = [
        SimpleNamespace(id=f"{name}:m{n}", provider=name, aliases=())
        for name in "ab"
        for n in range(9)
    ]

    def find_problem(name: str) -> str | None:
        asked.append(name)
        return "it has no key" if name == "b" else None

    registry = SimpleNamespace(providers=list, configuration_problem=find_problem)
    catalogue = SimpleNamespace(all=lambda: models)
    completer = Completer()
    completer.load_values(SimpleNamespace(registry=registry, catalogue=catalogue))
    assert sorted(asked) == ["a", "b"]
    assert [name for name, _ in completer.values["model"]] == [f"a:m{n}" for n in range(9)]


def test_commands_that_are_used_most_come_first_and_others_stay_in_order():
    completer = Completer()
    before = [each.label for each in completer.suggest("/").candidates]
    completer.command_uses = {"undo": 1, "exit": 2}
    labels = [each.label for each in completer.suggest("/").candidates]
    assert [label.split()[0] for label in labels[:2]] == ["/quit", "/undo"]
    assert labels[2:] == [label for label in before if label not in labels[:2]]


@pytest.mark.parametrize("typed", ["/mode", "/exit", "/tasks", "/skills"])
def test_complete_name_or_alias_is_the_first_suggestion_as_it_is_typed(typed):
    completer = Completer()
    completer.command_uses = {"model": 9, "models": 9}
    assert completer.suggest(typed).candidates[0].text.rstrip() == typed
