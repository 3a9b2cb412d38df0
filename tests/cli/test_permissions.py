import json

import pytest

from tests.security.adversarial import ADVERSARIAL, FILES, LINKS, NEEDLESS
from tests.security.commands import COMMANDS
from tests.security.corpora import MISSING, load_recorded
from tests.tools.protection.test_safety_copies import build_repository, make_dirty
from tests.tools.sandbox.levels import require
from yourtool.paths import resolve_paths
from yourtool.permissions.trust import TrustStore
from yourtool.settings.config import config_file
from yourtool.settings.sandbox_config import SandboxLevel

pytestmark = pytest.mark.usefixtures("own_logging")

MAY_WRITE = "`make` can do more than read files"
NAMES = ("command", "allow_rules", "deny_rules")


def check_all(line, cases):
    """Return the decisions about the cases, whose rules are the only ones."""
    line.type("".join(json.dumps({name: case[name] for name in NAMES}) + "\n" for case in cases))
    code, out, err = line("permissions", "check", "-")
    assert (code, err) == (0, "")
    return [json.loads(each) for each in out.splitlines()]


@pytest.mark.req("R-CONF-04")
def test_json_lines_of_the_corpus_are_decided_as_expected(line):
    (line.workspace / "docs").mkdir()
    for case, decided in zip(COMMANDS, check_all(line, COMMANDS), strict=True):
        assert decided["decision"] == case["expect"], case["command"]
        assert set(decided) == {"decision", "rule", "reason", "commands", "proposal"}


def check_recorded(line, root):
    """Return the cases of the recorded corpus with the decisions about them."""
    fixture = load_recorded("fixture")
    line.workspace = root / "ws"
    for name in fixture["dirs"]:
        (root / name).mkdir(parents=True, exist_ok=True)
    for name in (*fixture["files"], *fixture["executables"]):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("x\n")
    for name, target in fixture["symlinks"].items():
        (root / name).symlink_to(target.replace("{ws}", str(line.workspace)))
    cases = [case for case in load_recorded("shell_commands") if "context" not in case]
    decided = (each["decision"] for each in check_all(line, cases))
    return list(zip(cases, decided, strict=True))


def count_mistakes(pairs):
    """Return the wrong approvals, the missed denials, the needless questions, and of how many."""
    wrong = sum(case["expect"] != "allow" == found for case, found in pairs)
    missed = sum(case["expect"] == "deny" != found for case, found in pairs)
    harmless = [found for case, found in pairs if case["expect"] == "allow"]
    return wrong, missed, len(harmless) - harmless.count("allow"), len(harmless)


@pytest.mark.recorded
@pytest.mark.req("R-CONF-04")
def test_json_lines_of_the_larger_corpus_are_decided_as_expected(line, tmp_path):
    for case, found in check_recorded(line, tmp_path / "root"):
        assert found == case["expect"], case["command"]


@pytest.mark.security
@pytest.mark.req("R-CONF-04")
def test_figures_of_the_recorded_corpus(line, tmp_path, figures):
    if not load_recorded("shell_commands"):
        figures("corpus", MISSING)
        pytest.skip(MISSING)
    wrong, missed, needless, harmless = count_mistakes(check_recorded(line, tmp_path / "root"))
    figures("corpus", f"{wrong}, {missed}, {needless} of {harmless}")
    assert (wrong, missed) == (0, 0)
    assert needless <= 1


@pytest.mark.parametrize(
    ("options", "command", "expected"),
    [
        (
            ["--allow", "shell(make*)"],
            "make test",
            ("allow", "shell(make*)", "", [["make", "test"]], None),
        ),
        (
            ["--deny", "shell(git push*)", "--allow", "shell"],
            "git -C . push",
            (
                "deny",
                "shell(git push*)",
                "A rule forbids this call of `shell`. Do without it.",
                [["git", "-C", ".", "push"]],
                None,
            ),
        ),
        (
            ["--allow", "shell"],
            "echo x > .envrc",
            (
                "ask",
                None,
                "it writes to `.envrc`, a protected place: shells and other programs run it by its"
                " name",
                [["echo", "x"]],
                None,
            ),
        ),
        (
            ["--allow", "shell(make test > out.txt)"],
            "make test >out.txt 2>&1",
            ("allow", "shell(make test > out.txt)", "", [["make", "test"]], None),
        ),
        (
            [],
            "make test > out.txt",
            ("ask", None, MAY_WRITE, [["make", "test"]], ["shell(make test > out.txt)"]),
        ),
        ([], "make test", ("ask", None, MAY_WRITE, [["make", "test"]], ["shell(make test)"])),
        (
            [],
            "FOO=1 make test",
            (
                "ask",
                None,
                MAY_WRITE,
                [["make", "test"]],
                ["shell(FOO=1 make test)", "shell(make test)"],
            ),
        ),
    ],
)
def test_decision_is_that_of_the_gate_with_its_rule_and_reason(line, options, command, expected):
    code, out, _ = line("permissions", "check", "--json", *options, command)
    assert code == 0
    found = json.loads(out)
    assert tuple(found.values())[:-2] == expected
    assert list(found)[-2:] == ["sandbox", "where"]


@pytest.mark.no_sandbox(reason="the next tests are about the sandbox of this machine")
def test_stored_rules_of_the_workspace_count_and_the_decision_is_readable(line):
    (resolve_paths().home / "permissions.toml").write_text(
        'deny = ["shell(rm*)", "edit_file(src/**)"]\n'
    )
    assert line("permissions", "check", "rm -r src")[2] == ""
    assert line("permissions", "check", "rm -r src")[1] == (
        "deny\nrule: shell(rm*)\nreason: A rule forbids this call of `shell`. Do without it.\n"
    )
    assert line("permissions", "check", "make test")[1] == (
        f"ask\nreason: {MAY_WRITE}\nalways: shell(make test)\n"
    )


@pytest.fixture
def sandboxed(line, monkeypatch):
    """The command line with the sandbox of this machine; it is measured, which blocks."""
    require(SandboxLevel.FULL)
    monkeypatch.setenv("YOURTOOL_SANDBOX_ENABLED", "true")
    return line


def configure(settings):
    file = config_file(resolve_paths())
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(settings)


def test_check_is_about_the_sandbox_of_this_machine_and_its_settings(sandboxed):
    full = "runs in: full sandbox; no network\n"
    check = ("permissions", "check", "make")
    offer = f"reason: {MAY_WRITE}\nalways: shell(make)"
    assert sandboxed(*check)[1] == f"ask\n{offer}\n{full}"
    configure("[sandbox]\nauto_allow = true\n")
    assert sandboxed(*check)[1] == f"allow\nreason: `[sandbox] auto_allow` allows it\n{full}"
    configure("[sandbox]\nauto_allow = true\noutside = ['make *']\n")
    outside = "runs in: outside the sandbox, with all your rights\n"
    assert sandboxed(*check)[1] == f"ask\n{offer}\n{outside}"
    configure("[sandbox]\nrequire = 'full'\noutside = ['make *']\n")
    reason = "reason: `[sandbox] require` is not met\n"
    assert sandboxed(*check, "--allow", "shell")[1] == f"ask\n{reason}{outside}"
    configure("[sandbox]\nhosts = ['example.org']\n")
    found = json.loads(sandboxed(*check, "--json")[1])
    assert found["sandbox"] == "full"
    assert found["where"] == "full sandbox; network: example.org"


def test_check_of_a_download_names_the_missing_network(sandboxed):
    configure("[sandbox]\nauto_allow = true\n")
    out = sandboxed("permissions", "check", "npm install left-pad")[1]
    reason = "`npm install` needs a network, which commands in the sandbox do not have"
    assert out.startswith(
        f"ask\nreason: {reason}\nruns in: full sandbox, with a network for this command\n"
    )
    assert sandboxed("permissions", "check", "npm test")[1].startswith("allow\n")


def test_check_is_about_the_stored_answer_of_the_folder(sandboxed):
    TrustStore(resolve_paths().home / "trust.toml").allow_contained(sandboxed.workspace.resolve())
    out = sandboxed("permissions", "check", "make")[1]
    assert out.startswith("allow\nreason: the folder allows commands in the sandbox\n")
    for command in ("cat .env", "touch .git/hooks/post-checkout"):
        assert sandboxed("permissions", "check", command)[1].startswith("ask\nreason: ")
    assert sandboxed("permissions", "check", "--deny", "shell", "make")[1].startswith("deny\n")


def test_check_is_about_the_stored_answers_about_networks(sandboxed):
    check = ("permissions", "check", "npm install left-pad")
    allow = ("--allow", "sandbox_network(npm install *)")
    out = sandboxed(*check, *allow)[1]
    assert out.startswith("allow\nreason: the program always has a network in the sandbox\n")
    out = sandboxed(*check, "--allow", "sandbox_outside(npm install *)")[1]
    assert out.endswith("runs in: outside the sandbox, with all your rights\n")
    assert "needs a network" not in out
    out = sandboxed("permissions", "check", "make", "--allow", "sandbox_host(example.org)")[1]
    assert out.endswith("runs in: full sandbox; network: example.org\n")


@pytest.mark.no_sandbox(reason="the next tests are about the sandbox of this machine")
def test_check_is_about_the_mode_of_the_settings_and_uncommitted_work(line):
    configure("mode = 'plan'\n")
    assert line("permissions", "check", "make")[1].startswith("deny\nreason: Plan mode is on")
    assert line("--mode", "auto", "permissions", "check", "make")[1] == "allow\n"
    make_dirty(build_repository(line.workspace))
    out = line("--mode", "auto", "permissions", "check", "git reset --hard")[1]
    assert out == "ask\nreason: it discards uncommitted work: every mode needs an approval\n"


@pytest.mark.parametrize("text", ["{", '{"command": 1}', "[]"])
def test_line_that_is_no_command_is_a_usage_error_with_its_number(line, text):
    line.type('{"command": "ls"}\n' + text + "\n")
    code, _, err = line("permissions", "check", "-")
    assert code == 2
    assert "line 2 of standard input" in err


def test_invalid_rule_is_a_usage_error(line):
    line.type('{"command": "ls", "allow_rules": ["ls; rm"]}\n')
    assert line("permissions", "check", "-")[0] == 2
    assert line("permissions", "check", "--allow", "shel(ls)", "ls")[0] == 2
    assert line("permissions")[0] == 2


@pytest.mark.req("R-CONF-04")
def test_json_line_is_about_a_trusted_folder_only_if_it_says_so(line):
    lines = [{"command": "ls"}, {"command": "ls", "trusted": True}]
    line.type("".join(json.dumps(each) + "\n" for each in lines))
    _, out, _ = line("permissions", "check", "-")
    assert [json.loads(each)["decision"] for each in out.splitlines()] == ["ask", "allow"]


@pytest.fixture
def hostile_line(line):
    """The command line in the workspace of the adversarial corpus."""
    for name, text in FILES.items():
        (line.workspace / name).parent.mkdir(parents=True, exist_ok=True)
        (line.workspace / name).write_text(text)
    for name, target in LINKS.items():
        (line.workspace / name).symlink_to(target)
    return line


@pytest.mark.security
@pytest.mark.req("R-CONF-04")
def test_figures_of_the_adversarial_corpus(hostile_line, figures):
    decided = check_all(hostile_line, ADVERSARIAL)
    pairs = [(case, found["decision"]) for case, found in zip(ADVERSARIAL, decided, strict=True)]
    wrong, missed, needless, harmless = count_mistakes(pairs)
    figures("larger corpus", f"{wrong}, {missed}, {needless} of {harmless}")
    assert (wrong, missed) == (0, 0)
    assert needless <= 3


@pytest.mark.req("R-CONF-04")
def test_adversarial_commands_are_decided_as_expected(hostile_line):
    found = {
        case["command"]: (decided["decision"], decided["reason"])
        for case, decided in zip(ADVERSARIAL, check_all(hostile_line, ADVERSARIAL), strict=True)
        if decided["decision"] != case["expect"]
    }
    assert sorted(found) == sorted(NEEDLESS), found


def test_corpora_are_disjoint():
    others = {case["command"] for case in (*COMMANDS, *load_recorded("shell_commands"))}
    own = [case["command"] for case in ADVERSARIAL]
    assert len(own) == len(set(own))
    assert others.isdisjoint(own)
    assert sum(case["expect"] == "allow" for case in ADVERSARIAL) >= 118


FORMER_FAILURES = (
    *(
        (command, [], ["git push*"], "deny")
        for command in (
            "git -C . push", "git -c a=b push", "git --no-pager push", "env -S 'git push'",
        )
    ),
    *(
        (command, [], ["rm*"], "deny")
        for command in (
            "if true; then rm x; fi", "while rm x; do :; done", "for i in 1; do rm x; done",
            "until rm x; do :; done", "$'rm' x", "bash -c rm", "coproc rm",
            "busybox rm x", "su -c 'rm x'", "taskset 1 rm x", "unshare rm x", "setpriv rm x",
            "script -c 'rm x'", "runuser -u a rm x",
        )
    ),
    ("g=git; $g push", [], ["git push*"], "ask"),
    ("find . -delete", ["find*"], [], "ask"),
    ("git -c core.pager=x log", ["git*"], [], "ask"),
    ("echo x > .git/hooks/pre-commit", ["shell"], [], "ask"),
    ("cd docs && ls", ["ls"], [], "allow"),
    ("grep -r x . | head", ["grep -r x .", "head"], [], "allow"),
    ("make test > out.txt", ["make test > out.txt"], [], "allow"),
)  # fmt: skip


def find_former_failures(line):
    """Return the cases that are still decided wrongly."""
    cases = [dict(zip(NAMES, case, strict=False)) for case in FORMER_FAILURES]
    decided = check_all(line, cases)
    return [
        case
        for case, found in zip(FORMER_FAILURES, decided, strict=True)
        if found["decision"] != case[3]
    ]


@pytest.mark.req("R-CONF-04")
def test_commands_that_earlier_versions_judged_wrongly_are_decided_as_expected(hostile_line):
    assert find_former_failures(hostile_line) == []


@pytest.mark.security
@pytest.mark.req("R-CONF-04")
def test_figures_of_commands_that_were_judged_wrongly(hostile_line, figures):
    left = find_former_failures(hostile_line)
    figures("former failures", f"{len(left)} of {len(FORMER_FAILURES)} left")
    assert left == []
