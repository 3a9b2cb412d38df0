"""A directory for the scripts of hooks."""

import pytest

from tests.agent.hooks.scripts import Scripts


@pytest.fixture
def scripts(tmp_path):
    directory = tmp_path / "scripts"
    directory.mkdir()
    return Scripts(directory)
