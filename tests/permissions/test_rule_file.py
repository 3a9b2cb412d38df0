from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from yourtool.permissions.examples import RuleExamples
from yourtool.permissions.rule_file import (
    RuleEntry,
    iter_lines,
    parse_rule_file,
    read_rule_file,
)
from yourtool.permissions.rules import EVERY_TOOL, Rule, RuleSource

KINDS = {"shell": "command", "edit_file": "path", "glob": "opaque", "fetch_url": "host"}
FILE = Path("permissions.toml")


def parse(text, source=RuleSource.USER):
    return parse_rule_file(FILE, text, KINDS, source)


def texts(rules):
    return [[str(rule) for rule in each] for each in (rules.allow, rules.ask, rules.deny)]


def test_plain_lists_of_version_1_are_read():
    found = parse(
        "schema_version = 1\nallow = ['glob']\nask = ['edit_file(a)']\ndeny = ['shell(rm*)']\n"
        "[[workspace]]\npath = '/a'\nallow = ['shell(ls)']\n[[workspace]]\npath = '/b'\n"
        "deny = ['shell(make*)']"
    )
    assert found.problems == ()
    assert texts(found.rules("/a")) == [["glob", "shell(ls)"], ["edit_file(a)"], ["shell(rm*)"]]
    assert texts(found.rules("/b")) == [["glob"], ["edit_file(a)"], ["shell(rm*)", "shell(make*)"]]
    assert [each.line for each in found.entries] == [2, 3, 4, 7, 10]


@pytest.mark.req("R-CONF-08")
def test_allow_rule_that_contradicts_an_example_grants_nothing_and_is_named_with_its_line():
    found = parse(
        '# mine\nallow = ["glob"]\n[[workspace]]\npath = "/a"\n[[workspace.allow]]\n'
        'rule = "shell(make test)"\nmatch = ["make test", "make test -v"]\n'
        '[[workspace.allow]]\nrule = "shell(ls*)"\nnot_match = ["ls; ls"]\n'
        '[[workspace.allow]]\nrule = "shell(cat*)"\nmatch = ["cat a"]\nnot_match = ["cat a > b"]\n'
    )
    assert texts(found.rules("/a")) == [["glob", "shell(cat*)"], [], []]
    first, second = map(str, found.problems)
    assert first.startswith("permissions.toml:5: `workspace.allow`: `shell(make test)` does not")
    assert "`make test -v`, an example in its `match`. This rule grants nothing" in first
    assert second.startswith("permissions.toml:8:") and "matches `ls; ls`" in second


@pytest.mark.parametrize("effect", ["ask", "deny"])
@pytest.mark.parametrize(
    ("rule", "tool"),
    [
        ("'shell(a; b)'", "shell"),
        ("{rule = 'shell(rm*)', match = ['rmdir x']}", "shell"),
        ("{rule = 'shell(rm*)', not_match = ['rm x']}", "shell"),
        ("{rule = 'shell(rm*)', mtch = []}", "shell"),
        ("'shell('", "shell"),
        ("'(rm)'", EVERY_TOOL),
        ("7", EVERY_TOOL),
    ],
)
@pytest.mark.req("R-CONF-08")
def test_mistake_in_a_denial_asks_about_every_call_of_its_tool(effect, rule, tool):
    found = parse(f"allow = ['glob']\n{effect} = [\n 'edit_file(a)', # ok, really\n {rule},\n]")
    rules = found.rules("/a")
    assert Rule(tool) in rules.ask
    assert str(found.problems[0]).startswith(f"permissions.toml:4: `{effect}`: ")
    assert "needs an approval" in str(found.problems[0])
    assert Rule("edit_file", "a") in getattr(rules, effect)
    assert Rule("glob") in rules.allow


def test_denial_that_contradicts_an_example_still_applies():
    found = parse("deny = [{rule = 'shell(rm*)', match = ['rmdir x']}]")
    assert texts(found.rules("/a")) == [[], ["shell"], ["shell(rm*)"]]


@pytest.mark.parametrize(
    ("text", "asks"),
    [
        ("allow = ", False), ("allow = 1", False), ("alow = []", False), ("allow = [1]", False),
        ("# deny\nallow = [", False), ("deny = [", True), ("allow = [\n[[workspace.ask]]", True),
        ("dney = []", True), ("deny = 'shell'", True), ("other = 1", True),
        ("schema_version = 2", True), ("[[workspace]]\ndeny = []", True), ("workspace = 1", True),
        ("[[workspace]]\npath = '/a'\ndney = []", True),
        ("[[workspace]]\npath = '/b'\ndney = []", False),
    ],
)  # fmt: skip
@pytest.mark.req("R-CONF-08")
def test_file_with_a_mistake_grants_nothing_and_loses_no_denial(text, asks):
    found = parse(text)
    assert texts(found.rules("/a")) == [[], ["*"] if asks else [], []]
    assert len(found.problems) == 1


@pytest.mark.parametrize("content", [b"\xff", b"#" * (2**20 + 1)])
def test_unreadable_file_asks_about_every_call(tmp_path, content):
    (tmp_path / "p.toml").write_bytes(content)
    found = read_rule_file(tmp_path / "p.toml", KINDS)
    assert found.rules("/a").ask == (Rule(EVERY_TOOL),)
    assert "cannot be read" in str(found.problems[0])


def test_directory_in_place_of_the_file_is_reported_and_a_missing_file_is_not(tmp_path):
    assert read_rule_file(tmp_path, KINDS).problems
    assert not read_rule_file(tmp_path / "no.toml", KINDS).problems


@pytest.mark.req("R-CONF-05")
def test_file_of_a_project_adds_ask_and_deny_and_reports_allow():
    text = "ask = ['shell(make*)']\n\nallow = ['shell']\ndeny = ['edit_file(ci/**)']"
    found = parse(text, RuleSource.PROJECT)
    assert texts(found.rules("/a")) == [[], ["shell(make*)"], ["edit_file(ci/**)"]]
    assert [str(each) for each in found.problems] == [
        "permissions.toml:3: `allow`: is ignored: a file of a project can only ask and deny"
    ]
    assert {rule.source for rule in found.rules("/a").ask} == {RuleSource.PROJECT}
    elsewhere = parse("[[workspace]]\npath = '/a'\nallow = ['shell']", RuleSource.PROJECT)
    assert elsewhere.rules("/a").allow == ()


def test_unknown_tool_is_reported_with_the_closest_name():
    found = parse("deny = ['shel(git push*)']")
    assert "no tool `shel`; did you mean `shell`?" in str(found.problems[0])
    assert texts(found.rules("/a"))[2] == ["shel(git push*)"]


_WORDS = st.text(st.sampled_from("ab /*.\"'\\é#,[]{}\n"), max_size=8)
_EXAMPLES = st.lists(_WORDS, max_size=2).map(tuple)
_ENTRIES = st.builds(
    RuleEntry,
    effect=st.sampled_from(["allow", "ask", "deny"]),
    rule=st.builds(Rule, st.just("edit_file"), st.none() | _WORDS.map(lambda text: f"a{text}b")),
    workspace=st.none() | _WORDS,
    examples=st.builds(RuleExamples, _EXAMPLES, _EXAMPLES),
    session=_WORDS,
)


@settings(deadline=None, max_examples=100)
@given(st.lists(_ENTRIES, max_size=4))
@pytest.mark.req("R-CONF-05")
def test_rules_with_their_examples_round_trip_through_the_text(entries):
    lines = [line for each in entries for line in iter_lines(each)]
    text = "".join(f"{line}\n" for line in lines)
    found = parse_rule_file(FILE, text, {})
    assert found.problems == ()
    assert sorted(map(_content, found.entries)) == sorted(map(_content, entries))
    rows = text.split("\n")
    for each in found.entries:
        assert rows[each.line - 1].startswith(f"[[{'workspace.' * bool(each.path[2:])}")


def _content(entry):
    made = (entry.effect, str(entry.rule), entry.workspace or "", entry.workspace is None)
    return *made, entry.examples.match, entry.examples.not_match, entry.session
