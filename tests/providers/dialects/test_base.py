"""The packages of the dialects implement the interface of `dialects/base.py`."""

import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest

from yourtool.config import Api
from yourtool.providers import dialects
from yourtool.providers.dialects.base import DialectSpec
from yourtool.providers.provider_specs import ProviderSpec
from yourtool.providers.registry import load_dialect, load_dialect_spec

APIS = get_args(Api)
LOAD_REGISTRY = """
import sys
from yourtool.config import Config
from yourtool.credentials import Credentials
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


def test_registry_imports_no_code_for_requests_and_responses():
    done = subprocess.run(
        [sys.executable, "-c", LOAD_REGISTRY], capture_output=True, text=True, check=True
    )
    loaded = [name for name in done.stdout.split() if name.startswith(dialects.__name__ + ".")]
    assert {name.rpartition(".")[2] for name in loaded} & {"spec"}
    assert not {name.rpartition(".")[2] for name in loaded} & {"dialect", "request", "response"}
    assert "yourtool.providers.replies.reply" not in done.stdout.split()
