import os

import pytest
from msgspec.structs import replace

from yourtool.effects import HookAdvice, SideEffects, Subject
from yourtool.errors import UsageError
from yourtool.permissions.gate import Gate, open_gate, parse_rules
from yourtool.permissions.grants import Grants
from yourtool.permissions.judging import CallSubjects, JudgedCall, Policy, judge, look_up
from yourtool.permissions.rules import EVERY_TOOL, Rule, RuleSet, RuleSource
from yourtool.settings.config import Mode, RunOptions
from yourtool.tools.commands.shell import shell
from yourtool.tools.guidance.plan_proposal import propose_plan


@pytest.fixture
def root(tmp_path, monkeypatch):
    root = tmp_path.resolve()
    for name in ("work/src", "bin"):
        (root / name).mkdir(parents=True)
    (root / "bin").chmod(0o755)
    for name in ("make", "ls", "cat", "timeout", "grep", "rg", "diff", "git"):
        (root / "bin" / name).write_text("#!/bin/sh\n")
        (root / "bin" / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{root}/bin")
    monkeypatch.delenv("VIRTUAL_ENV", raising=False)
    return root


def decide(root, line, *allow, mode=Mode.ASK, is_trusted=True):
    rules = RuleSet(allow=tuple(map(Rule.parse, allow)))
    subject = Subject("command", line, os.path.realpath(root / "work"))
    gate = Gate(rules, mode, is_trusted=is_trusted)
    return gate.decide(shell.definition, CallSubjects((subject,)), None)


@pytest.mark.parametrize("mode", [Mode.ASK, Mode.PLAN])
@pytest.mark.parametrize("line", ["ls -la src", "cd src && ls | cat", "echo 'a b' || true"])
@pytest.mark.req("R-CONF-04", "R-CONF-09")
def test_reading_command_is_free_in_a_trusted_workspace(root, mode, line):
    assert decide(root, line, mode=mode).verdict == "allow"
    assert decide(root, line, mode=mode, is_trusted=False).verdict != "allow"


@pytest.mark.parametrize(
    ("line", "options", "only_reads"),
    [
        ("ls -la src", {}, True),
        ("ls -la src", {"mode": Mode.PLAN}, True),
        ("ls -la src", {"mode": Mode.AUTO}, False),
        ("make test && ls", {}, False),
        ("make test", {}, False),
    ],
)
def test_decision_names_a_command_that_needs_no_approval_because_it_only_reads(
    root, line, options, only_reads
):
    decision = decide(root, line, "shell(make test)", **options)
    assert (decision.verdict, decision.only_reads) == ("allow", only_reads)


@pytest.mark.parametrize(
    "line",
    ["grep -rn x .", "rg x", "rg -n x src", "diff -r src lib", "git grep x", "cd src && rg x"],
)
@pytest.mark.req("R-CONF-04", "T13")
def test_search_of_a_tree_is_free_only_if_no_credential_file_is_in_it(root, line):
    (root / "work/lib").mkdir()
    assert decide(root, line).verdict == "allow"
    (root / "work/src/secrets.yml").write_text("token: x\n")
    asked = decide(root, line)
    assert asked.verdict == "ask"
    assert asked.reason == "it reads `src/secrets.yml`, which may contain credentials"
    assert decide(root, line, mode=Mode.PLAN).verdict == "deny"


@pytest.mark.parametrize(
    ("line", "is_free"),
    [("ls -la src", True), ("cd src && ls | cat", True), ("make test", False), ("ls > x", False),
     ("ls; make", False), ("cat .env", False)],
)  # fmt: skip
@pytest.mark.req("R-CONF-04", "R-CONF-05")
def test_decision_says_whether_trust_in_the_folder_would_make_a_command_free(root, line, is_free):
    assert decide(root, line, is_trusted=False).is_free_if_trusted is is_free
    assert not decide(root, line).is_free_if_trusted


@pytest.mark.parametrize(
    "line", ["make test", "ls > x", "ls; make", "cat /etc/passwd", "cat ~/x", "ls $x", "rm src", ""]
)
@pytest.mark.req("R-CONF-04", "R-CONF-09")
def test_any_other_command_asks_and_plan_mode_denies_it(root, line):
    assert decide(root, line).verdict == "ask"
    assert decide(root, line, mode=Mode.PLAN).verdict == "deny"
    assert decide(root, line, "shell", mode=Mode.PLAN).verdict == "deny"


def test_rule_is_offered_only_for_the_parts_that_are_not_free(root):
    asked = decide(root, "cd src && make test | cat")
    assert (asked.verdict, asked.proposed_rules) == ("ask", ("shell(make test)",))
    assert decide(root, "cd src && make test | cat", *asked.proposed_rules).verdict == "allow"
    covered = decide(root, "make test; make lint", "shell(make test)").proposed_rules
    assert covered == ("shell(make lint)",)


@pytest.mark.req("R-CONF-04")
def test_grant_of_a_command_with_an_assignment_allows_nothing_without_it(root):
    asked = decide(root, "DRY_RUN=1 make deploy")
    assert asked.proposed_rules == ("shell(DRY_RUN=1 make deploy)",)
    assert asked.wider_rules == ("shell(make deploy)",)
    assert decide(root, "DRY_RUN=1 make deploy", *asked.proposed_rules).verdict == "allow"
    assert decide(root, "make deploy", *asked.proposed_rules).verdict == "ask"


@pytest.mark.req("R-CONF-04")
def test_both_offered_rules_allow_both_commands_and_no_other_assignment(root):
    asked = decide(root, "FOO=1 make test")
    rules = (*asked.proposed_rules, *asked.wider_rules)
    for line in ("FOO=1 make test", "make test", "cd src && FOO=1 make test 2>&1 | cat"):
        assert decide(root, line, *rules).verdict == "allow"
    for line in ("BAR=1 make test", "FOO=2 make test", "FOO=1 BAR=1 make test", "PATH=. make test"):
        assert decide(root, line, *rules).verdict == "ask"


@pytest.mark.req("R-CONF-04")
def test_what_runs_without_a_question_is_quoted_again_with_the_programs_that_are_meant(root):
    found = decide(root, 'cd src && timeout 5 make "a b" 2>&1', "shell(make 'a b')").command
    assert found == f"cd src && {root}/bin/timeout 5 {root}/bin/make 'a b' 2>&1"
    assert decide(root, "make test", "shell").command is None
    assert decide(root, "make test").command is None


@pytest.mark.req("R-CONF-04")
def test_every_call_asks_where_a_mistake_in_a_file_may_hide_a_denial(root):
    rules = RuleSet(allow=(Rule("shell"),), ask=(Rule(EVERY_TOOL, source=RuleSource.PROJECT),))
    subject = Subject("command", "ls", str(root / "work"))
    for mode in (Mode.ASK, Mode.ACCEPT_EDITS, Mode.AUTO):
        gate = Gate(rules, mode, is_trusted=True)
        asked = gate.decide(shell.definition, CallSubjects((subject,)), None)
        assert asked.verdict == "ask"
        assert (
            asked.reason == "a file of rules or settings has a mistake that may hide a restriction"
        )


@pytest.mark.parametrize("mode", [Mode.ASK, Mode.ACCEPT_EDITS, Mode.AUTO])
@pytest.mark.req("R-TOOL-07")
def test_write_of_a_command_to_a_protected_place_asks_in_every_mode(root, mode):
    asked = decide(root, "echo x > .envrc", "shell", mode=mode)
    assert (asked.verdict, asked.proposed_rules) == ("ask", ())
    assert asked.reason.startswith("it writes to `.envrc`, a protected place: shells")
    assert decide(root, "echo x > a", "shell", mode=mode).verdict == "allow"


def advise(verdict, *, mode=Mode.ASK, credential_files=(), **rules):
    """Decide on a command that changes files, about which a hook decided."""
    given = {name: tuple(map(Rule.parse, each)) for name, each in rules.items()}
    subject = Subject("command", "make", "/w")
    call = JudgedCall(
        "shell",
        SideEffects.EXECUTE,
        CallSubjects((subject,), credential_files),
        hook=HookAdvice(verdict=verdict, hook="./check", reason="why"),
    )
    policy = Policy(mode, RuleSet(**given))
    return judge(policy, look_up(policy, call))


@pytest.mark.req("R-CONF-04")
def test_hook_decides_after_rules_and_modes():
    for mode in (Mode.ASK, Mode.ACCEPT_EDITS, Mode.AUTO):
        denied = advise("deny", mode=mode, allow=["shell"])
        assert denied.verdict == "deny"
        assert denied.reason == "`shell` was not run: the hook `./check` refuses it: why."
        asked = advise("ask", mode=mode, allow=["shell"])
        assert (asked.verdict, asked.proposed_rules) == ("ask", ())
        assert asked.reason == "the hook `./check` wants you to decide: why"
        assert advise("allow", mode=mode).verdict == "allow"
        assert advise("allow", mode=mode, ask=["shell"]).verdict == "ask"
        assert advise("allow", mode=mode, deny=["shell"]).verdict == "deny"
    assert advise("allow", mode=Mode.PLAN).verdict == "deny"
    assert advise("allow", credential_files=(".env",)).verdict == "ask"


def test_asking_rule_is_named_with_its_owner(root):
    subject = Subject("command", "ls", str(root / "work"))
    for source, owner in ((RuleSource.PROJECT, "of the project"), (RuleSource.USER, "of yours")):
        gate = Gate(RuleSet(ask=(Rule("shell", "ls*", source),)), Mode.AUTO)
        asked = gate.decide(shell.definition, CallSubjects((subject,)), None)
        assert asked.reason == f"the rule `shell(ls*)` {owner} asks about it in every mode"


def test_stored_rules_are_read_again_and_those_of_the_session_stay(root):
    file = root / "permissions.toml"
    file.write_text("allow = ['shell(make*)']\n")
    grants = Grants(file, root / "work", {"shell": "command"})
    own = Rule("shell", "ls*", RuleSource.SESSION)
    gate = Gate(RuleSet(allow=(own,)) | grants.load().rules, Mode.ASK, grants)
    file.write_text("deny = ['shell(rm*)']\n")
    gate.reload()
    assert gate.policy.rules == RuleSet(allow=(own,), deny=(Rule("shell", "rm*"),))
    gate.forget(own)
    assert gate.policy.rules.allow == ()
    alone = Gate(RuleSet(allow=(own, Rule("glob"))), Mode.ASK)
    alone.reload()
    assert alone.policy.rules.allow == (own,)


def test_rule_that_is_granted_for_always_replaces_that_of_the_session(root):
    grants = Grants(root / "permissions.toml", root / "work", {"shell": "command"})
    gate = Gate(RuleSet(), Mode.ASK, grants)
    gate.grant(["shell(make test)"], always=False)
    assert gate.policy.rules.allow == (Rule("shell", "make test", RuleSource.SESSION),)
    assert grants.load().rules.allow == ()
    gate.grant(["shell(make test)"], always=True)
    assert gate.policy.rules.allow == (Rule("shell", "make test", RuleSource.USER),)
    assert grants.load().rules.allow == gate.policy.rules.allow


KINDS = {"shell": "command", "edit_file": "path"}


@pytest.mark.req("R-CONF-04")
def test_rules_of_the_command_line_join_the_stored_ones(root):
    file = root / "permissions.toml"
    file.write_text("deny = ['shell(rm*)']\nallow = ['shell(']\n")
    grants = Grants(file, root / "work", KINDS)
    options = RunOptions(
        workspace=root, allow=("shell(make*)",), deny=("edit_file",), mode=Mode.AUTO
    )
    gate, problems = open_gate(options, Mode.ASK, grants, is_trusted=True)
    given = RuleSource.OPTION
    assert gate.policy.rules == RuleSet(
        allow=(Rule("shell", "make*", given),),
        deny=(Rule("edit_file", None, given), Rule("shell", "rm*")),
    )
    assert (gate.mode, gate.is_trusted, len(problems)) == (Mode.AUTO, True, 1)
    assert gate.policy.workspace == str(root / "work")
    assert (
        open_gate(RunOptions(workspace=root), Mode.PLAN, grants, is_trusted=False)[0].mode
        is Mode.PLAN
    )


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            "shel(ls)",
            "`--deny`: `shel(ls)` has no effect: there is no tool `shel`; did you mean `sh",
        ),
        ("x", "`--deny`: `x` has no effect: there is no tool `x`; the tools are shell, edit_file"),
        ("shell(a; b)", "`shell(a; b)` can never match"),
    ],
)
def test_rule_of_the_command_line_that_cannot_apply_is_an_error(text, problem):
    assert parse_rules("--deny", ["shell"], KINDS) == (Rule("shell", None, RuleSource.OPTION),)
    with pytest.raises(UsageError) as caught:
        parse_rules("--deny", [text], KINDS)
    assert str(caught.value).startswith(problem)


def test_policy_has_another_digest_whenever_it_decides_differently(root):
    policies = [
        Policy(Mode.ASK, RuleSet()),
        Policy(Mode.AUTO, RuleSet()),
        Policy(Mode.ASK, RuleSet(), "/w"),
        Policy(Mode.ASK, RuleSet(), is_trusted=True),
        Policy(Mode.ASK, RuleSet(allow=(Rule("shell"),))),
        Policy(Mode.ASK, RuleSet(deny=(Rule("shell"),))),
    ]
    assert len({each.get_digest() for each in policies}) == len(policies)
    assert Policy(Mode.ASK, RuleSet()).get_digest() == policies[0].get_digest()


def call(effects, *subjects, credentials=(), **facts):
    items = tuple(Subject(kind, text, "/w") for kind, text in subjects)
    return JudgedCall("edit_file", effects, CallSubjects(items, credentials), **facts)


@pytest.mark.parametrize(
    ("effects", "mode", "verdict"),
    [
        (SideEffects.READ, Mode.PLAN, "allow"), (SideEffects.READ, Mode.ASK, "allow"),
        (SideEffects.WRITE, Mode.PLAN, "deny"), (SideEffects.WRITE, Mode.ASK, "ask"),
        (SideEffects.WRITE, Mode.ACCEPT_EDITS, "allow"), (SideEffects.WRITE, Mode.AUTO, "allow"),
        (SideEffects.EXECUTE, Mode.ACCEPT_EDITS, "ask"), (SideEffects.EXECUTE, Mode.AUTO, "allow"),
        (SideEffects.NETWORK, Mode.PLAN, "deny"), (SideEffects.NETWORK, Mode.ACCEPT_EDITS, "ask"),
    ],
)  # fmt: skip
@pytest.mark.req("R-CONF-09")
def test_mode_decides_where_no_rule_does(effects, mode, verdict):
    assert judge(Policy(mode, RuleSet()), call(effects, ("path", "a"))).verdict == verdict


@pytest.mark.parametrize("mode", [Mode.ASK, Mode.ACCEPT_EDITS, Mode.AUTO])
@pytest.mark.req("R-TOOL-07", "T29")
def test_what_every_mode_asks_about_is_asked_about_despite_a_rule(mode):
    policy = Policy(mode, RuleSet(allow=(Rule("edit_file"),)), is_trusted=True)
    path = ("path", "a")
    assert judge(policy, call(SideEffects.WRITE, path)).verdict == "allow"
    for fact in ("is_protected", "loses_work"):
        asked = judge(policy, call(SideEffects.WRITE, path, **{fact: True}))
        assert (asked.verdict, asked.proposed_rules) == ("ask", ())
    secret = judge(
        Policy(mode, RuleSet()), call(SideEffects.READ, path, credentials=(".env", "b.pem"))
    )
    assert secret.reason == (
        "`.env`, `b.pem` may contain credentials; approval is required unless a rule allows it"
    )
    assert judge(policy, call(SideEffects.READ, path, credentials=(".env",))).verdict == "allow"


def test_contained_call_runs_unless_it_is_about_credentials_or_denied():
    path, ask = ("path", "a"), Policy(Mode.ASK, RuleSet())
    contained = call(SideEffects.EXECUTE, path, is_contained=True)
    assert judge(ask, contained).verdict == "allow"
    assert judge(Policy(Mode.ASK, RuleSet(deny=(Rule("edit_file"),))), contained).verdict == "deny"
    secret = call(SideEffects.EXECUTE, path, is_contained=True, credentials=(".env",))
    assert judge(ask, secret).verdict == "ask"


def found(policy, judged):
    return judge(policy, look_up(policy, judged))


def test_answer_about_the_sandbox_allows_what_the_full_one_contains():
    command = ("command", "touch made")
    allows = Policy(Mode.ASK, RuleSet(), allows_contained=True)
    contained = call(SideEffects.EXECUTE, command, is_fully_contained=True)
    assert found(allows, contained).verdict == "allow"
    assert found(allows, call(SideEffects.EXECUTE, command)).verdict == "ask"
    offered = found(Policy(Mode.ASK, RuleSet()), contained)
    assert (offered.verdict, offered.is_free_if_contained) == ("ask", True)
    for fact in ({"is_protected": True}, {"loses_work": True}, {"credentials": (".env",)}):
        held = call(SideEffects.EXECUTE, command, is_fully_contained=True, **fact)
        for policy in (allows, Policy(Mode.ASK, RuleSet())):
            asked = found(policy, held)
            assert (asked.verdict, asked.is_free_if_contained) == ("ask", False)
    denied = replace(allows, rules=RuleSet(deny=(Rule("edit_file"),)))
    assert found(denied, contained).verdict == "deny"


def test_program_that_others_can_replace_runs_where_the_sandbox_contains_it(root):
    (root / "bin/ls").chmod(0o777)
    subjects = CallSubjects((Subject("command", "ls", str(root / "work")),))
    rules = RuleSet(allow=(Rule.parse("shell(ls*)"),))
    contained = JudgedCall("shell", SideEffects.EXECUTE, subjects, is_fully_contained=True)
    assert found(Policy(Mode.ASK, rules), contained).verdict == "ask"
    assert found(Policy(Mode.ASK, rules, allows_contained=True), contained).verdict == "allow"


def test_command_that_names_a_credential_file_asks_in_the_sandbox():
    allows = Policy(Mode.ASK, RuleSet(), allows_contained=True)
    command = ("command", "sh read.sh .env")
    secret = found(allows, call(SideEffects.EXECUTE, command, is_fully_contained=True))
    assert (secret.verdict, secret.is_free_if_contained) == ("ask", False)
    assert secret.reason.startswith("`.env` may contain credentials;")
    auto = replace(allows, mode=Mode.AUTO)
    assert found(auto, call(SideEffects.EXECUTE, command)).verdict == "allow"


@pytest.mark.parametrize("mode", list(Mode))
def test_without_the_sandbox_nothing_allows_a_command(mode):
    command, every = ("command", "touch made"), RuleSet(allow=(Rule("edit_file"),))
    policy = Policy(mode, every, is_trusted=True, allows_contained=True)
    missing = {"missing_sandbox": "no bwrap", "is_contained": True}
    asked = found(policy, call(SideEffects.EXECUTE, command, **missing))
    refuses = mode in (Mode.AUTO, Mode.PLAN)
    assert (asked.verdict, asked.proposed_rules) == ("deny" if refuses else "ask", ())
    alone = found(policy, call(SideEffects.EXECUTE, command, is_attended=False, **missing))
    assert alone.verdict == "deny"
    if mode is not Mode.PLAN:
        assert "no bwrap" in alone.reason and "`--no-sandbox`" in alone.reason


def test_call_about_several_places_is_allowed_only_if_rules_cover_each():
    both = call(SideEffects.WRITE, ("path", "a"), ("path", "b"))
    one = RuleSet(allow=(Rule("edit_file", "a"),))
    asked = judge(Policy(Mode.ASK, one), both)
    assert (asked.verdict, asked.proposed_rules) == ("ask", ())
    assert asked.no_rule_reason == "it is about several places at once, and a rule names one"
    every = RuleSet(allow=(Rule("edit_file", "a"), Rule("edit_file", "b")))
    assert judge(Policy(Mode.ASK, every), both).verdict == "allow"
    denied = judge(Policy(Mode.ASK, RuleSet(deny=(Rule("edit_file", "b"),))), both)
    assert (denied.verdict, denied.rules) == ("deny", (Rule("edit_file", "b"),))


@pytest.mark.req("R-CONF-04")
def test_program_that_others_can_replace_needs_an_approval(root):
    assert decide(root, "ls").verdict == "allow"
    (root / "bin/ls").chmod(0o777)
    asked = decide(root, "ls", "shell(ls*)")
    assert asked.verdict == "ask"
    assert asked.reason == f"everyone can write to `{root}/bin/ls`"
    assert decide(root, "ls", "shell(ls*)", mode=Mode.AUTO).verdict == "allow"
    assert decide(root, "ls", "shell").verdict == "allow"


@pytest.mark.parametrize("mode", list(Mode))
@pytest.mark.req("R-LOOP-13", "R-CONF-09")
def test_plan_is_asked_about_in_plan_mode_only(mode):
    gate = Gate(RuleSet(), mode)
    decision = gate.decide(propose_plan.definition, CallSubjects((Subject("opaque"),)), None)
    assert decision.verdict == ("ask" if mode is Mode.PLAN else "allow")


@pytest.mark.req("R-CONF-08")
def test_deny_rule_also_denies_a_plan():
    gate = Gate(RuleSet(deny=(Rule.parse("propose_plan"),)), Mode.PLAN)
    decision = gate.decide(propose_plan.definition, CallSubjects((Subject("opaque"),)), None)
    assert decision.verdict == "deny"


def type_text(text, mode=Mode.ASK, is_trusted=True, **rules):
    """Decide on a text that is typed into a process."""
    given = {name: tuple(map(Rule.parse, each)) for name, each in rules.items()}
    subjects = CallSubjects((Subject("command", text, "/w"),))
    typing = JudgedCall("process_input", SideEffects.EXECUTE, subjects)
    policy = Policy(mode, RuleSet(**given), is_trusted=is_trusted)
    return judge(policy, look_up(policy, typing))


@pytest.mark.req("R-TOOL-17", "R-CONF-09")
def test_typed_text_asks_even_if_it_reads_like_a_free_command():
    for text in ("ls", "print(1)", "y"):
        found = type_text(text)
        assert (found.verdict, found.proposed_rules) == ("ask", ())
        assert "a program reads it" in found.no_rule_reason
        assert type_text(text, Mode.PLAN).verdict == "deny"
        assert type_text(text, allow=["shell"]).verdict == "ask"
    assert type_text("print(1)", Mode.AUTO).verdict == "allow"
    assert type_text("print(1)", allow=["process_input"]).verdict == "allow"


@pytest.mark.req("R-TOOL-17", "R-CONF-09")
def test_deny_rules_for_commands_cover_what_is_typed():
    for mode in Mode:
        assert type_text("git push", mode, deny=["shell(git push *)"]).verdict == "deny"
        assert type_text("x", mode, deny=["process_input"]).verdict == "deny"
    assert type_text("git push", Mode.AUTO, ask=["shell(git push *)"]).verdict == "ask"
    assert type_text("eval $x", Mode.AUTO, deny=["shell(git push *)"]).verdict == "ask"


@pytest.mark.req("R-TOOL-17", "R-CONF-09")
@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("echo\rgit push", "deny"),
        ("ls\ngit push", "deny"),
        ("#\x15git push", "ask"),
        ("l\x7fgit push", "ask"),
        ("g\x16\x00it push", "ask"),
        ("\x03", "ask"),
        ("\tls", "allow"),
    ],
)
def test_keys_in_a_typed_text_hide_no_command_from_deny_rules(text, verdict):
    assert type_text(text, Mode.AUTO, deny=["shell(git push *)"]).verdict == verdict
    assert type_text(text, Mode.AUTO).verdict == "allow"
