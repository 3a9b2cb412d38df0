"""The prices of `yourtool cost --reprice` and `--as-model`."""

import os
from contextlib import suppress
from pathlib import Path

from yourtool.agent.money.repriced_costs import Pricing
from yourtool.cli.arguments import Arguments
from yourtool.cli.output import open_settings
from yourtool.errors import UnknownModelError, UsageError
from yourtool.foundation.files import is_file
from yourtool.foundation.suggestions import find_closest
from yourtool.models import Model, Price
from yourtool.paths import Paths
from yourtool.providers.catalogue import discovery_cache
from yourtool.providers.catalogue.models import Catalogue
from yourtool.providers.catalogue.price_tables import PriceTable
from yourtool.providers.catalogue.stored_prices import describe_tables, load_table
from yourtool.providers.registry import Registry
from yourtool.settings.credentials import Credentials


def find_pricing(paths: Paths, arguments: Arguments) -> Pricing | None:
    """Return the prices that the options name; None: neither option is given.

    Raises:
        UsageError: there is no such table or file, or the model has no price in it.
        UnknownModelError: no model has this name.
        ConfigError: a file is damaged, invalid or unreadable.
    """
    name = arguments.reprice
    if name is None and arguments.as_model is None:
        return None
    stored = load_table(paths.price_tables, name) if name else None
    file = None if stored or not name else _find_file(paths, name)
    catalogue = _load_catalogue(paths, file)
    pricing = _build_pricing(catalogue, stored)
    if arguments.as_model is None:
        return pricing
    model = catalogue.resolve(arguments.as_model)
    if pricing.find_price(model.id) is None:
        raise _no_price_error(model, pricing.name, stored or catalogue.price_table, catalogue)
    return Pricing(name=pricing.name, find_price=pricing.find_price, as_model=model)


def _find_file(paths: Paths, name: str) -> Path:
    with suppress(OSError, RuntimeError):  # the name is too long, or of no user
        if is_file(file := Path(name).expanduser()):
            return file
    problem = f"`--reprice {name}` is neither a stored price table nor a file"
    raise UsageError(f"{problem}. {describe_tables(paths.price_tables, name)}")


def _load_catalogue(paths: Paths, prices_file: Path | None) -> Catalogue:
    catalogue = Catalogue.load(paths, prices_file=prices_file)
    registry = Registry(
        open_settings(paths).config, Credentials(paths), os.environ, interactive=False
    )
    found = paths.cache / discovery_cache.FILE_NAME
    discovery_cache.restore_discoveries(found, registry, catalogue)
    return catalogue


def _build_pricing(catalogue: Catalogue, stored: PriceTable | None) -> Pricing:
    """Return the prices of a stored table, or those of the files and of the providers' lists."""
    if stored is not None:
        return Pricing(name=stored.name, find_price=stored.find)

    def find_price(model_id: str) -> Price | None:
        try:
            return catalogue.get(model_id).price
        except UnknownModelError:  # a stored id of another form
            return None

    return Pricing(name=catalogue.price_table.name, find_price=find_price)


def _no_price_error(
    model: Model, table_name: str, table: PriceTable, catalogue: Catalogue
) -> UsageError:
    known = [each.id for each in catalogue.all() if each.price is not None]
    close = find_closest(model.id, {*known, *table.prices})
    hint = f"did you mean `{close}`? Or add" if close and close != model.id else "add"
    return UsageError(
        f"`{model.id}` has no price in `{table_name}`; {hint} its price to `prices.toml`"
        " (docs/models.md)"
    )
