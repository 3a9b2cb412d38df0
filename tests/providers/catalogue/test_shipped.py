import json
import re
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.providers.fakes import build_paths
from yourtool.paths import shipped_directory
from yourtool.providers.catalogue import families
from yourtool.providers.catalogue.models import Catalogue
from yourtool.providers.catalogue.shipped import ShippedCatalogue

FILE = shipped_directory("config") / "catalogue.json"
GOOD = '"anthropic:claude-good-1":{"window":200000,"output":64000,"can":["tools"],"price":[1,2]}'


@pytest.fixture(scope="module")
def catalogue(tmp_path_factory):
    return Catalogue.load(build_paths(tmp_path_factory.mktemp("home")))


@pytest.fixture
def read(tmp_path):
    def reader(rows, as_of="2026-11-29"):
        text = f'{{"as_of":"{as_of}","sources":{{"l":"litellm 1"}},"models":{{{rows}}}}}'
        (tmp_path / "catalogue.json").write_text(text)
        return ShippedCatalogue(tmp_path / "catalogue.json")

    return reader


def list_names_of_2026():
    """Every fourth id of the file, from the first one on, but no duplicates: 225 of 900."""
    return [each for at, each in enumerate(json.loads(FILE.read_text())["models"]) if at % 4 == 0]


def test_every_model_has_what_the_sources_say(catalogue):
    rows, names = json.loads(FILE.read_text(), parse_float=Decimal)["models"], list_names_of_2026()
    assert len(names) >= 200
    for name in names:
        row, model = rows[name], catalogue.get(name)
        can = model.capabilities
        assert (model.known, model.window, model.taken_from) == (True, row["window"], "")
        assert can.max_output_tokens == min(row.get("output", can.max_output_tokens), row["window"])
        assert can.supports_tools == ("tools" in row["can"])
        assert can.supports_images == ("images" in row["can"])
        assert can.supports_thinking == ("thinking" in row["can"])
        told = row.get("price")
        rates = model.price and (model.price.input_per_mtok_usd, model.price.output_per_mtok_usd)
        assert rates == (told and tuple(map(Decimal, told[:2])))


@pytest.mark.parametrize(
    ("name", "newest"),
    [
        ("anthropic:claude-sonnet-6", "anthropic:claude-sonnet-5-5"),
        ("anthropic:claude-opus-7-20270304", "anthropic:claude-opus-5-5"),
        ("anthropic:claude-haiku-6-1", "anthropic:claude-haiku-5-5"),
        ("anthropic:claude-fable-9", "anthropic:claude-fable-5-2"),
        ("openai:gpt-6.9-sol", "openai:gpt-6.2-sol"),
        ("openai:gpt-7-luna", "openai:gpt-6-luna"),
        ("openai:gpt-7-terra-2027-01-05", "openai:gpt-6.1-terra"),
        ("google:gemini-5-flash", "google:gemini-3.8-flash"),
        ("google:gemini-4-pro", "google:gemini-3.1-pro-preview"),
        ("google:gemini-5-flash-lite-preview", "google:gemini-3.5-flash-lite"),
        ("xai:grok-5", "xai:grok-4.7"),
        ("deepseek:deepseek-v5-pro", "deepseek:deepseek-v4-pro"),
        ("moonshotai:kimi-k4", "moonshotai:kimi-k3"),
        ("zai:glm-7", "zai:glm-5.3"),
        ("zai:glm-7-flash", "zai:glm-5.3-flash"),
        ("openrouter:anthropic/claude-sonnet-7", "openrouter:anthropic/claude-sonnet-5.5"),
        ("openrouter:openai/gpt-8-sol", "openrouter:openai/gpt-6.2-sol"),
        ("bedrock:us.anthropic.claude-sonnet-6-20270101-v1:0", "anthropic:claude-sonnet-5-5"),
        ("vertex:claude-opus-6@20270101", "anthropic:claude-opus-5-5"),
        ("databricks:databricks-gpt-7-sol", "openai:gpt-6.2-sol"),
    ],
)
def test_future_model_behaves_like_the_newest_of_its_family_and_names_it(catalogue, name, newest):
    model, like = catalogue.get(name), catalogue.get(newest)
    assert model.taken_from == newest.partition(":")[2]
    assert model.window == like.window
    assert model.capabilities.max_output_tokens == like.capabilities.max_output_tokens
    assert model.capabilities.supports_tools
    assert model.price == like.price
    assert model.edit_tool == like.edit_tool
    assert model.ends is None


@pytest.mark.parametrize(
    ("name", "same"),
    [
        ("anthropic:claude-haiku-4-5-20251001", "anthropic:claude-haiku-4-5"),
        ("bedrock:us.anthropic.claude-haiku-4-5-20251001-v1:0", "anthropic:claude-haiku-4-5"),
        ("bedrock:global.anthropic.claude-opus-4-8", "anthropic:claude-opus-4-8"),
        ("vertex:claude-opus-4-8@20260401", "anthropic:claude-opus-4-8"),
        ("litellm:openrouter/anthropic/claude-sonnet-4.6", "anthropic:claude-sonnet-4-6"),
        ("anthropic:claude-opus-latest", "anthropic:claude-opus-5-5"),
        ("azure:gpt-6-sol-2026-09-22", "openai:gpt-6-sol"),
        ("databricks:databricks-gpt-6-1-sol", "openai:gpt-6.1-sol"),
        ("vercel:xai/grok-4.7", "xai:grok-4.7"),
    ],
)
def test_dates_regions_and_gateways_do_not_change_a_model(catalogue, name, same):
    model, like = catalogue.get(name), catalogue.get(same)
    assert (model.window, model.price) == (like.window, like.price)
    assert model.capabilities.max_output_tokens == like.capabilities.max_output_tokens
    assert model.wire_name == name.partition(":")[2]


def test_dated_name_with_a_price_of_its_own_keeps_it(catalogue):
    dated, usual = catalogue.get("azure:gpt-4o-2024-05-13"), catalogue.get("openai:gpt-4o")
    assert dated.price.input_per_mtok_usd == 2 * usual.price.input_per_mtok_usd


@pytest.mark.parametrize(
    "name",
    [
        "mine:gpt-neox-20b",
        "mine:gpt-oss-20b",
        "openai:gpt-j-6b",
        "mine:claude-like-7b",
        "mine:gemini-nano",
        "mine:my-claude-sonnet-5",
        "mine:grok-tiny-1b",
        "mine:qwen3:8b",
        "lm-studio:gpt-oss-120b",
        "ollama:deepseek-v4-pro",
    ],
)
def test_family_does_not_match_what_another_vendor_or_a_server_offers(catalogue, name):
    assert catalogue.get(name).taken_from == ""


@pytest.mark.parametrize("name", ["mine:x", "mine:qwen3:8b", "openai:nova-2"])
def test_guess_is_not_the_size_of_a_model(catalogue, name):
    model = catalogue.get(name)
    assert (model.known, model.window) == (False, None)


def test_alias_is_the_newest_model_that_a_key_has(tmp_path):
    catalogue = Catalogue.load(build_paths(tmp_path))
    assert catalogue.resolve("sonnet").id == "anthropic:claude-sonnet-5-5"
    assert catalogue.resolve("gemini").id == "google:gemini-3.8-flash"
    listed = [catalogue.get(f"anthropic:{each}") for each in ("claude-sonnet-4-6", "claude-opus-5")]
    catalogue.add_discovered("anthropic", listed)
    assert catalogue.resolve("sonnet").id == "anthropic:claude-sonnet-4-6"
    newer = [*listed, catalogue.get("anthropic:claude-sonnet-6")]
    catalogue.add_discovered("anthropic", newer)
    assert catalogue.resolve("sonnet").id == "anthropic:claude-sonnet-6"
    assert catalogue.resolve("haiku").id == "anthropic:claude-haiku-5-5"


def test_each_figure_names_its_sources_and_their_date(catalogue):
    said = dict(catalogue.describe_sources("openai:gpt-5"))
    assert re.fullmatch(r"litellm \S+, read 20\d\d-\d\d-\d\d; .*says 400000.*", said["window"])
    assert re.match(r"genai-prices \S+, litellm", said["price"])
    assert not catalogue.describe_sources("mine:x")


def test_smallest_limit_and_highest_price_count(catalogue):
    for name, row in json.loads(FILE.read_text())["models"].items():
        for figure in ("window", "output"):
            others = [*row.get("said", {}).get(figure, {}).values()]
            assert min([row[figure], *others] if figure in row else [0]) == row.get(figure, 0), name
        for other in row.get("said", {}).get("price", {}).values():
            assert Decimal(other.split("/")[0]) <= Decimal(str(row["price"][0])), name


def test_file_is_sorted_small_and_has_a_line_for_each_model():
    lines = FILE.read_text().splitlines()
    names = [line.split('":{')[0] for line in lines[1:-1]]
    assert names == sorted(names)
    assert FILE.stat().st_size < 300_000
    assert json.loads(FILE.read_text())["missing"] == []


@pytest.mark.parametrize(
    "row",
    [
        '{"window":0}',
        '{"window":-1}',
        '{"window":1000000000}',
        '{"window":"many"}',
        '{"window":200000,"output":1e30}',
        '{"window":200000,"can":["fly"]}',
        '{"window":200000,"ends":"soon"}',
        '{"window":200000,"successor":"a\\u001b[31mb"}',
        '{"window":200000,"price":[1]}',
        "[]",
        "null",
    ],
)
def test_row_that_lies_is_missing_and_the_others_are_not(read, row):
    shipped = read(f'"anthropic:claude-bad-1":{row},{GOOD}')
    assert shipped.find("anthropic:claude-bad-1") is None
    assert shipped.find("anthropic:claude-good-1") is not None


@pytest.mark.parametrize("rate", ['"nan"', '"inf"', "-1", "1e12", '"1e-300"', "null"])
def test_price_that_lies_is_missing(read, rate):
    shipped = read(f'"a:b-1":{{"window":200000,"price":[{rate},2]}},{GOOD}')
    row = shipped.find("a:b-1")
    assert row is None or row.get_price() is None
    assert list(shipped.prices) == ["anthropic:claude-good-1"]


@pytest.mark.parametrize(
    "text",
    ["", "{", '{"as_of":"2026-11-29","models":{', "[" * 100_000, '{"as_of":1}', "\x00", "\xff"],
)
def test_damaged_file_counts_as_none(tmp_path, text):
    file = tmp_path / "catalogue.json"
    file.write_text(text)
    shipped = ShippedCatalogue(file)
    assert (shipped.find("a:b"), list(shipped), shipped.is_usable) == (None, [], False)
    assert not ShippedCatalogue(tmp_path / "nothing.json").is_usable


def test_file_with_a_million_rows_is_not_read(read):
    rows = ",".join(f'"a:{number}":{{}}' for number in range(200_000))
    assert not read(rows).is_usable
    assert not read(",".join(f'"a:{number}":{{}}' for number in range(10_001))).is_usable


@given(st.text(max_size=60))
def test_any_name_has_parts(name):
    simple = families.simplify(name)
    parts = families.parse(simple)
    assert re.fullmatch(r"[a-z0-9-]*", simple)
    assert parts.lead in ("", *parts.words)
    families.find_newest(name, ["claude-sonnet-5-5", "gpt-6-sol", name])
