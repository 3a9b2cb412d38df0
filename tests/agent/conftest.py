"""One bench for each test."""

import pytest

from tests.agent.harness import Bench


@pytest.fixture
async def bench(tmp_path):
    bench = Bench(tmp_path)
    yield bench
    await bench.close()
