"""Keys in the system's keychain; the package `keyring` is a small one of the test."""

from types import SimpleNamespace

import pytest

from tests.providers.fakes import build_paths
from yourtool.errors import ConfigError
from yourtool.foundation.extras import build_install_command
from yourtool.settings.credentials import Credentials, FoundKey, Secret
from yourtool.settings.keychain import Keychain

CANARY = "sk-canary-0123456789abcdefghijklmnop"


class Vault:
    """A back end that counts how often it is read."""

    priority = 5.0

    def __init__(self):
        self.passwords = {}
        self.reads = 0

    def get_password(self, service, username):
        self.reads += 1
        return self.passwords.get((service, username))

    def set_password(self, service, username, password):
        self.passwords[service, username] = password

    def delete_password(self, service, username):
        del self.passwords[service, username]


class Refusing(Vault):
    def get_password(self, service, username):
        raise RuntimeError(f"locked {CANARY}")

    set_password = get_password


class Weak(Vault):
    priority = 0.5


class PlaintextKeyring(Vault):
    pass


class Alternative(Vault):
    pass


Alternative.__module__ = "keyrings.alt.file"


def keychain_of(backend):
    return Keychain(lambda name: SimpleNamespace(get_keyring=lambda: backend))


def missing_package(name):
    raise ImportError(name)


@pytest.fixture
def vault():
    return Vault()


@pytest.fixture
def credentials(tmp_path, vault):
    return Credentials(build_paths(tmp_path), {}, keychain=keychain_of(vault))


@pytest.mark.req("R-CRD-01", "T22")
def test_key_in_the_keychain_is_found_and_not_in_the_file(credentials, vault):
    origin = "https://api.example"
    assert credentials.save("p", CANARY, origin=origin, in_keychain=True) == "keychain"
    assert vault.passwords == {("yourtool", "p"): CANARY}
    assert CANARY not in credentials.path.read_text()
    assert credentials.find("p", origin=origin) == FoundKey(Secret(CANARY), "keychain")
    assert credentials.stored_keys() == {CANARY}
    assert credentials.find("p", origin="https://evil.example") is None
    assert credentials.origin("p") == origin
    problem = credentials.problem("p", origin="https://evil.example") or ""
    assert "the keychain was entered for `https://api.example`" in problem


def test_keychain_is_read_once_and_only_for_providers_with_a_key_there(credentials, vault):
    credentials.save("other", "key-of-file")
    assert credentials.get("other") == Secret("key-of-file")
    assert credentials.get("unknown") is None
    credentials.read_keychain()
    assert vault.reads == 0
    vault.passwords["yourtool", "p"] = CANARY
    credentials.path.write_text("schema_version = 1\n[providers.p]\nkeychain = true\n")
    for _ in range(3):
        assert credentials.get("p") == Secret(CANARY)
    assert vault.reads == 1


def test_file_precedes_the_keychain_unless_it_prefers_the_keychain(tmp_path, vault):
    vault.passwords["yourtool", "p"] = "key-of-keychain"
    path = tmp_path / "credentials.toml"
    for line, wanted in (("", "key-of-file"), ("prefer_keychain = true\n", "key-of-keychain")):
        path.write_text(
            f'schema_version = 1\n{line}[providers.p]\napi_key = "key-of-file"\nkeychain = true\n'
        )
        path.chmod(0o600)
        found = Credentials(build_paths(tmp_path), {}, keychain=keychain_of(vault))
        assert found.get("p") == Secret(wanted)
        assert found.stored_keys() == {"key-of-file", "key-of-keychain"}


def test_preferred_keychain_gets_new_keys(credentials, vault):
    credentials.path.write_text("schema_version = 1\nprefer_keychain = true\n")
    credentials.path.chmod(0o600)
    assert credentials.save("p", CANARY) == "keychain"
    assert "prefer_keychain = true" in credentials.path.read_text()
    assert credentials.save("p", CANARY, in_keychain=False) == str(credentials.path)
    assert vault.passwords == {}, "the replaced key is deleted"


def test_removed_key_is_deleted_from_the_keychain(credentials, vault):
    credentials.save("p", CANARY, in_keychain=True)
    assert credentials.remove("p")
    assert vault.passwords == {}
    assert credentials.get("p") is None
    assert not credentials.remove("p")


@pytest.mark.parametrize(
    "backend", [Weak(), PlaintextKeyring(), Alternative(), SimpleNamespace(backends=[Weak()])]
)
@pytest.mark.req("T22")
def test_backend_that_does_not_encrypt_is_rejected(tmp_path, backend):
    credentials = Credentials(build_paths(tmp_path), {}, keychain=keychain_of(backend))
    with pytest.raises(ConfigError, match="no keychain that encrypts keys"):
        credentials.save("p", CANARY, in_keychain=True)
    assert not credentials.path.exists()


def test_best_backend_of_several_is_used(tmp_path):
    vault = Vault()
    chain = keychain_of(SimpleNamespace(priority=10, backends=[PlaintextKeyring(), vault]))
    Credentials(build_paths(tmp_path), {}, keychain=chain).save("p", CANARY, in_keychain=True)
    assert vault.passwords == {("yourtool", "p"): CANARY}


def test_missing_package_is_named_with_the_extra(tmp_path):
    path = tmp_path / "credentials.toml"
    path.write_text("schema_version = 1\n[providers.p]\nkeychain = true\n")
    path.chmod(0o600)
    credentials = Credentials(build_paths(tmp_path), {}, keychain=Keychain(missing_package))
    assert credentials.get("p") is None
    assert f"install it with `{build_install_command('keyring')}`" in (
        credentials.problem("p") or ""
    )


def test_error_of_a_backend_does_not_contain_its_text(tmp_path):
    path = tmp_path / "credentials.toml"
    path.write_text("schema_version = 1\n[providers.p]\nkeychain = true\n")
    path.chmod(0o600)
    credentials = Credentials(build_paths(tmp_path), {}, keychain=keychain_of(Refusing()))
    assert credentials.get("p") is None
    problem = credentials.problem("p") or ""
    assert "the keychain refused: RuntimeError" in problem
    assert CANARY not in problem


def test_entry_without_a_key_is_invalid(credentials):
    credentials.path.write_text('schema_version = 1\n[providers.p]\norigin = "https://x"\n')
    credentials.path.chmod(0o600)
    assert "needs `api_key` or `keychain = true`" in (credentials.problem("p") or "")
