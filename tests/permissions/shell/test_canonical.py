"""The line that runs in place of an understood one."""

import subprocess

import pytest

from yourtool.permissions.shell.canonical import (
    SearchPath,
    UnsafeProgramError,
    build_canonical_line,
    build_search_path,
)
from yourtool.permissions.shell.lines.plain import parse_plain


@pytest.fixture
def root(tmp_path):
    root = tmp_path.resolve()
    for folder in ("work/tools", "work/venv/bin", "bin", "open", "late"):
        (root / folder).mkdir(parents=True)
        (root / folder).chmod(0o755)
    for name in ("bin/git", "bin/timeout", "bin/ls", "bin/cat", "late/ls", "late/make", "open/tar"):
        add_program(root / name)
    return root


def add_program(path, mode=0o755):
    path.write_text("#!/bin/sh\n")
    path.chmod(mode)


def search_path(root, *directories):
    return SearchPath([str(root / each) for each in directories], root / "work")


def canonical(root, line, *directories):
    return build_canonical_line(
        parse_plain(line), search_path(root, *(directories or ("bin", "late")))
    )


@pytest.mark.req("R-CONF-04", "T4")
def test_first_program_of_its_name_that_can_run_is_meant(root):
    assert canonical(root, "ls a") == f"{root}/bin/ls a"
    (root / "bin/ls").chmod(0o644)
    assert canonical(root, "ls a") == f"{root}/late/ls a"
    (root / "bin/make").mkdir()
    assert canonical(root, "make") == f"{root}/late/make"


def test_unusable_directories_of_the_search_path_are_passed_over(root):
    (root / "loop").symlink_to("loop")
    (root / "file").touch()
    unusable = ("x" * 300, "loop", "file", "missing")
    assert canonical(root, "ls a", *unusable, "bin") == f"{root}/bin/ls a"


def test_path_and_unknown_name_are_left_as_they_are(root):
    assert canonical(root, "./run.sh a; missing b") == "./run.sh a ; missing b"


def test_commands_of_the_shell_are_no_programs_unless_another_program_runs_them(root):
    add_program(root / "bin/echo")
    assert canonical(root, "echo a") == "echo a"
    assert canonical(root, "timeout 5 echo a") == f"{root}/bin/timeout 5 {root}/bin/echo a"
    assert canonical(root, "timeout 5") == f"{root}/bin/timeout 5"


@pytest.mark.parametrize("name", ["cd", "echo", "false", "printf", "pwd", "test", "true"])
def test_command_of_the_shell_stays_a_word(root, name):
    add_program(root / "bin" / name)
    assert canonical(root, f"{name} a") == f"{name} a"


def test_git_options_are_those_that_switch_programs_off(root):
    words = canonical(root, "git diff").split()
    assert words[1:3] == ["--no-pager", "--no-optional-locks"]
    assert words[3:-4:2] == ["-c"] * 11
    assert set(words[4:-4:2]) == {
        "core.fsmonitor=false", "core.hooksPath=/dev/null", "diff.external=",
        "log.showSignature=false", "gpg.program=false", "gpg.ssh.program=false",
        "gpg.x509.program=false", "diff.submodule=short", "status.submoduleSummary=false",
        "safe.bareRepository=explicit", "submodule.recurse=false",
    }  # fmt: skip
    assert words[-4:] == ["diff", "--no-ext-diff", "--no-textconv", "--ignore-submodules=dirty"]
    assert canonical(root, "git blame a").endswith(" blame --no-textconv a")
    assert canonical(root, "git show").endswith(" show --no-ext-diff --no-textconv")


def test_files_of_redirections_are_quoted_again(root):
    assert canonical(root, "ls >'a b' 2>> c") == f"{root}/bin/ls > 'a b' 2>> c"


def test_values_redirections_and_operators_stay(root):
    line = "A='x y' B=1 ls 2>&1 | cat -n >/dev/null || true"
    found = canonical(root, line)
    assert found == (f"A='x y' B=1 {root}/bin/ls 2>&1 | {root}/bin/cat -n >/dev/null || true")


@pytest.mark.req("T4")
@pytest.mark.parametrize("link", [False, True])
def test_program_in_the_workspace_is_refused_also_behind_a_link(root, link):
    add_program(root / "work/tools/make")
    if link:
        (root / "late/make").unlink()
        (root / "late/make").symlink_to(root / "work/tools/make")
    with pytest.raises(UnsafeProgramError, match="`make` is a program in the workspace"):
        canonical(root, "make", "late" if link else "work/tools")


@pytest.mark.req("T4")
@pytest.mark.parametrize("changed", ["open/tar", "open"])
def test_program_that_everyone_can_replace_is_refused(root, changed):
    (root / changed).chmod(0o757)
    with pytest.raises(UnsafeProgramError, match=f"everyone can write to `{root}/{changed}`"):
        canonical(root, "tar", "open")


@pytest.mark.req("T4")
def test_reading_program_of_a_virtual_environment_in_the_workspace_must_be_a_link(root):
    binaries = root / "work/venv/bin"
    add_program(binaries / "make")
    (binaries / "cat").symlink_to(root / "bin/cat")
    add_program(binaries / "ls")
    found = SearchPath([str(binaries)], root / "work", str(binaries))
    assert build_canonical_line(parse_plain("make"), found) == f"{binaries}/make"
    assert build_canonical_line(parse_plain("cat a"), found) == f"{binaries}/cat a"
    with pytest.raises(UnsafeProgramError, match="`ls` is a program in the workspace"):
        build_canonical_line(parse_plain("ls"), found)
    elsewhere = SearchPath([str(binaries)], root / "work")
    with pytest.raises(UnsafeProgramError):
        build_canonical_line(parse_plain("make"), elsewhere)


@pytest.mark.req("T3")
def test_git_runs_without_the_programs_of_a_repository(root):
    found = canonical(root, "git --no-pager log -3 | cat")
    program, _, rest = found.partition(" --no-pager ")
    assert program == f"{root}/bin/git"
    assert "core.fsmonitor=false" in rest
    assert "core.hooksPath=/dev/null" in rest
    assert rest.endswith(f"log --no-ext-diff --no-textconv -3 | {root}/bin/cat")
    assert canonical(root, "git push") == f"{root}/bin/git push"
    assert canonical(root, "git status").endswith("status --ignore-submodules=dirty")


@pytest.mark.req("T3", "T4")
@pytest.mark.parametrize("line", ["git $x", "git -C a $x", "git --no-pager $x", "timeout 5 $x"])
def test_program_or_command_of_git_that_a_loop_changes_is_refused(root, line):
    """A program or command of git from a loop: only its first word would be resolved."""
    with pytest.raises(UnsafeProgramError, match="a variable of a loop names"):
        canonical(root, f"for x in config diff; do {line}; done")
    assert "/git -C $x --no-pager" in canonical(root, "for x in a b; do git -C $x diff; done")


def test_programs_of_the_active_environment_are_found_first(root, monkeypatch):
    own = root / "work/venv"
    found = build_search_path({"PATH": f"{own}/bin:{root}/bin", "VIRTUAL_ENV": str(own)}, root)
    assert found.virtual_environment == f"{own}/bin"
    assert build_search_path({"PATH": f"{root}/bin"}, root).virtual_environment == ""


@pytest.mark.req("T4")
def test_directory_of_the_workspace_in_path_is_only_for_commands_that_a_rule_covers(root):
    inner = root / "work/node_modules/.bin"
    inner.mkdir(parents=True)
    for name in ("ls", "git", "jq", "cp", "eslint"):
        add_program(inner / name)
    found = build_search_path({"PATH": f"{inner}:{root}/bin"}, root / "work")
    assert build_canonical_line(parse_plain("eslint ."), found) == f"{inner}/eslint ."
    assert build_canonical_line(parse_plain("ls"), found) == f"{root}/bin/ls"
    assert build_canonical_line(parse_plain("git push"), found) == f"{root}/bin/git push"
    for line in ("jq . a.json", "cp a b"):
        with pytest.raises(
            UnsafeProgramError, match=f"`{line[:2]}.* is a program in the workspace"
        ):
            build_canonical_line(parse_plain(line), found)


def test_git_shows_its_settings_without_those_of_the_canonical_form(root):
    line = build_canonical_line(parse_plain("git config --list"), SearchPath((), root / "work"))
    assert line == "git --no-pager config --list"


@pytest.mark.req("T3", "R-CONF-04")
@pytest.mark.parametrize("line", ["git status", "git diff", "git log -p", "git show"])
def test_git_runs_no_program_that_a_repository_names(tmp_path, line):
    """Second to the search in its configuration, after which such a line is not free."""
    work, ran = tmp_path / "work", tmp_path / "ran"
    work.mkdir()
    add_program(tmp_path / "evil")
    (tmp_path / "evil").write_text(f"#!/bin/sh\necho $0 >> {ran}\n")

    def git(command):
        environment = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
        return subprocess.run(["sh", "-c", command], cwd=work, env=environment, capture_output=True)

    git("git init -q && git config user.name a && git config user.email a@example.org")
    for text in ("a\n", "b\n"):
        (work / "a").write_text(text)
        git("git add a && git commit -qm a")
    (work / "a").write_text("c\n")
    (work / ".gitattributes").write_text("* diff=x\n")
    for key in ("core.fsmonitor", "diff.external", "diff.x.textconv", "core.pager"):
        git(f"git config {key} {tmp_path}/evil")
    (work / ".git/hooks/post-index-change").symlink_to(tmp_path / "evil")
    git("touch a; git status; git diff; git log -p; git show")
    assert ran.exists(), "the programs run without the options"
    ran.unlink()
    git("touch a")
    found = SearchPath(["/usr/bin", "/bin"], work)
    done = git(build_canonical_line(parse_plain(line), found))
    assert done.returncode == 0, done.stderr
    assert not ran.exists()
