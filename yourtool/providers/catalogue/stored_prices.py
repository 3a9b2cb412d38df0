"""Store of price tables.

A table is stored when it is used for a request for the first time, so that the `pricing_version` of
a stored request names prices that are still there. A file never changes.
"""

import logging
from pathlib import Path

from yourtool.errors import ConfigError, UsageError
from yourtool.foundation.files import replace_file, sync_directory
from yourtool.foundation.suggestions import find_closest
from yourtool.models import Model
from yourtool.providers.catalogue.models import Catalogue
from yourtool.providers.catalogue.price_tables import PriceTable, get_digest, read_price_file

_MAX_BYTES = 8 * 2**20
_LISTED = 10
"""Tables that an error names."""

_log = logging.getLogger(__name__)


class StoredPrices:
    """The price tables of the requests of a process."""

    def __init__(self, directory: Path, catalogue: Catalogue) -> None:
        """`directory` may not exist yet."""
        self._directory = directory
        self._catalogue = catalogue
        self._stored: set[str] = set()

    def find_name(self, model: Model) -> str:
        """Return the name of the table with the price of a model."""
        return self._find_table(model).name

    def store(self, model: Model) -> str | None:
        """Store the table with the price of a model, unless it is stored; blocks.

        Return a warning if that failed; the next request tries it again.
        """
        if model.price is None:
            return None
        table = self._find_table(model)
        if table.digest in self._stored:
            return None
        try:
            _write(self._directory, table)
        except OSError as error:
            _log.warning("the price table `%s` is not stored", table.name, exc_info=True)
            return (
                f"The price table of `{model.id}` cannot be stored in `{self._directory}`:"
                f" {error.strerror or error}. `yourtool cost` cannot use it for other requests."
            )
        self._stored.add(table.digest)
        return None

    def _find_table(self, model: Model) -> PriceTable:
        """Return the table of the files, or a table of one model for a price from elsewhere."""
        table = self._catalogue.price_table
        if not model.price_as_of and table.find(model.id) == model.price:
            return table
        prices = {} if model.price is None else {model.id: model.price}
        return PriceTable(model.price_as_of or table.version, prices)


def load_table(directory: Path, name: str) -> PriceTable | None:
    """Return a stored table by its name, its digest or its version; None: there is no such table.

    Raises:
        UsageError: several tables have this version.
        ConfigError: the file is damaged or cannot be read.
    """
    version, _, digest = name.rpartition("@")
    if (file := _get_file(directory, digest)) in _list_files(directory):
        table = _read(file)
        return table if version in ("", table.version) else None
    found = [table for table in _read_all(directory)[0] if table.version == name]
    if len(found) > 1:
        names = ", ".join(f"`{table.name}`" for table in found[:_LISTED])
        raise UsageError(f"{len(found)} price tables have the version `{name}`: {names}")
    return found[0] if found else None


def describe_tables(directory: Path, name: str) -> str:
    """Return a sentence with the stored tables, the one with the most similar name first."""
    tables, problems = _read_all(directory)
    names = [table.name for table in tables]
    if problems:
        return problems[0]
    if not names:
        return f"No price table is stored in `{directory}` yet."
    close = find_closest(name, names)
    ordered = sorted(names, key=lambda each: (each != close, each))
    rest = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return f"The stored tables are {', '.join(f'`{each}`' for each in ordered[:_LISTED])}{rest}."


def _get_file(directory: Path, digest: str) -> Path:
    return directory / f"{digest}.toml"


def _list_files(directory: Path) -> list[Path]:
    try:
        return sorted(directory.glob("*.toml"))
    except OSError as error:
        raise ConfigError(f"{directory}: {error.strerror}") from error


def _read_all(directory: Path) -> tuple[list[PriceTable], list[str]]:
    """Return all sound tables, and what is wrong with the others."""
    tables, problems = list[PriceTable](), list[str]()
    for file in _list_files(directory):
        try:
            tables.append(_read(file))
        except ConfigError as error:
            problems.append(str(error))
    return tables, problems


def _read(file: Path) -> PriceTable:
    """Return the table of a file.

    Raises:
        ConfigError: its content does not have the digest of its name, or cannot be read.
    """
    try:
        with file.open("rb") as opened:
            content = opened.read(_MAX_BYTES + 1)
    except OSError as error:
        raise ConfigError(
            f"The stored price table `{file}` cannot be read: {error.strerror}"
        ) from error
    if get_digest(content) != file.stem:
        raise ConfigError(
            f"The stored price table `{file}` is damaged: its content differs from what was stored."
            " Delete it; the next request at these prices stores it again."
        )
    prices, version = read_price_file(file)
    return PriceTable(version, prices)


def _write(directory: Path, table: PriceTable) -> None:
    """Write a table, unless its file has this content already.

    Raises:
        OSError: it cannot be written.
    """
    directory.mkdir(0o700, parents=True, exist_ok=True)
    file = _get_file(directory, table.digest)
    if not _has_content(file, table.content):
        replace_file(file, table.content)
        sync_directory(directory)


def _has_content(file: Path, content: bytes) -> bool:
    try:
        return file.read_bytes() == content
    except OSError:
        return False
