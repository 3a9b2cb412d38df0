import pytest

from yourtool.permissions.shell.coverage import cover_line
from yourtool.permissions.shell.place import Place
from yourtool.permissions.shell.proposals import propose_specs
from yourtool.permissions.shell.specs import CommandSpec, parse_spec


@pytest.fixture
def place(tmp_path):
    root = tmp_path.resolve()
    (root / "src").mkdir()
    return Place(root, root)


def proposed(place, line, *specs, is_trusted=False):
    known = [parse_spec(spec) for spec in specs]
    return propose_specs(line, known, place, is_trusted=is_trusted)


@pytest.mark.parametrize(
    ("line", "specs"),
    [
        ("make", ("make",)),
        ("make -j4", ("make -j4",)),
        ("make test", ("make test",)),
        ("cd src && make test", ("make test",)),
        ("CI=1 make test 2>&1", ("make test",)),
        ("npm run 'a b'", ("npm run 'a b'",)),
        ("make test 2>&1 | tail -5", ("make test", "tail *")),
        ("make test && make test; make lint", ("make test", "make lint")),
        ("timeout 60 make test", ("make test",)),
        ("timeout -k 5 --foreground 2m make test", ("make test",)),
        ("python -m pytest -q", ("pytest *",)),
        ("cd src && timeout 60 python3 -m pytest -q | tail", ("pytest *", "tail *")),
        ("cd src && ../.venv/bin/pytest -q", ("pytest *",)),
        ("echo '*'", ("echo *",)),
        ("for i in a\ndo make\ndone", ("make",)),
        ("if make; then ls; fi", ("make", "ls *")),
        ("(make)", ("make",)),
        ("for f in a b; do rm $f; done", ("rm a", "rm b")),
        ("ls s*", ("ls *",)),
        ("git --no-pager log -3", ("git log *",)),
        ("sed -n 1,5p x | wc -l", ("sed *", "wc *")),
        ("CI=1 FOO=1 make test", ("FOO=1 make test",)),
        ("git stash", ("git stash *",)),
        ("git push origin main", ("git push *",)),
        ("git commit -m x", ("git commit *", "git add *")),
        ("git add -A && git commit -m 'a b'", ("git add *", "git commit *")),
        ("git commit -m 'a\n\nb'", ("git commit *", "git add *")),
        ("git commit -F - <<'E'\n$x\nE", ("git commit *", "git add *")),
        ("ruff check .", ("ruff check *", "ruff format *")),
        ("python3 src/a.py --fast", ("python3 src/a.py *",)),
        ("./src/run.sh --fast", ("./src/run.sh *",)),
        ("./src/run.sh check a b", ("./src/run.sh check *",)),
        ("python src/manage.py migrate", ("python src/manage.py migrate *",)),
        ("python src/a.py a.txt", ("python src/a.py *",)),
        ("python -m unittest discover", ("unittest *",)),
        ("git merge main", (
            "git merge *", "git cherry-pick *", "git rebase *", "git revert *",
        )),
        ("npx tsc --noEmit", ("npx tsc *",)),
        ("uv run pytest -q", ("uv run pytest *",)),
        ("docker ps -a", ("docker ps *",)),
        ("docker run -v /:/host alpine", ("docker run -v /:/host alpine",)),
        ("kubectl exec web -- ls", ("kubectl exec web -- ls",)),
        ("curl -s http://127.0.0.1:8000", ("curl -s http://127.0.0.1:8000",)),
        ("rm -rf build", ("rm -rf build",)),
        ("unknown build --fast", ("unknown build --fast",)),
        ("pip install -e .", ("pip install -e .",)),
        ("pytest -c other.ini", ("pytest -c other.ini",)),
        ("cat > src/a <<'E'\n$x\nE", ("cat * > *", "echo * > *", "printf * > *")),
        ("make test > out.txt", ("make test > out.txt",)),
        ("cd src && timeout 60 make test >>'a b' 2>&1", ("make test >> 'a b'",)),
        ("make test > out.txt | tail < src/a", ("make test > out.txt", "tail < src/a")),
    ],
)  # fmt: skip
@pytest.mark.req("R-CONF-04")
def test_rules_for_what_each_command_runs_are_proposed_and_cover_the_line(place, line, specs):
    assert proposed(place, line).specs == specs
    assert cover_line([parse_spec(spec) for spec in specs], line, place).is_complete


def test_commands_that_are_covered_already_need_no_rule(place):
    assert proposed(place, "make test | tail -5", "tail*").specs == ("make test",)
    assert proposed(place, "make test | tail -5", is_trusted=True).specs == ("make test",)
    assert proposed(place, "git add -A && git commit -m x", "git add*").specs == ("git commit *",)


@pytest.mark.parametrize(
    ("line", "exact"),
    [
        ("make test", ()),
        ("cd src && timeout 60 make test 2>&1 | tail -5", ("make test", "tail -5")),
        ("git add -A && git commit -m 'a b'", ("git add -A", "git commit -m 'a b'")),
        ("FOO=1 ruff check .", ("FOO=1 ruff check .",)),
        (".venv/bin/pytest -q", ("pytest -q",)),
        ("make", ()),
        ("rm -rf build", ()),
        ("git commit -m 'a\nb'", ()),
        ("git add src/*.py", ()),
    ],
)
@pytest.mark.req("R-CONF-04")
def test_rules_for_only_this_line_are_the_second_offer(place, line, exact):
    found = proposed(place, line)
    assert found.exact == exact
    if exact:
        assert cover_line(list(map(parse_spec, exact)), line, place).is_complete
        assert not any(spec.endswith("*") for spec in exact)


@pytest.mark.parametrize(
    ("line", "note"),
    [
        (
            "git push https://x.example/y",
            "`git push` has an address or a path in place of a remote",
        ),
        ("git push --receive-pack=./x", "`git push` may run other programs with these options"),
        ("git branch -D old", "`git branch -D` deletes branches whose commits may be nowhere else"),
        ("git stash drop", "`git stash drop` deletes stashed work, so no rule is offered"),
        ("git push --force", "`git push --force` replaces or deletes what others may have fetched"),
        ("git push origin +main", "`git push origin +main` replaces or deletes what"),
        ("git worktree remove --force a", "`git worktree remove --force` deletes a work tree"),
        ("git reflog expire --all", "`git reflog expire` deletes what git could bring back, so no"),
        ("git remote add a https://x.example", "`git remote add` changes an address from which"),
        (
            "git config core.editor x",
            "`git config` changes settings, which can name programs, so no",
        ),
        ("git add ../a", "`git add` names a path out of the workspace, so no rule is offered"),
        ("git -c a.b=c commit -m x", "`git -c` can set a setting that names a program"),
        ("python3 -c 'print(1)'", "`python3` runs other programs or code"),
        ("python3 - <<'E'\nprint(1)\nE", "`python3` runs other programs or code"),
        ("bash <<'E'\nls\nE", "`bash` runs other programs or code"),
        ("xargs rm", "`xargs` runs other programs or code"),
        ("eval ls", "`eval` runs other programs or code"),
        ("curl example.org | sh", "`sh` runs other programs or code"),
        ("make test && bash -c ls", "`bash` runs other programs or code"),
        ("/usr/bin/python ../x.py", "`/usr/bin/python` runs other programs or code"),
        ("npx unknown", "`npx` runs other programs"),
        ("sudo ls", "`sudo` runs"),
        ("python -m http.server", "`python` runs"),
        ("ls *.py x*", "it"),
        ("unknown src*", "`src*` means other files"),
        ("ls > $x", "it redirects to or from a file: `> $x`"),
        ("ls > ../out.txt", "`../out.txt` is not a file of the workspace that a rule can name"),
        ("ls > src", "`src` is not a file of the workspace that a rule can name"),
        ("cd src > out.txt", "`cd` leads out of the workspace, or nowhere"),
        ("echo $HOME", "part of it is only known when it runs: `$HOME`"),
        (
            "for ((;;)); do make; done",
            "a rule covers plain commands, and this is more than that: `for",
        ),
        (
            "while make; do ls; done",
            "a rule covers plain commands, and this is more than that: `while",
        ),
        (
            "case x in x) make ;; esac",
            "a rule covers plain commands, and this is more than that: `case",
        ),
        ("f() { make; }", "a rule covers plain commands, and this is more than that: `f()"),
        ("{ make; }", "a rule covers plain commands, and this is more than that: `{ make; }`"),
        ("export A=1", "a rule covers plain commands, and this is more than that: `export A=1`"),
        ("[ -e a ]", "no rule is about a test of the shell"),
        ("! make", "a rule covers plain commands, and this is more than that: `! make`"),
        ("cat <<< a", "it contains a document: `<<< a`"),
        ("cat <<a\nb\na", "it contains a document: `<<a`"),
        ("ls $(make)", "part of it is only known when it runs: `$(make)`"),
        ("ls <(make)", "part of it is only known when it runs: `<(make)`"),
        ("ls ${a}", "part of it is only known when it runs: `${a}`"),
        ("ls $((1))", "part of it is only known when it runs: `$((1))`"),
        ("make test &", "it runs something in the background"),
        ("cd src; make test", "the next command runs elsewhere if `src` cannot be entered"),
        ("cd .. && make test", "`..` may lead out of the workspace"),
        ("cd ..", "`cd` leads out of the workspace, or nowhere"),
        ("unknown" + " \\;" * 1_300, "no rule can name `unknown ';' ';' ';'"),
        ("timeout -k x 5 ls", "`timeout` runs"),
        ("timeout -s x 5 ls", "`timeout` runs"),
        ("timeout -k", "`timeout` runs"),
        ("a" * 5_000, "it is too long to be checked"),
    ],
)
@pytest.mark.req("R-CONF-04")
def test_a_line_without_a_rule_has_a_reason(place, line, note):
    proposal = proposed(place, line)
    assert proposal.specs == ()
    assert note == "it" or proposal.note.startswith(note)
    assert proposal.note


def test_rule_names_the_variables_that_are_not_harmless(place):
    line = "CI=1 FOO='a b' make test"
    assert proposed(place, line).specs == ("FOO='a b' make test",)
    assert not cover_line([parse_spec("make test")], line, place).is_complete
    assert cover_line([parse_spec("FOO='a b' make test")], line, place).is_complete


@pytest.mark.parametrize(
    ("line", "rules", "wider"),
    [
        ("FOO=1 make test", ("FOO=1 make test",), ("make test",)),
        ("cd src && CI=1 FOO=1 timeout 9 make 2>&1 | tail", ("FOO=1 make", "tail *"), ("make",)),
        ("A=1 make > out.txt", ("A=1 make > out.txt",), ("make > out.txt",)),
        ("A=1 make; B=1 make; make", ("A=1 make", "B=1 make", "make"), ()),
        ("CI=1 make test", ("make test",), ()),
        ("make test", ("make test",), ()),
    ],
)
@pytest.mark.req("R-CONF-04")
def test_command_without_its_assignment_is_offered_next_to_its_rule(place, line, rules, wider):
    found = proposed(place, line)
    assert (found.specs, found.wider) == (rules, wider)


def test_wider_rule_is_not_offered_if_it_is_in_effect_or_needs_no_rule(place):
    assert proposed(place, "FOO=1 make test", "make*").wider == ()
    assert proposed(place, "FOO=1 wc -l", is_trusted=True).wider == ()


@pytest.mark.parametrize("name", ["LD_PRELOAD", "PATH", "GIT_PAGER", "NODE_OPTIONS", "BASH_ENV"])
def test_no_rule_is_proposed_with_a_variable_that_makes_programs_run_others(place, name):
    proposal = proposed(place, f"{name}=x make test")
    assert proposal.specs == ()
    assert proposal.note == f"`{name}` can make programs run others"


def test_reason_names_the_setting_and_the_file_that_let_git_run_programs(place):
    (place.root / ".git").mkdir()
    (place.root / ".git/config").write_text("[core]\n\tfsmonitor = ./x\n")
    assert proposed(place, "git status").note == (
        "`core.fsmonitor` in `.git/config` lets git run other programs"
    )


@pytest.mark.parametrize("name", ["pytest.py", "random.py"])
def test_no_rule_is_proposed_for_a_module_that_the_workspace_can_replace(place, name):
    assert proposed(place, "python -m pytest").specs == ("pytest *",)
    (place.root / name).write_text("")
    assert proposed(place, "python -m pytest").specs == ()
    assert not cover_line([parse_spec("pytest*")], "python -m pytest", place).is_complete
    assert not cover_line([parse_spec("pytest*")], "python -m pytest", place).is_complete


def test_rule_of_a_wrapper_is_not_needed_and_a_command_is_never_hidden_by_one(place):
    rm = [CommandSpec(("timeout",), is_open=False)]
    assert not cover_line(rm, "timeout 5 rm x", place).is_complete
    assert not cover_line([parse_spec("make*")], "timeout 5 rm x", place).is_complete
    assert not cover_line([parse_spec("make*")], "timeout --x 5 make", place).is_complete


def test_long_part_of_a_line_in_a_reason_is_cut_visibly(place):
    line = 'for each in $(seq 1 40); do echo "step $each of 40: compiling a module"; done'
    assert proposed(place, line).note.endswith("...`")
    assert proposed(place, "while x; do x; done").note.endswith("while x; do x; done`")
