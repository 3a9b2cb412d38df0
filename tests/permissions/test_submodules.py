"""Commands of git about submodules and other directories: what is free, and what else asks."""

import subprocess

import pytest

from yourtool.effects import Subject
from yourtool.permissions.gate import Gate
from yourtool.permissions.judging import CallSubjects
from yourtool.permissions.rules import RuleSet
from yourtool.settings.config import Mode
from yourtool.tools.commands.shell import shell

GIT = ("git", "-c", "user.name=n", "-c", "user.email=a@b.c", "-c", "protocol.file.allow=always")


def run_git(directory, *arguments):
    subprocess.run([*GIT, *arguments], cwd=directory, check=True, capture_output=True)


@pytest.fixture
def workspace(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    library, root = tmp_path / "library", tmp_path.resolve() / "work"
    for each in (library, root):
        each.mkdir()
        run_git(each, "init", "-q")
        (each / "a.txt").write_text("x\n")
        run_git(each, "add", ".")
        run_git(each, "commit", "-qm", "Start")
    run_git(root, "submodule", "add", "-q", str(library), "vendor/library")
    run_git(root, "commit", "-qm", "Add the library")
    return root


def decide(root, line, gate=None):
    subjects = CallSubjects((Subject("command", line, str(root)),))
    gate = gate or Gate(RuleSet(), Mode.ASK, is_trusted=True)
    return gate.decide(shell.definition, subjects, None)


READING = (
    "git submodule status", "git -C vendor/library status -s", "git clean -nd",
    "cd vendor/library && git status", "git -C vendor/library log -1 | cat",
)  # fmt: skip


@pytest.mark.parametrize("line", READING)
@pytest.mark.req("R-CONF-04")
def test_reading_in_a_submodule_is_free(workspace, line):
    decision = decide(workspace, line)
    assert decision.verdict == "allow", decision.reason
    ran = subprocess.run(decision.command, shell=True, cwd=workspace, capture_output=True)
    assert (ran.returncode, ran.stderr) == (0, b"")


@pytest.mark.req("R-CONF-04")
def test_canonical_form_has_the_directory_before_the_options_of_git(workspace):
    words = decide(workspace, "git -C vendor/library status").command.split()
    assert words[1:4] == ["-C", "vendor/library", "--no-pager"]
    assert words[-2:] == ["status", "--ignore-submodules=dirty"]


@pytest.mark.parametrize("is_absorbed", [True, False])
def test_submodule_whose_settings_run_a_program_is_asked_about(workspace, is_absorbed):
    module = workspace / "vendor/library"
    if not is_absorbed:
        (module / ".git").unlink()
        run_git(module, "init", "-q")
    run_git(module, "config", "core.fsmonitor", "./x")
    for line in ("git submodule status", "git submodule update --init"):
        assert decide(workspace, line).verdict == "ask"
    asked = decide(workspace, "git submodule status")
    assert "git may run other programs because of `core.fsmonitor`" in asked.reason
    gate = Gate(RuleSet(), Mode.ASK, is_trusted=True)
    gate.grant(["shell(git submodule update *)"], always=False)
    assert decide(workspace, "git submodule update --init", gate).verdict == "ask"


@pytest.mark.req("R-CONF-04")
@pytest.mark.parametrize(
    "line",
    [
        "git grep --recurse-submodules --cached x",
        "git grep --cached x",
        "git describe --always --dirty",
    ],
)
def test_command_that_reads_runs_no_program_of_a_submodule(workspace, tmp_path, line):
    """git obeys the settings of a submodule also where they name a program."""
    module = workspace / "vendor/library"
    (module / ".git").unlink()
    run_git(module, "init", "-q")
    run_git(module, "add", ".")
    run_git(module, "commit", "-qm", "Start")
    run_git(workspace, "add", ".")
    run_git(workspace, "commit", "--allow-empty", "-qm", "Change")
    run_git(workspace, "config", "submodule.recurse", "true")
    program = f"touch {tmp_path}/ran; false"
    for key, value in (
        ("core.repositoryformatversion", "1"), ("extensions.partialClone", "o"),
        ("remote.o.url", str(module)), ("remote.o.promisor", "true"),
        ("remote.o.uploadpack", program), ("filter.x.clean", program),
    ):  # fmt: skip
        run_git(module, "config", key, value)
    [blob] = (each for each in module.glob(".git/objects/??/*") if each.stat().st_size < 30)
    blob.unlink()
    (module / ".git/info/attributes").write_text("* filter=x\n")
    (module / "a.txt").write_text("y\n")
    subprocess.run(line, shell=True, cwd=workspace, capture_output=True)
    assert (tmp_path / "ran").exists()
    (tmp_path / "ran").unlink()
    if (command := decide(workspace, line).command) is not None:
        subprocess.run(command, shell=True, cwd=workspace, capture_output=True)
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("line", ["git add -A", "git commit -am x"])
@pytest.mark.parametrize("is_inner", [True, False])
def test_rule_covers_no_command_that_enters_a_submodule_with_a_program(workspace, line, is_inner):
    gate = Gate(RuleSet(), Mode.ASK, is_trusted=True)
    gate.grant(["shell(git add *)", "shell(git commit -am x)"], always=False)
    assert decide(workspace, line, gate).verdict == "allow"
    module = workspace / "vendor/library"
    if is_inner:
        run_git(module, "init", "-q", "inner")
        run_git(module / "inner", "commit", "--allow-empty", "-qm", "Start")
        run_git(module, "add", "inner")
        module /= "inner"
    run_git(module, "config", "filter.x.clean", "./x")
    asked = decide(workspace, line, gate)
    assert (asked.verdict, asked.proposed_rules) == ("ask", ())
    assert "`filter.x.clean` in `" in asked.no_rule_reason


def test_submodules_are_asked_about_if_the_index_cannot_be_read(workspace):
    (workspace / ".git/index").write_bytes(b"DIRC")
    assert "git may run other programs" in decide(workspace, "git submodule status").reason


@pytest.mark.parametrize(
    ("line", "rule", "again"),
    [
        ("git submodule update --init", "git submodule update *", "git submodule update"),
        ("git format-patch -1 -o out", "git format-patch *", "git format-patch -3 main"),
        ("git -C vendor/library add -A", "git add *", "git add -A"),
    ],
)
@pytest.mark.req("R-CONF-04")
def test_other_commands_of_git_get_a_rule_by_their_first_words(workspace, line, rule, again):
    gate = Gate(RuleSet(), Mode.ASK, is_trusted=True)
    asked = decide(workspace, line, gate)
    assert (asked.verdict, asked.proposed_rules[0]) == ("ask", f"shell({rule})")
    gate.grant(asked.proposed_rules, always=False)
    assert decide(workspace, line, gate).verdict == "allow"
    assert decide(workspace, again, gate).verdict == "allow"


@pytest.mark.parametrize(
    "line",
    [
        "git format-patch -1 -o ../out", "git format-patch -1 --output-directory=/etc",
        "git submodule update --reference ../x", "git -C .. format-patch -1",
        "git -C vendor/library submodule update --reference=../x",
        "git format-patch -1 -o .git/hooks",
    ],
)  # fmt: skip
def test_rules_about_them_cover_neither_other_places_nor_other_options(workspace, line):
    gate = Gate(RuleSet(), Mode.ASK, is_trusted=True)
    gate.grant(["shell(git submodule update *)", "shell(git format-patch *)"], always=False)
    assert decide(workspace, line, gate).verdict == "ask"


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("git submodule foreach 'git status -s'",
         "`git submodule foreach` runs a command in each submodule, so no rule is offered"),
        ("git clean -fd", "`git clean` deletes files of which git has no copy, so no rule is"
         " offered"),
        ("git -C .. status",
         "`git -C` works in a directory that is not one of the workspace, so no rule is offered"),
        ("git gc", "`git gc` is not one of the commands whose effects are known, so no rule is"
         " offered"),
    ],
)  # fmt: skip
def test_reason_against_a_rule_is_about_what_the_command_does(workspace, line, reason):
    asked = decide(workspace, line)
    assert (asked.verdict, asked.proposed_rules, asked.no_rule_reason) == ("ask", (), reason)


@pytest.mark.parametrize("line", ["git clean -nf -i", "git clean -fdx", "git clean -e x -df"])
def test_cleaning_is_never_free(workspace, line):
    assert decide(workspace, line).verdict == "ask"


@pytest.mark.parametrize(
    "line",
    ["git -C .. log", "git -C /etc log", "git -C a -C b log", "git -C vendor/library log > a"],
)
def test_git_elsewhere_or_with_a_redirection_is_not_free(workspace, line):
    assert decide(workspace, line).verdict == "ask"
