"""Keys are found in the present settings, environment and credential file."""

import pytest

from yourtool.agent.session.known_secrets import build_mask, find_known_secrets
from yourtool.credentials import Credentials
from yourtool.paths import resolve_paths

SETTINGS = """
[providers.local]
api = "chat"
base_url = "http://127.0.0.1:1/v1"
[providers.local.headers]
X-Api-Key = "{}"
"""


@pytest.fixture
def paths(tmp_path, monkeypatch):
    monkeypatch.setenv("YOURTOOL_HOME", str(tmp_path))
    return resolve_paths()


def test_keys_are_those_of_the_present_settings_and_environment(paths, tmp_path):
    settings, environ = tmp_path / "config.toml", {"OPENAI_API_KEY": "in-the-environment-1"}
    assert find_known_secrets(paths, environ) == ("in-the-environment-1",)
    settings.write_text(SETTINGS.format("in-the-settings-1"))
    assert find_known_secrets(paths, environ) == ("in-the-environment-1", "in-the-settings-1")
    settings.write_text(SETTINGS.format("in-the-settings-2"))
    environ["OPENAI_API_KEY"] = "in-the-environment-2"
    assert find_known_secrets(paths, environ) == ("in-the-environment-2", "in-the-settings-2")
    settings.unlink()
    assert find_known_secrets(paths, environ) == ("in-the-environment-2",)


def test_key_that_was_just_stored_is_masked(paths):
    assert build_mask(paths, {}).text("a stored-key-123") == "a stored-key-123"
    Credentials(paths, {}).save("openai", "stored-key-123", origin="https://api.openai.com")
    assert build_mask(paths, {}).text("a stored-key-123") == "a [hidden key]"
