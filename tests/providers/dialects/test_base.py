"""The packages of the dialects implement the interface of `dialects/base.py`."""

import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest

from yourtool.providers import dialects
from yourtool.providers.dialects.base import DialectSpec
from yourtool.providers.provider_specs import ProviderSpec
from yourtool.providers.registry import load_dialect, load_dialect_spec
from yourtool.settings.config import Api

APIS = get_args(Api)
LOAD_REGISTRY = """
import sys
from yourtool.settings.config import Config
from yourtool.settings.credentials import Credentials
from yourtool.paths import resolve_paths
from yourtool.providers.registry import Registry
Registry(Config(), Credentials(resolve_paths()))
print(*sys.modules)
"""


def row(api: Api) -> ProviderSpec:
    return ProviderSpec(name="acme", api=api, base_url="https://acme.example", label="Acme")


def test_every_package_is_that_of_an_api():
    folder = Path(dialects.__path__[0])
    packages = {path.parent.name for path in folder.glob("*/__init__.py")}
    assert packages == {api.replace("-", "_") for api in APIS}


@pytest.mark.parametrize("api", APIS)
def test_every_api_has_a_spec_and_a_dialect(api):
    spec = load_dialect_spec(row(api))
    assert isinstance(spec, DialectSpec)
    assert spec.api == api
    dialect = load_dialect(row(api))
    assert dialect.api
    assert dialect.build_parser


def test_registry_imports_no_dialect_before_its_first_use():
    done = subprocess.run(
        [sys.executable, "-c", LOAD_REGISTRY], capture_output=True, text=True, check=True
    )
    loaded = set(done.stdout.split())
    packages = {name for name in loaded if name.startswith(f"{dialects.__name__}.")}
    assert packages == {"yourtool.providers.dialects.base"}
    assert "yourtool.providers.replies.reply" not in loaded
