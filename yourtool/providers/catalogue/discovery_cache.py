"""What servers said of their models when they were last asked, kept with the date.

The file is in the cache directory and may be deleted at any time. It holds no key and no header,
and it makes no provider known but servers of this machine.
"""

from collections.abc import Iterable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import msgspec
from msgspec import Struct

from yourtool.files import replace_file
from yourtool.models import Model
from yourtool.providers.catalogue.local_servers import well_known_servers
from yourtool.providers.catalogue.models import Catalogue
from yourtool.providers.provider_specs import ProviderSpec
from yourtool.providers.registry import Registry
from yourtool.providers.urls import origin_of
from yourtool.text import escape

FILE_NAME = "models.json"
_MAX_FILE_BYTES = 8 * 2**20


class DiscoveredModels(Struct, frozen=True, kw_only=True):
    """The models of one provider."""

    provider: str
    origin: str
    """Scheme, host and port that answered; at another address the answer means nothing."""
    at: datetime
    models: tuple[Model, ...]


def new_discovery(row: ProviderSpec, models: tuple[Model, ...]) -> DiscoveredModels:
    """Return what a provider has just said."""
    return DiscoveredModels(
        provider=row.name,
        origin=origin_of(row.base_url),
        at=datetime.now(UTC),
        models=models,
    )


def apply_discoveries(
    answers: Iterable[DiscoveredModels], registry: Registry, catalogue: Catalogue
) -> None:
    """Let the catalogue know the models of providers that are still where they were.

    Servers that were found on usual ports of this machine are made known as well.
    """
    usual = {row.name: row for row in well_known_servers()}
    for answer in answers:
        row = registry.spec(answer.provider) or usual.get(answer.provider)
        if row is None or origin_of(row.base_url) != answer.origin:
            continue
        registry.add_provider(row)
        own = (model for model in answer.models if model.provider == answer.provider)
        catalogue.add_discovered(answer.provider, own, answer.at)


def load_discoveries(file: Path) -> tuple[DiscoveredModels, ...]:
    """Return the answers that are kept.

    Raises:
        ValueError: the file is damaged; the text says what to tell the user.
    """
    try:
        if file.stat().st_size > _MAX_FILE_BYTES:
            raise ValueError("it is too large")
        return msgspec.json.decode(file.read_bytes(), type=tuple[DiscoveredModels, ...])
    except FileNotFoundError:
        return ()
    except (OSError, ValueError, RecursionError) as error:
        raise ValueError(
            f"What servers said of their models is not used: {escape(str(error))} in `{file}`."
            " `yourtool models --probe` writes it anew."
        ) from error


def save_discoveries(file: Path, answers: Iterable[DiscoveredModels]) -> None:
    """Keep these answers in place of earlier ones of the same providers.

    Raises:
        OSError: the file cannot be written.
    """
    kept: dict[str, DiscoveredModels] = {}
    with suppress(ValueError):
        kept = {answer.provider: answer for answer in load_discoveries(file)}
    kept |= {answer.provider: answer for answer in answers}
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    replace_file(file, msgspec.json.encode(tuple(kept.values())))
