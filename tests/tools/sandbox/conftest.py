import pytest

from tests.tools.sandbox.levels import find_reason
from yourtool.settings.sandbox_config import SandboxLevel


@pytest.fixture(autouse=True, scope="session")
def measured_levels():
    """Measure the machine before the tests, whose event loops must not block."""
    for level in (SandboxLevel.FULL, SandboxLevel.LANDLOCK):
        find_reason(level)


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A home directory of the test, which is not that of who runs it."""
    path = tmp_path / "home"
    path.mkdir()
    monkeypatch.setenv("HOME", str(path))
    return path
