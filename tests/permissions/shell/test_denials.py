import asyncio
import re
import shlex

import pytest

from yourtool.permissions.shell.denials import Denial, find_denial
from yourtool.permissions.shell.lines.syntax import MAX_LENGTH
from yourtool.permissions.shell.programs.table import load_programs
from yourtool.permissions.shell.specs import parse_spec

ROWS = load_programs()


def names(*kinds):
    """Return the programs of the table that run what is in their arguments."""
    found = (name for name, row in ROWS.items() if not set(kinds).isdisjoint(row.runs))
    return sorted({*found} - {"function"})  # a keyword


def denial(line, *specs):
    return find_denial([parse_spec(spec) for spec in specs or ("rm*",)], line)


@pytest.mark.parametrize(
    "line",
    [
        "rm x", "/bin/rm x", '"rm" x', "\\rm x", "$'rm' x", "$'\\x72m' x", "$'\\162m' x", "r''m x",
        "if true; then rm x; fi", "while rm x; do :; done", "for i in 1; do rm $i; done",
        "until rm x; do :; done", "select i in a; do rm x; done", "case a in a) rm x;; esac",
        'bash -c "rm x"', "sh -c 'rm x'", "bash -c rm", 'bash -lc "rm x"', 'env bash -c "rm x"',
        "bash -c \"bash -c 'rm x'\"", 'env -S "rm x"', "env A=1 rm x", "coproc rm x",
        "busybox rm x", 'su -c "rm x"', 'su root -c "rm x"', "taskset 1 rm x", "unshare -r rm x",
        "setpriv --reuid 1 rm x", 'script -c "rm x" log', "runuser -u a -- rm x", "xargs rm",
        "find . -exec rm {} +", "timeout 5 rm x", "nohup rm x", "sudo -u x rm y", "exec rm x",
        "command rm x", "builtin command rm x", "time rm x", "eval rm x", "eval 'rm x'",
        'trap "rm x" EXIT', 'alias q="rm x"', "echo $(rm x)", "echo `rm x`", "cat <(rm x)",
        'echo "$(rm x)"', "echo ${y:-$(rm x)}", "echo $((`rm x`))", "[[ $(rm x) ]]",
        '[ -n "`rm x`" ]', "a=$(rm x)", "export A=$(rm x)", "declare A=$(rm x)",
        "cat < <(rm x)", "( rm x )", "{ rm x; }", "a=1 rm x", "! rm x", "rm x &", "ls && rm x",
        "ls | rm x", "ls || rm x", "ls;rm x", "ls\nrm x", "f() { rm x; }; f", 'bash <<< "rm x"',
        "bash <<X\nrm x\nX", "> y rm x", "2>/dev/null rm x", "rm>x y", "rm\\\n x", "r\\\nm x",
        ">a >b rm x", "exec <<X\n`rm` xargs", "! exec >> out rm x", "<<< a 2>&1 rm x",
        "! a=1 >b bash -c 'rm x'", "alias foo=rm", "env --split-string=rm f",
        "/lib64/ld-linux-x86-64.so.2 /bin/rm f", "ssh-agent rm f", "choom -n 1 -- rm f",
        "; ".join(["ls"] * 70 + ["rm x"]), "RM x", "/bin/Rm x", "Bash -c 'RM x'", "Env rm x",
    ],
)  # fmt: skip
@pytest.mark.req("R-CONF-04")
def test_denied_command_is_found_wherever_it_stands(line):
    assert denial(line) is Denial.DENIED


@pytest.mark.parametrize(
    "line",
    [
        "git push", "git push origin", "git -C . push", "git -c a=b push", "git --no-pager push",
        "git --git-dir=x --work-tree y push -f", "env git -C x push", "git -C x -c a=b push origin",
    ],
)  # fmt: skip
@pytest.mark.req("R-CONF-04")
def test_denied_command_of_a_program_is_found_behind_its_options(line):
    assert denial(line, "git push*") is Denial.DENIED


@pytest.mark.parametrize(
    "line",
    [
        'y=rm; "$y" x', "$y x", "r? x", "/bin/r* x", "{rm,x}", 'eval "$x"', "echo 'rm x' | sh",
        "python -c \"import os; os.system('rm x')\"", "perl -e 'system \"rm x\"'", 'bash -c "$x"',
        "xargs $x", "env $x", 'ls "', "cat <<X\n`rm x`\nX", "cat <<X\na`b` c",
        'echo "${a:-`rm f`}"', "echo `echo \\`rm f\\``", "[0]##$(rm f)", 'x=$ rm f "}"',
        "echo 'rm f' | bash /dev/stdin", ". /dev/stdin <<< 'rm f'", "source <(echo rm f)",
        "BASH_ENV=<(echo rm f) bash -c :", "env -Srm f", "env '-Srm\\_f'",
        "echo $ x", "echo a$ b",
        "echo rm f | xargs env", "echo 'rm f' | xargs -I% sh -c %", "$'rm\\0x' f", "$'r\\0'm f",
        "$'rm\\c@z' f", "$'\\x{72}m' f", "x='rm f '; $x/ls", "test -v 'a[$(rm f)]'",
        "printf -v 'a[$(rm f)]' x", "x='a[$(rm f)]'; ((x))", "x='a[$(rm f)]'; echo ${!x}",
        "x='$(rm f)'; echo ${x@P}", "PS4='$(rm f)'; set -x", "mapfile -C 'rm f' x", "compgen -C rm",
        "hash -p /bin/rm ls; ls f", "tar --checkpoint-action=exec='rm f' x",
        "split --filter='rm f' x", "git -c alias.x='!rm f' x",
        "echo 'rm f' | env bash", "< script bash -c bash", "< script sh -s",
        "ls " + "a" * MAX_LENGTH, "a|" * (MAX_LENGTH // 2),
    ],
)  # fmt: skip
@pytest.mark.req("R-CONF-04")
def test_line_that_cannot_be_read_is_unclear(line):
    assert denial(line) is Denial.UNCLEAR


@pytest.mark.parametrize("line", ["g=git; $g push", "git $x", "git -C $d push", "git pu?h"])
@pytest.mark.req("R-CONF-04")
def test_expanded_word_in_the_place_of_a_denied_one_is_unclear(line):
    assert denial(line, "git push*") is Denial.UNCLEAR


@pytest.mark.parametrize(
    "line",
    [
        "ls", "echo rm", "ls rmdir", "cat rm.txt", "rmdir x", "grep -r rm .", "git rm x",
        "npm run rm", 'echo "rm x"', "ls src; cat x | head", "cat > f.py <<'EOF'\nprint(1)\nEOF",
        'python -c "print(1)"', "for f in *.py; do cat $f; done", "echo $HOME", "cd $x && ls",
        "# rm x", "ls # rm x", "[ -n \"$x\" ] && export A=$B", "git commit -m 'use `x`'",
        "git commit -m \"fix \\`x\\`\"", "printf '%s' \"$x\"", "npm run build",
        "echo `ls`", "echo \"`ls`\"", "echo $(ls)",
        "cat > a <<X\nof $USER here\nX",
    ],
)  # fmt: skip
def test_line_without_a_denied_command_is_not_denied(line):
    assert denial(line) is Denial.NONE


@pytest.mark.parametrize("program", names("command", "shell"))
@pytest.mark.req("R-CONF-04", "T5")
def test_denied_command_is_found_behind_every_program_that_runs_another(program):
    for name in (program, f"/usr/bin/{program}"):
        assert denial(f"{name} -x y rm a") is Denial.DENIED
        assert denial(f"{name} -x 'rm a'") is Denial.DENIED
        assert denial(f"{name} -x cp a") is Denial.NONE or ROWS[program].is_fed


@pytest.mark.parametrize("program", names("code"))
@pytest.mark.req("R-CONF-04", "T5")
def test_code_for_an_interpreter_that_names_a_denied_command_is_unclear(program):
    for name in (program, f"/usr/bin/{program}"):
        assert denial(f"{name} -e 'system(\"rm a\")'") is Denial.UNCLEAR
        assert denial(f'{name} -e "$code"') is Denial.UNCLEAR
        assert denial(f"{name} -e 'system(\"cp a\")'") is Denial.NONE
        assert denial(f"{name} <<< 'rm a'") is Denial.UNCLEAR


@pytest.mark.parametrize("program", names("subscripts"))
def test_argument_that_a_builtin_may_evaluate_and_that_names_a_denied_command_is_unclear(program):
    end = {"[": " ]", "[[": " ]]"}.get(program, "")
    assert denial(f"{program} -v 'a[$(rm x)]'{end}") is not Denial.NONE
    assert denial(f"{program} -v 'a[b]'{end}") is Denial.NONE


@pytest.mark.parametrize("program", names("lines"))
def test_option_that_holds_a_line_with_a_denied_command_is_unclear(program):
    assert denial(f"{program} --run 'rm x' a") is not Denial.NONE
    assert denial(f"{program} --run=rm a") is not Denial.NONE
    assert denial(f"{program} rmx 'cp x' a") is Denial.NONE


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("bash", Denial.UNCLEAR), ("bash -x", Denial.UNCLEAR), ("bash run.sh", Denial.NONE),
        ("env bash -i", Denial.UNCLEAR), ("sudo sh sh", Denial.UNCLEAR), ("env run", Denial.NONE),
        ("source /dev/stdin", Denial.UNCLEAR), (". /proc/self/fd/0", Denial.UNCLEAR),
        ("source run.sh", Denial.NONE), ('. "$x"', Denial.UNCLEAR), ("sh $x", Denial.UNCLEAR),
        ("env -S 'a b rm'", Denial.UNCLEAR), ("env -iS 'a\\_rm'", Denial.UNCLEAR),
        ("env --s='x rm'", Denial.DENIED), ("env -S 'a b'", Denial.NONE),
        ("xargs env", Denial.UNCLEAR), ("xargs -n1 bash -c ls", Denial.UNCLEAR),
        ("xargs cp", Denial.NONE), ("alias q=rm", Denial.DENIED), ("alias q=", Denial.NONE),
        ("eval r m x", Denial.NONE), ("eval rm '-r x'", Denial.DENIED), ("$x", Denial.UNCLEAR),
        ("", Denial.NONE), ("# rm x", Denial.NONE), ("a=rm", Denial.NONE), ("rm", Denial.DENIED),
        ("ls 'unclosed", Denial.UNCLEAR),
    ],
)  # fmt: skip
def test_what_a_shell_would_read_decides(line, expected):
    assert denial(line) is expected


def test_line_in_too_many_lines_is_unclear():
    assert denial("eval " * 5 + "rm a") is Denial.DENIED
    line = "cp a"
    for _ in range(4):
        line = f"eval {shlex.quote(line)}"
    assert denial(line) is Denial.NONE
    for _ in range(5):
        line = f"eval {shlex.quote(line)}"
        if len(line) > MAX_LENGTH:
            break
    assert denial(line) is Denial.UNCLEAR


@pytest.mark.parametrize("line", ["git log push", "git commit -m push", "git stash push"])
def test_denied_word_in_another_command_of_the_program_is_not_denied(line):
    assert denial(line, "git push*") is Denial.NONE


@pytest.mark.parametrize(
    "word",
    ["$'a'", "$(a)", "`a`", "a$b", "${a}", "$a", "1", "<(a)", "'a'", '"a"', '$"a"', "a", "a'b'"],
)
def test_first_word_after_a_redirection_is_the_program(word):
    for line in (f"> y {word} rm x", f"<<< y {word} rm x", f"2> y {word} rm"):
        assert denial(line) is not Denial.DENIED


@pytest.mark.parametrize("word", ["$(a)", "`a`", "${a}", "$a", "<(a)", "a$b"])
def test_expanded_program_after_a_redirection_is_unclear(word):
    assert denial(f"> y {word} f") is Denial.UNCLEAR


def test_case_of_a_program_makes_no_difference_to_a_denial():
    assert denial("make x", "MAKE*") is Denial.DENIED
    assert denial("perl -e 'system(\"RM x\")'") is Denial.UNCLEAR
    assert denial("git PUSH", "git push*") is Denial.NONE


def test_rule_without_a_star_denies_that_command_only():
    assert denial("rm x", "rm x") is Denial.DENIED
    assert denial("rm x y", "rm x") is Denial.NONE
    assert denial("rm", "rm x") is Denial.NONE


@pytest.mark.parametrize(
    "unit",
    [
        "a|",
        "a=(",
        "<<<",
        "$((",
        '$(("`',
        "(>^",
        "@(>",
        "if ",
        "<<X\n",
        "x[)",
        "xargs rm - ",
        "'",
        "{",
    ],
)
@pytest.mark.parametrize("start", ["", "bash -c '", "eval "])
async def test_hostile_line_does_not_block_the_loop(start, unit):
    line = start + unit * ((MAX_LENGTH - len(start)) // len(unit))
    await asyncio.to_thread(denial, line, "rm x*", "git push*")


@pytest.mark.parametrize("program", ["export", "declare", "readonly", "typeset", "unset"])
def test_declaration_that_names_a_denied_command_is_unclear(program):
    assert denial(f"ls; {program} 'rm'") is Denial.UNCLEAR
    assert denial(f"ls; {program} 'cp'") is Denial.NONE


def test_code_is_read_to_a_greatest_depth():
    line = "rm x"
    for depth in range(10):
        assert denial(line) is (Denial.DENIED if depth <= 8 else Denial.UNCLEAR)
        line = "eval " + re.sub(r"(\W)", r"\\\1", line)


def test_glob_with_the_ending_of_a_denied_script_is_unclear():
    assert denial("timeout 5 ./*.sh", "deploy.sh *") is Denial.UNCLEAR
    assert denial("timeout 5 ./*.py", "deploy.sh *") is Denial.NONE
