import pytest

from tests.tools.contexts import Contexts


@pytest.fixture
def root(tmp_path):
    path = tmp_path / "ws"
    path.mkdir()
    return path


@pytest.fixture
def contexts(root, tmp_path):
    spill = tmp_path / "spill"
    spill.mkdir(mode=0o700)
    return Contexts(root, spill)


@pytest.fixture
def context(contexts):
    return contexts()
