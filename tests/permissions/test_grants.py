import stat

import pytest

from yourtool.errors import ConfigError
from yourtool.permissions.grants import Grants
from yourtool.permissions.rules import Rule, RuleSet

KINDS = {"shell": "command"}


@pytest.fixture
def file(tmp_path):
    return tmp_path / "home" / "permissions.toml"


@pytest.fixture
def workspace(tmp_path):
    path = tmp_path / 'a "b" é'
    path.mkdir()
    return path


def test_nothing_is_granted_without_a_file(file, workspace):
    assert Grants(file, workspace, KINDS).load() == RuleSet()


@pytest.mark.req("R-CONF-05")
def test_grant_is_stored_outside_the_workspace_for_its_real_path(file, workspace, tmp_path):
    (tmp_path / "alias").symlink_to(workspace)
    rule = Rule.parse("shell(make 'a b')")
    Grants(file, tmp_path / "alias", KINDS).add(rule)
    assert Grants(file, workspace, KINDS).load() == RuleSet((rule,))
    assert Grants(file, tmp_path, KINDS).load() == RuleSet()
    assert list(workspace.iterdir()) == []
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_manual_entries_are_preserved(file, workspace):
    file.parent.mkdir()
    text = f"# mine\ndeny = ['shell(rm*)']\n[[workspace]]\npath = '{workspace}'\nallow = ['glob']\n"
    file.write_text(text)
    grants = Grants(file, workspace, KINDS)
    for _ in range(2):
        grants.add(Rule.parse("edit_file(a)"))
    assert file.read_text().startswith(text)
    assert file.read_text().count("edit_file") == 1
    assert grants.load() == RuleSet(
        (Rule("glob"), Rule("edit_file", "a")), deny=(Rule("shell", "rm*"),)
    )


@pytest.mark.parametrize(
    "text",
    [
        "allow = ", "allow = 1", "alow = []", "allow = ['shell(']", "allow = ['shell(a; b)']",
        "schema_version = 2", "[[workspace]]\nallow = []", "workspace = 1", "\xff",
        "allow = " + "[" * 5_000, "schema_version = " + "9" * 5_000,
    ],
)  # fmt: skip
@pytest.mark.req("R-CONF-08")
def test_malformed_file_grants_nothing_and_is_reported(file, workspace, text):
    file.parent.mkdir()
    file.write_bytes(text.encode("latin-1"))
    grants = Grants(file, workspace, KINDS)
    for attempt in (grants.load, lambda: grants.add(Rule("glob"))):
        with pytest.raises(ConfigError, match=r"permissions.toml` grants nothing"):
            attempt()
    assert file.read_bytes() == text.encode("latin-1")


def test_unwritable_file_is_reported(tmp_path, workspace):
    (tmp_path / "home").write_text("not a directory")
    with pytest.raises(ConfigError):
        Grants(tmp_path / "home" / "permissions.toml", workspace, KINDS).add(Rule("glob"))
