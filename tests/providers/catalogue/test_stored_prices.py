"""Price tables are stored when a request uses them, and can be read by name (R-CST-03)."""

import os
import re
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from yourtool.errors import ConfigError, UsageError
from yourtool.models import Price, PriceTier
from yourtool.paths import Paths
from yourtool.providers.catalogue.models import Catalogue
from yourtool.providers.catalogue.price_tables import PriceTable, read_price_file
from yourtool.providers.catalogue.stored_prices import StoredPrices, describe_tables, load_table

pytestmark = pytest.mark.req("R-CST-03")

PRICE = Price(
    input_per_mtok_usd=Decimal("3.00"),
    output_per_mtok_usd=Decimal(15),
    cached_read_per_mtok_usd=Decimal("0.30"),
    tiers=(
        PriceTier(
            above_prompt_tokens=200_000,
            input_per_mtok_usd=Decimal(6),
            output_per_mtok_usd=Decimal("22.5"),
        ),
    ),
)
rates = st.decimals("0.000000001", 1_000_000, allow_nan=False, allow_infinity=False)


@pytest.fixture
def catalogue(tmp_path):
    return Catalogue.load(Paths(*(tmp_path / name for name in ("home", "data", "state", "cache"))))


@pytest.fixture
def directory(tmp_path):
    return tmp_path / "data" / "prices"


def test_table_is_stored_once_and_is_read_by_each_of_its_names(catalogue, directory):
    prices, model = StoredPrices(directory, catalogue), catalogue.resolve("sonnet")
    assert prices.store(model) is None and prices.store(model) is None
    (file,) = directory.iterdir()
    assert file.stat().st_mode & 0o777 == 0o600
    name = prices.find_name(model)
    assert name == f"{catalogue.pricing_version}@{file.stem}"
    for each in (name, file.stem, catalogue.pricing_version):
        table = load_table(directory, each)
        assert table is not None and table.prices == catalogue.price_table.prices
    assert load_table(directory, f"2020-01-01@{file.stem}") is None


def test_price_from_the_list_of_a_provider_has_a_table_of_its_own(catalogue, directory):
    model = replace(catalogue.get("openrouter:x/y"), price=PRICE, price_as_of="openrouter 2026")
    prices = StoredPrices(directory, catalogue)
    prices.store(model)
    table = load_table(directory, prices.find_name(model))
    assert table is not None and table.version == "openrouter 2026"
    assert table.prices == {"openrouter:x/y": PRICE}


def test_unpriced_model_stores_nothing(catalogue, directory):
    model = catalogue.get("nobody:nothing")
    assert model.price is None and StoredPrices(directory, catalogue).store(model) is None
    assert not directory.exists()


def test_tables_of_one_version_with_other_prices_have_other_names():
    table = PriceTable("1", {"a:b": PRICE})
    other = PriceTable("1", {"a:b": replace(PRICE, tiers=())})
    same = PriceTable("1", {"a:b": replace(PRICE, output_per_mtok_usd=Decimal("15.00"))})
    assert table.name == same.name and table.name != other.name


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1), rates, rates)
def test_file_of_a_table_has_exactly_its_content(tmp_path_factory, text, first, second):
    price = replace(PRICE, input_per_mtok_usd=first, cache_write_per_mtok_usd=second)
    table = PriceTable(text, {text: price, "local:*": PRICE})
    file = tmp_path_factory.getbasetemp() / "table.toml"
    file.write_bytes(table.content)
    assert read_price_file(file) == (table.prices, text)


def test_several_tables_of_a_version_are_named(directory, catalogue):
    directory.mkdir(parents=True)
    for cost in (1, 2):
        price = replace(PRICE, input_per_mtok_usd=Decimal(cost))
        table = PriceTable("2026", {"a:b": price})
        (directory / f"{table.digest}.toml").write_bytes(table.content)
    with pytest.raises(UsageError, match="2 price tables have the version `2026`: `2026@"):
        load_table(directory, "2026")


def test_damaged_table_is_an_error_until_a_request_stores_it_again(catalogue, directory):
    prices, model = StoredPrices(directory, catalogue), catalogue.resolve("sonnet")
    prices.store(model)
    (file,) = directory.iterdir()
    file.write_text(file.read_text().replace("15.0", "1.5", 1))
    with pytest.raises(ConfigError, match=f"`{re.escape(str(file))}` is damaged"):
        load_table(directory, prices.find_name(model))
    assert "is damaged" in describe_tables(directory, "2020")
    StoredPrices(directory, catalogue).store(model)
    assert load_table(directory, prices.find_name(model)) is not None


def test_file_that_cannot_be_opened_is_an_error_with_its_name(catalogue, directory):
    directory.mkdir(parents=True)
    file = directory / f"{'0' * 16}.toml"
    file.symlink_to(file.name)
    with pytest.raises(ConfigError, match=f"`{re.escape(str(file))}` cannot be read"):
        load_table(directory, "0" * 16)


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_unreadable_table_is_an_error_with_its_name(catalogue, directory):
    prices, model = StoredPrices(directory, catalogue), catalogue.resolve("sonnet")
    prices.store(model)
    (file,) = directory.iterdir()
    file.chmod(0)
    with pytest.raises(ConfigError, match="cannot be read: Permission denied"):
        load_table(directory, prices.find_name(model))


def test_directory_that_cannot_be_made_is_a_warning(catalogue, tmp_path):
    (tmp_path / "file").write_text("")
    prices = StoredPrices(tmp_path / "file" / "prices", catalogue)
    warning = prices.store(catalogue.resolve("sonnet"))
    assert warning is not None and "cannot be stored in" in warning


@pytest.mark.parametrize("name", ["nothing", "..", "../x", "/etc/passwd", "@", "x" * 5_000])
def test_other_names_mean_no_table(directory, name):
    assert load_table(directory, name) is None
    assert describe_tables(directory, name).startswith("No price table is stored")
