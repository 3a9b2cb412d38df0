"""Cache of discovered models.

It contains the models that servers listed and the results of test requests, with their dates. The
file is in the cache directory and can be deleted at any time. It contains no keys and no headers,
and adds no providers except local servers.
"""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from yourtool.foundation.files import replace_file
from yourtool.foundation.text import escape
from yourtool.models import Model
from yourtool.providers.catalogue.local_servers import well_known_servers
from yourtool.providers.catalogue.models import Catalogue
from yourtool.providers.catalogue.trials import ModelTrial
from yourtool.providers.provider_specs import ProviderSpec
from yourtool.providers.registry import Registry
from yourtool.providers.urls import origin_of

FILE_NAME = "models.json"
_MAX_FILE_BYTES = 8 * 2**20


class DiscoveredModels(Struct, frozen=True, kw_only=True):
    """The models of one provider."""

    provider: str
    origin: str
    """Scheme, host and port that answered; the entry is ignored for any other origin."""
    at: datetime
    models: tuple[Model, ...]
    trials: tuple[ModelTrial, ...] = ()
    """The last one of each model."""


def new_discovery(row: ProviderSpec, models: tuple[Model, ...]) -> DiscoveredModels:
    """Return a cache entry for models that a provider has just listed."""
    return DiscoveredModels(
        provider=row.name,
        origin=origin_of(row.base_url),
        at=datetime.now(UTC),
        models=models,
    )


def apply_discoveries(
    answers: Iterable[DiscoveredModels], registry: Registry, catalogue: Catalogue
) -> None:
    """Add the cached models of providers whose origin is unchanged to the catalogue.

    Local servers on well-known ports are added to the registry as well.
    """
    usual = {row.name: row for row in well_known_servers()}
    for answer in answers:
        row = registry.spec(answer.provider) or usual.get(answer.provider)
        if row is None or origin_of(row.base_url) != answer.origin:
            continue
        registry.add_provider(row)
        own = (model for model in answer.models if model.provider == answer.provider)
        catalogue.add_discovered(answer.provider, own, answer.at)
        catalogue.add_trials(
            trial for trial in answer.trials if trial.model.startswith(f"{answer.provider}:")
        )


def restore_discoveries(file: Path, registry: Registry, catalogue: Catalogue) -> list[str]:
    """Add the models in the cache to the catalogue; return messages for the user.

    The catalogue offers the models of the providers in the registry only.
    """
    catalogue.offer(row.name for row in registry.providers())
    try:
        apply_discoveries(load_discoveries(file), registry, catalogue)
    except ValueError as error:
        return [str(error)]
    return []


def load_discoveries(file: Path) -> tuple[DiscoveredModels, ...]:
    """Read the cache.

    Raises:
        ValueError: the file is damaged; the message is for the user.
    """
    try:
        if file.stat().st_size > _MAX_FILE_BYTES:
            raise ValueError("it is too large")
        return msgspec.json.decode(file.read_bytes(), type=tuple[DiscoveredModels, ...])
    except FileNotFoundError:
        return ()
    except (OSError, ValueError, RecursionError) as error:
        raise ValueError(
            f"The cached model lists are not used: {escape(str(error))} in `{file}`."
            " `yourtool models --probe` writes a new one."
        ) from error


def save_discoveries(file: Path, answers: Iterable[DiscoveredModels]) -> None:
    """Write entries to the cache; they replace earlier ones of the same providers.

    Earlier trials remain if the origin is the same.

    Raises:
        OSError: the file cannot be written.
    """
    entries = _load_by_provider(file)
    for answer in answers:
        earlier = entries.get(answer.provider)
        if earlier is not None and earlier.origin == answer.origin:
            trials = {trial.model: trial for trial in (*earlier.trials, *answer.trials)}
            answer = replace(answer, trials=tuple(trials.values()))
        entries[answer.provider] = answer
    _write(file, entries)


def save_trial(file: Path, row: ProviderSpec, trial: ModelTrial) -> None:
    """Add the result of test requests to the entry of the provider.

    Raises:
        OSError: the file cannot be written.
    """
    entry = _load_by_provider(file).get(row.name)
    if entry is None or entry.origin != origin_of(row.base_url):
        entry = new_discovery(row, ())
    save_discoveries(file, [replace(entry, trials=(trial,))])


def _load_by_provider(file: Path) -> dict[str, DiscoveredModels]:
    """Return the entries of the cache; empty if it is damaged."""
    with suppress(ValueError):
        return {answer.provider: answer for answer in load_discoveries(file)}
    return {}


def _write(file: Path, entries: Mapping[str, DiscoveredModels]) -> None:
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    replace_file(file, msgspec.json.encode(tuple(entries.values())))
