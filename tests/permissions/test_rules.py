import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from yourtool.effects import Subject
from yourtool.errors import UsageError
from yourtool.permissions.rules import Rule, RuleSet, RuleVerdict, propose_rules

KINDS = {"shell": "command", "fetch_url": "host", "edit_file": "path", "update_plan": "opaque"}


def rules(allow=(), deny=(), ask=()):
    return RuleSet(
        *(tuple(Rule.parse(text, KINDS) for text in each) for each in (allow, ask, deny))
    )


def call(tool, text):
    """Return the arguments of `verdict` for a call."""
    kind = "opaque" if text is None else KINDS.get(tool, "path")
    return tool, Subject(kind, text or "", "/nowhere")


@pytest.mark.parametrize(
    "text", ["read_file", "shell(git status*)", "edit_file(src/**)", "fetch_url(docs.python.org)"]
)
def test_rule_round_trips_through_its_text(text):
    assert str(Rule.parse(f" {text} ")) == text


@pytest.mark.parametrize("text", ["", "1shell", "shell(", "shell()", "a b", "(x)"])
def test_invalid_rule_is_rejected_with_an_example(text):
    with pytest.raises(UsageError, match="for example"):
        Rule.parse(text, KINDS)


@pytest.mark.parametrize("text", ["shell(ls; rm x)", "shell(*)", "shell(echo $HOME)", "shell(a*b)"])
@pytest.mark.req("R-CONF-04")
def test_shell_rule_that_can_match_nothing_is_rejected(text):
    with pytest.raises(UsageError, match="plain words"):
        Rule.parse(text, KINDS)


@pytest.mark.parametrize(
    ("rule", "command", "covered"),
    [
        ("git status*", "git status", True),
        ("git status*", "git status -s src", True),
        ("git status*", "git  status", True),
        ("git status*", "git stage", False),
        ("git status*", "git statuses", False),
        ("git status *", "git status -s", True),
        ("ls*", "lsof", False),
        ("ls*", "./ls", False),
        ("ls*", "/bin/ls", False),
        ("ls", "ls", True),
        ("ls", "ls -l", False),
        ("grep*", "grep -n 'rm -rf /' README.md", True),
        ("grep*", 'grep "a b" x', True),
        ("ls*", "'ls' x", True),
    ],
)
@pytest.mark.req("R-CONF-04")
def test_rule_matches_its_first_words_with_any_arguments(rule, command, covered):
    expected = RuleVerdict.ALLOW if covered else RuleVerdict.NONE
    assert rules([f"shell({rule})"]).verdict(*call("shell", command)) is expected


@pytest.mark.parametrize(
    "command",
    [
        "ls; rm x", "ls && rm x", "ls || rm x", "ls | sh", "ls & rm x", "ls\nrm x", "ls $(rm x)",
        "ls `rm x`", "ls > x", "ls < x", "ls >> x", "ls 2>x", "ls *", "ls ~", "ls {a,b}", "ls $x",
        'ls "$x"', 'ls "`x`"', "X=1 ls", "ls 'a", 'ls "', "(ls; x)", "{ ls; }",
        "! ls", "if ls", "l\u0455", "ls \u00e9", "", " ", "ls\t;x", "ls <(x)", "ls\r",
        "ls 'a\nb'",
    ],
)  # fmt: skip
@pytest.mark.req("R-CONF-04")
def test_command_with_shell_syntax_never_matches_an_allow_rule(command):
    assert rules(["shell(ls*)"]).verdict(*call("shell", command)) is RuleVerdict.NONE


def test_deny_beats_allow():
    both = rules(["shell", "edit_file"], ["shell(rm*)", "edit_file(src/**)"])
    assert both.verdict(*call("shell", "rm x")) is RuleVerdict.DENY
    assert both.verdict(*call("shell", "ls; ls")) is RuleVerdict.ALLOW
    assert both.verdict(*call("edit_file", "SRC/a")) is RuleVerdict.DENY
    assert both.verdict(*call("edit_file", "a")) is RuleVerdict.ALLOW
    assert both.verdict(*call("write_file", "a")) is RuleVerdict.NONE


@pytest.mark.parametrize(
    "command",
    [
        "rm x", "/bin/rm x", '"rm" x', "r''m x", "ls; rm x", "ls && rm x", "(rm x)", "ls $(rm x)",
        "ls `rm x`", "env rm x", "timeout 5 rm x", "find . -exec rm {} +", "X=1 rm x", "! rm x",
        "xargs -n1 rm", "bash -c 'ls; rm x'", "sudo -u me rm x", "\\rm x", "{ rm x; }",
        "; ".join(["ls"] * 70 + ["rm x"]),
    ],
)  # fmt: skip
def test_denied_command_is_found_at_any_position(command):
    assert (
        rules(["shell(ls*)"], ["shell(rm*)"]).verdict(*call("shell", command)) is RuleVerdict.DENY
    )


@pytest.mark.parametrize(
    ("rule", "command"),
    [
        ("./deploy.sh*", "./deploy.sh prod"),
        ("./deploy.sh", "./deploy.sh"),
        ("./deploy.sh*", 'cd . && "$PWD"/deploy.sh prod'),
        ("scripts/deploy*", "cd scripts; ./deploy prod"),
        ("/usr/bin/git push*", "/usr/bin/git push origin"),
        ("/usr/bin/git push*", "git push origin"),
    ],
)
def test_deny_rule_matches_a_program_with_a_path(rule, command):
    assert rules(["shell"], [f"shell({rule})"]).verdict(*call("shell", command)) is RuleVerdict.DENY


def test_deny_rule_with_a_path_matches_programs_only():
    both = rules(["shell"], ["shell(./deploy.sh*)"])
    assert both.verdict(*call("shell", "cat ./deploy.sh")) is RuleVerdict.ALLOW
    assert both.verdict(*call("shell", "./deploy.shx")) is RuleVerdict.ALLOW


@pytest.mark.parametrize(
    "command",
    [
        "if true; then git push; fi",
        "if git push; then ls; elif git push; then ls; else git push; fi",
        "if ls; then ls; else git push; fi",
        "while git push; do ls; done",
        "until git push; do ls; done",
        "for x in a b; do git push; done",
        "coproc git push",
        "if ! git push; then ls; fi",
        'A="b c" git push',
        "A='b c' B=\"d e\" git push",
        "> f git push",
        "2> f git push",
        'eval "git push"',
        'env -S "git push"',
        'trap "git push" EXIT',
    ],
)
def test_denied_command_is_found_behind_keywords_redirections_and_in_words(command):
    assert (
        rules(["shell"], ["shell(git push*)"]).verdict(*call("shell", command)) is RuleVerdict.DENY
    )


@pytest.mark.parametrize(
    "command",
    [
        'A="b;c" git push',
        "A='b|c' git push",
        'A=b"c d" git push',
        "A=$'b c' git push",
        "A=b\\ c git push",
        "A+=b git push",
        'A[0]="b c" git push',
        'A="b;c" B=d"&e" git push origin',
        '{ A="b;c" git push; }',
        'if A="b;c" git push; then ls; fi',
        '! A="b;c" git push',
        ">| f git push",
        "gi\\\nt push",
        "git pu\\\nsh",
        "echo a; \\\ngi\\\nt \\\npush origin",
        "echo 'a\\'\ngit push",
        "# a \\\ngit push",
        "echo a\\\\\ngit push",
        "bash -c 'gi\\\nt push'",
        "function f { git>x push; }; f",
        "function f { A=b git \\\n push; }; f",
        '>| "a b" git push',
        "2>&1 git push",
        ">&f git push",
        "&> f git push",
        '&>> "a;b" git push',
        "<> f git push",
        "exec {fd}> f; git push",
        "<<< x git push",
        '<<< "x;y" git push',
        "<<< 'x y' git push",
        'A="b;c" > f git push',
        '> "a;b" A="b;c" 2>&1 git push',
        "git > f push",
        "git 2>&1 push",
        "bash -c \"A='b;c' git push\"",
        "bash -c 'A=\"b;c\" git push'",
        'ls; A="b;c" git push',
        "ls\nA='b;c' git push",
    ],
)
def test_denied_command_is_found_behind_any_assignment_or_redirection(command):
    assert (
        rules(["shell"], ["shell(git push*)"]).verdict(*call("shell", command)) is RuleVerdict.DENY
    )


@pytest.mark.parametrize(
    "command",
    ['A="git push" ls', "> 'git push' ls", "<<< 'git push' cat", 'echo "a;b" > git', "A=git ls"],
)
def test_values_and_redirection_targets_are_not_commands(command):
    assert (
        rules(["shell"], ["shell(git push*)"]).verdict(*call("shell", command)) is RuleVerdict.ALLOW
    )


def test_denied_word_is_allowed_as_an_argument():
    both = rules(["shell(echo*)"], ["shell(rm*)"])
    assert both.verdict(*call("shell", "echo rm")) is RuleVerdict.ALLOW
    assert both.verdict(*call("shell", "echo 'x; rm'")) is RuleVerdict.ALLOW


@pytest.mark.parametrize("allowed", ["shell", "shell(git*)"])
@pytest.mark.req("R-CONF-04")
def test_line_that_cannot_be_checked_against_a_deny_rule_is_unclear(allowed):
    both = rules([allowed], ["shell(git push*)"])
    assert both.verdict(*call("shell", "g=git; $g push")) is RuleVerdict.UNCLEAR
    assert rules([allowed]).verdict(*call("shell", "git diff")) is RuleVerdict.ALLOW


@pytest.mark.parametrize(
    ("glob", "path", "covered"),
    [
        ("src/**", "src/a/b.py", True),
        ("src/**", "src2/a.py", False),
        ("src/*.py", "src/a.py", True),
        ("src/*.py", "src/a/b.py", False),
        ("**/*.py", "a.py", True),
        ("**/*.py", "a/b/c.py", True),
        ("./a.py", "a.py", True),
        ("a.py", "aXpy", False),
        ("?.py", "a.py", True),
    ],
)
@pytest.mark.req("R-CONF-04")
def test_write_rule_matches_by_path(glob, path, covered):
    expected = RuleVerdict.ALLOW if covered else RuleVerdict.NONE
    assert rules([f"edit_file({glob})"]).verdict(*call("edit_file", path)) is expected


def test_hosts_are_compared_completely():
    one = rules(["fetch_url(Example.org)"])
    assert one.verdict(*call("fetch_url", "example.org")) is RuleVerdict.ALLOW
    assert one.verdict(*call("fetch_url", "evil.example.org")) is RuleVerdict.NONE
    assert one.verdict(*call("fetch_url", None)) is RuleVerdict.NONE


@pytest.mark.parametrize(
    ("tool", "subject", "rule"),
    [
        ("shell", "make test", "shell(make test)"),
        ("shell", "npm run 'a b'", "shell(npm run 'a b')"),
        ("shell", "ls; ls", "shell(ls *)"),
        ("shell", "ls *", None),
        ("shell", "git status", "shell(git status *)"),
        ("shell", "git", None),
        ("shell", "git push origin main", "shell(git push *)"),
        ("shell", "git push ./other main", None),
        ("shell", "bash -c ls", None),
        ("shell", "/usr/bin/python ../x.py", None),
        ("shell", "sudo ls", None),
        ("edit_file", "src/a.py", "edit_file(src/a.py)"),
        ("edit_file", "src/*.py", None),
        ("fetch_url", "example.org", "fetch_url(example.org)"),
        ("update_plan", None, "update_plan"),
    ],
)
@pytest.mark.req("R-CONF-04")
def test_first_offered_rule_covers_the_call_and_is_one_that_can_be_written(tool, subject, rule):
    proposal = propose_rules(*call(tool, subject))
    assert [str(offered) for offered in proposal.rules] == ([] if rule is None else [rule])
    assert (proposal.reason == "") is (rule is not None)
    for offered in proposal.rules:
        assert Rule.parse(str(offered)) == offered
        assert RuleSet((offered,)).verdict(*call(tool, subject)) is RuleVerdict.ALLOW


@settings(deadline=None)
@given(st.text(max_size=20))
def test_proposed_rule_matches_the_call_and_round_trips(subject):
    for tool in ("shell", "edit_file"):
        if texts := list(map(str, propose_rules(*call(tool, subject)).rules)):
            granted = RuleSet(tuple(map(Rule.parse, texts)))
            assert granted.verdict(*call(tool, subject)) is RuleVerdict.ALLOW


@pytest.mark.req("R-CONF-04")
def test_ask_rule_overrides_allow_rules_and_yields_to_deny_rules():
    every = rules(
        ["shell"], ["shell(git push --force*)"], ["shell(git push*)", "edit_file(src/**)"]
    )
    assert every.verdict(*call("shell", "git push")) is RuleVerdict.ASK
    assert every.verdict(*call("shell", "ls; (git -C . push)")) is RuleVerdict.ASK
    assert every.verdict(*call("shell", "git push --force")) is RuleVerdict.DENY
    assert every.verdict(*call("shell", "git log")) is RuleVerdict.ALLOW
    assert every.verdict(*call("shell", "$x")) is RuleVerdict.UNCLEAR
    assert every.verdict(*call("edit_file", "SRC/a")) is RuleVerdict.ASK
    assert rules(ask=["shell"]).verdict(*call("shell", "ls")) is RuleVerdict.ASK
    assert rules(ask=["shell(ls*)"]).verdict(*call("shell", "$x")) is RuleVerdict.UNCLEAR


@pytest.mark.parametrize("kind", ["allow", "ask", "deny"])
@pytest.mark.req("R-CONF-04")
def test_lists_of_any_length_are_judged_as_a_whole(kind):
    line = "; ".join(f"tool{number} run" for number in range(70))
    texts = [f"shell(tool{number} run*)" for number in range(70)]
    every = rules(texts) if kind == "allow" else rules(["shell"], **{kind: texts[-1:]})
    assert every.judge(*call("shell", line)).verdict.value == kind
    if kind == "allow":
        assert len(every.judge(*call("shell", line)).rules) == 70
        assert rules(texts[:-1]).verdict(*call("shell", line)) is RuleVerdict.NONE


@pytest.mark.req("R-CONF-04")
def test_judgement_names_the_rules_that_decided():
    every = rules(["shell(ls*)", "shell(cat*)", "shell(wc*)"], ["shell(a*)", "shell(rm*)"])
    assert list(map(str, every.judge(*call("shell", "rm x")).rules)) == ["shell(rm*)"]
    used = every.judge(*call("shell", "ls | wc -l")).rules
    assert list(map(str, used)) == ["shell(ls*)", "shell(wc*)"]
    assert every.judge(*call("shell", "make")).rules == ()


_SPECS = st.sampled_from(
    [None, "a", "a*", "a b", "a b*", "b*", "c", "a/**", "*", "**", "a.org", "*.org", "a/b"]
)
_RULES = st.lists(st.builds(Rule, st.just("tool"), _SPECS), max_size=4).map(tuple)
_TEXTS = st.sampled_from(
    ["a", "a b", "a b c", "b", "a; b", "c", "$c", "a/b", "A/B", "a.org", "x.org"]
)


@settings(deadline=None, max_examples=150)
@given(_RULES, _RULES, _RULES, st.sampled_from(["command", "path", "host"]), _TEXTS, st.randoms())
@pytest.mark.req("R-CONF-04")
def test_deny_beats_unclear_beats_ask_beats_allow_in_any_order(allow, ask, deny, kind, text, order):
    subject = Subject(kind, text, "/nowhere")
    verdict = RuleSet(allow, ask, deny).verdict("tool", subject)
    alone = {
        "allow": {RuleSet(allow=(rule,)).verdict("tool", subject) for rule in allow},
        "ask": {RuleSet(ask=(rule,)).verdict("tool", subject) for rule in ask},
        "deny": {RuleSet(deny=(rule,)).verdict("tool", subject) for rule in deny},
    }
    if RuleVerdict.DENY in alone["deny"]:
        assert verdict is RuleVerdict.DENY
    elif RuleVerdict.UNCLEAR in alone["deny"]:
        assert verdict is RuleVerdict.UNCLEAR
    elif RuleVerdict.ASK in alone["ask"]:
        assert verdict is RuleVerdict.ASK
    elif RuleVerdict.UNCLEAR in alone["ask"]:
        assert verdict is RuleVerdict.UNCLEAR
    elif RuleVerdict.ALLOW in alone["allow"]:
        assert verdict is RuleVerdict.ALLOW
    shuffled = [tuple(order.sample(each, len(each))) for each in (allow, ask, deny)]
    assert RuleSet(*shuffled).verdict("tool", subject) is verdict


@pytest.mark.parametrize("line", ["timeout 60 make test", "cd src && timeout 5 make test"])
def test_rule_that_allows_what_a_wrapper_runs_is_named(tmp_path, line):
    (tmp_path / "src").mkdir()
    rules = RuleSet((Rule.parse("shell(ls*)"), Rule.parse("shell(make test)")))
    judged = rules.judge("shell", Subject("command", line, str(tmp_path.resolve())))
    assert (judged.verdict, judged.rules) == (RuleVerdict.ALLOW, rules.allow[1:])


@pytest.mark.parametrize(
    ("kind", "text", "problem"),
    [
        ("opaque", "t(x)", "its calls have no command, host or path; write `t`"),
        ("host", "t(é.org)", "a rule for `t` is a host in ASCII"),
        ("command", "t(a; b)", "a t rule consists of plain words"),
    ],
)
def test_rule_that_can_never_match_is_refused_with_the_reason(kind, text, problem):
    with pytest.raises(UsageError) as caught:
        Rule.parse(text, {"t": kind})
    assert str(caught.value).startswith(f"`{text}` can never match: {problem}")
    assert Rule.parse(text) == Rule("t", text[2:-1])
    assert Rule.parse("t", {"t": kind}) == Rule("t")


@pytest.mark.parametrize("tool", ["edit_file", "write_file"])
@pytest.mark.req("R-CONF-04")
def test_rules_for_tools_that_write_files_cover_patches(tool):
    rule, subject = Rule(tool, "src/*"), Subject("path", "src/a.py")
    assert RuleSet(deny=(rule,)).verdict("apply_patch", subject) is RuleVerdict.DENY
    assert RuleSet(allow=(rule,)).verdict("apply_patch", subject) is RuleVerdict.ALLOW
    assert RuleSet(deny=(rule,)).verdict("read_file", subject) is RuleVerdict.NONE
