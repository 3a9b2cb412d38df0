import pytest

from yourtool.effects import Subject
from yourtool.errors import UsageError
from yourtool.permissions.hosts import host_subject
from yourtool.permissions.rules import Rule, RuleSet, RuleVerdict, propose_rules


def verdict(subject, allow=(), deny=()):
    rules = RuleSet(tuple(map(Rule.parse, allow)), deny=tuple(map(Rule.parse, deny)))
    return rules.verdict("fetch_url", Subject("host", subject))


@pytest.mark.parametrize(
    ("host", "port", "subject"),
    [
        ("Example.ORG", None, "example.org"),
        ("example.org.", 443, "example.org"),
        ("example.org", 80, "example.org"),
        ("example.org", 8443, "example.org:8443"),
        ("::1", 8080, "[::1]:8080"),
        ("2606:4700::1111", None, "[2606:4700::1111]"),
    ],
)
def test_host_is_normalized(host, port, subject):
    assert host_subject(host, port) == subject


@pytest.mark.parametrize(
    ("spec", "subject", "covered"),
    [
        ("example.org", "example.org", True),
        ("EXAMPLE.org.", "example.org", True),
        ("example.org:443", "example.org", True),
        ("example.org", "example.org:8443", False),
        ("example.org:8443", "example.org:8443", True),
        ("example.org:8443", "example.org", False),
        ("example.org", "www.example.org", False),
        ("example.org", "badexample.org", False),
        ("example.org", "example.org.evil.net", False),
        ("*.example.org", "www.example.org", True),
        ("*.example.org", "a.b.example.org", True),
        ("*.example.org", "example.org", False),
        ("*.example.org", "badexample.org", False),
        ("*.example.org", "www.example.org:8443", False),
        ("[::1]:8080", "[::1]:8080", True),
        ("[::1]", "[::1]:8080", False),
        ("[::1]", "[::1]", True),
        ("[::1]", "[::2]", False),
        ("[::1]", "[::3]", False),
        ("[::1]:443", "[::1]", True),
    ],
)
def test_allow_rule_matches_only_its_host(spec, subject, covered):
    expected = RuleVerdict.ALLOW if covered else RuleVerdict.NONE
    assert verdict(subject, allow=[f"fetch_url({spec})"]) is expected


@pytest.mark.parametrize("subject", ["example.org", "www.example.org", "example.org:8443"])
def test_deny_rule_matches_ports_and_subdomains(subject):
    assert verdict(subject, ["fetch_url"], ["fetch_url(Example.org)"]) is RuleVerdict.DENY
    assert verdict("badexample.org", ["fetch_url"], ["fetch_url(example.org)"]) is RuleVerdict.ALLOW


@pytest.mark.parametrize("spec", ["b\u00fccher.example", "https://a.org", "a.org/x", "*", "a b"])
def test_rule_without_a_host_is_rejected_with_examples(spec):
    with pytest.raises(UsageError, match=r"fetch_url\(docs\.python\.org\)"):
        Rule.parse(f"fetch_url({spec})", {"fetch_url": "host"})


@pytest.mark.parametrize("subject", ["example.org", "example.org:8443", "[::1]:8080"])
def test_proposed_rule_matches_the_host(subject):
    [rule] = propose_rules("fetch_url", Subject("host", subject)).rules
    assert verdict(subject, allow=[str(rule)]) is RuleVerdict.ALLOW
