"""Keys are found in the present settings, environment and credential file."""

import pytest

from yourtool.agent.input.user_shell import add_assignments
from yourtool.agent.session.known_secrets import build_mask, find_known_secrets
from yourtool.paths import resolve_paths
from yourtool.settings.credentials import Credentials

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


@pytest.mark.parametrize(
    ("url", "text"),
    [
        ("postgres://me:S3cret-pw@host/db", "postgres://me:S3cret-pw@host/db"),
        ("postgres://me:S3cret-pw@host/db", "password S3cret-pw"),
        ("postgres://me:S3cret%21pw@host/db", "password S3cret!pw"),
        ("postgres://me:plainword@localhost/db", "postgres://me:plainword@localhost/db"),
        ("postgres://me:plainword@localhost/db", "postgres://me:plainword@localhost/other"),
    ],
)
def test_url_with_a_password_and_the_password_are_masked(paths, url, text):
    masked = build_mask(paths, {"DATABASE_URL": url}).text(text)
    assert "[hidden key]" in masked
    assert not any(each in masked for each in ("S3cret", "plainword"))


def test_password_that_is_an_ordinary_word_is_not_masked_alone(paths):
    mask = build_mask(paths, {"DATABASE_URL": "postgres://postgres:postgres@localhost/db"})
    assert mask.text("the postgres server") == "the postgres server"


def test_short_secret_is_masked_with_its_name_in_the_output_of_the_user(paths):
    environ = {"DB_PASSWORD": "correcthorse"}
    mask = add_assignments(build_mask(paths, environ), environ)
    assert build_mask(paths, environ).text("DB_PASSWORD=correcthorse").endswith("correcthorse")
    assert mask.text("A=1\nDB_PASSWORD=correcthorse\n") == "A=1\n[hidden key]\n"
    assert mask.text('declare -x DB_PASSWORD="correcthorse"') == "declare -x [hidden key]"
    assert mask.text("a correcthorse") == "a correcthorse"


def test_secret_that_a_setting_gives_to_commands_is_masked(paths, tmp_path):
    settings = '[shell.environment]\nset = { MY_TOKEN = "abcdefgh12345678" }\n'
    (tmp_path / "config.toml").write_text(settings)
    assert build_mask(paths, {}).text("abcdefgh12345678") == "[hidden key]"
