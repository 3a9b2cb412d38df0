import logging
import os
import stat

import pytest

from tests.providers.fakes import build_paths
from yourtool.errors import ConfigError, UsageError
from yourtool.settings.credentials import Credentials, FoundKey, Secret

CANARY = "sk-canary-0123456789abcdefghijklmnop"
ENV = ("P_API_KEY", "P_TOKEN")


@pytest.fixture
def open_credentials(tmp_path):
    def opener(environ=None, explicit=None):
        return Credentials(build_paths(tmp_path), environ or {}, explicit)

    return opener


def write(path, text, mode=0o600):
    path.write_text(text)
    path.chmod(mode)


def key_file(key):
    return f'schema_version = 1\n[providers.p]\napi_key = "{key}"\n'


SOURCES = ["explicit", "P_API_KEY", "P_TOKEN", "file"]


@pytest.mark.parametrize(
    ("first", "second"),
    [(one, other) for i, one in enumerate(SOURCES) for other in SOURCES[i:]],
)
@pytest.mark.req("R-CRD-01")
def test_the_first_source_with_a_key_wins(open_credentials, tmp_path, first, second):
    present = {first, second}
    if "file" in present:
        write(tmp_path / "credentials.toml", key_file("key-of-file"))
    credentials = open_credentials(
        {name: f"key-of-{name}" for name in ENV if name in present},
        {"p": "key-of-explicit"} if "explicit" in present else None,
    )
    place = {"explicit": "command line", "file": str(tmp_path / "credentials.toml")}
    source = place.get(first, first)
    assert credentials.find("p", ENV) == FoundKey(Secret(f"key-of-{first}"), source)
    assert credentials.get("p", ENV) == Secret(f"key-of-{first}")
    assert credentials.source("p", ENV) == source
    if "P_API_KEY" not in present and "P_TOKEN" not in present:
        assert (credentials.get("other", ENV), credentials.source("other", ENV)) == (None, None)


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604, 0o620, 0o666])
@pytest.mark.req("R-CRD-01")
def test_a_file_that_others_can_reach_is_refused_with_the_command_to_run(
    open_credentials, tmp_path, mode
):
    path = tmp_path / "credentials.toml"
    write(path, key_file(CANARY), mode)
    credentials = open_credentials()
    assert credentials.get("p") is None
    problem = credentials.problem("p") or ""
    assert f"run `chmod 600 {path}`" in problem
    assert CANARY not in problem
    with pytest.raises(ConfigError, match="chmod 600"):
        credentials.save("q", "another")
    path.chmod(0o600)
    assert credentials.get("p") == Secret(CANARY)
    assert credentials.problem("p") is None


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ('schema_version = 2\n[providers.p]\napi_key = "KEY"\n', "reads version 1"),
        ('[providers.p]\napi_key = "KEY"\n', "schema_version"),
        ('schema_version = 1\n[providers]\np = "KEY"\n', "Expected `object`, got `str`"),
        ('schema_version = 1\n[providers.p]\nkey = "KEY"\n', "unknown field `key`"),
        ('schema_version = 1\nmore = "KEY"\n', "unknown field `more`"),
        ("KEY\n", "is not TOML"),
        ('schema_version = 1\n[providers.p]\napi_key = KEY"\n', "is not TOML"),
        ("\xff", "is not TOML"),
        ("a = " + "[" * 5_000, "is not TOML"),
        ("a = " + "9" * 5_000, "is not TOML"),
    ],
)
@pytest.mark.req("R-CRD-01")
def test_a_file_of_an_unknown_form_is_refused_and_never_overwritten(
    open_credentials, tmp_path, content, complaint
):
    path = tmp_path / "credentials.toml"
    path.write_bytes(content.replace("KEY", CANARY).encode("latin-1"))
    path.chmod(0o600)
    before = path.read_bytes()
    credentials = open_credentials()
    assert credentials.get("p") is None
    problem = credentials.problem("p") or ""
    assert complaint in problem
    assert str(path) in problem
    assert CANARY not in problem
    with pytest.raises(ConfigError) as caught:
        credentials.save("p", "another")
    assert CANARY not in str(caught.value)
    assert path.read_bytes() == before


@pytest.mark.req("R-CRD-01", "R-CRD-05")
def test_a_saved_key_is_found_again_in_a_private_file(open_credentials, tmp_path):
    home = tmp_path / "new" / "home"
    umask = os.umask(0)
    try:
        credentials = Credentials(build_paths(home), {})
        credentials.save("p", f"  {CANARY}\n")
        credentials.save("odd name.é", 'a"b\\c')
        credentials.save("p", CANARY + "2")
    finally:
        os.umask(umask)
    assert stat.S_IMODE(credentials.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(home.stat().st_mode) == 0o700
    assert [path.name for path in home.iterdir()] == ["credentials.toml"]
    again = Credentials(build_paths(home), {})
    assert again.get("p") == Secret(CANARY + "2")
    assert again.get("odd name.é") == Secret('a"b\\c')


@pytest.mark.parametrize("key", ["", "  ", "two words", "ключ", "line\nbreak", "bell\a"])
def test_an_invalid_key_is_not_saved(open_credentials, key):
    credentials = open_credentials()
    with pytest.raises(UsageError, match="nothing was saved"):
        credentials.save("p", key)
    assert not credentials.path.exists()


def test_a_directory_that_cannot_be_written_is_named(open_credentials, tmp_path):
    (tmp_path / "file").write_text("")
    credentials = Credentials(build_paths(tmp_path / "file"), {})
    with pytest.raises(ConfigError, match="cannot be"):
        credentials.save("p", CANARY)
    assert credentials.get("p") is None


def test_an_empty_or_invalid_variable_is_ignored(open_credentials):
    assert open_credentials({"P_API_KEY": " "}).get("p", ENV) is None
    odd = open_credentials({"P_API_KEY": "not a key", "P_TOKEN": f" {CANARY}\n"})
    assert odd.find("p", ENV) == FoundKey(Secret(CANARY), "P_TOKEN")
    assert "`P_API_KEY` contains spaces" in (odd.problem("p", ENV) or "")


def test_a_stored_key_is_only_returned_for_its_origin(open_credentials):
    credentials = open_credentials()
    credentials.save("p", CANARY, origin="https://api.example")
    assert credentials.get("p", origin="https://api.example") == Secret(CANARY)
    assert credentials.get("p", origin="https://evil.example") is None
    problem = credentials.problem("p", origin="https://evil.example") or ""
    assert "entered for `https://api.example`, not `https://evil.example`" in problem
    environment = open_credentials({"P_API_KEY": "k"})
    assert environment.get("p", ENV, origin="https://evil.example") == Secret("k")


@pytest.mark.parametrize(
    ("key", "shown"),
    [
        (CANARY, "sk-canar…mnop"),
        ("a" * 24, "aaaaaaaa…aaaa"),
        ("a" * 23, "***"),
        ("short", "***"),
        ("", "***"),
    ],
)
@pytest.mark.req("R-CRD-02")
def test_a_key_shows_only_its_ends_and_a_short_one_nothing(key, shown):
    secret = Secret(key)
    assert str(secret) == f"{secret}" == shown
    assert repr(secret) == f"Secret({shown})"
    assert secret.reveal() == key


@pytest.mark.req("R-CRD-02")
def test_a_canary_is_in_no_repr_no_log_and_no_error(open_credentials, caplog):
    credentials = open_credentials({"P_API_KEY": CANARY}, {"q": CANARY})
    credentials.save("p", CANARY)
    found = credentials.find("p", ENV)
    with caplog.at_level(logging.DEBUG):
        logging.getLogger("t").warning("%s %r %s", found, credentials, [credentials.get("q")])
    shown = f"{found} {found!r} {credentials} {credentials!r} {caplog.text}"
    assert "0123456789" not in shown
    assert "sk-canar…mnop" in shown
