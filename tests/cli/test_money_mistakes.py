"""Mistakes about money: each is reported with the thing, the place and the way out."""

import re

import pytest

from yourtool.paths import resolve_paths
from yourtool.providers.catalogue.models import Catalogue
from yourtool.providers.catalogue.stored_prices import StoredPrices

pytestmark = [pytest.mark.usefixtures("own_logging"), pytest.mark.req("R-CST-03")]


@pytest.mark.parametrize("key", ["session", "day", "ask_above"])
@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("0", "a limit of 0 would stop every request; remove the line for no limit"),
        ("-1", "must be an amount in US dollars, more than 0 and at most 1,000,000"),
        ("1000000.01", "must be an amount in US dollars, more than 0 and at most 1,000,000"),
        ('"much"', "must be a number such as `0.50`, not `much`"),
        ("{ usd = 1 }", "got `object`"),
    ],
)
def test_each_budget_must_be_an_amount(line, key, value, message):
    file = line.home / "config.toml"
    file.write_text(f"[budget]\n{key} = {value}\n")
    for command in (("config", "check"), ("-p", "hi"), ("cost", "--reprice")):
        code, out, err = line(*command)
        assert (code == 2) is (command[0] == "config")
        assert f"{file}:2: `budget.{key}" in out + err and message in out + err


def test_misspelt_budget_has_the_nearest_key(line):
    (line.home / "config.toml").write_text("[budget]\nsesion = 1\n")
    code, out, err = line("config", "check")
    assert code == 2 and "did you mean `session`?" in out + err


@pytest.mark.parametrize("amount", ["-1", "much", "nan", "inf", "", "1e400000000000000000000"])
def test_limit_of_a_run_must_be_an_amount(line, amount):
    code, out, err = line("-p", f"--max-cost={amount}", "hi")
    assert (code, out) == (2, "")
    assert f"`{amount}` is not an amount in dollars such as `0.50`" in err


def _damage(file):
    file.write_bytes(file.read_bytes()[:100])


def _empty(file):
    file.write_bytes(b"")


def _make_unreadable(file):
    file.unlink()
    file.symlink_to(file.name)


def _make_directory(file):
    file.unlink()
    file.mkdir()


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (_damage, "`{file}` is damaged: .* Delete it; the next request at these prices"),
        (_empty, "`{file}` is damaged: .* Delete it; the next request at these prices"),
        (_make_unreadable, "`{file}` cannot be read: "),
        (_make_directory, "`{file}` cannot be read: Is a directory"),
    ],
)
def test_spoilt_stored_table_is_named_and_today_s_prices_still_work(line, spoil, message):
    paths = resolve_paths()
    catalogue = Catalogue.load(paths)
    StoredPrices(paths.price_tables, catalogue).store(catalogue.resolve("sonnet"))
    (file,) = paths.price_tables.iterdir()
    spoil(file)
    expected = message.format(file=re.escape(str(file)))
    for name in (catalogue.price_table.name, file.stem, catalogue.pricing_version):
        code, out, err = line("cost", "--reprice", name)
        assert (code, out) == (2, "") and re.search(expected, err)
    assert line("cost", "--reprice") == (0, "No requests are stored.\n", "")
    if not file.is_dir():
        StoredPrices(paths.price_tables, catalogue).store(catalogue.resolve("sonnet"))
        assert line("cost", "--reprice", file.stem)[0] == 0


def test_mistake_in_your_own_prices_is_named_by_every_report_that_uses_them(line):
    file = line.home / "prices.toml"
    file.write_text('pricing_version = "x"\n[models."a:b"]\ninput_per_mtok_usd = "much"\n')
    for options in (("--reprice",), ("--as-model", "sonnet")):
        code, out, err = line("cost", *options)
        assert (code, out) == (2, "")
        assert f"{file}:3: `models.'a:b'.input_per_mtok_usd`: must be a number" in err.replace(
            '"', "'"
        )
    assert line("cost")[0] == 0
