import os
import resource
import stat

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from yourtool.errors import ConfigError
from yourtool.permissions.grants import Grants, add_entry, remove_entry, undo_removal
from yourtool.permissions.rule_file import RuleEntry, read_rule_file
from yourtool.permissions.rules import Rule, RuleSet, RuleSource

KINDS = {"shell": "command", "glob": "opaque", "edit_file": "path"}


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "home" / "permissions.toml"
    path.parent.mkdir()
    return path


@pytest.fixture
def workspace(tmp_path):
    path = tmp_path / 'a "b" é'
    path.mkdir()
    return path


def test_nothing_is_granted_without_a_file(file, workspace):
    assert Grants(file, workspace, KINDS).load().rules == RuleSet()


@pytest.mark.req("R-CONF-05")
def test_grant_is_stored_outside_the_workspace_for_its_real_path(tmp_path, workspace):
    file = tmp_path / "new" / "permissions.toml"
    (tmp_path / "alias").symlink_to(workspace)
    rule = Rule.parse("shell(make 'a b')")
    Grants(file, tmp_path / "alias", KINDS).add(rule)
    assert Grants(file, workspace, KINDS).load().rules == RuleSet((rule,))
    assert Grants(file, tmp_path, KINDS).load().rules == RuleSet()
    assert list(workspace.iterdir()) == []
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_grant_remembers_when_and_where_it_was_made_and_what_it_covers(file, workspace):
    Grants(file, workspace, KINDS, session="sess_1").add(Rule("shell", "make test"))
    [entry] = read_rule_file(file, KINDS).entries
    assert (entry.workspace, entry.session, entry.line) == (str(workspace), "sess_1", 5)
    assert entry.made_at.utcoffset().total_seconds() == 0
    assert "make test" in entry.examples.match
    assert "make other" in entry.examples.not_match


def test_manual_entries_are_preserved(file, workspace):
    text = f"# mine\ndeny = ['shell(rm*)']\n[[workspace]]\npath = '{workspace}'\nallow = ['glob']\n"
    file.write_text(text)
    grants = Grants(file, workspace, KINDS)
    for _ in range(2):
        grants.add(Rule("edit_file", "a"))
    assert file.read_text().startswith(text)
    assert file.read_text().count("edit_file") == 1
    allowed = Rule("glob"), Rule("edit_file", "a")
    assert grants.load().rules == RuleSet(allowed, deny=(Rule("shell", "rm*"),))


@pytest.mark.parametrize(
    "text",
    [
        "allow = ", "schema_version = 2", "\xff", "allow = " + "[" * 5_000,
        "schema_version = " + "9" * 5_000,
    ],
    ids=["cut", "version", "bytes", "deep", "number"],
)  # fmt: skip
@pytest.mark.req("R-CONF-08")
def test_malformed_file_grants_nothing_is_reported_and_stays_as_it_is(file, workspace, text):
    file.write_bytes(text.encode("latin-1"))
    grants = Grants(file, workspace, KINDS)
    assert grants.load().rules.allow == ()
    assert "It grants nothing" in str(grants.load().problems[0])
    with pytest.raises(ConfigError, match="grants nothing"):
        grants.add(Rule("glob"))
    assert file.read_bytes() == text.encode("latin-1")


def test_unwritable_file_is_reported(tmp_path, workspace):
    (tmp_path / "home").write_text("not a directory")
    with pytest.raises(ConfigError):
        Grants(tmp_path / "home" / "permissions.toml", workspace, KINDS).add(Rule("glob"))


def test_grant_that_cannot_be_appended_to_the_form_of_the_file_is_not_stored(file, workspace):
    text = "workspace = [{path = '/w', allow = ['glob']}]\n"
    file.write_text(text)
    with pytest.raises(ConfigError, match="was not changed, because its form is unusual"):
        Grants(file, workspace, KINDS).add(Rule("glob"))
    assert file.read_text() == text


def test_grant_that_does_not_fit_on_the_disk_is_an_error_and_keeps_the_others(file, workspace):
    file.write_text("deny = ['glob']\n")
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20, hard))
    try:
        with pytest.raises(ConfigError, match="the permission could not be stored"):
            Grants(file, workspace, KINDS).add(Rule("glob"))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
    assert file.read_text() == "deny = ['glob']\n"


@pytest.mark.req("R-CONF-05")
def test_project_can_ask_and_deny_but_not_allow(file, workspace):
    file.write_text("allow = ['shell', 'glob']")
    (workspace / ".yourtool").mkdir()
    project = workspace / ".yourtool" / "permissions.toml"
    project.write_text("allow = ['edit_file']\nask = ['glob']\ndeny = ['shell(git push*)']")
    found = Grants(file, workspace, KINDS).load()
    assert found.rules.allow == (Rule("shell"), Rule("glob"))
    assert found.rules.ask == (Rule("glob", None, RuleSource.PROJECT),)
    assert found.rules.deny == (Rule("shell", "git push*", RuleSource.PROJECT),)
    assert [str(each) for each in found.problems] == [
        f"{project}:1: `allow`: is ignored: a file of a project can only ask and deny"
    ]


def test_project_file_that_is_a_pipe_does_not_block(file, workspace):
    (workspace / ".yourtool").mkdir()
    os.mkfifo(workspace / ".yourtool" / "permissions.toml")
    assert "not a regular file" in str(Grants(file, workspace, KINDS).load().problems[0])


def test_user_file_is_not_a_project_file_if_the_workspace_is_the_home_directory(workspace):
    home = workspace / ".yourtool"
    home.mkdir()
    (home / "permissions.toml").write_text("allow = ['glob']")
    found = Grants(home / "permissions.toml", workspace, KINDS).load()
    assert (found.rules, found.problems) == (RuleSet((Rule("glob"),)), ())


@pytest.mark.parametrize(
    ("before", "rule", "after"),
    [
        ("deny = ['glob', 'shell(rm*)']\n", "glob", "deny = ['shell(rm*)']\n"),
        ("deny = ['glob', 'shell(rm*)']\n", "shell(rm*)", "deny = ['glob', ]\n"),
        ("deny = [\n  'glob', # x\n  'shell',\n]\n", "shell", "deny = [\n  'glob', # x\n  \n]\n"),
        (
            "# a\n[[allow]]\nrule = 'glob'\n\n# b\n[[allow]]\nrule = 'shell'\n", "glob",
            "# a\n\n# b\n[[allow]]\nrule = 'shell'\n",
        ),
        (
            "[[workspace]]\npath = '/w'\nask = ['shell']\n[[workspace.allow]]\nrule = 'glob'\n",
            "glob",
            "[[workspace]]\npath = '/w'\nask = ['shell']\n",
        ),
    ],
)  # fmt: skip
def test_removal_keeps_the_rest_of_the_text_and_can_be_undone(file, before, rule, after):
    file.write_text(before)
    entries = read_rule_file(file, KINDS).entries
    removal = remove_entry(file, next(e for e in entries if str(e.rule) == rule), KINDS)
    assert file.read_text() == after
    undo_removal(file, removal, KINDS)
    assert file.read_text() == before


def test_rule_in_an_inline_table_is_not_removed(file):
    before = "workspace = [{path = '/w', allow = ['glob']}]\n"
    file.write_text(before)
    with pytest.raises(ConfigError, match="its form is unusual"):
        remove_entry(file, read_rule_file(file, KINDS).entries[0], KINDS)
    assert file.read_text() == before


def test_removal_is_not_undone_in_a_file_that_has_changed_since(file):
    file.write_text("deny = ['glob']")
    removal = remove_entry(file, read_rule_file(file, KINDS).entries[0], KINDS)
    file.write_text("deny = ['shell']")
    with pytest.raises(ConfigError, match="has changed since"):
        undo_removal(file, removal, KINDS)
    with pytest.raises(ConfigError, match="is not in"):
        remove_entry(file, removal.entry, KINDS)
    assert file.read_text() == "deny = ['shell']"


_RULES = st.builds(
    RuleEntry,
    effect=st.sampled_from(["allow", "ask", "deny"]),
    rule=st.sampled_from([Rule("glob"), Rule("edit_file", "a/**"), Rule("shell", "make 'a b'*")]),
    workspace=st.sampled_from([None, "/a", "/b"]),
    session=st.sampled_from(["", "sess_1"]),
)


@settings(deadline=None, max_examples=40)
@given(st.lists(_RULES, min_size=1, max_size=5), st.integers(0, 4))
def test_added_rules_are_removed_without_a_trace(tmp_path_factory, entries, which):
    file = tmp_path_factory.mktemp("home") / "permissions.toml"
    texts = []
    for each in entries:
        texts.append(file.read_text() if texts else "schema_version = 1\n")
        add_entry(file, each, KINDS)
    full = file.read_text()
    stored = read_rule_file(file, KINDS).entries
    chosen = stored[which % len(stored)]
    removal = remove_entry(file, chosen, KINDS)
    assert len(read_rule_file(file, KINDS).entries) == len(entries) - 1
    undo_removal(file, removal, KINDS)
    assert file.read_text() == full
    for text in reversed(texts):
        last = max(read_rule_file(file, KINDS).entries, key=lambda each: each.line)
        remove_entry(file, last, KINDS)
        assert file.read_text() == text
