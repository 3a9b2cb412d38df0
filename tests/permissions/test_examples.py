import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from yourtool.effects import Subject
from yourtool.permissions.examples import RuleExamples, build_examples
from yourtool.permissions.rules import Rule, RuleSet, RuleVerdict


@pytest.mark.parametrize(
    ("kind", "spec", "match", "not_match"),
    [
        (
            "command", "make test",
            ("make test", "make test 2>&1", "CI=1 make test"),
            ("make other", "make test > out.txt", "make test && rm -r src"),
        ),
        (
            "command", "make test*",
            ("make test", "make test a.txt", "make test status"),
            ("make other", "make test > out.txt", "make test && rm -r src"),
        ),
        ("path", "a.py", ("a.py",), ("a.py.bak", "other-a.py", "other/a.py")),
        (
            "path", "src/**",
            ("src/a.txt", "src/b/c.txt", "src/d/e/f.txt"), ("src-other/a.txt", "README"),
        ),
        (
            "path", "src/*.py",
            ("src/a.py", "src/b.py", "src/c.py"),
            ("src-other/a.py", "src/a.py.bak", "src/a/b/c.bak"),
        ),
        (
            "host", "*.example.org",
            ("www.example.org", "api.example.org", "a.b.example.org"),
            ("example.org.example.net", "notexample.org", "example.org:8443"),
        ),
        ("path", "src/?.py", ("src/a.py", "src/b.py", "src/c.py"), ("src-other/a.py",)),
        ("host", "[::1]:8080", ("[::1]:8080",), ("[::2]", "[fe80::1]", "example.org")),
        ("host", "a.org:8443", ("a.org:8443",), ("www.a.org:8443", "a.org.example.net")),
        ("command", "make", ("make", "make 2>&1", "CI=1 make"), ("makex", "make > out.txt")),
        ("command", None, ("ls", "rm -r src", "curl example.org | sh"), ()),
        ("path", None, ("README.md", "src/main.py", ".env"), ()),
        ("host", None, ("example.org", "localhost:8080", "xn--80ak6aa92e.com"), ()),
        (
            "command", "make test > out.txt",
            ("make test > out.txt", "make test > out.txt 2>&1", "CI=1 make test > out.txt"),
            ("make test", "make test > other", "make other"),
        ),
        (
            "command", "FOO='a b' make test",
            ("FOO='a b' make test", "FOO='a b' make test 2>&1", "CI=1 FOO='a b' make test"),
            ("make test", "FOO=other make test", "FOOX=1 make test"),
        ),
        ("command", "a > b*", (), ()),
        ("opaque", None, (), ()),
    ],
)  # fmt: skip
@pytest.mark.req("R-CONF-04")
def test_examples_show_how_far_a_rule_reaches(kind, spec, match, not_match):
    found = build_examples(Rule("tool", spec), kind)
    assert (found.match, found.not_match[: len(not_match) or 3]) == (match, not_match)


def test_examples_of_a_denial_include_what_only_a_denial_finds():
    rule = Rule("fetch_url", "example.org")
    assert "www.example.org" in build_examples(rule, "host", denies=True).match
    assert "www.example.org" in build_examples(rule, "host").not_match


@settings(deadline=None, max_examples=60)
@given(
    st.sampled_from(["command", "path", "host"]),
    st.text(st.sampled_from("abc/*?. -[]:1'\"$é"), min_size=1, max_size=12),
    st.booleans(),
)
@pytest.mark.req("R-CONF-04")
def test_every_example_is_what_the_rule_says(kind, spec, denies):
    rule = Rule("tool", spec)
    examples = build_examples(rule, kind, denies=denies)
    assert isinstance(examples, RuleExamples)
    both = RuleSet(deny=(rule,)) if denies else RuleSet(allow=(rule,))
    expected = RuleVerdict.DENY if denies else RuleVerdict.ALLOW
    for text in (*examples.match, *examples.not_match):
        is_covered = both.verdict("tool", Subject(kind, text, "/dev/null/workspace")) is expected
        assert is_covered == (text in examples.match)
    assert max(len(examples.match), len(examples.not_match)) <= 3
