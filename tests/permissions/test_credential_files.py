import os

import pytest

from yourtool.permissions.credential_files import find_linked_files, is_credential_file


@pytest.mark.parametrize(
    "path",
    [
        ".env", ".env.local", ".env.production", ".env-old", "sub/.env", ".envrc", ".ENV",
        ".\u200benv", ".env ", "/home/me/.ssh/config", ".ssh", ".ssh/id_rsa", ".aws/credentials",
        ".gnupg/secring.gpg", ".netrc", "_netrc", ".npmrc", ".pypirc", ".git-credentials",
        ".config/gcloud/access_tokens.db", ".config/gh/hosts.yml", ".kube/config",
        ".docker/config.json", ".cargo/credentials.toml", "id_rsa", "keys/id_ed25519",
        "id_rsa.bak", "server.pem", "tls/server.key", "store.p12", "app.keystore",
        "credentials.json", "credentials-prod.json", "client_secret_123.json",
        "service-account.json", "service_account.json", "credentials", "secrets.yaml",
        ".yourtool/config.toml", ".azure/accessTokens.json", "vault.kdbx", ".pgpass",
    ],
)  # fmt: skip
def test_well_known_credential_file_is_recognized(path):
    assert is_credential_file(path)


@pytest.mark.parametrize(
    "path",
    [
        ".", "src/app.py", ".env.example", ".env.sample", ".env.template", ".env.local.example",
        "environment.py", "env", "src/credentials.py", "docs/credentials.md", "id_rsa.pub",
        "docker/config.json", "kube/config", "config.json", "keys.py", "src/key.ts", "monkey",
        "package.json", "secrets.py", ".gitignore", "service-account.md", "example.pem", ".config",
        ".docker/Dockerfile", "id_rsa_loader/main.py",
    ],
)  # fmt: skip
def test_ordinary_file_is_not_a_credential_file(path):
    assert not is_credential_file(path)


@pytest.mark.parametrize("path", [".ssh/config.example", ".kube/config/sample", ".aws/x.dist"])
def test_example_name_is_no_exception_in_a_credential_directory(path):
    assert is_credential_file(path)


@pytest.mark.parametrize(
    "name", [".env", ".ssh/id_rsa", ".ssh/hosts/a", ".config/gh/hosts.yml", ".kube/config"]
)
def test_hard_link_to_a_credential_file_is_found_by_its_inode(tmp_path, name):
    secret = tmp_path / "home" / name
    secret.parent.mkdir(parents=True)
    secret.write_text("4711")
    assert not find_linked_files([tmp_path / "home", tmp_path / "missing"])
    os.link(secret, tmp_path / "notes.txt")
    status = secret.stat()
    assert find_linked_files([tmp_path / "home"]) == {(status.st_dev, status.st_ino)}


def test_hard_linked_ordinary_file_is_no_credential_file(tmp_path):
    for name in ("notes.txt", ".config/app.toml", "project/.env"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("x")
        os.link(path, tmp_path / f"link to {path.name}")
    os.mkfifo(tmp_path / ".netrc")
    os.link(tmp_path / ".netrc", tmp_path / "fifo")
    assert not find_linked_files([tmp_path])
