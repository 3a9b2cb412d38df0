"""`yourtool auth`: keys of the providers."""

import asyncio
import getpass
import os
import sys
import time

from msgspec import Struct

from yourtool.cli.arguments import Arguments
from yourtool.cli.output import open_settings, print_json, print_lines, print_table
from yourtool.errors import UsageError, YourtoolError
from yourtool.paths import Paths
from yourtool.providers.catalogue.discovery import check_key
from yourtool.providers.provider_specs import ProviderSpec
from yourtool.providers.registry import Registry
from yourtool.providers.urls import origin_of
from yourtool.run_result import ExitCode
from yourtool.settings.credentials import KEYCHAIN, Credentials

_MAX_KEY_BYTES = 16_384


class _Row(Struct, frozen=True):
    """The key of one provider as it is listed."""

    provider: str
    key: str | None
    source: str | None
    """`environment NAME`, `file PATH` or `keychain`."""
    origin: str
    """Where the key is sent."""
    problem: str | None


class _TestResult(Struct, frozen=True):
    """The answer of one provider to a request with its key."""

    provider: str
    ok: bool
    milliseconds: int
    message: str


def run(paths: Paths, arguments: Arguments) -> int:
    """List, store, remove or test keys."""
    config, credentials = open_settings(paths).config, Credentials(paths).read_keychain()
    registry = Registry(config, credentials, interactive=False)
    named = _find_provider(registry, arguments.action, arguments.words)
    match arguments.action:
        case "list":
            _list(registry, credentials, named, as_json=arguments.json)
        case "set":
            _set(registry, credentials, _required(named, "set"), in_keychain=arguments.in_keychain)
        case "remove":
            _remove(credentials, _required(named, "remove"))
        case _:
            return _test(registry, named, as_json=arguments.json)
    return ExitCode.ANSWERED


def _find_provider(registry: Registry, action: str, words: tuple[str, ...]) -> ProviderSpec | None:
    """Return the provider that was named; an error does not repeat words, which may be a key."""
    specs = {spec.name: spec for spec in registry.providers() if not spec.is_demo}
    match words:
        case []:
            return None
        case [name] if name in specs:
            return specs[name]
        case [_]:
            names = ", ".join(sorted(specs))
            raise UsageError(f"`auth {action}` takes the name of a provider: {names}")
        case _:
            raise UsageError(
                "a key is never an argument, because other programs and the history of your shell"
                " show it: `yourtool auth set PROVIDER` asks for it, or reads standard input."
                " Replace the key if you just typed it"
            )


def _required(named: ProviderSpec | None, action: str) -> ProviderSpec:
    if named is None:
        raise UsageError(f"name the provider: `yourtool auth {action} PROVIDER`")
    return named


def _list(
    registry: Registry, credentials: Credentials, named: ProviderSpec | None, *, as_json: bool
) -> None:
    rows = [
        _describe(registry, credentials, spec)
        for spec in registry.providers()
        if not spec.is_demo and named in (None, spec)
    ]
    if as_json:
        print_json(rows)
        return
    table = [
        (
            "✓" if each.key else "–",
            each.provider,
            each.key or "",
            each.source or "",
            each.problem or f"sent to {each.origin}",
        )
        for each in rows
    ]
    print_table(table)


def _describe(registry: Registry, credentials: Credentials, spec: ProviderSpec) -> _Row:
    origin = origin_of(spec.base_url) if spec.base_url else ""
    found = credentials.find(spec.name, spec.key_env, origin=origin or None)
    if found is None:
        problem = registry.configuration_problem(spec.name) or "no key required"
        return _Row(spec.name, None, None, origin, problem)
    source = found.source
    if source in spec.key_env:
        source = f"environment {source}"
    elif source != KEYCHAIN:
        source = f"file {source}"
    return _Row(spec.name, str(found.secret), source, origin, None)


def _set(
    registry: Registry, credentials: Credentials, spec: ProviderSpec, *, in_keychain: bool
) -> None:
    key = _read_key(spec)
    place = registry.save_key(spec.name, key, in_keychain=in_keychain or None)
    where = "the keychain" if place == KEYCHAIN else place
    found = credentials.find(spec.name, spec.key_env, origin=origin_of(spec.base_url))
    print_lines(
        f"Saved the key for {spec.name} in {where}.",
        f"It is sent only to {origin_of(spec.base_url)}.",
    )
    if found is not None and found.source in spec.key_env:
        print_lines(f"`{found.source}` is set in the environment and is used instead.")


def _read_key(spec: ProviderSpec) -> str:
    """Return the key from a hidden prompt or from standard input."""
    if sys.stdin.isatty():
        try:
            return getpass.getpass(f"API key for {spec.label} (hidden): ")
        except EOFError:
            return ""
    return sys.stdin.buffer.read(_MAX_KEY_BYTES).decode("utf-8-sig", "replace").strip()


def _remove(credentials: Credentials, spec: ProviderSpec) -> None:
    what = "Removed the key" if credentials.remove(spec.name) else "There is no stored key"
    print_lines(f"{what} for {spec.name}.")
    for variable in filter(os.environ.get, spec.key_env):
        print_lines(f"`{variable}` is still set in the environment.")


def _test(registry: Registry, named: ProviderSpec | None, *, as_json: bool) -> int:
    """Send one request per provider with a key; the exit code is 1 if a key does not work."""
    tested = [
        spec
        for spec in registry.providers()
        if not spec.is_demo and (spec == named if named else _has_key(registry, spec))
    ]
    if not tested:
        raise UsageError("no provider has a key; `yourtool auth set PROVIDER` stores one")
    results = asyncio.run(_test_all(registry, tested))
    if as_json:
        print_json(results)
    else:
        rows: list[tuple[str, ...]] = [
            ("✓" if each.ok else "✗", each.provider, each.message) for each in results
        ]
        print_table(rows)
    return ExitCode.ANSWERED if all(each.ok for each in results) else ExitCode.FAILED


def _has_key(registry: Registry, spec: ProviderSpec) -> bool:
    return spec.needs_key and registry.configuration_problem(spec.name) is None


async def _test_all(registry: Registry, specs: list[ProviderSpec]) -> list[_TestResult]:
    return list(await asyncio.gather(*(_test_one(registry, spec) for spec in specs)))


async def _test_one(registry: Registry, spec: ProviderSpec) -> _TestResult:
    started = time.monotonic()
    try:
        await check_key(registry, spec.name)
    except TimeoutError:
        return _TestResult(spec.name, False, _milliseconds(started), "no answer in time")
    except YourtoolError as error:
        return _TestResult(spec.name, False, _milliseconds(started), str(error))
    spent = _milliseconds(started)
    return _TestResult(spec.name, True, spent, f"works, {spent} ms")


def _milliseconds(started: float) -> int:
    return round((time.monotonic() - started) * 1000)
