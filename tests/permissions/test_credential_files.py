import os

import pytest

from tests.doubling import LINEAR, growth
from yourtool.permissions import credential_files
from yourtool.permissions.credential_files import (
    credential_names,
    find_linked_files,
    find_named_credential,
    is_credential_file,
)

DIRECTORIES = ".ssh .gnupg .aws .azure .oci .password-store .yourtool"
NAMES = """
.netrc _netrc .authinfo .npmrc .yarnrc .yarnrc.yml .pypirc .git-credentials .pgpass .my.cnf
.htpasswd .dockercfg .s3cfg .boto .vault-token .terraformrc .credentials credentials kubeconfig
secrets.toml secrets.yaml secrets.yml secrets.json .env .env.local id_rsa id_dsa id_ecdsa id_ed25519
id_rsa.old id_dsa-1 id_ecdsa_x id_ed25519.a a.pem a.key a.p12 a.pfx a.jks a.keystore a.kdbx a.ppk
credentials.json credentials-a.toml credentials.yaml credentials.yml client_secret.json
client_secret_1.toml client_secret.yaml client_secret.yml service-account.json service_account.toml
service-account-1.yaml service_account.yml
"""
PAIRS = """
.config/gcloud .config/gh .config/op .config/rclone .kube/config .docker/config.json
.cargo/credentials .cargo/credentials.toml .gem/credentials .m2/settings.xml
.gradle/gradle.properties .terraform.d/credentials.tfrc.json .codex/auth.json
.gemini/oauth_creds.json
"""
EXAMPLES = "example sample template tmpl dist pub"


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


@pytest.mark.parametrize("name", NAMES.split())
def test_name_of_a_credential_file_is_recognized_in_every_directory(name):
    for path in (name, f"a/b/{name}", name.upper(), f"/home/me/{name}"):
        assert is_credential_file(path)
    assert not is_credential_file(f"{name}/a")
    assert credential_names("a", ["b", name, "c"]) == {name}


@pytest.mark.parametrize("name", DIRECTORIES.split())
def test_everything_in_a_directory_of_credentials_is_recognized(name):
    for path in (name, f"{name}/a", f"a/{name}/b/c.py", f"{name.upper()}/a"):
        assert is_credential_file(path)
    assert not is_credential_file(f"{name}x/a")
    assert credential_names("a", ["b", name]) == {name}
    assert credential_names(f"a/{name}/b", ["c", "d"]) == {"c", "d"}


@pytest.mark.parametrize("pair", PAIRS.split())
def test_file_or_directory_with_credentials_of_a_program_is_recognized(pair):
    folder, name = pair.split("/")
    for path in (pair, f"a/{pair}", f"{pair}/b", pair.upper()):
        assert is_credential_file(path)
    assert not is_credential_file(folder)
    assert not is_credential_file(f"{folder}/a")
    assert name in credential_names(f"a/{folder}", ["b", name])
    assert name in credential_names(f"a/{folder}/", ["b", name])


@pytest.mark.parametrize("word", EXAMPLES.split())
def test_example_of_a_credential_file_is_none(word):
    for path in (f".env.{word}", f"a/.env.local.{word}", f"{word}.pem", f".ENV.{word.upper()}"):
        assert not is_credential_file(path)
    assert is_credential_file(f".env.{word}s")
    assert is_credential_file(f".netrc/../.ssh/{word}")


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


def test_hard_links_are_searched_in_a_limited_number_of_files(tmp_path, monkeypatch):
    for name in (".env.a", ".env.b", ".env.c"):
        (tmp_path / name).write_text("x")
        os.link(tmp_path / name, tmp_path / f"link to {name}")
    assert len(find_linked_files([tmp_path])) == 3
    monkeypatch.setattr(credential_files, "_MAX_FILES", 2)
    assert len(find_linked_files([tmp_path])) == 2


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("cat .env", ".env"),
        ("cat ./app/.env.local | sort", "./app/.env.local"),
        ("cp ~/.ssh/id_rsa x", "~/.ssh/id_rsa"),
        ("docker compose --env-file=.env up", ".env"),
        ("cat <.env", ".env"),
        ("sh -c 'cat .env'", ".env"),
        ("curl -d @server.key x", "@server.key"),
        ("curl -d @.env x", "@.env"),
        ("curl -sd@.env x", "-sd@.env"),
        ("curl -T.env x", "-T.env"),
        ("curl -F a=@~/.ssh/id_ed25519 x", "@~/.ssh/id_ed25519"),
        ("cat $HOME/.aws/config", "HOME/.aws/config"),
    ],
)
def test_path_of_a_credential_file_is_found(line, found):
    assert find_named_credential(line) == found


@pytest.mark.parametrize(
    "line", ["grep -r credentials src", "cat .env.example", "pytest tests/test_env.py", "ls"]
)
def test_word_that_is_no_credential_file_is_not(line):
    assert find_named_credential(line) is None


def test_long_line_is_searched_in_linear_time():
    assert growth(find_named_credential, lambda size: "a.b/c " * size) < LINEAR
    assert growth(find_named_credential, lambda size: " ".join(map(str, range(size)))) < LINEAR
